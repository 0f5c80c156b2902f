"""One picture of a graph: the same on the screen, in print and in interactive pages; and its table."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from certcore import ThreatModel, certify, export, figures
from certcore.common.errors import InputError
from certcore.domain.perturbations import TYPES
from certcore.figures import matplotlib_figure
from certcore.figures.geometry import GRAPH_ASPECT, graph_places
from certcore.figures.kinds import graph_nodes, graph_sites
from certcore.figures.kinds.graph import read_states
from certcore.figures.style import CLOSENESS, CORRECTNESS, LOST_COLOUR, SHARES, STATES, TOKENS, closeness_scale
from certcore.figures.tabular import tabular
from certcore.result.attack_effects import NO_TARGET
from certcore.result.states import TargetState
from certcore.workbench import parts as view
from tests.pages.toys import votes_instance

#: Top left, top right, bottom left, and one inside: as canvases count, downwards.
CORNERS = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 10.0], [1.0, 2.0]])

INK = TOKENS["ink"].light


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
    interactive = figures.plotly(_figure()).data[1]
    printed = {line.get_gid(): line for line in figures.matplotlib(_figure()).axes[0].lines}["nodes-0"]
    for places in (np.column_stack([interactive.x, interactive.y]), np.column_stack(printed.get_data())):
        assert np.allclose(_shape(places), screen, atol=2e-3)


def test_print_keeps_the_shape_of_the_picture() -> None:
    with matplotlib_figure.printing():
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
    sheet = figures.matplotlib(figure)
    printed = [" ".join(t.get_text().split()) for legend in sheet.legends for t in legend.get_texts()]
    # Where labels stand at the lines there is no legend, and marks are told apart by these.
    return [screen, *([" ".join(printed)] if printed else []), export.render(figure, "latex").decode()]


def test_the_band_is_in_the_legend() -> None:
    assert len(_legends(_family(10, 1, band=True))) == 3, "a band is explained in print too"
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
    assert "certified ratio (proven together): %{customdata[2]}" in cells.hovertemplate
    assert "%{text}" not in cells.hovertemplate


def test_printed_sites_have_their_numbers_and_do_not_sit_on_each_other() -> None:
    spent = np.zeros(len(CORNERS))
    spent[[0, 3]] = [3, 1]
    figure = _figure(spent=spent, spent_kind=np.array([1, 0, 0, 0]), deleted=[[0, 1]], amount=[1.0])
    found = graph_sites.marks_of(figure, np.zeros((4, 2)), 0.01)
    assert [mark.text for mark in found] == ["+1", "−1", "−3"], "the largest comes last, on top"
    for i, one in enumerate(found):
        for other in found[:i]:
            apart = np.hypot(one.place[0] - other.place[0], one.place[1] - other.place[1])
            assert apart > 0.95 * (one.radius + other.radius)


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
    assert ring.get_markeredgecolor() == INK
    bare = next(one for one in printed.collections if one.get_gid() == "controlled")
    assert len(bare.get_offsets()) == 1
    assert bare.get_zorder() > site.get_zorder(), "nothing covers it"
    # Marks keep off a ring that stands where they would.
    near = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 10.0], [0.05, 0.05]])
    crowded = figures.GraphFigure(positions=near, edges=[[0, 3]], state=[0] * 4, attackers=[0], deleted=[[0, 3]])
    where, unit = graph_places(near), 0.006
    (mark,) = graph_sites.marks_of(crowded, where, unit)
    assert np.hypot(*(np.array(mark.place) - where[0])) > 0.98 * (mark.radius + 3 * unit)
    page = figures.plotly(figure).data
    where = [trace for trace in page if trace.mode in ("markers", "markers+text") and trace.marker.opacity == 1]
    rings, shown = next((a, b) for a in where for b in where if a.mode == "markers" and a.x[0] in b.x and a is not b)
    assert rings.marker.size[0] > shown.marker.size[list(shown.x).index(rings.x[0])]
    assert len(page[-1].x) == 1, "the other one, on top"


def test_exports_show_how_close_the_rest_is() -> None:
    names = list(STATES)
    state = [names.index(TargetState.UNDECIDED), names.index(TargetState.ALONE), names.index(TargetState.LOST), 0]
    figure = figures.GraphFigure(
        positions=CORNERS, edges=[[0, 1]], state=state, margin=[1, 7, 0, NO_TARGET], palette="margin"
    )
    styled_nodes = {styled.members[0]: styled.colour for styled in graph_nodes.styled_nodes(figure)}
    ends = closeness_scale(False)[:: len(closeness_scale(False)) - 1]
    assert styled_nodes == {0: ends[0], 1: ends[1], 2: LOST_COLOUR, 3: STATES[names[0]].colour}
    told = [entry.text for entry in graph_nodes.entries(figure)]
    assert told[:3] == [
        "loses its certificate",
        "1 further flip can leave it uncertified (1)",
        "7 further flips can leave it uncertified (1)",
    ]
    by_state = replace(figure, palette="state")
    assert {styled.colour for styled in graph_nodes.styled_nodes(by_state)} == {STATES[names[k]].colour for k in state}
    printed = " ".join(" ".join(t.get_text().split()) for t in figures.matplotlib(figure).legends[0].get_texts())
    for text in told:
        assert text in printed
    assert ends[0] in {trace.marker.color for trace in figures.plotly(figure).data}
    column = figure.table().columns.index("further_flips")
    assert [row[column] for row in figure.table().rows[:4]] == [1, 7, 0, None]


def test_the_closer_a_label_is_to_being_lost_the_further_its_colour_is_from_the_page() -> None:
    """Grey steps were once as dark as violet ones, and the order could not be seen."""

    def grey(colour: str) -> float:
        return float(np.dot([int(colour[i : i + 2], 16) for i in (1, 3, 5)], [0.299, 0.587, 0.114]))

    light, dark = [grey(step.colour) for step in CLOSENESS], [grey(step.dark) for step in CLOSENESS]
    assert (np.diff(light) > 12).all()
    assert (np.diff(dark) < -6).all()


def _hub(**more: object) -> figures.GraphFigure:
    """A hub whose short edges are deleted, far from the corners; attributes are flipped at node 3."""
    around = [[46 + k, 46] for k in range(8)]
    places = np.array([[0, 0], [100, 0], [0, 100], [100, 100], [50, 50], *around])
    edges = np.array([[4, 5 + k] for k in range(8)])
    spent = np.zeros(len(places), dtype=np.int64)
    spent[3] = 2
    return figures.GraphFigure(
        positions=places, edges=edges, state=[4] * len(places), deleted=edges[:6], amount=[1] * 6, spent=spent,
        spent_kind=[0] * len(places),
        tally=[[1, 2, 5], [0, 0, 0], [0, 0, 0], [6, 6, 7], *[[0, 0, 0]] * (len(TYPES) - 4)],
        links=[[3, 3, 0], [4, 5, 6], [4, 5, 7]], lost=[0, 6, 7],
        names=[f"paper {k}" for k in range(len(places))], **more
    )  # type: ignore[arg-type]  # fmt: skip


def test_exports_say_how_much_of_the_budget_is_spent() -> None:
    figure = _hub()
    told = ["attacker: 1 site, 2 of 5 attribute additions", "attacker: 6 sites, 6 of 7 edge deletions"]
    legend = figures.matplotlib(figure).legends[0]
    found = {" ".join(text.get_text().split()): line for text, line in zip(legend.get_texts(), legend.get_lines())}
    assert {found[text].get_markerfacecolor() for text in told} == {INK}, "the attacker is ink, as on the screen"
    for text in told:
        assert text in {trace.name for trace in figures.plotly(figure).data}
    assert "deletions" not in " ".join(text for _, text in graph_sites.entries(_figure(added=[[1, 2]])))


def test_exports_connect_sites_with_the_labels_they_break() -> None:
    figure = _hub()
    where = graph_places(figure.positions)
    lines = [line.get_xydata() for line in figures.matplotlib(figure).axes[0].lines if line.get_gid() == "links"]
    assert {tuple(path[1::3].ravel().round(6)) for path in lines} == {
        tuple(where[[0]].ravel().round(6)), tuple(where[[6, 7]].ravel().round(6)),
    }  # fmt: skip
    assert graph_sites.LINKS_LABEL in {trace.name for trace in figures.plotly(figure).data}
    alone = figures.plotly(_figure(spent=[1, 0, 0, 0])).data
    assert graph_sites.LINKS_LABEL not in {trace.name for trace in alone}


def test_names_of_sites_cover_nothing() -> None:
    figure, unit = _hub(), 1.66 / (72 * 3.3)
    marks = graph_sites.marks_of(figure, graph_places(figure.positions), unit)
    assert {mark.name for mark in marks if mark.box} == {"paper 3", *(f"paper 4 – paper {5 + k}" for k in range(6))}
    boxes = [mark.box for mark in marks if mark.box] + [graph_sites._around(mark.place, mark.radius) for mark in marks]
    for k, (left, bottom, right, top) in enumerate(boxes):
        for other in boxes[:k]:
            apart = (left >= other[2], right <= other[0], bottom >= other[3], top <= other[1])
            # Marks are circles, which their boxes are a little larger than.
            assert any(apart) or k >= len(marks), (k, boxes[k], other)
    where = graph_places(figure.positions)
    for mark in marks:  # short edges are not hidden below marks
        for a, b in figure.deleted.tolist() if mark.is_edge else []:  # type: ignore[union-attr]
            along = where[a] + np.linspace(0, 1, 50)[:, None] * (where[b] - where[a])
            assert np.linalg.norm(along - mark.place, axis=1).min() > 0.9 * mark.radius
    texts = {text for trace in figures.plotly(figure).data if trace.mode == "text" for text in trace.text}
    assert "paper 3" in texts
    assert "paper 4 – paper 5" in texts


def test_a_zoomed_export_shows_the_attack_and_says_what_it_counts() -> None:
    far = figures.GraphFigure(
        positions=_hub().positions, edges=_hub().edges, state=[4] * 13, deleted=_hub().deleted, lost=[6, 7], zoomed=True
    )
    before, after = graph_places(far.positions), far.places()
    assert np.linalg.norm(after[4] - after[5]) > 3 * np.linalg.norm(before[4] - before[5])
    assert ((after[4:11] >= 0) & (after[4:11] <= [GRAPH_ASPECT, 1])).all(), "all that is hit"
    assert "count the whole graph" in export.render(far, "html").decode()
    (nodes,) = (line for line in figures.matplotlib(far).axes[0].lines if (line.get_gid() or "").startswith("nodes-"))
    assert len(nodes.get_xdata()) == 8, "the corners and one neighbour that keeps its edge are out of the picture"


def test_exports_are_coloured_as_the_screen_is() -> None:
    tiny = votes_instance()
    found = certify(tiny, ThreatModel(attr_del=2))
    lost = np.flatnonzero(found.states(tiny.base.fronts()) == TargetState.LOST)
    assert len(lost)
    for palette in ("class", "correct", "margin", "state"):
        figure = figures.graph_figure(tiny, found, palette=palette)
        styled_nodes = graph_nodes.styled_nodes(figure)
        squares = [styled for styled in styled_nodes if styled.label == STATES[TargetState.LOST].label]
        assert np.array_equal(np.sort(np.concatenate([styled.members for styled in squares])), lost)
        assert all(bool(styled.outline) == (palette in ("class", "correct")) for styled in squares)
        told = " ".join(entry.text for entry in graph_nodes.entries(figure))
        assert "loses its certificate" in told
        assert ("label is right" in told) == (palette == "correct")
        assert (CORRECTNESS["label is wrong"].colour in {styled.colour for styled in styled_nodes}) == (
            palette == "correct"
        )
        assert figures.plotly(figure).data
        assert figures.matplotlib(figure)
    on_model = figures.graph_figure(tiny, found, changed=lost[:1])
    tones = {styled.colour: styled.members for styled in graph_nodes.styled_nodes(on_model)}
    assert np.array_equal(tones[TOKENS["changed"].light], lost[:1])
    assert "label changed (1)" in [entry.text for entry in graph_nodes.entries(on_model)]
    column = on_model.table().columns.index("changed")
    assert [row[column] for row in on_model.table().rows if row[0] == "node"].count(True) == 1
    few = figures.graph_figure(tiny, found, only=[TargetState.LOST])
    assert few.faded is not None
    assert len(few.faded) == tiny.graph.n_nodes - len(lost)
    with pytest.raises(InputError, match="no state 'nobody'"):
        read_states("lost,nobody")


def test_the_relaxed_adversary_is_exported_by_its_fractions() -> None:
    figure = _figure(broken=[0.0, 0.1, 0.5, 1.0], relaxed=True)
    colours = {int(node): styled.colour for styled in graph_nodes.styled_nodes(figure) for node in styled.members}
    assert [SHARES.index(colours[node]) for node in (1, 2, 3)] == [1, 3, 5]
    told = [entry.text for entry in graph_nodes.entries(figure)]
    assert told[0] == "broken by a fraction u of 0 to 0.2 (1)", "what is broken comes first"
    assert "loses" not in " ".join(told)


def test_a_graph_has_no_latex_source() -> None:
    assert "latex" not in {format.key for format in export.formats(_figure())}
    assert "latex" in {format.key for format in export.formats(_family(2, 1))}
    with pytest.raises(InputError, match=r"graphs leave as PDF, SVG, PNG and HTML; export it as PDF"):
        export.render(_figure(), "latex")
