"""Modes that have a name: one word out of a few."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Self

from certcore.common.errors import InputError


class Choice(StrEnum):
    """One word out of a few. At the edge of the engine its plain text does as well, and files hold nothing else."""

    __repr__ = str.__repr__

    @classmethod
    def parse(cls, value: Any, what: str) -> Self:
        try:
            return cls(value)
        except ValueError:
            *others, last = map(repr, cls)
            raise InputError(f"{what} is {value!r}; expected {', '.join(others)} or {last}") from None
