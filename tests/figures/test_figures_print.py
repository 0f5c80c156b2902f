"""Figures for print: sizes, fonts, labels at the lines, what is left out, and labels that are called otherwise."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pypdf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certcore import InputError, ThreatModel, export, figures, save_instance
from certcore.cli import main
from certcore.figures import PrintStyle, ViewSpec
from certcore.figures.direct_labels import Box, place_labels, pushed_apart
from certcore.figures.kinds.contour_levels import APART, label_spots
from certcore.figures.matplotlib_figure import drawn
from tests.export.instances import small_instance
from tests.figures.samples import FakeCurve, all_figures

ALL = all_figures()
LINES = (
    figures.Line(values=np.arange(51), ratio=0.95 - 0.006 * np.arange(51), leaves=0.96 - 0.004 * np.arange(51)),
    figures.Line(values=np.arange(51), ratio=np.maximum(0, 0.9 - 0.04 * np.arange(51)), kind="naive"),
)
CURVE = figures.CurveFigure(lines=LINES, marker=10, title="A title")


def page(figure: figures.Figure, **style: object) -> pypdf.PageObject:
    return pypdf.PdfReader(io.BytesIO(export.render(figure, "pdf", PrintStyle(**style)))).pages[0]  # type: ignore[arg-type]


def words(figure: figures.Figure, **style: object) -> str:
    return page(figure, **style).extract_text()


@pytest.mark.parametrize("font", ["sans", "serif"])
def test_one_column_is_as_large_as_a_paper_wants_it(font: str) -> None:
    box = page(CURVE, font=font).mediabox
    assert float(box.width) / 72 * 2.54 == pytest.approx(8.5, abs=0.01)
    assert float(box.height) / 72 * 2.54 == pytest.approx(5.6, abs=0.01)
    fonts = page(CURVE, font=font)["/Resources"]["/Font"]
    names = {str(one.get_object()["/BaseFont"]) for one in fonts.values()}
    assert any({"sans": "DejaVuSans", "serif": "STIXGeneral"}[font] in name for name in names), names


def test_lines_have_their_labels_beside_them_and_no_legend() -> None:
    sheet = drawn(CURVE, PrintStyle())
    assert not sheet.figure.legends
    assert {"proven together", "one by one", "attack on certificates"} <= set(sheet.asked)
    told = drawn(CURVE, PrintStyle(labels="legend"))
    assert told.figure.legends
    assert told.height > sheet.height
    none = drawn(CURVE, PrintStyle(labels="none"))
    assert not none.figure.legends
    assert "one by one" not in words(CURVE, labels="none")


def family(name: str) -> figures.CurveFigure:
    values = np.arange(20)
    members = [0.9 - 0.001 * k - 0.01 * values for k in range(6)]
    lines = [figures.Line(values=values, ratio=ratio, name=f"{name} {k}", group=k) for k, ratio in enumerate(members)]
    return figures.CurveFigure(lines=tuple(lines))


def test_lines_close_together_are_named_at_their_ends_if_the_names_are_short() -> None:
    sheet = drawn(family("σ ="), PrintStyle())
    assert not sheet.figure.legends
    sheet.settle()
    boxes = [text.get_window_extent() for text in sheet.figure.axes[0].texts if text.get_gid() == "label"]
    assert len(boxes) == 6
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])
    assert all(
        box.x1 <= sheet.figure.bbox.x1 and box.x0 >= sheet.figure.axes[0].get_window_extent().x1 for box in boxes
    )
    assert drawn(family("a name that takes half of the column"), PrintStyle()).figure.legends


@given(st.lists(st.floats(0, 100), min_size=1, max_size=12))
def test_pushed_apart_keeps_the_order_and_the_room(heights: list[float]) -> None:
    found = pushed_apart(heights, 9.0, 100.0)
    assert (found is None) == (9.0 * len(heights) > 100)
    if found is not None:
        ranked = np.array(found)[np.argsort(heights, kind="stable")]
        assert (np.diff(ranked) >= 9.0 - 1e-9).all()
        assert ranked[0] >= 4.5 - 1e-9
        assert ranked[-1] <= 95.5 + 1e-9


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_no_line_runs_through_a_label_and_no_two_labels_meet(data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    lines = [
        np.maximum.accumulate(rng.uniform(0, 3, 200))[::-1] * rng.uniform(5, 40) for _ in range(rng.integers(1, 5))
    ]
    sizes = [(float(rng.uniform(10, 70)), 9.0) for _ in lines]
    boxes = place_labels(lines, sizes, (198.0, 120.0), [Box(122, 0, 1, 120)])
    if boxes is None:
        return
    for k, box in enumerate(boxes):
        assert box is not None
        assert box.left >= 0
        assert box.left + box.width <= 198
        assert box.bottom >= 0
        assert box.bottom + box.height <= 120
        assert not any(box.meets(other) for other in boxes[:k] if other is not None)
        assert not box.meets(Box(122, 0, 1, 120))
        for line in lines:
            part = line[int(box.left) : int(box.left + box.width) + 1]
            assert not ((part > box.bottom) & (part < box.bottom + box.height)).any()


def test_what_is_switched_off_is_gone_and_labels_can_be_called_otherwise() -> None:
    assert "A title" in words(CURVE, title=True)
    assert "A title" not in words(CURVE)
    assert len(drawn(CURVE, PrintStyle()).figure.axes[0].texts) > len(
        drawn(CURVE, PrintStyle(marker=False)).figure.axes[0].texts
    )
    told = words(CURVE, texts={"one by one": "naive", "attribute deletions": "deleted bits"})
    assert "naive" in told
    assert "deleted bits" in told
    assert "one by one" not in told
    source = export.render(CURVE, "latex", texts={"one by one": "naive"}, marker=False).decode()
    assert "naive" in source
    assert "{one by one}" not in source
    assert "densely dashed, gray" not in source
    compare = next(figure for figure in ALL.values() if isinstance(figure, figures.CompareFigure))
    assert "gain" in words(compare, width="two-column")
    assert "gain" not in words(compare, width="two-column", table=False)


@pytest.mark.parametrize("name", ALL)
def test_every_figure_leaves_in_both_fonts_and_twice_the_same(name: str) -> None:
    sans, serif, again = (
        export.render(ALL[name], "pdf", PrintStyle("two-column", font, title=True))
        for font in ("sans", "serif", "serif")
    )
    assert serif == again != sans


def contour(gap: float) -> figures.ContourFigure:
    x, y = np.meshgrid(np.arange(30.0), np.arange(20.0), indexing="ij")
    ratio = np.clip(1 - (x + 1.5 * y) / 45, 0, 1)
    return figures.ContourFigure(
        x="attr_del", y="attr_add", x_values=np.arange(30), y_values=np.arange(20), ratio=ratio,
        reference=np.clip(ratio - gap, 0, 1), levels=(0.4, 0.5, 0.6, 0.7),
    )  # fmt: skip


@pytest.mark.parametrize("gap", [0.0, 0.02, 0.05, 0.1, 0.3])
@pytest.mark.parametrize("width", ["one-column", "two-column"])
def test_labels_of_levels_never_overlap(gap: float, width: str) -> None:
    """Two numbers over one another read as a third: "0.5" over "0.7" is 0.75."""
    sheet = drawn(contour(gap), PrintStyle(width))
    axes = sheet.figure.axes[0]
    texts = [text for text in axes.texts if text.get_gid() == "level-label"]
    where = [axes.transData.transform(text.get_position()) * 72 / sheet.figure.dpi for text in texts]
    assert len(texts) >= 4, "those of the certificate are there"
    near = [np.hypot(*(a - b)) for k, a in enumerate(where) for b in where[:k]]
    assert min(near) >= APART - 0.5
    boxes = [text.get_window_extent() for text in texts]
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])


def test_the_dotted_label_gives_way() -> None:
    figure = replace(contour(0.0), levels=(0.5,))
    edges = np.arange(31) - 0.5, np.arange(21) - 0.5
    assert len(label_spots(figure, *edges, (20.0, 20.0))) == 1
    assert len(label_spots(figure, *edges, (300.0, 200.0))) == 2


def test_command_script_and_page_make_the_same_file(tmp_path, monkeypatch) -> None:
    save_instance(tmp_path / "toy.npz", small_instance())
    style = PrintStyle("two-column", "serif", marker=False, title=True, texts={"naive": "one, by = one", "x": "%"})
    spec = style.within(
        ViewSpec.of("curve", str(tmp_path / "toy.npz"), threat=ThreatModel(attr_del=3), values=range(9))
    )
    assert PrintStyle.of(ViewSpec.from_query(spec.query())) == style
    figure = export.make(spec)
    wanted = export.render(figure, "pdf")
    assert wanted == export.render(replace(figure, spec=None), "pdf", style)
    monkeypatch.chdir(tmp_path)
    assert main(["draw", spec.query(), "-o", "a.pdf"]) == 0
    assert (tmp_path / "a.pdf").read_bytes() == wanted
    assert main(["draw", "curve", *spec.flags(), "-o", "b.pdf"]) == 0
    assert (tmp_path / "b.pdf").read_bytes() == wanted
    exec(export.render(figure, "python").decode(), {})
    assert (tmp_path / export.file_name(figure, "pdf")).read_bytes() == wanted


@pytest.mark.parametrize("wrong", [{"width": "wide"}, {"width": 2}, {"font": "comic"}, {"labels": "some"}])
def test_wrong_styles_are_refused(wrong: dict) -> None:
    with pytest.raises(InputError, match="expected"):
        PrintStyle(**wrong)


def test_a_comparison_tells_the_votes_where_they_differ() -> None:
    curve = FakeCurve(30)
    entries = [figures.CompareEntry(name, curve, 0.7, samples=votes) for name, votes in (("a", 10**6), ("b", 10**5))]
    assert figures.compare_figure(entries, vary="attr_del").columns[2] == "samples"
    same = [figures.CompareEntry(name, curve, 0.7, samples=10**5) for name in "ab"]
    assert "samples" not in figures.compare_figure(same, vary="attr_del").columns


def test_a_line_that_begins_later_has_its_label_beside_it() -> None:
    ratio = np.linspace(0.9, 0.4, 30)
    later = np.where(np.arange(30) < 3, np.nan, 0.98)
    line = figures.Line(
        values=np.arange(30), ratio=ratio, name="proven together", changed=np.round(40 * (1 - later)), unchanged=later
    )
    sheet = drawn(figures.CurveFigure(lines=(line,)), PrintStyle())
    assert not sheet.figure.legends
    assert "attack on the model" in sheet.asked
