"""Modes as string enumerations."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Self

from certcore.common.errors import InputError


class Choice(StrEnum):
    """A string enumeration; public functions accept the plain text too, and files contain only the text."""

    __repr__ = str.__repr__

    @classmethod
    def parse(cls, value: Any, what: str) -> Self:
        try:
            return cls(value)
        except ValueError:
            *others, last = map(repr, cls)
            raise InputError(f"{what} is {value!r}; expected {', '.join(others)} or {last}") from None
