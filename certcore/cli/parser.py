"""The parser of the command line: an error is one sentence with a suggestion."""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any, NoReturn, TypeAlias

from certcore.common.errors import InputError, did_you_mean

Subparsers: TypeAlias = "argparse._SubParsersAction[Parser]"
"""The subparsers object that a command adds itself to."""


class Parser(argparse.ArgumentParser):
    """Wrong options give one line and exit code 2, like every other bad input.

    Options cannot be abbreviated: `--local` could mean four of them.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **kwargs})
        self._given: list[str] = []

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Report unknown options here, where the command's own options are known, not in the main parser."""
        self._given = sys.argv[1:] if args is None else list(args)
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        return found, rest

    def error(self, message: str) -> NoReturn:
        """One sentence; an unknown option is reported first, because it may cause the other errors."""
        unknown = self._unknown()
        if unknown and self._commands() is not None:
            message = f"there is no option {unknown} before the command; options of a command come after it"
        elif unknown:
            message = f"there is no option {unknown}{did_you_mean(unknown, self._option_string_actions)}"
        else:
            message = re.sub(r"^argument (\S+): ", r"\1: ", message)
        raise InputError(f"{message}; see {self.prog} --help")

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is None or value in action.choices:
            return
        name = "/".join(action.option_strings) or action.metavar or action.dest
        known = [str(choice) for choice in action.choices]
        if isinstance(action, argparse._SubParsersAction):
            what = f"there is no {str(name).lower()} {value!r}"
        else:
            what = f"{name}: {value!r} is none of the choices"
        self.error(f"{what}{did_you_mean(str(value), known)}; expected one of {', '.join(known)}")

    def _commands(self) -> argparse.Action | None:
        return next((action for action in self._actions if isinstance(action, argparse._SubParsersAction)), None)

    def _unknown(self) -> str | None:
        """The first given option that does not exist; only of the words before the command if there are commands."""
        for word in self._given:
            if word == "--" or (self._commands() is not None and not word.startswith("-")):
                return None
            name = word.partition("=")[0]
            if name.startswith("--") and name not in self._option_string_actions:
                return name
        return None
