"""What attacks on the model change, as the workbench shows it; where none was tried, nothing is said."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import certcore as cc
from certcore import figures, messages
from certcore.common.rounding import share_down
from certcore.model_attack.along import attacks_along
from certcore.model_attack.stored import attacks_on, largest
from pages.files import bundles
from tests.pages.conftest import sent
from tests.pages.opening import ROOT

NAME = "citeseer-gcn-attr-s0"


@pytest.fixture
def shipped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The shipped bundle and its attack in a folder of their own."""
    (tmp_path / "attacks").mkdir()
    shutil.copy(ROOT / "precomputed" / f"{NAME}.npz", tmp_path)
    shutil.copy(ROOT / "precomputed" / "attacks" / f"{NAME}.attack.npz", tmp_path / "attacks")
    monkeypatch.setenv("CERTCORE_BUNDLES", str(tmp_path))
    return tmp_path


def text_of(told: dict) -> str:
    return "".join(piece["text"] for piece in told["head"])


head = text_of


def test_what_an_attack_changes_stands_beside_the_bar(open_page: Callable[..., AppTest], shipped: Path) -> None:
    path = shipped / f"{NAME}.npz"
    instance = cc.load_instance(path)
    found = largest(attacks_on(path, instance), instance, cc.ThreatModel(attr_del=10))
    assert found is not None
    changed = found.count.n_changed
    assert changed > 0
    at = open_page("overview", instance=NAME, attr_del="10", adversary="model")
    assert not at.exception
    now, line, picture = sent(at), sent(at, "shelf", "curve"), sent(at, "shelf", "attack")
    parts = now["parts"]
    assert sum(parts.values()) == now["asked"]
    proven = parts["naive"] + parts["collective"]
    assert head(now) == f"At least {proven:,} of 1,870 labels stay · {share_down(proven, 1870)}"
    assert now["model"]["changed"] == changed
    assert text_of(now["model"]) == f"an attack found changes {changed}"
    assert f"changes {changed} labels" in now["model"]["told"]
    assert line["changed"][0] is None, "at a budget of 0 nothing was tried"
    assert line["changed"][line["values"].index(10)] == changed
    marked = np.frombuffer(base64.b64decode(picture["pictures"][0]["changed"]), dtype=np.uint32)
    assert np.array_equal(np.sort(marked), np.sort(found.changed_nodes))
    assert now["adversary"] == "model"


def test_exports_and_the_panel_tell_it_too(shipped: Path) -> None:
    path = shipped / f"{NAME}.npz"
    instance = cc.load_instance(path)
    found = largest(attacks_on(path, instance), instance, cc.ThreatModel(attr_del=10))
    assert found is not None
    changed = found.count.n_changed
    threat = cc.ThreatModel(attr_del=10)
    along = attacks_along(attacks_on(path, instance), instance, threat, "attr_del").changed([0, 1, 10])
    curve = cc.curve(instance, threat, "attr_del", [0, 1, 10])
    line = figures.curve_figure([curve], vary="attr_del", changed=along).lines[0]
    assert np.isnan(line.changed[0]), "not tried"
    assert line.changed[2] == changed
    assert line.unchanged[2] == (1870 - changed) / 1870
    csv = figures.CurveFigure(lines=(line,)).table().csv().splitlines()
    assert [row.split(",")[-1] for row in csv][0::3] == ["labels changed", str(float(changed))]
    assert csv[1].endswith(","), "nothing was tried"
    both = messages.jointly(instance, found)
    assert both is not None
    assert "together with at least 98 %" in str(both)


def test_where_nothing_was_tried_nothing_is_counted(open_page: Callable[..., AppTest], shipped: Path) -> None:
    at = open_page("overview", instance=NAME, attr_add="1", attr_del="0")
    now = sent(at)
    assert now["model"]["changed"] is None
    assert text_of(now["model"]) == "no model attack tried"
    assert now["model"]["how"]
    assert now["words"]["how"][1] == f"certcore attack {NAME}.npz --attr-add 1 --nested"
    assert head(now).startswith("At least")
    shutil.rmtree(shipped / "attacks")
    at = open_page("overview", instance=NAME, attr_del="10", adversary="model")
    assert not at.exception
    assert sent(at)["adversary"] == ""
    assert "No model attack was tried" in json.dumps(sent(at)["notes"])


def test_an_attack_on_another_instance_is_left_out(open_page: Callable[..., AppTest], shipped: Path) -> None:
    other = ROOT / "precomputed" / "attacks" / "citeseer-gcn-joint-s0.attack.npz"
    shutil.copy(other, shipped / "attacks" / f"{NAME}.attack.npz")
    assert bundles.attacks(NAME, bundles.load(NAME)) == []
