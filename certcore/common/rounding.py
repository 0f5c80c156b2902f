"""Numbers for people, rounded in the direction that cannot promise too much.

What is certified is rounded down, what an attacker reaches is rounded up, in every format: a table that shows 0.894 for
0.89358 claims labels that nobody proved. Nothing else in the program rounds a ratio, a share or a bound.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

Number = int | float | Fraction


def rounded_down(value: Number, digits: int = 3) -> str:
    """A number with so many digits behind the point, never larger than it is (certified ratios, confidence)."""
    return _rounded(value, digits, up=False)


def rounded_up(value: Number, digits: int = 3) -> str:
    """A number with so many digits behind the point, never smaller than it is (bounds, attacked ratios, widths)."""
    return _rounded(value, digits, up=True)


def share_down(part: int, whole: int, digits: int = 1) -> str:
    """A certified share in per cent: 1,999 of 2,000 are no guarantee for all, so they are "99.9 %"."""
    return _rounded(Fraction(100 * int(part), max(int(whole), 1)), digits, up=False) + " %"


def percent_down(ratio: Number, digits: int = 1) -> str:
    """A certified ratio in per cent, where only the ratio is at hand."""
    return _rounded(_exact(ratio) * 100, digits, up=False) + " %"


def percent_up(ratio: Number, digits: int = 1) -> str:
    """An attacked ratio in per cent, where only the ratio is at hand."""
    return _rounded(_exact(ratio) * 100, digits, up=True) + " %"


def _exact(value: Number) -> Fraction:
    """The number that is meant: a float stands for its shortest decimal form (0.7 is 7/10, not a hair less)."""
    return Fraction(repr(float(value))) if isinstance(value, float) else Fraction(value)


def _rounded(value: Number, digits: int, *, up: bool) -> str:
    exact = _exact(value) * 10**digits
    whole = -(-exact.numerator // exact.denominator) if up else exact.numerator // exact.denominator
    return f"{Decimal(whole).scaleb(-digits):,.{digits}f}"
