"""A question as the words of a command, and the table of parameters."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certcore import ThreatModel
from certcore.cli import build_parser
from certcore.cli.options import threat_of
from certcore.domain.commands import command, current_spelling
from certcore.domain.parameters import FIGURE, FORMER, SHARED
from certcore.domain.perturbations import TABLE, TYPES, entry_of
from experiments import commands as experiments
from experiments.bundle import BundleRecipe
from tests.export.instances import small_instance

INSTANCE = small_instance()
SHARES = st.sampled_from(["1/3", "0.25", "2", "0.5"])


@st.composite
def threats(draw: Any) -> ThreatModel:
    mode = draw(st.sampled_from(["absolute", "relative"]))
    limits = {}
    for entry in TABLE:
        limit: Any = st.integers(0, 50)
        if not entry.brings_nodes:
            limit = st.sampled_from(["0.3", "2", "0.125"]) if entry.lengths else limit
            limit = SHARES if mode == "relative" else limit
        limits[entry.local_name or f"local_{entry.name}"] = draw(st.none() | limit)
    budgets = {name: draw(st.integers(0, 10**9)) for name in TYPES if not entry_of(name).lengths}
    return ThreatModel(
        **budgets,
        **{name: value for name, value in limits.items() if "attr_l2" not in name},
        local_mode=mode,
        sigma=draw(st.none() | st.integers(0, 9)),
        protected=draw(st.just([]) | st.sets(st.integers(0, 39), min_size=1).map(sorted)),
    )


@given(threats())
def test_a_threat_model_comes_back_from_its_command(threat: ThreatModel) -> None:
    said = command("certify", "a file's name.npz", threat)
    assert said is not None
    words = shlex.split(said)
    args = build_parser().parse_args(words[1:])
    assert args.instance == "a file's name.npz"
    assert threat_of(args, INSTANCE).to_json() == threat.to_json()


@pytest.mark.parametrize("path", sorted(Path("precomputed").glob("*.npz")), ids=lambda path: path.stem)
def test_the_command_of_a_shipped_bundle_is_shown_as_it_is_given_today(path: Path) -> None:
    meta = json.loads(str(np.load(path)["meta"].reshape(-1)[0]))
    shown = current_spelling(meta["command"])
    assert "certcore bundle" in meta["command"]
    assert "certcore bundle" not in shown
    for one in shown.split(" && "):
        words = shlex.split(one)
        assert words[:3] == ["python", "-m", "experiments"]
        experiments.build_parser().parse_args(words[3:])
    assert BundleRecipe.from_command(shown) == BundleRecipe.from_command(meta["command"])


def test_local_budgets_of_each_node_have_no_command() -> None:
    assert command("certify", "x.npz", ThreatModel(attr_del=2, local_attr_del=[1] * 40)) is None


def test_parameters_have_one_name_a_default_they_read_and_a_help() -> None:
    names = [one.name for one in (*SHARED, *FIGURE)]
    assert len(names) == len(set(names))
    assert not set(FORMER) & set(names)
    assert set(FORMER.values()) <= set(names)
    assert all(one.help for one in (*SHARED, *FIGURE))
    options = build_parser()._subparsers._group_actions[0].choices["certify"]._option_string_actions  # type: ignore[union-attr]
    for name in (*TYPES, "local_mode", "sigma", "targets", "protect", "relaxation", "time_limit", "base_rule"):
        assert f"--{name.replace('_', '-')}" in options
        assert name in names


@pytest.mark.parametrize(
    ("name", "text"),
    [("attr_del", "-1"), ("attr_del", "1e3"), ("sigma", "٣"), ("local_mode", "x"), ("time_limit", "0"), ("log", "yes")],
)
def test_a_reader_says_what_was_expected(name: str, text: str) -> None:
    read = next(one.read for one in (*SHARED, *FIGURE) if one.name == name)
    with pytest.raises(ValueError, match="expected"):
        read(text)
