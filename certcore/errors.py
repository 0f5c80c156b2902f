"""Errors that are meant for people."""

from __future__ import annotations


class InputError(ValueError):
    """Bad input, told in one sentence: what was given, what was expected, what to do.

    The command line prints the sentence and exits with code 2; the dashboard shows it in a box.
    """
