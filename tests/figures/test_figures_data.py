"""Figure data: validation, tables, geometry, hostile names."""

from __future__ import annotations

import csv
import io
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text

from certcore import InputError, certify, figures
from certcore.common.statistics import average_radius
from certcore.domain.perturbations import TYPES
from certcore.figures import escape, geometry
from certcore.figures.page import printing
from pages.parts.pictures import base_shares
from tests.figures.samples import FakeCurve, all_figures, contour, curve
from tests.sweep.test_sweep_lengths import instance as lengths_instance

ALL = all_figures()


@pytest.mark.parametrize("name", ALL)
def test_alt_text_is_a_sentence_with_numbers(name: str) -> None:
    text = ALL[name].description()
    assert text.endswith(".")
    assert any(sign.isdigit() for sign in text)
    assert "nan" not in text


def test_no_figure_and_no_table_shows_a_raw_name() -> None:
    """`attr_del` is a name of the engine; people read its words."""
    for figure in ALL.values():
        shown = [*figure.table().columns, *figure.frame().columns, figure.tex(), figure.description()]
        with printing():
            shown += [text.get_text() for text in figure.matplotlib().findobj(Text)]
        for name in TYPES:
            assert not any(name in text for text in shown), (figure.name, name)


def test_csv_has_the_numbers_to_the_last_digit() -> None:
    figure = curve()
    rows = list(csv.DictReader(io.StringIO(figure.table().csv())))
    at = 0
    for line in figure.lines:
        for value, ratio, certified in zip(line.values, line.ratio, line.certified):
            row = rows[at]
            assert (int(row["attribute deletions"]), float(row["certified ratio"])) == (value, ratio)
            assert (int(row["certified"]), int(row["targets"]), row["certificate"]) == (certified, 1500, line.kind)
            at += 1
    assert at == len(rows)


def test_map_table_keeps_gaps_and_counts() -> None:
    figure = contour()
    counts = np.where(figure.x_values[:, None] < 4, figure.certified, np.nan)
    partial = figures.ContourFigure(
        x="attr_add",
        y="attr_del",
        x_values=figure.x_values,
        y_values=figure.y_values,
        ratio=counts / 2000,
        certified=counts,
        targets=2000,
    )
    table = partial.table()
    at = table.columns.index("certified")
    assert [row[at] for row in table.rows[:22]] == figure.certified[0].tolist()
    assert all(isinstance(row[at], int) for row in table.rows[: 4 * 22])
    assert all(row[at] is None for row in table.rows[4 * 22 :])


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: figures.Line(values=[0, 2, 1], ratio=[1, 1, 1]), "ascending"),
        (lambda: figures.Line(values=[0, 1], ratio=[1]), "shape"),
        (lambda: figures.Line(values=[0, 1], ratio=[1, np.nan]), "NaN"),
        (lambda: figures.Line(values=[0, 1], ratio=[1, 1], kind="best"), "kind"),
        (lambda: figures.Line(values=[0, 1], ratio=[1, 1], low=[0, 0]), "band"),
        (lambda: figures.CurveFigure(lines=()), "lines"),
        (
            lambda: figures.ContourFigure(x="attr_add", y="attr_del", x_values=[0], y_values=[0], ratio=[[1, 2]]),
            "shape",
        ),
        (
            lambda: figures.ContourFigure(
                x="sigma", y="attr_del", x_values=[0], y_values=[0], ratio=[[1]], show="difference"
            ),
            "reference",
        ),
        (lambda: figures.GraphFigure(positions=[[0, 0]], edges=[[0, 1]], state=[0]), "indices"),
    ],
)
def test_bad_input_is_told_in_one_sentence(make, word: str) -> None:
    with pytest.raises(InputError, match=word):
        make()


def test_steps_never_claim_more_than_was_computed() -> None:
    """A cell covers the whole numbers after the last computed value up to its own, and nothing beyond."""
    edges = geometry.cell_edges(np.array([0, 5, 10]))
    for budget in range(11):
        cell = int(np.searchsorted(edges, budget)) - 1
        assert [0, 5, 10][cell] >= budget, "a cell shows the ratio of a smaller budget"
    lengths = np.array([0.0, 0.05, 0.3])
    edges = geometry.cell_edges(lengths, lengths=True)
    for length in (0.0, 0.01, 0.05, 0.0501, 0.3):
        assert lengths[int(np.searchsorted(edges, length)) - 1] >= length
    shares = base_shares(lengths_instance(), np.arange(lengths_instance().graph.n_nodes), "attr_l2", None)
    assert shares.edges()[0][-1] == shares.x_values[-1]
    for value, count in zip(shares.x_values.tolist(), shares.certified[:, 0].tolist()):  # type: ignore[union-attr]
        assert count == certify(lengths_instance(), attr_l2=value, attack=False).naive_certified


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_level_lines_run_between_the_two_sides(nx: int, ny: int, seed: int) -> None:
    grid = np.random.default_rng(seed).random((nx, ny))
    grid[np.random.default_rng(seed + 1).random((nx, ny)) < 0.2] = np.nan
    xs, ys = geometry.cell_edges(np.arange(nx)), geometry.cell_edges(np.arange(ny))
    drawn = set()
    for line in geometry.level_lines(grid, 0.5, xs, ys):
        for a, b in pairwise(line):
            assert np.abs(a - b).sum() == 1, "a line leaves the edges of the cells"
            key = tuple(sorted((tuple(a), tuple(b))))
            assert key not in drawn
            drawn.add(key)
    wanted = set()
    for i in range(nx):
        for j in range(ny):
            for k, m in ((i + 1, j), (i, j + 1)):
                if k == nx or m == ny or np.isnan(grid[i, j]) or np.isnan(grid[k, m]):
                    continue
                if (grid[i, j] >= 0.5) != (grid[k, m] >= 0.5):
                    middle = np.array([(i + k) / 2, (j + m) / 2])
                    along = np.array([0.0, 0.5]) if k > i else np.array([0.5, 0.0])
                    wanted.add(tuple(sorted((tuple(middle - along), tuple(middle + along)))))
    assert drawn == wanted


def test_average_radius_is_the_papers() -> None:
    assert average_radius(np.arange(4), np.array([1.0, 0.5, 0.25, 0.0])) == pytest.approx(1.0 / 1.75)
    assert average_radius(np.arange(3), np.array([1.0, 0.5, 0.1])) is None
    assert average_radius(np.array([0, 2, 4]), np.array([1.0, 0.5, 0.0])) is None


def test_splits_are_averaged_before_the_radius() -> None:
    curves = [FakeCurve(20), FakeCurve(60, targets=500)]
    ours, naive = figures.mean_lines(curves, "x")
    ratios = np.array([c.certified / c.targets for c in curves])
    assert np.array_equal(ours.ratio, ratios.mean(axis=0))
    assert ours.average_radius == average_radius(ours.values, ratios.mean(axis=0))
    assert np.allclose(ours.high - ours.ratio, np.minimum(ratios.std(axis=0, ddof=1), 1 - ours.ratio))
    assert naive.kind == "naive"


def test_a_family_shows_a_common_naive_line_once() -> None:
    figure = figures.curve_figure([FakeCurve(20), FakeCurve(30)], vary="attr_del", names=("a", "b"))
    assert [(line.kind, line.name) for line in figure.lines] == [
        ("collective", "a"),
        ("naive", ""),
        ("collective", "b"),
    ]


@given(st.text(max_size=40))
def test_escapes_hold_for_any_text(text: str) -> None:
    assert not set("<>\"'") & set(escape.for_html(text))
    assert "<" not in escape.for_plotly(text)
    assert "%{" not in escape.for_plotly(text)
    assert "$" not in escape.for_plotly(text)
    latex = escape.for_latex(text)
    assert all(ord(sign) < 0x180 for sign in latex)
    depth = 0
    for sign in latex.replace("\\{", "").replace("\\}", ""):
        depth += {"{": 1, "}": -1}.get(sign, 0)
        assert depth >= 0
    assert depth == 0
    assert "\n" not in escape.for_comment(text)
    assert escape.for_file_name(text).replace("-", "").replace("_", "").replace(".", "").isalnum()


@pytest.mark.parametrize("directed", [False, True])
def test_graph_table_marks_exactly_the_deleted_edges(directed: bool) -> None:
    edges = [[0, 1], [1, 0], [1, 2], [2, 3]] if directed else [[0, 1], [1, 2], [2, 3]]
    figure = figures.GraphFigure(
        positions=np.zeros((4, 2)),
        edges=edges,
        state=[0] * 4,
        deleted=[[1, 0], [2, 3]],
        amount=[0.5, 1.0],
        added=[[0, 3]],
    )
    table = figure.table()
    rows = [dict(zip(table.columns, row)) for row in table.rows]
    deleted = {(row["node"], row["other node"]): row["deleted"] for row in rows if row["element"] == "edge"}
    assert (
        deleted == {(0, 1): 0.0, (1, 0): 0.5, (1, 2): 0.0, (2, 3): 1.0}
        if directed
        else {(0, 1): 0.5, (1, 2): 0.0, (2, 3): 1.0}
    )
    assert [(row["node"], row["other node"]) for row in rows if row["element"] == "added edge"] == [(0, 3)]
    left = geometry.remaining(figure.edges, figure.deleted).tolist()
    assert left == ([[0, 1], [1, 2]] if directed else [[1, 2]])
