"""Numbers are read exactly and rounded in the safe direction."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certcore.common.errors import InputError
from certcore.common.exact import ceil_float, decimal_text, read_probability


@pytest.mark.parametrize(
    "value", ["0.002", 0.002, np.float64(0.002), np.float32(0.002), "1/500", "2e-3", Fraction(1, 500), Decimal("0.002")]
)
def test_every_spelling_of_one_in_five_hundred(value: object) -> None:
    assert read_probability(value, "theta") == Fraction(1, 500)


@pytest.mark.parametrize(
    "value",
    [
        *("nan", float("nan"), "inf", float("inf"), -0.1, "-1", 1.0000001, "2", True, None, "", "a half", "1/0"),
        *("1/x", "1e-999999999", "1e999999999", "0." + "1" * 60, "1" * 500, [0.5, 0.5], "0x1", 1e-40),
    ],
)
def test_what_is_no_probability_is_refused(value: object) -> None:
    with pytest.raises(InputError, match="theta is"):
        read_probability(value, "theta")


@given(st.fractions(0, 1, max_denominator=10**9))
def test_text_is_read_back_as_the_same_number(number: Fraction) -> None:
    assert read_probability(decimal_text(number), "x") == number


@given(st.integers(0, 10**40), st.integers(1, 10**40))
def test_ceil_float_is_the_smallest_float_not_below(numerator: int, denominator: int) -> None:
    value = ceil_float(numerator, denominator)
    exact = Fraction(numerator, denominator)
    assert Fraction(value) >= exact
    assert numerator == 0 or Fraction(math.nextafter(value, 0)) < exact
