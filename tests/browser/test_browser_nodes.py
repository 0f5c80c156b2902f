"""Groups of labels and the table of nodes, against the engine."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certcore import ThreatModel
from certcore.result.attack_effects import Reach
from certcore.result.certificate import Certificate
from certcore.result.states import TargetState
from pages.canvas import film
from tests.browser.workbench import Visit, by_itself, drawn, engine, read
from tests.pages.toys import N

KEPT = (TargetState.ALONE, TargetState.UNDECIDED)


def near(result: Certificate, found: Reach, states: np.ndarray) -> set[int]:
    """Labels that one more flip inside their field can leave uncertified."""
    return {int(node) for node, margin in zip(found.targets, found.margin) if margin == 1 and states[node] in KEPT}


def rows(page: Any) -> list[int]:
    """The nodes in the table."""
    read(page)
    return [int(node) for node in page.evaluate("window.certcore.benchView.side.nodes.list.map((row) => row.node)")]


def saved(page: Any) -> tuple[str, bytes]:
    """The name and the content of the file that the button saves."""
    with page.expect_download() as waiting:
        page.locator(".side-nodes .foot button", has_text="CSV").click()
    return waiting.value.suggested_filename, Path(waiting.value.path()).read_bytes()


@pytest.fixture
def shown(visit: Visit, tmp_path: Path) -> tuple[Any, Certificate, Reach, np.ndarray]:
    instance, result, found = engine(ThreatModel(attr_del=5))
    page = by_itself(visit(), tmp_path, instance, [film.Frame(5, result)])
    return page, result, found, result.states(instance.base.fronts())


def test_one_flip_away_is_a_button_a_list_and_a_file(shown: Any) -> None:
    page, result, found, states = shown
    wanted = near(result, found, states)
    assert wanted
    button = page.locator(".legend [data-group=near]")
    assert button.inner_text().strip() == f"{len(wanted)} one flip away"
    button.click()
    assert set(rows(page)) == wanted
    assert page.locator(".chip").inner_text().startswith(f"{len(wanted)} one flip away")
    name, content = saved(page)
    assert "near" in name
    assert "attr_del-5" in name
    assert not content.startswith(b"\xef\xbb\xbf"), "no byte order mark"
    table = {int(row["node"]): row for row in csv.DictReader(io.StringIO(content.decode()))}
    assert set(table) == wanted
    for t, node in enumerate(found.targets.tolist()):
        if node in wanted:
            assert table[node]["flips_away"] == "1"
            assert float(table[node]["received_attribute_deletions"]) == found.received[t, 1]
            assert float(table[node]["needed_attribute_deletions"]) == found.needed[t, 1]
    page.keyboard.press("Escape")
    assert len(rows(page)) == int((states != TargetState.NOT_A_TARGET).sum())
    assert page.locator(".chip").count() == 0


def test_a_group_is_the_same_in_bar_legend_and_table(shown: Any) -> None:
    page, _, found, states = shown
    page.locator(".side-tabs button", has_text="Nodes").click()
    page.locator(".pill[data-group=lost]").click()
    assert set(rows(page)) == set(found.targets[found.lost].tolist())
    assert read(page)["parts"]["lost"] == len(rows(page))
    assert page.evaluate("window.certcore.benchView.data.only.length") == 1, "the address names it"
    page.locator(".chip").click()
    page.locator(".pill[data-group=naive]").click()
    assert set(rows(page)) == {int(i) for i in np.flatnonzero(states == TargetState.ALONE)}
    received = page.locator(".columns button", has_text="needed")
    received.click()
    needed = dict(zip(found.targets.tolist(), found.needed.sum(axis=1).tolist()))
    listed = [needed[node] for node in rows(page) if found.margin[found.targets.tolist().index(node)] >= 0]
    assert listed == sorted(listed, reverse=True)


def test_a_selection_by_hand_is_a_table(shown: Any) -> None:
    page, _, _, _ = shown
    page.locator(".side-tabs button", has_text="Nodes").click()
    chosen = [3, 7, 11]
    page.evaluate("(nodes) => window.certcore.mapView.select(nodes)", chosen)
    assert rows(page) == chosen
    page.locator(".pill.hand").click()
    assert len(rows(page)) <= N
    assert drawn(page)["selection"] == []
    row = page.locator(".side-nodes .row").first
    row.click()
    assert drawn(page)["chosen"] == {"node": rows(page)[0], "as": "target"}


def test_the_card_of_a_site_lists_all_that_it_takes(visit: Visit, tmp_path: Path) -> None:
    instance, result, found = engine(ThreatModel(attr_add=6, attr_del=14))
    page = by_itself(visit(), tmp_path, instance, [film.Frame(14, result)])
    most = int(np.argmax(found.breaks()))
    taken = found.targets[found.broken_by(most)].tolist()
    assert len(taken) > 4, "more than the card has room for"
    page.evaluate(f"window.certcore.mapView.choose({{ node: {found.ends[most, 0]} }})")
    drawn(page)
    page.locator(".detail").get_by_role("button", name="Show all").click()
    assert rows(page) == sorted(taken)
