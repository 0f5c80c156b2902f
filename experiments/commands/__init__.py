"""The commands that make the paper's datasets, models, votes and bundles: `python -m experiments COMMAND`."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence

from certcore.cli.parser import Parser

COMMANDS = ("data", "train", "vote", "bundle", "attack")


def build_parser() -> argparse.ArgumentParser:
    parser = Parser(prog="python -m experiments")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", parser_class=Parser)
    for name in COMMANDS:
        importlib.import_module(f"experiments.commands.{name}").add(subparsers)
    return parser


def run(words: Sequence[str]) -> int:
    """Run one command; returns the exit code."""
    args = build_parser().parse_args(words)
    return int(importlib.import_module(f"experiments.commands.{args.command}").run(args))
