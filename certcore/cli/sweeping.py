"""Shared by the commands that sweep over one or two axes: values, tables, and Ctrl-C."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from certcore import messages
from certcore.cli.accuracy import WithAccuracy
from certcore.cli.options import (
    add_json,
    add_question,
    bounded,
    budgets_given,
    open_instance,
    print_json,
    print_notes,
    print_remarks,
    print_share,
    read_question,
    solve_options,
    started,
    targets_before_correct,
    time_limit,
    write_csv,
)
from certcore.cli.plotting import add_plot, check_plot, save_plot
from certcore.cli.status_line import StatusLine
from certcore.common.files import atomic_write, require_writable
from certcore.common.interrupt import limited, run_beside
from certcore.common.numbers import read_numbers
from certcore.domain.local_mode import LocalMode
from certcore.domain.perturbations import TYPES
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.sweep import Counts
from certcore.sweep.axis import Axis
from certcore.sweep.parallel import SplitCurve
from certcore.sweep.ranges import axes_in_play, curve_values, map_end, map_values

T = TypeVar("T")
Given = tuple[Axis | None, list[Any] | None]
TIME_IS_UP = "the time limit of {:g} s has ended the computation; this is what is proven by then (see --time-limit)"
#: The syntax of values, for the help of every option that takes some.
VALUES = "A:B[:STEP],…"
VALUES_HELP = "its values: numbers and ranges with both ends included, such as 0,1,2,5,10:100:10"


@dataclass(frozen=True, eq=False)
class SweepRequest:
    """Arguments of a sweep: instances (of several splits), the fixed threat model, and the values of each axis."""

    instances: list[Instance]
    threat: ThreatModel
    axes: list[tuple[Axis, list[Any]]]
    options: dict[str, Any]
    """Relaxation, limits, checkpoint, progress and cancellation."""


def add_sweep(parser: argparse.ArgumentParser, what: str) -> None:
    """Options of a sweep: the threat model, the checkpoint, and output."""
    add_question(parser)
    parser.add_argument(
        "--checkpoint", metavar="FILE", help=f"keep finished {what} here and continue from them when run again"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write the CSV there instead of to standard output")
    add_plot(parser, f"the {'curve' if what == 'values' else 'map'}")
    add_json(parser)


def run_sweep(
    args: argparse.Namespace,
    axes: Sequence[tuple[str | None, str | None, str]],
    compute: Callable[[SweepRequest, StatusLine], Counts | SplitCurve],
    draw: Callable[[SweepRequest, Any, list[int]], Any],
) -> int:
    """Read the arguments, compute with a progress line, write the table, and draw the figure if that was asked for.

    Each axis is given by its name, its values as typed, and the name of the option for the values. By default these are
    the budgets in play, to where the sliders of a view end.
    """
    for path in filter(None, (args.output, args.checkpoint)):
        require_writable(path)
    check_plot(args)
    relative = args.local_mode == LocalMode.RELATIVE
    given = [_given(name, values, option, relative, len(axes) == 1) for name, values, option in axes]
    instance, threat = read_question(args)
    if not budgets_given(args) and all(axis is None for axis, _ in given):
        threat = bounded(args, instance, threat)
    varied = with_defaults(instance, threat, given)
    if not any(axis.name in TYPES for axis, _ in varied):
        threat = started(args, instance, threat)
    # Test nodes and predicted classes differ between splits.
    instances = [instance, *(open_instance(path, args) for path in getattr(args, "splits", []))]
    options = solve_options(args) | {"checkpoint": args.checkpoint}

    before = [nodes for one in instances if (nodes := targets_before_correct(args, one)) is not None]

    def work(cancel: threading.Event, progress: StatusLine) -> tuple[Counts | SplitCurve, Any]:
        request = SweepRequest(instances, threat, varied, options | {"cancel": cancel})
        result = compute(request, progress)
        return result, None if args.plot is None else draw(request, result, [len(nodes) for nodes in before])

    result, figure = watched(args.command, args, work)
    if figure is not None:
        save_plot(args, figure)
    at_most = threat
    for axis, numbers in varied:
        at_most = axis.at(at_most, numbers[-1])
    print_remarks(instance, at_most)
    if (sure := messages.joint_confidence(instances)) is not None:
        print(f"certcore: note: {sure}", file=sys.stderr)
    for one, nodes in zip(instances, before):
        print_share(one, nodes)
    write_table(args, result, [len(nodes) for nodes in before])
    return 0


def _given(name: str | None, values: str | None, option: str, relative: bool, local: bool) -> Given:
    """An axis and its values as far as they are given; without an axis, values are whole numbers."""
    axis = None if name is None else Axis.parse(name, local=local, new=True)
    shares = axis is not None and (axis.lengths or (axis.is_local and relative))
    return axis, None if values is None else read_numbers(values, option, shares=shares)


def with_defaults(instance: Instance, threat: ThreatModel, given: Sequence[Given]) -> list[tuple[Axis, list[Any]]]:
    """The axes with their values, from the view's defaults where they are not given."""
    usual = [name for name in (*axes_in_play(instance, threat), "sigma") if name is not None]
    taken = [axis.name for axis, _ in given if axis is not None]
    free = (name for name in usual if name not in taken)
    found = []
    for axis, values in given:
        axis = axis or Axis.parse(next(free), new=True)
        if values is None:
            values = (
                curve_values(instance, axis.name) if len(given) == 1 else map_values(map_end(instance, axis.name), 12)
            )
        found.append((axis, values))
    return found


def watched(what: str, args: argparse.Namespace, work: Callable[[threading.Event, StatusLine], T]) -> T:
    """Run the work with a progress line; Ctrl-C cancels it and ends the command, the time limit ends the work."""
    ended = threading.Event()

    def within(cancel: threading.Event) -> T:
        with limited(time_limit(args), cancel) as stop:
            result = work(stop, progress)
            if stop.is_set():
                ended.set()
            return result

    with StatusLine(what, quiet=args.json) as progress:
        result, cancelled = run_beside(within)
    if cancelled:
        raise KeyboardInterrupt
    print_notes(args)
    if ended.is_set():
        print(f"certcore: note: {TIME_IS_UP.format(time_limit(args))}", file=sys.stderr)
    return result


def write_table(args: argparse.Namespace, found: Counts | SplitCurve, accuracy_of: Sequence[int]) -> None:
    """CSV into a file or to standard output, or one JSON object.

    `accuracy_of`: where only right labels are targets, the number of nodes asked about (one number for each split).
    """
    result = WithAccuracy(found, accuracy_of) if accuracy_of else found
    if args.output:
        with atomic_write(args.output, "w") as handle:
            write_csv(handle, result.columns())
    if args.json:
        print_json(result.to_json())
    elif not args.output:
        write_csv(sys.stdout, result.columns())
