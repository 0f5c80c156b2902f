"""The canvas and the neighbourhood: numbers arrive as they were, names as plain text, nothing from outside."""

from __future__ import annotations

import base64
import json
import re

import numpy as np

from certcore import ThreatModel, certify, figures
from certcore.instance.instance import Instance
from certcore.result.states import TargetState
from pages.parts import attack, charts, graphview, neighbourhood
from tests.pages.toys import N, grid_instance

EVIL = '</script><script src="https://evil.example/x.js"></script><img src=https://evil.example/p.png>"\'\u202eabc'


def evil_instance() -> Instance:
    return grid_instance(node_names=tuple(EVIL for _ in range(N)), class_names=(EVIL, "b", "c"))


def picture(instance: Instance, relaxed: bool = False, selected: int = -1) -> graphview.Picture:
    result = certify(instance, ThreatModel(attr_add=1, attr_del=4, sigma=3, protected=[2]))
    figure = figures.graph_figure(instance, result, relaxed=relaxed)
    rows = attack.table(instance, result, relaxed)
    shown = np.ones(N, dtype=bool)
    return attack.picture(
        instance, result, figure, rows, shown=shown, by_class=False, selected=selected, relaxed=relaxed
    )


def test_payload_is_json_and_complete() -> None:
    drawn = picture(grid_instance(), selected=4)
    data = json.loads(json.dumps(graphview.payload(drawn, 600)))
    positions = np.frombuffer(base64.b64decode(data["positions"]), dtype=np.uint16)
    edges = np.frombuffer(base64.b64decode(data["edges"]), dtype=np.uint32).reshape(-1, 2)
    marks = np.frombuffer(base64.b64decode(data["marks"]), dtype=np.uint8)
    assert len(positions) == 2 * N
    assert np.array_equal(edges, grid_instance().graph.edges)
    assert marks[4] & 8
    assert marks[2] & 4
    assert sum(bool(mark & 2) for mark in marks) <= 3
    assert sum(group["count"] for group in data["groups"]) == N


def test_relaxed_adversary_says_that_it_is_no_attack() -> None:
    assert "not an attack" in picture(grid_instance(), relaxed=True).alt


def test_allocation_table_agrees_with_the_budgets() -> None:
    instance = grid_instance()
    result = certify(instance, ThreatModel(attr_add=1, attr_del=4))
    rows = attack.table(instance, result, relaxed=False)
    assert rows["spent attr +"].sum() <= 1
    assert rows["spent attr −"].sum() <= 4
    assert (rows["state"] == TargetState.LOST).sum() <= result.attack_found


def test_far_out_nodes_do_not_squeeze_the_rest() -> None:
    points = np.concatenate([np.random.default_rng(0).random((500, 2)), [[1000.0, 1000.0]]])
    fitted = graphview.fitted(points)
    assert fitted.min() >= 0
    assert fitted.max() <= 65535
    assert np.ptp(fitted[:500, 0]) > 40_000


def test_far_out_nodes_keep_their_order_and_do_not_pile_up_at_the_border() -> None:
    far = np.array([[x, 0.5] for x in (3.0, 5.0, 9.0, 40.0, -4.0, -30.0)])
    points = np.concatenate([np.random.default_rng(0).random((2000, 2)), far])
    across = graphview.fitted(points)[:, 0]
    order = np.argsort(points[-6:, 0])
    assert (np.diff(across[-6:][order]) > 0).all()
    assert across[-6:].min() < across[:2000].min()
    assert across[-6:].max() > across[:2000].max()
    assert len(np.unique(across[-6:])) == 6


def test_every_place_in_a_cell_can_be_clicked() -> None:
    values = np.array([0, 2, 9, 30])
    places, cell = charts.click_points(values, False)
    edges = [-0.5, 0.5, 2.5, 9.5, 30.5]
    assert set(cell.tolist()) == {0, 1, 2, 3}
    for place, number in zip(places, cell):
        assert edges[number] < place < edges[number + 1], "a point belongs to the cell it lies in"
    assert np.diff(places).max() < 31 / 20, "the largest cell is covered as densely as the others"


def test_neighbourhood_page_is_alone_in_the_world() -> None:
    instance = evil_instance()
    spent = np.zeros((4, N))
    spent[1, 3] = 2
    near = neighbourhood.around(instance, 3, spent.sum(axis=0))
    page = neighbourhood.html(instance, near, spent, np.zeros((0, 2), dtype=int), dark=False, height=300)
    assert 'evil.example/x.js"></script>' not in page
    assert not re.search(r"<(script|link|img|iframe)\b[^>]*(src|href)\s*=\s*[\"']?https?:", page)
    assert "Content-Security-Policy" in page
    assert "\u202e" not in page


def test_search_finds_by_index_and_name() -> None:
    names = tuple(f"paper {i}" for i in range(N))
    assert attack.search(names, N, "7")[0] == 7
    assert attack.search(names, N, "paper 12")[0] == 12
    assert attack.search(None, N, "99") == []
    assert attack.search(names, N, "") == []
