"""Drawings: every type, on screen, in print and in LaTeX; readable, unclipped, distinguishable without colour."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest
from matplotlib.text import Text

from certcore import figures
from certcore.figures import style
from certcore.figures.latex import standalone
from certcore.figures.matplotlib_figure import printing
from certcore.figures.print_style import PrintStyle
from certcore.figures.tabular import tabular
from tests.figures.samples import HOSTILE, all_figures, bars, contour, curve, graph

ALL = all_figures()


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("width", ["one-column", "two-column"])
def test_no_label_is_clipped_or_too_small(name: str, width: str) -> None:
    figure = dataclasses.replace(ALL[name], title="A title of some length")
    drawn = figures.matplotlib(figure, width=width, title=True)
    assert _check_labels(drawn) > 3
    assert drawn.get_size_inches()[0] * 2.54 == pytest.approx(style.WIDTHS[width])


def _check_labels(drawn: Any) -> int:
    """Every label is inside the figure and large enough; returns how many there are."""
    with printing():
        drawn.draw_without_rendering()
        hidden = {label for axes in drawn.axes for label in _tick_labels(axes, drawn=False)}
        hidden -= {label for axes in drawn.axes for label in _tick_labels(axes, drawn=True)}
        shown = [text for text in drawn.findobj(Text) if text.get_visible() and text.get_text().strip()]
        shown = [text for text in shown if id(text) not in hidden]
        for text in shown:
            assert text.get_fontsize() >= 6, text.get_text()
            where, box = text.get_window_extent(), drawn.bbox
            beyond = max(box.x0 - where.x0, where.x1 - box.x1, box.y0 - where.y0, where.y1 - box.y1)
            assert beyond <= 1, f"{text.get_text()!r} at {where} leaves {box}"
    return len(shown)


def _tick_labels(axes: Any, *, drawn: bool) -> set[int]:
    """Tick labels of an axis; ticks beyond its limits exist but are not drawn."""
    found: set[int] = set()
    for axis in (axes.xaxis, axes.yaxis):
        if drawn and not axes.axison:
            continue
        ticks = axis._update_ticks() if drawn else [*axis.get_major_ticks(), *axis.get_minor_ticks()]
        found |= {id(label) for tick in ticks for label in (tick.label1, tick.label2)}
    return found


@pytest.mark.parametrize("width", ["one-column", "two-column"])
def test_long_names_are_wrapped_or_cut(width: str) -> None:
    name = "Citeseer with a robust attention network and a very long name"
    line = figures.Line(values=[0, 1, 2], ratio=[1, 0.5, 0], name=name, average_radius=1234.5)
    other = dataclasses.replace(line, group=1, kind="naive")
    long = [
        figures.CurveFigure(lines=(line, other), x_label=name + " " + name),
        figures.CompareFigure(
            lines=(line, other), columns=("a", "accuracy", "r̄"), rows=((name, 0.5, 1.0), ("b", 1, 2))
        ),
        bars((name, name, "x")),
        figures.DistributionFigure(
            edges=[0, 1], series=(figures.Bars(label=name, values=[3]),), thresholds=((name, 0.99),), label=name + name
        ),
    ]
    for figure in long:
        _check_labels(figures.matplotlib(figure, width=width))


def test_a_long_legend_does_not_squeeze_the_axes() -> None:
    lines = tuple(dataclasses.replace(curve().lines[0], name=f"σ = {k}", group=k) for k in range(12))
    drawn = figures.matplotlib(figures.CurveFigure(lines=lines))
    drawn.draw_without_rendering()
    assert drawn.axes[0].get_window_extent().height / drawn.dpi > 1.5


def test_lines_differ_without_colour() -> None:
    for figure in (ALL["curve"], ALL["curve-log"], ALL["compare-attr_del"]):
        axes = figures.matplotlib(figure).axes[0]
        looks = [
            (str(line._dash_pattern), line.get_marker())
            for line in axes.lines
            if str(line.get_gid()).startswith("series")
        ]
        assert len(looks) == len(figure.lines)
        assert len(set(looks)) == len(looks)


def test_states_and_kinds_differ_without_colour() -> None:
    markers = [state.marker.print for state in style.STATES.values()]
    assert len(set(markers)) == len(markers)
    assert len({str(kind.dash.print) for kind in style.KINDS.values()}) == len(style.KINDS)
    assert len({kind.hatch for kind in style.KINDS.values()}) == len(style.KINDS)


def test_no_title_unless_asked() -> None:
    figure = dataclasses.replace(curve(), title="Only when asked")
    assert figures.matplotlib(figure).get_suptitle() == ""
    assert figures.matplotlib(figure, title=True).get_suptitle() == "Only when asked"
    assert figures.plotly(figure).layout.title.text is None
    assert "Only when asked" not in standalone(figure)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", ALL)
def test_screen_figures_have_alt_text_and_a_background(name: str, dark: bool) -> None:
    screen = figures.plotly(ALL[name], dark=dark)
    assert screen.layout.meta["alt"] == figures.alt_text(ALL[name])
    assert screen.layout.paper_bgcolor == ("#0E1117" if dark else "#FFFFFF")
    assert figures.plotly(ALL[name], dark=dark, transparent=True).layout.paper_bgcolor == "rgba(0,0,0,0)"
    assert figures.PLOTLY_CONFIG["showSendToCloud"] is False


def test_screen_curve_plots_the_numbers_and_carries_budgets() -> None:
    figure = ALL["curve-log"]
    traces = [
        t for t in figures.plotly(figure).data if t.mode == "lines+markers" and not str(t.name).startswith("band")
    ]
    assert len(traces) == len(figure.lines)
    for trace, line in zip(traces, figure.lines):
        assert np.array_equal(trace.y, line.ratio)
        assert [cell[0] for cell in trace.customdata] == line.values.tolist()
        assert trace.line.shape == "vh", "between two budgets the larger one counts"
    assert traces[0].x[0] == 0.5


def test_print_curve_plots_the_numbers() -> None:
    figure = curve()
    lines = [line for line in figures.matplotlib(figure).axes[0].lines if str(line.get_gid()).startswith("series")]
    for drawn, line in zip(lines, figure.lines):
        assert np.array_equal(drawn.get_ydata(), line.ratio)
        assert drawn.get_drawstyle() == "steps-pre"


def test_screen_map_has_a_cell_for_every_pair() -> None:
    figure = contour("difference")
    heat = figures.plotly(figure).data[0]
    assert np.array_equal(np.asarray(heat.z), (figure.ratio - figure.reference).T)
    assert list(heat.customdata[5][2][:2]) == [2, 5]


def test_large_graphs_are_drawn_by_webgl_small_ones_are_not() -> None:
    assert figures.plotly(graph(100)).data[0].type == "scatter"
    ring = np.column_stack([np.arange(7000), (np.arange(7000) + 1) % 7000])
    large = figures.GraphFigure(
        positions=np.random.default_rng(0).random((7000, 2)), edges=ring, state=np.zeros(7000, dtype=int)
    )
    assert figures.plotly(large).data[0].type == "scattergl"


@pytest.mark.parametrize("name", ALL)
def test_latex_is_well_formed(name: str) -> None:
    if ALL[name].has_latex:
        check_latex(standalone(ALL[name], PrintStyle(title=True)))
    check_latex(tabular(ALL[name]))


def check_latex(source: str) -> None:
    """Braces and environments close, nothing beyond Latin letters, every colour is defined."""
    bare = re.sub(r"\\[\\{}%&$#_]", "", re.sub(r"(?m)^%.*$", "", source))
    depth = 0
    for sign in bare:
        depth += {"{": 1, "}": -1}.get(sign, 0)
        assert depth >= 0
    assert depth == 0
    open_environments: list[str] = []
    for what, environment in re.findall(r"\\(begin|end)\{(\w+)\}", bare):
        if what == "begin":
            open_environments.append(environment)
        else:
            assert open_environments.pop() == environment
    assert not open_environments
    assert all(ord(sign) < 0x180 for sign in source), "pdfLaTeX cannot set this"
    assert "%" not in bare, "an unescaped comment"
    used = set(re.findall(r"\bcc([0-9A-F]{6})\b", source))
    assert used == set(re.findall(r"\\definecolor\{cc([0-9A-F]{6})\}", source))


def test_latex_coordinates_are_the_plotted_numbers() -> None:
    figure = curve()
    source = standalone(figure)
    plots = re.findall(r"const plot mark right.*?coordinates \{(.*?)\}", source, re.S)
    assert len(plots) == len(figure.lines)
    for plot, line in zip(plots, figure.lines):
        pairs = np.array([tuple(map(float, pair)) for pair in re.findall(r"\(([^,]+),([^)]+)\)", plot)])
        assert np.allclose(pairs, np.column_stack([line.values, line.ratio]), atol=1e-6)


def test_tabular_says_when_it_leaves_rows_out() -> None:
    source = tabular(curve())
    assert "of 201 rows" in source
    assert source.count(r"\\") <= 42
    assert "rows" not in tabular(bars())


def test_hostile_names_are_harmless_in_latex() -> None:
    figure = bars((HOSTILE, "x" * 300, "日本語 \u202e 😀", "]{}\\end{document}", "%\n\\input{x}", "a--b"))
    for source in (standalone(figure), tabular(figure)):
        check_latex(source)
        assert "\\input" not in source
        assert source.count(r"\end{document}") <= 1


@pytest.mark.parametrize("text", ["$x", "$$", "\\frac{", HOSTILE, "日本語 😀", "a\nb\x00\x1b[31m", "x" * 500])
def test_print_survives_any_name(text: str) -> None:
    figures.matplotlib(bars((text, "b", "c"))).draw_without_rendering()
