"""An instance whose attributes are numbers: sliders over lengths, and every page opens with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from certcore import certify
from certcore.instance.instance import save_instance
from tests.pages.conftest import settle
from tests.pages.opening import at_page
from tests.sweep.test_sweep_lengths import instance


@pytest.fixture(autouse=True)
def real(dashboard: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_instance(tmp_path / "real-gcn-l2-s0.npz", instance())
    monkeypatch.setenv("CERTCORE_BUNDLES", str(tmp_path))


def test_the_workbench_has_a_slider_over_lengths() -> None:
    at = settle(at_page("overview", {"instance": "real-gcn-l2-s0", "attr_l2": "0.05", "sigma": "3"}))
    field = next(one for one in at.number_input if one.key == "attr_l2")
    assert field.value == 0.05
    assert not any(one.key in ("attr_add", "attr_del") for one in at.number_input)
    assert "0.8 × the noise (0.06) · median row norm 0.11" in " ".join(one.value for one in at.caption)
    expected = certify(instance(), attr_l2="0.05", sigma=3).certified
    told = next(block.value for block in at.markdown if "** labels" in block.value)
    assert "squares sum to at most 0.05²" in told
    assert f"**{expected} of 16**" in told
    moved = settle(next(one for one in at.number_input if one.key == "attr_l2").set_value(0.1))
    assert "0.1" in moved.query_params["attr_l2"]


@pytest.mark.parametrize("page", ["curves", "contours", "node"])
def test_other_pages_open(page: str) -> None:
    at = settle(at_page(page, {"instance": "real-gcn-l2-s0", "attr_l2": "0.05"}))
    assert not at.error


def test_it_starts_with_a_length() -> None:
    at = settle(at_page("overview", {"instance": "real-gcn-l2-s0"}))
    assert next(one for one in at.number_input if one.key == "attr_l2").value == 0.05
