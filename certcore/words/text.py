"""One sentence, several renderings: plain text for terminals, Markdown for the dashboard, HTML for notebooks."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from certcore.domain.perturbations import TYPES, entry_of

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~$:&^=\"'@/])")


@dataclass(frozen=True)
class Piece:
    """A stretch of a sentence: our own words, words that matter, a word of the program, or a name from a file."""

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


@dataclass(frozen=True)
class Text:
    """What is said, in pieces; `keys` name the sentences of the registry it is made of."""

    pieces: tuple[Piece, ...] = ()
    keys: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "".join(piece.text for piece in self.pieces)

    @property
    def markdown(self) -> str:
        """The same words with emphasis; names from files are escaped."""
        return "".join(piece.markdown for piece in self.pieces)

    @property
    def html(self) -> str:
        """The same words for a web page; everything is escaped."""
        return "".join(piece.html for piece in self.pieces)

    def __add__(self, other: str | Piece | Text) -> Text:
        more = say(other)
        return Text(self.pieces + more.pieces, self.keys + more.keys)

    def __bool__(self) -> bool:
        return bool(self.pieces)

    def known_as(self, key: str) -> Text:
        return replace(self, keys=(key, *self.keys))


def say(*parts: str | Piece | Text) -> Text:
    """Put a sentence together; plain strings are our own words."""
    pieces: list[Piece] = []
    keys: list[str] = []
    for part in parts:
        if isinstance(part, Text):
            pieces += part.pieces
            keys += part.keys
        elif part:
            pieces.append(Piece(part) if isinstance(part, str) else part)
    return Text(tuple(pieces), tuple(keys))


def strong(text: str) -> Piece:
    return Piece(text, "strong")


def code(text: str) -> Piece:
    return Piece(text, "code")


def name(text: object, longest: int = 60) -> Piece:
    """A name from a file: shown, never obeyed."""
    return Piece(plain(text, longest), "name")


def paragraph(sentences: Iterable[Text]) -> Text:
    """Sentences one after the other."""
    found = [sentence for sentence in sentences if sentence]
    return say(*(part for k, one in enumerate(found) for part in ((" ", one) if k else (one,))))


def count(number: float | int) -> str:
    """A whole number with thousands separators."""
    return f"{int(number):,}"


def some(number: int, one: str, many: str) -> str:
    return f"{count(number)} {one if number == 1 else many}"


def samples(number: int) -> str:
    """10⁶ instead of 1,000,000 where it is a power of ten."""
    digits = str(number)
    if len(digits) > 3 and digits[0] == "1" and not digits[1:].strip("0"):
        return "10" + str(len(digits) - 1).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return count(number)


def plain(name: object, longest: int = 60) -> str:
    """A name from a file, on one line and without characters that steer the text around it."""
    text = str(name)
    kept = "".join(
        " " if unicodedata.category(c) in ("Zl", "Zp", "Cc") else c
        for c in text[: 4 * longest]
        if unicodedata.category(c) not in ("Cf", "Cs", "Co", "Cn")
    )
    kept = " ".join(kept.split())
    return kept if len(kept) <= longest else kept[: longest - 1] + "…"


def markdown(text: object, longest: int = 60) -> str:
    """A name from a file for use inside Markdown: every sign that means something there is escaped."""
    return name(text, longest).markdown


def listing(parts: list[str]) -> str:
    """a, b and c."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


def flips(number: float, kind: str) -> str:
    """3 attribute deletions; fractions exist in the relaxed adversary only."""
    entry = entry_of(kind)
    told = count(number) if float(number).is_integer() else f"{number:,.4g}"
    return f"{told} {entry.plural if number != 1 else entry.singular}"


def budget_words(budgets: Iterable[float]) -> str:
    """Flips of each type in words."""
    parts = [flips(number, kind) for kind, number in zip(TYPES, budgets) if number]
    return listing(parts) if parts else "no flips at all"
