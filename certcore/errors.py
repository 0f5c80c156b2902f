"""Errors that are meant for people."""

from __future__ import annotations

LONGEST = 500


class InputError(ValueError):
    """Bad input, told in one sentence: what was given, what was expected, what to do.

    The command line prints the sentence and exits with code 2; the dashboard shows it in a box. Parts of the input
    may be quoted in it, so it is kept to one line of printable characters and a readable length.
    """

    def __init__(self, sentence: str) -> None:
        line = " ".join("".join(c if c.isprintable() else " " for c in str(sentence)).split())
        super().__init__(line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} … {line[-LONGEST // 2 :]}")
