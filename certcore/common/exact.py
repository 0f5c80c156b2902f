"""Exact numbers: probabilities as fractions, and fractions as floats rounded in the safe direction."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from fractions import Fraction

import numpy as np

from certcore.common.errors import InputError

Probability = float | str | Fraction
"""Accepted forms of a probability: 0.002, "0.002" and "1/500" are equal."""

#: Largest accepted denominator. Longer decimals would make exact arithmetic slow.
MAX_DENOMINATOR = 10**30

#: Syntax of a probability, the same as in the standalone checker. Python itself also accepts 1_0, ٠ and -0.
_SPELLING = re.compile(r"\+?[0-9]*\.?[0-9]*([eE][-+]?[0-9]{1,2})?|[0-9]+/[0-9]+")


def bounded_decimal(text: str, longest: int = 80) -> Decimal:
    """Parse a decimal exactly; ValueError for other text, or if its fraction would be huge (1e999999)."""
    try:
        decimal = Decimal(text) if len(text) <= longest else Decimal("nan")
    except InvalidOperation as error:
        raise ValueError("no decimal") from error
    if not decimal.is_finite() or (decimal and abs(decimal.adjusted()) > 30):
        raise ValueError("too long, too small or too large")
    return decimal


def exact_fraction(text: str, longest: int = 80) -> Fraction:
    """Parse a decimal or a quotient such as 1/500 exactly, as a fraction."""
    if "/" not in text:
        return Fraction(bounded_decimal(text, longest))
    try:
        return Fraction(text if len(text) <= longest else "")
    except ZeroDivisionError as error:
        raise ValueError("divided by zero") from error


def read_probability(value: object, name: str) -> Fraction:
    """A number in [0, 1] as an exact fraction, written like 0.002, +.5, 2e-3 or 1/500 with ASCII digits.

    Text and fractions are read exactly. A float is read by its shortest decimal form: 0.002 means 1/500, not the
    nearest binary fraction.
    """
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(-1)[0]
    text = str(value).strip()
    try:
        if isinstance(value, bool | np.bool_) or not _SPELLING.fullmatch(text):
            raise ValueError("not a number")
        number = exact_fraction(text)
    except ValueError as error:
        raise InputError(
            f"{name} is {text[:40]!r}; expected a decimal number from 0 to 1 with at most 30 places"
        ) from error
    if not 0 <= number <= 1:
        raise InputError(f"{name} is {text}; expected a number from 0 to 1")
    if number.denominator > MAX_DENOMINATOR:
        raise InputError(f"{name} is {text}; expected at most 30 decimal places: round it")
    return number


def read_alpha(value: object) -> Fraction:
    """An error probability strictly between 0 and 1, as an exact fraction."""
    alpha = read_probability(value, "alpha")
    if not 0 < alpha < 1:
        raise InputError(f"alpha is {value}; expected a number between 0 and 1, such as 0.01")
    if "/" in decimal_text(alpha):  # every result shows it as a decimal
        raise InputError(f"alpha is {value}, which has no end as a decimal; expected a number such as 0.01")
    return alpha


def decimal_text(number: Fraction) -> str:
    """The shortest text that `read_probability` reads back as the same fraction."""
    rest = number.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest != 1:
        return str(number)
    places = 0
    while (10**places * number).denominator != 1:
        places += 1
    if places > 30:  # `read_probability` refuses decimals this long, but accepts the fraction
        return str(number)
    digits = str(int(10**places * number)).rjust(places + 1, "0")
    return digits if places == 0 else f"{digits[:-places]}.{digits[-places:]}"


def confidence_text(alpha: str, whole: int = 1) -> str:
    """1 − α with all its digits (times `whole`: 1, or 100 for per cent). 0.9999999 must not be shown as 1."""
    return decimal_text(whole * (1 - Fraction(alpha)))


def together(alphas: Iterable[str]) -> str:
    """The error probability of several statements at once, by the union bound."""
    return decimal_text(min(Fraction(1), sum(map(Fraction, alphas), Fraction(0))))


def ceil_float(numerator: int, denominator: int) -> float:
    """The smallest float that is not below numerator / denominator (both positive, or a zero numerator)."""
    nearest = numerator / denominator  # Python divides integers of any size with correct rounding
    above, below = nearest.as_integer_ratio()
    return nearest if above * denominator >= numerator * below else math.nextafter(nearest, math.inf)
