"""The printed graph: the same picture as on the screen, with the attack on it; and its table."""

from __future__ import annotations

import json
import shutil
import subprocess

import numpy as np
import pytest

from certcore import ThreatModel, certify, figures
from certcore.domain.perturbations import INJECT
from certcore.figures.geometry import GRAPH_ASPECT
from certcore.figures.graph import _with_new, marks_of, styled_nodes
from certcore.figures.page import printing
from certcore.figures.style import CORRECTNESS, SHARES, STATES, TOKENS
from certcore.result.attack_effects import reach
from certcore.result.states import TargetState
from certcore.workbench import parts as view
from tests.pages.toys import ballots_instance, votes_instance

#: Top left, top right, bottom left, and one inside: as canvases count, downwards.
CORNERS = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 10.0], [1.0, 2.0]])


def _figure(**more: object) -> figures.GraphFigure:
    state = np.zeros(len(CORNERS), dtype=np.int64)
    return figures.GraphFigure(positions=CORNERS, edges=[[0, 1], [0, 2]], state=state, **more)  # type: ignore[arg-type]


def _on_screen(width: float, height: float) -> np.ndarray:
    """Where the canvas of the dashboard puts the nodes, by its own script; the last column counts upwards."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node to run the script of the canvas")
    packed = json.dumps(view.pack(view.fitted(CORNERS), np.uint16))
    code = f"""{view.script()}
const panel = Object.create(Panel.prototype);
const graph = {{ n: 4, aspect: {GRAPH_ASPECT}, xy: decode({packed}, Uint16Array) }};
const room0 = {{ left: 0, top: 0, right: {width}, bottom: {height} }};
Object.assign(panel, {{ width: {width}, height: {height}, room0, owner: {{ graph, zoom: 1, panX: 0, panY: 0 }} }});
console.log(JSON.stringify([0, 1, 2, 3].map((node) => panel.place(node))));"""
    done = subprocess.run([node, "-"], input=code, capture_output=True, text=True, check=True)
    places = np.array(json.loads(done.stdout))
    return np.column_stack([places[:, 0], -places[:, 1]])


def _shape(places: np.ndarray) -> np.ndarray:
    """A picture without its place and size: not mirrored, not stretched means equal."""
    return (places - places[2]) / (places[0, 1] - places[2, 1])


@pytest.mark.parametrize("room", [(1100, 620), (360, 560), (2000, 400)])
def test_exports_show_the_picture_of_the_screen(room: tuple[float, float]) -> None:
    screen = _shape(_on_screen(*room))
    printed = {line.get_gid(): line for line in _figure().matplotlib().axes[0].lines}["nodes-0"]
    assert np.allclose(_shape(np.column_stack(printed.get_data())), screen, atol=2e-3)


def test_print_keeps_the_shape_of_the_picture() -> None:
    with printing():
        drawn = _figure().matplotlib("two-column")
        drawn.draw_without_rendering()
    box, axes = drawn.axes[0].get_window_extent(), drawn.axes[0]
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    assert box.width / (right - left) == pytest.approx(box.height / (top - bottom), rel=1e-6)
    assert top > bottom


def _attack(n: int = 3000) -> figures.GraphFigure:
    spent = np.zeros(n, dtype=np.int64)
    spent[[17, 1234, 2999]] = [2, 6, 1]
    rng = np.random.default_rng(0)
    edges = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    state = rng.integers(0, len(STATES), n)
    return figures.GraphFigure(
        positions=rng.normal(size=(n, 2)), edges=edges, state=state, spent=spent, attackers=np.arange(0, n, 11)
    )


def test_the_table_of_an_attack_begins_with_the_nodes_hit_and_says_what_it_leaves_out() -> None:
    full = _attack().paper_table()
    node, spent = full.columns.index("node"), full.columns.index("spent")
    assert [(row[node], row[spent]) for row in full.rows[:3]] == [(1234, 6), (17, 2), (2999, 1)]
    source = _attack().tex()
    lines = [line for line in source.split("\n") if line.endswith(r"\\")]
    assert "1234" in lines[1]
    assert "1,234" not in source
    assert "2999" in lines[3]
    count = len(full.rows)
    assert f"40 of {count} rows, the first ones" in source.split(r"\midrule")[1]
    assert f"40 of {count} rows" in source.split(r"\begin")[0]
    assert "first ones" not in _figure(deleted=[[0, 2]]).tex()


def test_edges_of_an_attack_are_in_its_table() -> None:
    figure = _figure(deleted=[[0, 2]], amount=[1], added=[[1, 3]])
    assert [row[:3] for row in figure.paper_table().rows] == [("edge", 0, 2), ("added edge", 1, 3)]
    lines = {line.get_gid(): line for line in figure.matplotlib().axes[0].lines}
    assert lines["deleted-edges"].get_linestyle() == "--"
    assert lines["added-edges"].get_linestyle() == "-"


def test_attacked_nodes_have_their_numbers_and_controlled_ones_a_ring() -> None:
    spent = np.zeros(len(CORNERS))
    spent[[0, 3]] = [3, 1]
    figure = _figure(spent=spent, spent_kind=np.array([1, 0, 0, 0]), attackers=[1, 3])
    found = marks_of(figure, CORNERS)
    assert [mark.text for mark in found] == ["−3", "+1"], "the largest comes first and is drawn last"
    assert [mark.controlled for mark in found] == [False, True]
    axes = figure.matplotlib().axes[0]
    assert [text.get_text() for text in axes.texts if text.get_gid() == "flips"] == ["+1", "−3"]
    lines = [line for line in axes.lines if line.get_gid() in ("ring", "site", "controlled")]
    ring = next(line for line in lines if line.get_gid() == "ring")
    site = next(
        line for line in lines if line.get_gid() == "site" and np.array_equal(line.get_xydata(), ring.get_xydata())
    )
    assert ring.get_markersize() > site.get_markersize()
    bare = next(line for line in lines if line.get_gid() == "controlled")
    assert len(bare.get_xydata()) == 1, "the other one has a mark"


def test_names_of_attacked_nodes_cover_neither_marks_nor_each_other() -> None:
    rng = np.random.default_rng(4)
    spent = np.zeros(60, dtype=np.int64)
    spent[:14] = rng.integers(1, 9, 14)
    figure = figures.GraphFigure(
        positions=rng.random((60, 2)),
        edges=[[0, 1]],
        state=[0] * 60,
        spent=spent,
        names=[f"paper {k}" for k in range(60)],
    )
    with printing():
        drawn = figure.matplotlib()
        drawn.draw_without_rendering()
    texts = drawn.axes[0].texts
    names = [text for text in texts if text.get_gid() == "site-name"]
    assert 2 <= len(names) <= 8
    assert all(text.get_fontsize() >= 6 for text in texts)
    boxes = [text.get_window_extent() for text in names] + [
        text.get_window_extent() for text in texts if text.get_gid() == "flips"
    ]
    assert not any(a.overlaps(b) for k, a in enumerate(boxes[: len(names)]) for b in boxes[k + 1 :])


def test_the_legend_has_one_row_and_few_words() -> None:
    names = list(STATES)
    for spent in (None, [1, 0, 0, 0]):
        state = [names.index(TargetState.UNDECIDED), names.index(TargetState.LOST), names.index(TargetState.BEFORE), 1]
        figure = figures.GraphFigure(positions=CORNERS, edges=[[0, 1]], state=state, spent=spent)
        (legend,) = figure.matplotlib().legends
        assert legend._ncols == len(legend.get_texts())
        told = [text.get_text() for text in legend.get_texts()]
        assert {"lost (1)", "not lost", "certified", "uncertified"} <= set(told)


def test_graphs_are_coloured_as_the_screen_is() -> None:
    tiny = votes_instance()
    found = certify(tiny, ThreatModel(attr_del=2))
    lost = np.flatnonzero(found.states(tiny.base.fronts()) == TargetState.LOST)
    assert len(lost)
    for palette in ("class", "correct", "state"):
        styled = styled_nodes(figures.graph_figure(tiny, found, palette=palette))
        squares = [one for one in styled if one.label.startswith("lost")]
        assert np.array_equal(np.sort(np.concatenate([one.members for one in squares])), lost)
        assert all(bool(one.outline) == (palette != "state") for one in squares)
        assert (CORRECTNESS["label is wrong"].colour in {one.colour for one in styled}) == (palette == "correct")
    on_model = figures.graph_figure(tiny, found, changed=lost[:1])
    tones = {one.colour: one.members for one in styled_nodes(on_model)}
    assert np.array_equal(tones[TOKENS["changed"].light], lost[:1])
    column = on_model.table().columns.index("label changed")
    assert [row[column] for row in on_model.table().rows if row[0] == "node"].count(True) == 1


def test_the_relaxed_adversary_is_drawn_by_its_fractions_and_is_no_attack() -> None:
    figure = _figure(broken=[0.0, 0.1, 0.5, 1.0], relaxed=True, spent=[0.4, 0, 0, 0])
    colours = {int(node): one.colour for one in styled_nodes(figure) for node in one.members}
    assert [SHARES.index(colours[node]) for node in (1, 2, 3)] == [1, 3, 5]
    told = [text.get_text() for text in figure.matplotlib().legends[0].get_texts()]
    assert not any("attack" in text or "lost" in text for text in told)
    assert "not an attack" in figure.description()


def test_every_new_node_has_a_mark_and_its_lines() -> None:
    instance = ballots_instance()
    found = certify(instance, inject=3, inject_edges=2, adj_del=1)
    assert found.attack is not None
    joined = found.attack.injected
    sites = reach(instance, found)
    assert sites is not None
    new = sites.amounts[:, INJECT] > 0
    assert sorted(sites.ends[new, 0].tolist()) == np.unique(joined[:, 0]).tolist()
    n = instance.graph.n_nodes
    for site in np.flatnonzero(new).tolist():
        mine = joined[joined[:, 0] == sites.ends[site, 0], 1]
        assert set(sites.targets[sites.reached_by(site)]) == set(mine) & set(sites.targets)
    figure = figures.graph_figure(instance, found)
    where = _with_new(figure, np.random.default_rng(0).random((n, 2)))
    assert sum(mark.name.startswith("new ") for mark in marks_of(figure, where)) == new.sum()
    assert (where[n:, 0] == GRAPH_ASPECT).all(), "at the right of the graph"
    path = next(line for line in figure.matplotlib().axes[0].lines if line.get_gid() == "new-edges")
    assert len(path.get_xdata()) == 3 * len(joined)
