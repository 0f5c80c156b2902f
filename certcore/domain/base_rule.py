"""The rules by which votes become a base certificate."""

from __future__ import annotations

from enum import StrEnum

from certcore.common.errors import InputError


class BaseRule(StrEnum):
    """Which bounds on the votes of a node are compared. Everywhere at the edge of the engine its plain text does."""

    BINARY = "binary"
    """Its label against everything else together."""
    MULTICLASS = "multiclass"
    """Its label against the likeliest other class."""

    __repr__ = str.__repr__

    @classmethod
    def parse(cls, value: str) -> BaseRule:
        try:
            return cls(value)
        except ValueError:
            raise InputError(f"the base rule is {value!r}; expected {' or '.join(map(repr, cls))}") from None
