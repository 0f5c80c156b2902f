"""Drawings: every kind, on the screen and in print; readable, unclipped, distinguishable without colour."""

from __future__ import annotations

import dataclasses
import io
from typing import Any

import numpy as np
import pypdf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.text import Text

from certcore import InputError, figures
from certcore.figures import style
from certcore.figures.page import WIDTHS, printing
from certcore.figures.save import SUFFIXES, file_bytes
from tests.figures.samples import HOSTILE, all_figures, contour, curve, models

ALL = all_figures()
FONTS = ("sans", "serif")


def drawn(figure: figures.Figure, width: str | float = 8.5, font: str = "sans") -> Any:
    with printing(font):
        made = figure.matplotlib(width, font)
        made.draw_without_rendering()
        return made


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("font", FONTS)
def test_no_label_is_clipped_or_too_small(name: str, width: str, font: str) -> None:
    made = drawn(ALL[name], width, font)
    assert _check_labels(made) > 3
    assert made.get_size_inches()[0] * 2.54 == pytest.approx(WIDTHS[width])


def _check_labels(made: Any) -> int:
    """Every label is inside the figure and large enough; returns how many there are."""
    hidden = {label for axes in made.axes for label in _tick_labels(axes, visible=False)}
    hidden -= {label for axes in made.axes for label in _tick_labels(axes, visible=True)}
    shown = [text for text in made.findobj(Text) if text.get_visible() and text.get_text().strip()]
    shown = [text for text in shown if id(text) not in hidden]
    for text in shown:
        assert text.get_fontsize() >= 6, text.get_text()
        where, box = text.get_window_extent(), made.bbox
        beyond = max(box.x0 - where.x0, where.x1 - box.x1, box.y0 - where.y0, where.y1 - box.y1)
        assert beyond <= 1, f"{text.get_text()!r} at {where} leaves {box}"
    return len(shown)


def _tick_labels(axes: Any, *, visible: bool) -> set[int]:
    """Tick labels of an axis; ticks beyond its limits exist but are not drawn."""
    found: set[int] = set()
    for axis in (axes.xaxis, axes.yaxis):
        if visible and not axes.axison:
            continue
        ticks = axis._update_ticks() if visible else [*axis.get_major_ticks(), *axis.get_minor_ticks()]
        found |= {id(label) for tick in ticks for label in (tick.label1, tick.label2)}
    return found


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("width", WIDTHS)
def test_both_fonts_have_the_same_layout(name: str, width: str) -> None:
    sans, serif = (drawn(ALL[name], width, font) for font in FONTS)
    assert np.array_equal(sans.get_size_inches(), serif.get_size_inches())
    assert sans.legends[0]._ncols == serif.legends[0]._ncols
    for one, other in zip(sans.axes, serif.axes):
        assert np.abs(np.subtract(one.get_position().extents, other.get_position().extents)).max() < 0.04
    for gid in ("level-label", "site-name"):
        places = [
            [text.get_position() for text in made.findobj(Text) if text.get_gid() == gid] for made in (sans, serif)
        ]
        assert np.allclose(places[0], places[1], atol=0.05)


@pytest.mark.parametrize("font", FONTS)
def test_one_column_is_as_large_as_a_paper_wants_it(font: str) -> None:
    page = pypdf.PdfReader(io.BytesIO(file_bytes(ALL["curve"], ".pdf", font=font))).pages[0]
    assert float(page.mediabox.width) / 72 * 2.54 == pytest.approx(8.5, abs=0.01)
    assert float(page.mediabox.height) / 72 * 2.54 == pytest.approx(5.6, abs=0.01)
    names = {str(one.get_object()["/BaseFont"]) for one in page["/Resources"]["/Font"].values()}  # type: ignore[index]
    assert any({"sans": "DejaVuSans", "serif": "STIXGeneral"}[font] in name for name in names), names


@pytest.mark.parametrize("name", ALL)
def test_legends_have_few_rows_and_leave_room_for_the_axes(name: str) -> None:
    made = drawn(ALL[name])
    (legend,) = made.legends
    rows = -(-len(legend.get_texts()) // legend._ncols)
    assert rows <= 2
    assert made.axes[0].get_window_extent().height / made.dpi * 2.54 > 3.2


def test_long_names_are_cut_and_never_clipped() -> None:
    name = "Citeseer with a robust attention network and a very long name"
    line = figures.Line(values=[0, 1, 2], ratio=[1, 0.5, 0], name=name, average_radius=1234.5)
    other = dataclasses.replace(line, group=1, kind="naive")
    for width in WIDTHS:
        _check_labels(drawn(figures.CurveFigure(lines=(line, other), x_label=name + " " + name), width))


def test_a_note_makes_the_figure_higher_and_nothing_else_smaller() -> None:
    plain, noted = drawn(curve()), drawn(dataclasses.replace(curve(), note="The confidence of all lines. " * 6))
    heights = [made.axes[0].get_window_extent().height for made in (plain, noted)]
    assert heights[0] == pytest.approx(heights[1], rel=0.02)
    assert noted.get_size_inches()[1] > plain.get_size_inches()[1]
    _check_labels(noted)


def test_lines_differ_without_colour() -> None:
    for figure in (ALL["curve"], ALL["curve-log"], models()):
        axes = figure.matplotlib().axes[0]
        looks = [
            (str(line._dash_pattern), line.get_marker())
            for line, known in zip([a for a in axes.lines if str(a.get_gid()).startswith("series")], figure.lines)
            if known.kind != "naive"
        ]
        assert len(set(looks)) == len(looks)
    markers = [state.marker.print for state in style.STATES.values()]
    assert len(set(markers)) == len(markers)
    assert len({str(kind.dash.print) for kind in style.KINDS.values()}) == len(style.KINDS)


@pytest.mark.parametrize("dark", [False, True])
def test_screen_figures_have_alt_text_and_a_background(dark: bool) -> None:
    for figure in ALL.values():
        if isinstance(figure, figures.GraphFigure):
            with pytest.raises(InputError, match="workbench"):
                figure.plotly()
            continue
        screen = figure.plotly(dark=dark)
        assert screen.layout.meta["alt"] == figure.description()
        assert screen.layout.paper_bgcolor == ("#0E1117" if dark else "#FFFFFF")
        assert figure.plotly(dark=dark, transparent=True).layout.paper_bgcolor == "rgba(0,0,0,0)"


def test_the_screen_plots_the_numbers_and_carries_budgets() -> None:
    figure = ALL["curve-log"]
    assert isinstance(figure, figures.CurveFigure)
    traces = [trace for trace in figure.plotly().data if trace.mode == "lines+markers"]
    assert len(traces) == len(figure.lines)
    for trace, line in zip(traces, figure.lines):
        assert np.array_equal(trace.y, line.ratio)
        assert [cell[0] for cell in trace.customdata] == line.values.tolist()
        assert trace.line.shape == "vh", "between two budgets the larger one counts"
    assert traces[0].x[0] == 0.5
    bands = [trace for trace in figure.plotly().data if trace.fill == "toself"]
    assert [trace.mode for trace in bands] == ["lines"], "left to itself Plotly marks the corners of a short band"
    gain = contour("difference")
    heat = gain.plotly().data[0]
    assert np.array_equal(np.asarray(heat.z), (gain.ratio - gain.reference).T)
    assert list(heat.customdata[5][2][:2]) == [2, 5]


def test_print_plots_the_numbers() -> None:
    figure = curve()
    lines = [line for line in figure.matplotlib().axes[0].lines if str(line.get_gid()).startswith("series")]
    for made, line in zip(lines, figure.lines, strict=True):
        assert np.array_equal(made.get_ydata(), line.ratio)
        assert made.get_drawstyle() == "steps-pre"


def test_a_legend_is_that_of_a_paper() -> None:
    legend = [text.get_text() for text in models().matplotlib().legends[0].get_texts()]
    assert legend == ["Citeseer, GCN", "Citeseer, GAT", "PubMed, APPNP", "collective", "naive", style.BAND_LABEL]
    line = figures.Line(values=[0, 1], ratio=[1, 0.5], leaves=[1, 0.8], changed=[0, 2], unchanged=[1, 0.9])
    found = figures.CurveFigure(lines=(line,)).matplotlib()
    assert [text.get_text() for text in found.legends[0].get_texts()] == [
        "collective",
        "certificate attack",
        "model attack",
    ]
    sigma = figures.CurveFigure(lines=(line,), vary="sigma").matplotlib()
    assert sigma.axes[0].get_xlabel() == "σ (nodes the attacker controls)"


@given(st.integers(0, 2**32 - 1), st.sampled_from(FONTS), st.booleans())
@settings(max_examples=25, deadline=None)
def test_level_lines_are_labelled_once_each_and_no_two_labels_meet(seed: int, font: str, log: bool) -> None:
    rng = np.random.default_rng(seed)
    nx, ny = rng.integers(3, 24, 2)
    fall = rng.uniform(0.05, 0.6, 2)
    x, y = np.arange(nx), np.arange(ny)
    ratio = np.exp(-fall[0] * x[:, None] - fall[1] * y[None])
    levels = tuple(np.arange(1, 10, rng.integers(2, 5)) / 10)
    figure = figures.ContourFigure(
        x="attr_add", y="attr_del", x_values=x, y_values=y, ratio=ratio, reference=ratio**3, levels=levels, x_log=log
    )
    made = drawn(figure, font=font)
    labels = [text for text in made.findobj(Text) if text.get_gid() == "level-label"]
    crossed = [
        level for grid in (ratio, ratio**3) for level in levels if (grid >= level).any() and (grid < level).any()
    ]
    assert sorted(text.get_text() for text in labels) == sorted(f"{level:g}" for level in crossed)
    boxes = [text.get_window_extent() for text in labels]
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])
    _check_labels(made)


@pytest.mark.parametrize("text", ["$x", "$$", "\\frac{", HOSTILE, "日本語 😀", "a\nb\x00\x1b[31m", "x" * 500])
def test_print_and_tables_survive_any_name(text: str) -> None:
    line = figures.Line(values=[0, 1], ratio=[1, 0.5], name=text)
    figure = figures.CurveFigure(lines=(line, dataclasses.replace(line, group=1)), title=text, x_label=text)
    drawn(figure)
    source = figure.tex()
    assert "\\input" not in source
    assert all(ord(sign) < 0x180 for sign in source), "pdfLaTeX cannot set this"
    bare = source.replace("\\{", "").replace("\\}", "")
    assert bare.count("{") == bare.count("}")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_are_the_same_every_time_and_have_no_byte_order_mark(suffix: str) -> None:
    for name in ("curve", "contours-ratio", "graph"):
        data = file_bytes(ALL[name], suffix, font="serif")
        assert data == file_bytes(ALL[name], suffix, font="serif")
        assert not data.startswith(b"\xef\xbb\xbf")


def test_a_long_table_in_latex_says_what_it_leaves_out() -> None:
    source = curve().tex()
    assert "of 201 rows" in source.split(r"\begin")[0]
    assert "of 201 rows" in source.split(r"\midrule")[1]
    assert source.count(r"\\") <= 42
