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

#: In the order of `--help`.
COMMANDS = (
    "certify",
    "curve",
    "surface",
    "radius",
    "defend",
    "attack",
    "verify",
    "report",
    "dashboard",
)

#: Exit code for internal errors, as in sysexits.h.
INTERNAL_ERROR = 70
#: Removed commands, and what to use instead.
MOVED = {
    "base": "there is no command base any more; `certcore certify FILE` says what the base certificate speaks about "
    "and what it certifies one by one (naive)",
    "draw": "there is no command draw any more; `certcore certify`, `certcore curve` and `certcore surface` take "
    "--plot FILE",
    "verify-attack": "there is no command verify-attack any more; `certcore certify FILE --attack ATTACK` checks an "
    "attack when it reads it, and `certcore attack` with the same --seed counts it again",
    "data": "there is no command data any more; certcore.smooth in Python takes your graph as it is, and in the "
    "repository `python -m experiments data` lists, fetches and imports datasets",
    "train": "there is no command train any more; certcore.smooth in Python takes any trained model, and in the "
    "repository `python -m experiments train` trains those of the paper",
    "vote": "there is no command vote any more; certcore.smooth in Python counts the votes of any model, and in the "
    "repository `python -m experiments vote` those of the paper's",
    "bundle": "there is no command bundle any more; certcore.smooth in Python makes an instance from a model and a "
    "graph, and in the repository `python -m experiments bundle` makes those of the paper",
}
#: One example of each command, and what it answers.
EXAMPLES = {
    "certify": ("x.npz --attr-del 50", "how many labels provably stay, all at once"),
    "curve": ("x.npz --plot curve.pdf", "the same over a growing budget"),
    "surface": ("x.npz --plot map.pdf", "the same over two budgets"),
    "radius": ("x.npz --at-least 80%", "the largest budget at which that share stays"),
    "defend": ("x.npz --nodes 5", "which nodes to protect"),
    "attack": ("x.npz --model M --attr-del 9", "change labels of the model in the file M in fact"),
    "verify": ("proof.json x.npz", "check a proof in exact integers, without a solver"),
    "report": ("x.npz -o report", "a page with figures, numbers and the proof"),
    "dashboard": ("x.npz", "all of it in the browser"),
}


class _Main(Parser):
    """The parser above all commands; its help fits on one screen."""

    def format_help(self) -> str:
        lines = [
            "Collective robustness certificates for graph neural networks: how many labels of one graph provably",
            "stay as they are, all at once, when an attacker changes some attributes and edges?",
            "",
        ]
        lines += [f"  {f'certcore {name} {words}':<45} {what}" for name, (words, what) in EXAMPLES.items()]
        lines += [
            "",
            "x.npz is an instance: precomputed/citeseer-gcn-attr-s0.npz, or what certcore.smooth makes in Python.",
            "`certcore COMMAND --help` has all options; `certcore --version` tells the version.",
        ]
        return "\n".join(lines) + "\n"


def build_parser() -> argparse.ArgumentParser:
    parser = _Main(prog="certcore")
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
