"""Numbers for display, rounded in the safe direction.

Certified values are rounded down and attacked values are rounded up, in every output format. Showing 0.894 for 0.89358
would claim more than was proven. All ratios, shares and bounds are rounded here and nowhere else.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

Number = int | float | Fraction


def rounded_down(value: Number, digits: int = 3) -> str:
    """A number with `digits` decimals, never larger than its exact value (certified ratios, confidence)."""
    return _rounded(value, digits, up=False)


def rounded_up(value: Number, digits: int = 3) -> str:
    """A number with `digits` decimals, never smaller than its exact value (bounds, attacked ratios, widths)."""
    return _rounded(value, digits, up=True)


def share_down(part: int, whole: int, digits: int = 1) -> str:
    """A certified share in per cent: 1,999 of 2,000 is shown as "99.9 %", not as 100 %."""
    return _rounded(Fraction(100 * int(part), max(int(whole), 1)), digits, up=False) + " %"


def percent_down(ratio: Number, digits: int = 1) -> str:
    """A certified ratio in per cent, for callers that have only the ratio."""
    return _rounded(_exact(ratio) * 100, digits, up=False) + " %"


def percent_up(ratio: Number, digits: int = 1) -> str:
    """An attacked ratio in per cent, for callers that have only the ratio."""
    return _rounded(_exact(ratio) * 100, digits, up=True) + " %"


def _exact(value: Number) -> Fraction:
    """The exact value of a float's shortest decimal form: 0.7 is 7/10, although the float is slightly smaller."""
    return Fraction(repr(float(value))) if isinstance(value, float) else Fraction(value)


def _rounded(value: Number, digits: int, *, up: bool) -> str:
    exact = _exact(value) * 10**digits
    whole = -(-exact.numerator // exact.denominator) if up else exact.numerator // exact.denominator
    return f"{Decimal(whole).scaleb(-digits):,.{digits}f}"
