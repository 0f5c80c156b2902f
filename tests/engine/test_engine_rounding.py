"""Rounding for people: what is certified never grows on its way to the page, what is attacked never shrinks."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certcore.common import rounding


@given(st.fractions(min_value=0, max_value=10**6), st.integers(min_value=0, max_value=8))
def test_down_is_below_and_up_is_above_by_less_than_one_digit(value: Fraction, digits: int) -> None:
    down = Fraction(rounding.rounded_down(value, digits).replace(",", ""))
    up = Fraction(rounding.rounded_up(value, digits).replace(",", ""))
    step = Fraction(1, 10**digits)
    assert value - step < down <= value <= up < value + step


@given(st.integers(min_value=1, max_value=3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_shares_never_promise_a_label_too_many(pair: tuple[int, int]) -> None:
    part, whole = pair
    assert Fraction(rounding.share_down(part, whole).removesuffix(" %")) <= Fraction(100 * part, whole)
    assert Fraction(rounding.percent_up(Fraction(part, whole)).removesuffix(" %")) >= Fraction(100 * part, whole)
    assert rounding.percent_down(part / whole) == rounding.share_down(part, whole)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (rounding.rounded_down(0.89358), "0.893"),
        (rounding.rounded_down(1999 / 2000), "0.999"),
        (rounding.rounded_up(0.89351), "0.894"),
        (rounding.rounded_down(0.7), "0.700"),
        (rounding.rounded_down(1234.5678, 2), "1,234.56"),
        (rounding.share_down(1999, 2000), "99.9 %"),
        (rounding.percent_up(1 / 2000), "0.1 %"),
        (rounding.share_down(0, 0), "0.0 %"),
        (rounding.percent_down(0.99996, 2), "99.99 %"),
    ],
)
def test_examples(text: str, expected: str) -> None:
    assert text == expected
