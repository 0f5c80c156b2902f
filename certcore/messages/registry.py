"""The list of sentences: each has a key, the condition under which it is printed, and an example."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec

from certcore.messages.text import Text, filled

Arguments = ParamSpec("Arguments")


@dataclass(frozen=True)
class Sentence:
    """One sentence the product can print about a guarantee."""

    key: str
    condition: str
    """The condition under which it is printed, in words; a property test checks it against the certificate."""
    message: Callable[..., Text]
    examples: tuple[tuple[Any, ...], ...]
    """Example arguments: one set for each form of the sentence."""


SENTENCES: dict[str, Sentence] = {}


def sentence(
    key: str, condition: str, *example: Any, others: tuple[tuple[Any, ...], ...] = ()
) -> Callable[[Callable[Arguments, Text]], Callable[Arguments, Text]]:
    """Register a function that makes a sentence; its text carries the key, so that tests need not match wording."""

    def enter(function: Callable[Arguments, Text]) -> Callable[Arguments, Text]:
        @wraps(function)
        def said(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Text:
            return function(*args, **kwargs).known_as(key)

        if key in SENTENCES:
            raise ValueError(f"two sentences are called {key}")
        SENTENCES[key] = Sentence(key, condition, said, (example, *others))
        return said

    return enter


def template(
    key: str, condition: str, text: str, /, *, others: tuple[tuple[Any, ...], ...] = (), **example: Any
) -> Callable[..., Text]:
    """Register a sentence without cases: `text` as `filled` takes it, and an example of each value in their order."""

    @sentence(key, condition, *example.values(), others=others)
    def said(*values: Any) -> Text:
        return filled(text, **dict(zip(example, values, strict=True)))

    return said
