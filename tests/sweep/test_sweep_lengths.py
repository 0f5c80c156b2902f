"""Curves, maps and radii over lengths: values are decimals, programs have units, and every count is that of certify."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certcore as cc
from certcore import Graph, InputError, Instance, certify
from certcore.base.gaussian import GaussianBase
from certcore.cli import main
from certcore.domain.weaker import can_do_no_more
from certcore.instance.instance import load_instance, save_instance
from certcore.sweep.attack_curve import best_within
from tests.engine.test_engine_real import instance as real_instance

SPREAD = np.array([5200, 6100, 7300, 8400, 9100, 9500, 9800, 9990])


def instance(*, joint: bool = True, **other: Any) -> Instance:
    """Votes on a ring of 16 nodes whose attributes are numbers."""
    n = 16
    edges = np.array([(i, (i + 1) % n) for i in range(n)])
    values = (np.arange(n * 3).reshape(n, 3) % 7 + 1) / 64
    graph = Graph.from_edges(n, edges, values, keep_values=True)
    mine = np.tile(SPREAD, 2)
    votes = np.stack([mine, (10_000 - mine) // 2, 10_000 - mine - (10_000 - mine) // 2], axis=1)
    theta = ("0", "0", "0", "0.4" if joint else "0")
    base = GaussianBase(votes, np.zeros(n, int), 10_000, "0.01", theta, std="0.06", lattice="2^-9", **other)
    return Instance(graph, base, layers=1)


VALUES = ["0", "0.02", "0.05", "0.1", "0.2"]


def test_a_curve_says_what_certify_says() -> None:
    found = instance()
    line = cc.curve(found, vary="attr_l2", values=VALUES, sigma=3)
    assert line.values.tolist() == [0.0, 0.02, 0.05, 0.1, 0.2]
    assert line.certified.tolist() == [certify(found, attr_l2=v, sigma=3, attack=False).certified for v in VALUES]
    assert line.naive.tolist() == [certify(found, attr_l2=v, attack=False).naive_certified for v in VALUES]
    assert len(set(line.certified.tolist())) > 3
    limits = cc.curve(found, vary="local_attr_l2", values=["0.01", "0.1"], attr_l2="0.1")
    assert limits.certified[0] > limits.certified[1]


def test_a_map_says_what_certify_says() -> None:
    found = instance()
    cells = cc.surface(found, x="attr_l2", x_values=VALUES[:4], y="adj_del", y_values=[0, 1, 2])
    for i, value in enumerate(VALUES[:4]):
        for j in range(3):
            assert cells.certified[i, j] == certify(found, attr_l2=value, adj_del=j, attack=False).certified
    known = [(0.05, 1.0, 4)]
    best = best_within(np.array([0.0, 0.02, 0.05]), np.array([0, 1]), known)  # type: ignore[arg-type]
    assert np.isnan(best[:2]).all()  # an attack within 0.05 is none within 0.02
    assert best[2, 1] == 4


def test_the_radius_is_a_length_that_keeps_the_share() -> None:
    found = instance()
    result = cc.radius(found, vary="attr_l2", at_least=0.5)
    assert isinstance(result.value, float)
    assert result.next_value is not None
    assert certify(found, attr_l2=result.value).certified >= 8 > certify(found, attr_l2=result.next_value).certified


def test_values_that_are_no_decimals_are_refused() -> None:
    with pytest.raises(InputError, match="not ascending"):
        cc.curve(instance(), vary="attr_l2", values=["0.2", "0.1"])
    with pytest.raises(InputError, match="at most 15 digits"):
        cc.curve(instance(), vary="attr_l2", values=["0.12345678901234567890123"])


def test_a_file_keeps_everything(tmp_path: Path) -> None:
    path = tmp_path / "real.npz"
    for given in (instance(), instance(offsets=np.arange(16) * 1000, factor=2**20 + 13)):
        save_instance(path, given)
        again = load_instance(path)
        assert again.digest == given.digest
        assert again.base.facts == given.base.facts
        assert certify(again, attr_l2="0.05").bound == certify(given, attr_l2="0.05").bound
    assert instance(units=2**13).digest != instance().digest


def test_commands_take_lengths(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "real.npz")
    save_instance(path, instance())
    assert main(["certify", path, "--attr-l2", "0.1", "--local-attr-l2", "0.05", "--sigma", "4"]) == 0
    told = capsys.readouterr().out
    assert "changes of the attributes whose squares sum to at most 0.1²" in told
    assert "no row moved by more than 0.05" in told
    assert "1.67 standard deviations of the noise" in told
    question = ["--attr-l2", "0.1", "--local-attr-l2", "0.2", "--local-mode", "relative", "--json"]
    assert main(["certify", path, *question]) == 0
    assert "no row moved by more than 0.2 × its norm" in json.loads(capsys.readouterr().out)["guarantee"]
    assert main(["curve", path, "--vary", "attr_l2", "--values", "0:0.1:0.05"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("0.1,")
    assert main(["radius", path, "--vary", "attr_l2", "--at-least", "0.5"]) == 0
    assert "attribute distance: up to 0.0" in capsys.readouterr().out


def test_lengths_are_compared_and_not_their_units() -> None:
    """Twenty rows, each moved by its half: their squares sum to 4 at 16 rows."""
    alone = real_instance([0.5] * 20)
    session = cc.Session(alone)
    assert session.certify(cc.ThreatModel(attr_l2="2", local_attr_l2="1")).attack_found == 16
    squares = cc.ThreatModel(attr_l2="2", local_attr_l2="1").bound_to(alone.scale)
    further = squares.replace(local_attr_l2="1.00001").bound_to(alone.scale)
    assert can_do_no_more(squares, further, alone.graph)
    assert not can_do_no_more(further, squares, alone.graph), "the same units, and still further"
