"""The page of benchmarks: drawn from the stored figures, with goals judged by them."""

from __future__ import annotations

import pytest

from benchmarks.rows import NO, OPEN, YES, Figure, Row, met, page, stored
from benchmarks.run import RESULTS


def test_the_page_is_drawn_from_the_stored_figures() -> None:
    """If not: `python -c "from benchmarks.run import write_page; write_page()"`."""
    assert page() in RESULTS.read_text(encoding="utf-8")
    assert stored()


@pytest.mark.parametrize(
    ("goal", "ours", "reference", "said"),
    [
        ((100.0, None, None), 1.0, 100.0, YES),
        ((100.0, None, None), 1.0, 99.9, NO),
        ((100.0, None, None), 1.0, None, NO),
        ((None, 0.0, None), 0, None, YES),
        ((None, 0.0, None), 1, None, NO),
        ((None, None, 60.0), 59.9, 28.0, NO),
        ((None, None, None), 1.0, None, ""),
    ],
)
def test_a_goal_is_met_by_the_figure(
    goal: tuple[float | None, ...], ours: float, reference: float | None, said: str
) -> None:
    one = Row("what", "s", "", *goal, lambda: Figure(ours), "group")
    assert met(one, {"ours": ours, "reference": reference}) == said
    assert met(one, None) == (OPEN if said else "")
