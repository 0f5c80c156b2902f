"""`--plot FILE`: the figure of what a command computed, as a file."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from certcore.common.errors import InputError
from certcore.common.files import require_writable
from certcore.domain.local_mode import LocalMode
from certcore.domain.perturbations import TYPES, entry_of
from certcore.domain.threat import ThreatModel
from certcore.domain.weights import refuse_weights
from certcore.instance.instance import Instance
from certcore.model_attack.along import attacks_along
from certcore.model_attack.stored import ModelAttack, attacks_on
from certcore.program.relaxation import Relaxation
from certcore.sweep.attack_curve import best_attacks
from certcore.sweep.ranges import stops, unit_of


def add_plot(parser: argparse.ArgumentParser, what: str) -> None:
    group = parser.add_argument_group("figure")
    group.add_argument(
        "--plot",
        metavar="FILE",
        help=f"draw {what}; the end of the name chooses the format: .pdf, .svg, .png, .csv (its numbers) or .tex "
        "(table)",
    )
    group.add_argument("--width", default="8.5cm", metavar="CM", help="width of the figure (default: 8.5cm)")
    group.add_argument("--font", choices=("sans", "serif"), default="sans", help="font of the figure (default: sans)")


def check_plot(args: argparse.Namespace) -> None:
    """Refuse what cannot be drawn or written before anything is computed."""
    if args.plot is None:
        return
    if is_page(args):
        refuse_weights(args.weights, "the interactive page")
    from certcore.figures.save import check_saving

    if not is_page(args):
        check_saving(args.plot, args.width, args.font)
    require_writable(args.plot)


def is_page(args: argparse.Namespace) -> bool:
    """Whether a certificate is drawn as the interactive page."""
    return args.command == "certify" and str(args.plot).lower().endswith(".html")


def save_plot(args: argparse.Namespace, figure: Any) -> None:
    from certcore.figures.save import save

    save(figure, args.plot, width=args.width, font=args.font)


def stored_attacks(path: str, instance: Instance) -> Sequence[ModelAttack]:
    """Attacks on the model beside the file of an instance; those on another instance are left out."""
    try:
        return attacks_on(path, instance)
    except InputError:
        return []


def changed_along(
    path: str, instance: Instance, threat: ThreatModel, vary: str, values: Sequence[Any]
) -> list[int | None] | None:
    """Labels that the stored attacks on the model change at each value; None where none is stored."""
    attacks = stored_attacks(path, instance) if vary in (*TYPES, "sigma") else ()
    return attacks_along(attacks, instance, threat, vary).changed(values) if attacks else None


def attacks_below(
    instance: Instance, threat: ThreatModel, vary: str, values: list[Any], relaxation: str, cancel: threading.Event
) -> np.ndarray | None:
    """Targets left uncertified by the best attack found at each value of a curve; None where none is searched for."""
    if vary.startswith("local_") or (vary in TYPES and entry_of(vary).lengths):
        return None
    few = set(stops(int(values[-1]))) if unit_of(instance, vary) == 1 else set(values)
    searched = [value for value in values if value in few]
    how: Any = {"relaxation": str(Relaxation(relaxation).relaxed), "cancel": cancel}
    return best_attacks(instance, threat, vary, values, searched=searched, **how)


def marker(threat: ThreatModel, name: str) -> float | None:
    """The position of the threat model's own value on an axis, if it has one."""
    value: Any = getattr(threat, name)
    shares = name.startswith("local_") and threat.local_mode == LocalMode.RELATIVE
    return float(value) if value and not isinstance(value, np.ndarray) and not shares else None
