"""One picture of a graph: the same on the screen, in print, in LaTeX and in interactive pages; and its table."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from certcore import export, figures
from certcore.figures import latex, sheet
from certcore.figures.geometry import GRAPH_ASPECT, graph_places
from certcore.figures.kinds import graph_nodes, graph_sites
from certcore.figures.style import BLACK, CLOSENESS, LOST_COLOUR, STATES, TYPE_COLOURS
from certcore.figures.tabular import tabular
from certcore.result.reach import NO_TARGET
from certcore.result.states import TargetState
from pages.canvas import view

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
const graph = {{ aspect: {GRAPH_ASPECT}, xy: decode({packed}, Uint16Array) }};
Object.assign(panel, {{ width: {width}, height: {height}, owner: {{ graph, zoom: 1, panX: 0, panY: 0 }} }});
console.log(JSON.stringify([0, 1, 2, 3].map((node) => panel.place(node))));"""
    done = subprocess.run([node, "-e", code], capture_output=True, text=True, check=True)
    places = np.array(json.loads(done.stdout))
    return np.column_stack([places[:, 0], -places[:, 1]])


def _shape(places: np.ndarray) -> np.ndarray:
    """A picture without its place and size: not mirrored, not stretched means equal."""
    return (places - places[2]) / (places[0, 1] - places[2, 1])


@pytest.mark.parametrize("room", [(1100, 620), (360, 560), (2000, 400)])
def test_exports_show_the_picture_of_the_screen(room: tuple[float, float]) -> None:
    screen = _shape(_on_screen(*room))
    interactive = figures.plotly(_figure()).data[1]
    printed = {line.get_gid(): line for line in figures.matplotlib(_figure()).axes[0].lines}["nodes-0"]
    tikz = re.search(r"only marks.*?coordinates \{(.*?)\}", export.render(_figure(), "latex").decode(), re.S)
    assert tikz is not None
    source = [tuple(map(float, pair)) for pair in re.findall(r"\(([-\d.]+),([-\d.]+)\)", tikz[1])]
    for places in (
        np.column_stack([interactive.x, interactive.y]),
        np.column_stack(printed.get_data()),
        np.array(source),
    ):
        assert np.allclose(_shape(places), screen, atol=2e-3)


def test_print_keeps_the_shape_of_the_picture() -> None:
    with sheet.printing():
        drawn = figures.matplotlib(_figure(), width="two-column")
        drawn.draw_without_rendering()
    box, axes = drawn.axes[0].get_window_extent(), drawn.axes[0]
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    assert box.width / (right - left) == pytest.approx(box.height / (top - bottom), rel=1e-6)
    assert top > bottom
    page = figures.plotly(_figure()).layout
    assert page.yaxis.scaleanchor == "x"
    assert page.yaxis.range[0] < page.yaxis.range[1]


def _attack(n: int = 3000) -> figures.GraphFigure:
    spent = np.zeros(n, dtype=np.int64)
    spent[[17, 1234, 2999]] = [2, 6, 1]
    rng = np.random.default_rng(0)
    edges = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    state = rng.integers(0, len(STATES), n)
    return figures.GraphFigure(
        positions=rng.normal(size=(n, 2)), edges=edges, state=state, spent=spent, attackers=np.arange(0, n, 11)
    )


def test_the_table_of_an_attack_begins_with_the_nodes_hit_and_their_amounts() -> None:
    full = _attack().paper_table()
    node, spent = full.columns.index("node"), full.columns.index("spent")
    assert [(row[node], row[spent]) for row in full.rows[:3]] == [(1234, 6), (17, 2), (2999, 1)]
    lines = [line for line in tabular(_attack()).split("\n") if line.endswith(r"\\")]
    assert "1234" in lines[1]
    assert "1,234" not in tabular(_attack())
    assert "2999" in lines[3]


def test_a_table_that_is_cut_says_so_where_it_is_read() -> None:
    source = tabular(_attack(), max_rows=10)
    body = source.split(r"\midrule")[1]
    count = len(_attack().paper_table().rows)
    assert f"the first 10 of {count} rows" in body
    assert f"the first 10 of {count} rows" in source.split(r"\begin")[0]
    assert "the first" not in tabular(_attack(), max_rows=count)


def test_edges_of_an_attack_are_in_its_table() -> None:
    figure = _figure(deleted=[[0, 2]], amount=[1], added=[[1, 3]])
    full = figure.paper_table()
    assert [row[:3] for row in full.rows] == [("edge", 0, 2), ("added edge", 1, 3)]


def _family(count: int, groups: int, band: bool = False) -> figures.CurveFigure:
    values = np.arange(count)
    ratio = np.linspace(1, 0, count)
    more = {"low": np.clip(ratio - 0.1, 0, 1), "high": np.clip(ratio + 0.1, 0, 1)} if band else {}
    lines = [figures.Line(values=values, ratio=ratio, name=f"line {g}", group=g, **more) for g in range(groups)]
    return figures.CurveFigure(lines=tuple(lines))


def _legends(figure: figures.CurveFigure) -> list[str]:
    """What the legends say on the screen, in print and in LaTeX."""
    screen = " ".join(str(t.name) for t in figures.plotly(figure).data if t.showlegend is not False)
    printed = " ".join(" ".join(t.get_text().split()) for t in figures.matplotlib(figure).legends[0].get_texts())
    return [screen, printed, export.render(figure, "latex").decode()]


def test_the_band_is_in_the_legend() -> None:
    for legend in _legends(_family(10, 1, band=True)):
        assert "one sample deviation over splits" in legend
    for legend in _legends(_family(10, 1)):
        assert "over splits" not in legend
    bands = [t for t in figures.plotly(_family(4, 1, band=True)).data if t.fill == "toself"]
    assert [t.mode for t in bands] == ["lines"], "left to itself Plotly marks the corners of a short band"


def test_marks_stand_at_all_values_or_the_legend_says_that_they_do_not() -> None:
    for legend in _legends(_family(200, 3)):
        assert "not every value has one" in legend
    for figure in (_family(20, 3), _family(200, 1)):
        for legend in _legends(figure):
            assert "not every value has one" not in legend
    few = [t for t in figures.plotly(_family(20, 3)).data if t.mode == "lines+markers"]
    assert all(t.marker.maxdisplayed == 0 and t.marker.opacity == 1 for t in few)
    alone = next(t for t in figures.plotly(_family(200, 1)).data if t.mode == "lines+markers")
    assert alone.marker.opacity == 0, "dashes tell the kinds apart; marks would look like the data"
    drawn = {line.get_gid(): line for line in figures.matplotlib(_family(200, 1)).axes[0].lines}["series-0-collective"]
    assert drawn.get_marker() in (None, "None", "")


def test_the_tooltip_over_the_cells_of_a_page_names_its_number() -> None:
    from pages.parts import charts
    from tests.figures.samples import contour

    cells = charts._cells(contour())
    assert "certified ratio (collective): %{customdata[2]}" in cells.hovertemplate
    assert "%{text}" not in cells.hovertemplate


def test_printed_sites_have_their_numbers_and_do_not_sit_on_each_other() -> None:
    spent = np.zeros(len(CORNERS))
    spent[[0, 3]] = [3, 1]
    figure = _figure(spent=spent, spent_kind=np.array([1, 0, 0, 0]), deleted=[[0, 1]], amount=[1.0])
    found = graph_sites.marks_of(figure, np.zeros((4, 2)), 0.01)
    assert [mark.text for mark in found] == ["1", "1", "3"], "the largest comes last, on top"
    assert {mark.colour for mark in found} == {TYPE_COLOURS[0], TYPE_COLOURS[1], TYPE_COLOURS[3]}
    for i, one in enumerate(found):
        for other in found[:i]:
            apart = np.hypot(one.place[0] - other.place[0], one.place[1] - other.place[1])
            assert apart > 0.95 * (one.radius + other.radius)
    assert "2 nodes, 4 flips" in graph_sites.legend_text(figure)
    text = figure.draw_latex(8.5)
    assert text.count("circle[radius=") == 3
    assert "2 nodes, 4 flips" in text


def test_controlled_nodes_are_ringed_around_their_marks() -> None:
    """Node 3 spends and has a mark, which would cover a ring below it; node 0 is controlled and spends nothing."""
    figure = _figure(attackers=[0, 3], spent=[0, 0, 0, 4], deleted=[[0, 1]])
    printed = figures.matplotlib(figure).axes[0]
    lines = {line.get_gid(): line for line in printed.lines}
    ring = lines["site-held"]
    marks = [line for line in printed.lines if line.get_gid() == "site"]
    assert len(marks) == 2, "a node and an edge"
    site = next(line for line in marks if np.array_equal(line.get_xydata(), ring.get_xydata()))
    assert ring.get_markersize() - ring.get_markeredgewidth() > site.get_markersize() + site.get_markeredgewidth() - 1
    assert ring.get_markeredgecolor() == BLACK
    bare = next(one for one in printed.collections if one.get_gid() == "attacker")
    assert len(bare.get_offsets()) == 1
    assert bare.get_zorder() > site.get_zorder(), "nothing covers it"
    # Marks keep off a ring that stands where they would.
    near = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 10.0], [0.05, 0.05]])
    crowded = figures.GraphFigure(positions=near, edges=[[0, 3]], state=[0] * 4, attackers=[0], deleted=[[0, 3]])
    where, unit = graph_places(near), 0.006
    (mark,) = graph_sites.marks_of(crowded, where, unit)
    assert np.hypot(*(np.array(mark.place) - where[0])) > 0.98 * (mark.radius + 3 * unit)
    source = export.render(figure, "latex").decode()
    circles = re.findall(r"\\draw\[draw=(\w+).*?\] (\(.*?\)) circle\[radius=([\d.]+)pt\]", source)
    assert len(circles) == 3
    pair = [circle for circle in circles if sum(circle[1] == other[1] for other in circles) == 2]
    (black, _, outer), (_, _, inner) = pair
    assert float(outer) > float(inner) + 0.5
    assert black == latex.colour(BLACK)
    rings, shown = figures.plotly(figure).data[-2:]
    number = list(shown.x).index(rings.x[0])
    assert rings.marker.size[0] > shown.marker.size[number]


def test_exports_show_how_close_the_rest_is() -> None:
    names = list(STATES)
    state = [names.index(TargetState.UNDECIDED), names.index(TargetState.ALONE), names.index(TargetState.LOST), 0]
    figure = figures.GraphFigure(positions=CORNERS, edges=[[0, 1]], state=state, margin=[1, 7, 0, NO_TARGET])
    looks = {look.members[0]: look.colour for look in graph_nodes.looks(figure)}
    assert looks == {0: CLOSENESS[0].colour, 1: CLOSENESS[3].colour, 2: LOST_COLOUR, 3: STATES[names[0]].colour}
    told = [text for _, _, text in graph_nodes.entries(figure)]
    assert told[:3] == [
        "loses its certificate (1)",
        "uncertified after 1 further flip (1)",
        "uncertified after 6–10 further flips (1)",
    ]
    printed = " ".join(" ".join(t.get_text().split()) for t in figures.matplotlib(figure).legends[0].get_texts())
    for text in told:
        assert text in printed
    assert CLOSENESS[0].colour in {trace.marker.color for trace in figures.plotly(figure).data}
    assert "uncertified after 1 further flip (1)" in figure.draw_latex(8.5)
    column = figure.table().columns.index("further_flips")
    assert [row[column] for row in figure.table().rows[:4]] == [1, 7, 0, None]


def test_the_closer_a_label_is_to_being_lost_the_further_its_colour_is_from_the_page() -> None:
    """Grey steps were once as dark as violet ones, and the order could not be seen."""

    def grey(colour: str) -> float:
        return float(np.dot([int(colour[i : i + 2], 16) for i in (1, 3, 5)], [0.299, 0.587, 0.114]))

    light, dark = [grey(step.colour) for step in CLOSENESS], [grey(step.dark) for step in CLOSENESS]
    assert (np.diff(light) > 12).all()
    assert (np.diff(dark) < -6).all()
