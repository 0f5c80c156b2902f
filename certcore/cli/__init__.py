"""The command line: one module per command, each with `add(subparsers)` and `run(args) -> int`."""

from __future__ import annotations

import argparse
import importlib
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from types import ModuleType

from certcore import __version__
from certcore.cli.parser import Parser
from certcore.common.errors import InputError, SoundnessError

#: In the order of the data flow, which is also the order of `--help`.
COMMANDS = (
    "data", "train", "vote", "bundle", "base", "certify", "verify", "attack", "verify-attack", "curve", "surface",
    "radius", "defend", "draw", "report", "dashboard",
)  # fmt: skip

#: Exit code for internal errors, as in sysexits.h.
INTERNAL_ERROR = 70
#: Removed commands, and their replacements.
MOVED = {
    "figures": "there is no command figures any more; `certcore draw` makes one figure, `certcore report` "
    "all figures of an instance",
    "reproduce": "the paper's experiments are no command of certcore any more; in a clone of the project run "
    "`python -m experiments` with the same arguments",
}

INTRODUCTION = """\
Collective robustness certificates for graph neural networks.

How many labels of one graph provably stay as they are, all at once, when an attacker flips some attributes and edges?

  certcore certify precomputed/citeseer-gcn-attr-s0.npz --attr-del 50
  certcore curve   precomputed/citeseer-gcn-attr-s0.npz --vary attr_del --values 0:200
  certcore verify  proof.json precomputed/citeseer-gcn-attr-s0.npz
"""


def build_parser() -> argparse.ArgumentParser:
    parser = Parser(prog="certcore", description=INTRODUCTION, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=f"certcore {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", parser_class=Parser)
    for name in COMMANDS:
        _module(name).add(subparsers)
    return parser


def _module(command: str) -> ModuleType:
    return importlib.import_module(f"certcore.cli.{command.replace('-', '_')}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    return guarded("certcore", words, lambda: _run(words))


def _run(words: list[str]) -> int:
    if words and words[0] in MOVED:
        raise InputError(MOVED[words[0]])
    parser = build_parser()
    args = parser.parse_args(words)
    if args.command is None:
        parser.print_help()
        return 0
    return int(_module(args.command).run(args))


def guarded(name: str, words: Sequence[str], work: Callable[[], int]) -> int:
    """Run a command; an error becomes one sentence and an exit code, never a traceback."""
    try:
        return work()
    except InputError as error:
        print(f"{name}: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except SoundnessError as error:
        print(f"{name}: {error}, command: {shlex.join([name, *words])}", file=sys.stderr)
        return INTERNAL_ERROR
    except KeyboardInterrupt:
        print(f"{name}: interrupted; long commands continue where they stopped when run again", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of the pipe (head, less) has closed it: that is no error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemoryError:
        print(f"{name}: out of memory; use a smaller graph or budget, or more memory", file=sys.stderr)
        return 2
