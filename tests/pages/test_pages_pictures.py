"""The canvas and the neighbourhood: numbers arrive as they were, names as plain text, nothing from outside."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import numpy as np
import pytest
from scipy.sparse.csgraph import shortest_path

from certcore import ThreatModel, certify
from certcore.domain.perturbations import TYPES
from certcore.figures.geometry import cell_edges
from certcore.figures.style import STATES, TOKENS, closeness_scale, on_background
from certcore.instance.instance import Instance
from certcore.result.attack_effects import Reach, reach
from certcore.result.states import TargetState
from certcore.workbench import attack as drawing
from certcore.workbench import axis, parts
from pages.canvas import attack, view
from pages.parts import charts, neighbourhood
from pages.parts.search import search
from tests.pages.toys import N, grid_instance

EVIL = '</script><script src="https://evil.example/x.js"></script><img src=https://evil.example/p.png>"\'\u202eabc'


def evil_instance() -> Instance:
    return grid_instance(node_names=tuple(EVIL for _ in range(N)), class_names=(EVIL, "b", "c"))


def drawn(instance: Instance, relaxed: bool = False) -> tuple[dict[str, Any], Reach]:
    result = certify(instance, ThreatModel(attr_add=1, attr_del=4, sigma=3, protected=[2]))
    found = reach(instance, result, relaxed=relaxed)
    assert found is not None
    return json.loads(json.dumps(drawing.data(instance, result, found, relaxed=relaxed))), found


def array(text: str, kind: Any) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype=kind)


def test_the_graph_travels_complete_and_by_itself() -> None:
    instance = grid_instance()
    data = json.loads(json.dumps(parts.graph_data(instance)))
    assert len(array(data["positions"], np.uint16)) == 2 * N
    assert np.array_equal(array(data["edges"], np.uint32).reshape(-1, 2), instance.graph.edges)
    assert data["names"][7] == "paper 7"
    right = array(data["right"], np.uint8)
    speaks = instance.base.fronts().clean
    assert np.array_equal(right == 2, ~speaks)
    assert np.array_equal(right == 1, speaks & (instance.labels == instance.prediction))
    again = parts.graph_data(grid_instance(node_names=tuple("abcdefghij" * 4)))
    assert again["version"] != data["version"], "another name is another graph: nobody sees names of somebody else"


@pytest.mark.parametrize("relaxed", [False, True])
def test_an_attack_travels_unrounded(relaxed: bool) -> None:
    data, found = drawn(grid_instance(), relaxed)
    assert np.array_equal(array(data["ends"], np.uint32).reshape(-1, 2), found.ends)
    assert np.array_equal(array(data["amounts"], np.float64).reshape(-1, len(TYPES)), found.amounts)
    assert found.inside is not None
    inside = array(data["inside"], np.uint32)
    assert np.array_equal(inside, found.targets[found.inside.indices])
    assert array(data["protected"], np.uint32).tolist() == [2]
    assert len(array(data["controlled"], np.uint32)) <= (N if relaxed else 3)
    if relaxed:
        assert np.array_equal(array(data["broken"], np.float64)[found.targets], found.broken)


def test_reach_that_is_too_much_ends_at_a_whole_site(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "MOST_REACH", 4)
    data, found = drawn(grid_instance())
    assert found.inside is not None
    start = array(data["start"], np.uint32)
    assert len(start) < len(found.inside.indptr)
    assert np.array_equal(array(data["inside"], np.uint32), found.targets[found.inside.indices[: start[-1]]])
    sites = range(len(found.ends))
    assert array(data["reach"], np.uint32).tolist() == [len(found.reached_by(s)) for s in sites], "counted all the same"
    assert array(data["breaks"], np.uint32).tolist() == [len(found.broken_by(s)) for s in sites]


@pytest.mark.parametrize("dark", [False, True])
def test_the_safest_margin_is_the_quietest(dark: bool) -> None:
    """Step by step nearer to the page, and never as bright a colour as what is lost."""
    tones = [[int(tone[k : k + 2], 16) for k in (1, 3, 5)] for tone in closeness_scale(dark)]
    assert len(tones) == 11
    light = [0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in tones]
    assert (np.diff(light) < 0).all() if dark else (np.diff(light) > 0).all()
    assert max(max(tone) - min(tone) for tone in tones) < 120 < 0xD5 - 0x00


def test_relaxed_adversary_says_that_it_is_no_attack() -> None:
    assert "not an attack" in drawn(grid_instance(), relaxed=True)[0]["alt"]


def test_the_two_tables_agree_with_the_attack() -> None:
    instance = grid_instance()
    result = certify(instance, ThreatModel(attr_add=1, attr_del=4))
    found = reach(instance, result)
    assert found is not None
    sites = attack.sites_table(instance, result, found, relaxed=False)
    assert sites["attribute additions"].sum() <= 1
    assert sites["attribute deletions"].sum() <= 4
    lost = attack.lost_table(instance, result, found, relaxed=False)
    assert len(lost) == found.lost.sum() <= (result.attack_found or 0)
    assert (lost["received attr −"] >= lost["needed attr −"]).all()


def test_what_the_browser_says_is_believed_only_as_far_as_it_makes_sense() -> None:
    nothing = view.Event()
    for said in (None, 3, "x", {}, {"open": 99}, {"open": True}, {"open": -1}, {"open": "3"}):
        assert view.read_event(said, N) == nothing
    assert view.read_event({"open": 3}, N) == view.Event("open", 3)
    assert view.read_event({"selected": [3, 3, -1, 40, "a", 5, True]}, N) == view.Event("selected", [3, 5])
    assert view.read_event({"chosen": None}, N) == view.Event("chosen")
    assert view.read_event({"chosen": {"node": 4, "as": "target"}}, N).value == {"node": 4, "as": "target"}
    assert view.read_event({"chosen": {"node": 400}}, N) == view.Event("chosen")
    moved = {"attr_del": 3, "sigma": None, "attr_add": -1, "adj_del": "7", "adj_add": 10**9}
    assert view.read_event({"move": moved}, N) == view.Event("move", {"attr_del": 3, "sigma": None})
    assert view.read_event({"only": [4, 9, "x"]}, N) == view.Event("only", [4])


def test_an_event_told_again_is_heard_once_and_in_its_order() -> None:
    first, second = {"chosen": None, "at": 5}, {"open": 3, "at": 7}
    assert view.fresh_events({"events": [second, first]}, 0) == [first, second]
    assert view.fresh_events({"events": [first, second]}, 5) == [second]
    for said in (None, 3, {}, {"events": 3}, {"events": [3, {"open": 1}, {"at": "x"}]}):
        assert view.fresh_events(said, 0) == []


def test_far_out_nodes_do_not_squeeze_the_rest() -> None:
    points = np.concatenate([np.random.default_rng(0).random((500, 2)), [[1000.0, 1000.0]]])
    fitted = parts.fitted(points)
    assert fitted.min() >= 0
    assert fitted.max() <= 65535
    assert np.ptp(fitted[:500, 0]) > 40_000


def test_far_out_nodes_keep_their_order_and_do_not_pile_up_at_the_border() -> None:
    far = np.array([[x, 0.5] for x in (3.0, 5.0, 9.0, 40.0, -4.0, -30.0)])
    points = np.concatenate([np.random.default_rng(0).random((2000, 2)), far])
    across = parts.fitted(points)[:, 0]
    order = np.argsort(points[-6:, 0])
    assert (np.diff(across[-6:][order]) > 0).all()
    assert across[-6:].min() < across[:2000].min()
    assert across[-6:].max() > across[:2000].max()
    assert len(np.unique(across[-6:])) == 6


def test_every_place_in_a_cell_can_be_clicked() -> None:
    values = np.array([0, 2, 9, 30])
    places, cell = charts.click_points(cell_edges(values), False)
    edges = [-0.5, 0.5, 2.5, 9.5, 30.5]
    assert set(cell.tolist()) == {0, 1, 2, 3}
    for place, number in zip(places, cell):
        assert edges[number] < place < edges[number + 1], "a point belongs to the cell it lies in"
    assert np.diff(places).max() < 31 / 20, "the largest cell is covered as densely as the others"


def test_neighbourhood_page_is_alone_in_the_world() -> None:
    instance = evil_instance()
    marks = neighbourhood.marks_of(instance, certify(instance, ThreatModel(attr_del=5)))
    near = neighbourhood.around(instance, 3, marks.spent.sum(axis=0))
    page = neighbourhood.html(instance, near, marks, dark=False, height=300)
    assert 'evil.example/x.js"></script>' not in page
    assert not re.search(r"<(script|link|img|iframe)\b[^>]*(src|href)\s*=\s*[\"']?https?:", page)
    assert "Content-Security-Policy" in page
    assert "\u202e" not in page


def test_marks_of_a_neighbourhood_are_those_of_the_workbench() -> None:
    """Discs in ink with signed numbers, squares and colours by state, edges of the attack in ink."""
    instance = grid_instance(("attr_del", "adj_del"))
    result = certify(instance, ThreatModel(attr_del=4, adj_del=2))
    marks = neighbourhood.marks_of(instance, result)
    near = neighbourhood.around(instance, 3, marks.spent.sum(axis=0), 8)
    for dark in (False, True):
        ink = TOKENS["ink"].dark if dark else TOKENS["ink"].light
        for node in near.nodes.tolist():
            drawn = neighbourhood._node(instance, near, node, 1, marks, dark)
            spent = int(marks.spent[TYPES.index("attr_del"), node])
            state = marks.states[node]
            if spent:
                assert (drawn["mark"], drawn["ink"]) == (f"−{spent}", ink)
            else:
                assert drawn.get("mark") == ("x" if state == TargetState.BEFORE else None)
                assert (drawn["shape"] == "square") == (state == TargetState.LOST)
                assert drawn["color"]["background"] == on_background(STATES[state].colour, dark)
        page = neighbourhood.html(instance, near, marks, dark=dark, height=300)
        assert page.count(f'"color": "{ink}", "dashes": [') == len(marks.deleted)
    assert (marks.spent[TYPES.index("attr_del")] > 0).any()
    assert len(marks.deleted)


@pytest.mark.parametrize("hops", [None, 1, 2, 3])
def test_hops_are_those_of_the_graph(hops: int | None) -> None:
    instance = grid_instance()
    distance = shortest_path(instance.graph.adjacency, unweighted=True, indices=3)
    near = neighbourhood.around(instance, 3, np.zeros(N), hops)
    within = neighbourhood.field(instance, 3).nodes.indices if hops is None else np.flatnonzero(distance <= hops)
    assert sorted(near.nodes.tolist()) == sorted(within.tolist())
    assert near.hops.tolist() == distance[near.nodes].tolist(), "0 for the node itself"


def test_search_finds_by_index_and_name() -> None:
    names = tuple(f"paper {i}" for i in range(N))
    assert search(names, N, "7")[0] == 7
    assert search(names, N, "paper 12")[0] == 12
    assert search(None, N, "99") == []
    assert search(None, N, "Node 12") == [12], "as nodes without a name are called"
    assert search(names, N, "") == []


def test_a_film_has_few_frames_and_ends_at_the_slider() -> None:
    for first, last, now in (
        (0, 1, 1),
        (0, 7, 7),
        (0, 30, 30),
        (0, 200, 200),
        (0, 5000, 5000),
        (7, 9, None),
        (3, 900, 421),
    ):
        values = axis.values_of(first, last, now)
        assert values[0] == first
        assert values[-1] == last
        assert now is None or now in values
        assert values == sorted(set(values))
        assert len(values) <= axis.MOST_FRAMES
    assert axis.values_of(7, 9) == [7, 8, 9]
