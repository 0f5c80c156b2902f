"""Errors with messages for users."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

LONGEST = 500


class InputError(Exception):
    """Bad input, explained in one sentence: what was given, what was expected, what to do.

    The command line prints the sentence and exits with code 2. The dashboard shows it in a box. The sentence may quote
    the input, so it is cut to a readable length and to one line of printable characters. This class is no `ValueError`:
    code that catches the ValueErrors of Python or numpy must not catch it.
    """

    def __init__(self, sentence: str) -> None:
        line = " ".join("".join(c if c.isprintable() else " " for c in str(sentence)).split())
        super().__init__(line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} … {line[-LONGEST // 2 :]}")


class SoundnessError(RuntimeError):
    """A certified count and a replayed attack contradict each other, or a proof made here is rejected by the verifier.

    It is a bug in this program, never a fault of the input. The command line prints the sentence and exits with code
    70; the dashboard shows it instead of the number.
    """


def did_you_mean(given: str, known: Iterable[str], *, most: int = 2) -> str:
    """` (did you mean x?)` with known names that are similar to `given` or start like it; empty if there are none."""

    def plain(text: str) -> str:
        return text.strip("-").replace("_", "-").lower()

    names = {name: plain(name) for name in known}
    wanted = plain(given)
    found = [name for name, text in names.items() if text == wanted]
    if not found and len(wanted) > 2:
        found = [name for name, text in names.items() if text.startswith(wanted)]
    if not found:
        likeness = {name: difflib.SequenceMatcher(None, wanted, text).ratio() for name, text in names.items()}
        least = max(0.7, max(likeness.values(), default=0.0) - 0.05)
        found = sorted((name for name in names if likeness[name] >= least), key=lambda name: -likeness[name])
    return f" (did you mean {' or '.join(found[:most])}?)" if found else ""
