"""The parser of the command line: mistakes get one sentence that says what was probably meant."""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any, NoReturn, TypeAlias

from certcore.common.errors import InputError, did_you_mean

Subparsers: TypeAlias = "argparse._SubParsersAction[Parser]"
"""What a command adds itself to."""


class Parser(argparse.ArgumentParser):
    """Wrong options get one line and exit code 2, like every other bad input.

    An option is never taken for another one that begins alike: `--local` could mean four things.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **kwargs})
        self._given: list[str] = []

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Refuse unknown options here, where it is known which ones there are, not in the parser of all commands."""
        self._given = sys.argv[1:] if args is None else list(args)
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        return found, rest

    def error(self, message: str) -> NoReturn:
        """One sentence; if an option is unknown, that is the mistake, whatever else is missing because of it."""
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
        """The first option that was given and does not exist; of the words before the command if there are commands."""
        for word in self._given:
            if word == "--" or (self._commands() is not None and not word.startswith("-")):
                return None
            name = word.partition("=")[0]
            if name.startswith("--") and name not in self._option_string_actions:
                return name
        return None
