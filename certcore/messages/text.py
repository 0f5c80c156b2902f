"""A sentence with several renderings: plain text for terminals, Markdown for the dashboard, HTML for notebooks."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from certcore.domain.perturbations import TYPES, entry_of

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~$:&^=\"'@/])")


@dataclass(frozen=True)
class Piece:
    """A part of a sentence: our own text, emphasised text, an identifier of the program, or a name from a file."""

    text: str
    kind: Literal["own", "strong", "code", "name"] = "own"

    @property
    def markdown(self) -> str:
        if self.kind == "name":
            return _MARKDOWN.sub(r"\\\1", self.text)
        return {"own": "{}", "strong": "**{}**", "code": "`{}`"}[self.kind].format(self.text)

    @property
    def html(self) -> str:
        escaped = html.escape(self.text)
        return {"strong": "<b>{}</b>", "code": "<code>{}</code>"}.get(self.kind, "{}").format(escaped)

    def __format__(self, spec: str) -> str:
        raise TypeError("pieces are joined by `message`: in an f-string a name from a file would be read as our words")


@dataclass(frozen=True)
class Text:
    """A sentence in pieces."""

    pieces: tuple[Piece, ...] = ()

    def __str__(self) -> str:
        return "".join(piece.text for piece in self.pieces)

    @property
    def markdown(self) -> str:
        """The text as Markdown; names from files are escaped."""
        return "".join(piece.markdown for piece in self.pieces)

    @property
    def html(self) -> str:
        """The text as HTML; everything is escaped."""
        return "".join(piece.html for piece in self.pieces)

    def __add__(self, other: str | Piece | Text) -> Text:
        return message(self, other)

    def __bool__(self) -> bool:
        return bool(self.pieces)


def message(*parts: str | Piece | Text) -> Text:
    """Build a sentence from pieces; plain strings are our own text."""
    pieces: list[Piece] = []
    for part in parts:
        if isinstance(part, Text):
            pieces += part.pieces
        elif part:
            pieces.append(Piece(part) if isinstance(part, str) else part)
    return Text(tuple(pieces))


def text(words: str) -> Text:
    """A sentence in our own words with `**strong**` and `` `code` `` parts; for f-strings.

    What is put into it has to be our own as well: a name from a file is a `Piece` and joined by `message`.
    """
    kinds: dict[str, Literal["strong", "code"]] = {"*": "strong", "`": "code"}
    parts = re.split(r"(\*\*.+?\*\*|`.+?`)", words)
    return message(*(Piece(part.strip("*`"), kinds[part[0]]) if k % 2 else part for k, part in enumerate(parts)))


def strong(text: str) -> Piece:
    return Piece(text, "strong")


def code(text: str) -> Piece:
    return Piece(text, "code")


def name(text: object, longest: int = 60) -> Piece:
    """A name from a file, which is displayed and never interpreted."""
    return Piece(plain(text, longest), "name")


def paragraph(sentences: Iterable[Text]) -> Text:
    """Join sentences with spaces."""
    found = [sentence for sentence in sentences if sentence]
    return message(*(part for k, one in enumerate(found) for part in ((" ", one) if k else (one,))))


def count(number: float | int) -> str:
    """An integer with thousands separators; a length with all its digits."""
    return f"{int(number):,}" if number == int(number) else f"{number:,.10g}"


def some(number: int, one: str, many: str) -> str:
    return f"{count(number)} {one if number == 1 else many}"


def samples(number: int) -> str:
    """10⁶ instead of 1,000,000 where it is a power of ten."""
    digits = str(number)
    if len(digits) > 3 and digits[0] == "1" and not digits[1:].strip("0"):
        return "10" + str(len(digits) - 1).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return count(number)


def plain(name: object, longest: int = 60) -> str:
    """A name from a file on one line, without control characters."""
    text = str(name)
    kept = "".join(
        " " if unicodedata.category(c) in ("Zl", "Zp", "Cc") else c
        for c in text[: 4 * longest]
        if unicodedata.category(c) not in ("Cf", "Cs", "Co", "Cn")
    )
    kept = " ".join(kept.split())
    return kept if len(kept) <= longest else kept[: longest - 1] + "…"


def markdown(text: object, longest: int = 60) -> str:
    """A name from a file for use inside Markdown: every character with a meaning there is escaped."""
    return name(text, longest).markdown


def listing(parts: list[str]) -> str:
    """a, b and c."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


def length(number: float) -> str:
    """A length in an attack; budgets have all their digits (`count`)."""
    return f"{float(f'{number:.3g}'):,.10g}"


def further(margin: int, step: float) -> str:
    """A margin: a number of flips, or steps of a distance, rounded up."""
    return f"a further distance of {length(margin * step)}" if step else some(margin, "further flip", "further flips")


def flips(number: float, kind: str) -> str:
    """For example “3 attribute deletions”; fractions occur in the relaxed adversary only."""
    entry = entry_of(kind)
    amount = count(number) if float(number).is_integer() else f"{number:,.4g}"
    if entry.lengths:
        return f"a distance of {length(number)}"
    return f"{amount} {entry.plural if number != 1 else entry.singular}"


def budget_words(budgets: Iterable[float]) -> str:
    """Flips of each type in words."""
    parts = [flips(number, kind) for kind, number in zip(TYPES, budgets) if number]
    return listing(parts) if parts else "no flips at all"
