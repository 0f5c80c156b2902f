"""Numbers and names as people read them; names from files are never trusted."""

from __future__ import annotations

import html
import re
import unicodedata
from typing import Any

from certcore.perturbations import LABELS, TYPES

#: One letter budgets in short labels: what each type is called where there is little room.
SHORT = {"attr_add": "attr +", "attr_del": "attr −", "adj_add": "edge +", "adj_del": "edge −"}

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~$:&^=\"'@/])")


def count(number: float | int) -> str:
    """A whole number with thousands separators."""
    return f"{int(number):,}"


def percent(ratio: float, digits: int = 1) -> str:
    """A ratio in per cent, rounded down: a guarantee is never rounded up."""
    scale = 10**digits
    return f"{int(ratio * 100 * scale + 1e-9) / scale:.{digits}f} %"


def seconds(value: float) -> str:
    return f"{value * 1000:.0f} ms" if value < 0.95 else f"{value:.1f} s" if value < 90 else f"{value / 60:.1f} min"


def samples(number: int) -> str:
    """10⁶ instead of 1,000,000 where it is a power of ten."""
    digits = str(number)
    if len(digits) > 3 and digits[0] == "1" and not digits[1:].strip("0"):
        return "10" + str(len(digits) - 1).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return count(number)


def plain(name: Any, longest: int = 60) -> str:
    """A name from a file, on one line and without characters that steer the text around it."""
    text = str(name)
    kept = "".join(
        " " if unicodedata.category(c) in ("Zl", "Zp", "Cc") else c
        for c in text[: 4 * longest]
        if unicodedata.category(c) not in ("Cf", "Cs", "Co", "Cn")
    )
    kept = " ".join(kept.split())
    return kept if len(kept) <= longest else kept[: longest - 1] + "…"


def markdown(name: Any, longest: int = 60) -> str:
    """A name from a file for use inside Markdown: every sign that means something there is escaped."""
    return _MARKDOWN.sub(r"\\\1", plain(name, longest))


def markup(name: Any, longest: int = 60) -> str:
    """A name from a file for use inside HTML (and Plotly labels, which read some HTML)."""
    return html.escape(plain(name, longest), quote=True)


def listing(parts: list[str]) -> str:
    """a, b and c."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


def budget_words(budgets: tuple[int, ...]) -> str:
    """The global budgets in words."""
    parts = [_flips(number, name) for name, number in zip(TYPES, budgets) if number]
    return listing(parts) if parts else "no flips at all"


def _flips(number: int, name: str) -> str:
    label = LABELS[name]
    return f"{count(number)} {label if number != 1 else label.removesuffix('s')}"
