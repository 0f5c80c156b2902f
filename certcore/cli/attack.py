"""`certcore attack`: search for a perturbation that changes labels of the certified model."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from certcore.cli.options import add_instance, add_json, add_threat, answer, natural, read_instance, seconds, threat_of
from certcore.cli.parser import Subparsers
from certcore.cli.paths import require_file
from certcore.common.errors import InputError
from certcore.common.exact import confidence_text
from certcore.common.files import require_writable
from certcore.common.interrupt import run_beside
from certcore.common.progress import ProgressBar
from certcore.common.rounding import percent_up
from certcore.domain.weights import refuse_weights
from certcore.instance.instance import Instance
from certcore.messages.model import size_words
from certcore.model_attack.methods import AttackMethod
from certcore.model_attack.stored import ModelAttack, beside, load_attack, save_attack

if TYPE_CHECKING:
    from certcore.model_attack.victim import Victim


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "attack",
        description="Look for a perturbation within the threat model that changes as many labels of the certified "
        "model as possible, count them with new samples, and hold the result against the certificates. An interrupted "
        "run continues from the file it wrote.",
        epilog="example: certcore attack precomputed/citeseer-gcn-attr-s0.npz --attr-del 50 "
        "--model experiments/models/citeseer-gcn-attr-s0.safetensors; for any other network certcore.attack in Python",
    )
    add_options(parser)
    parser.add_argument("--model", metavar="FILE.safetensors", help="the model that was certified")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of the search, whatever the model comes from."""
    add_instance(parser)
    add_threat(parser)
    parser.add_argument(
        "--method",
        choices=list(map(str, AttackMethod)),
        default=str(AttackMethod.LOCAL),
        help="how flips are looked for (default: local, greedy by gradients and then swapping); attributes that are "
        "numbers are moved by projected gradients",
    )
    parser.add_argument("--time-limit", type=seconds, metavar="S", help="seconds of searching (default: by steps)")
    parser.add_argument(
        "--samples", type=natural, default=10_000, help="new samples by which labels are counted (default 10,000)"
    )
    parser.add_argument("--alpha", default="0.01", help="error probability for all targets together (default 0.01)")
    parser.add_argument("--seed", type=natural, default=0, help="seed of the search and of the samples (default 0)")
    parser.add_argument(
        "--nested", action="store_true", help="also at budgets of 1, 2, 5, 10, …, each attack contained in the next"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write the attack (default if nested: attacks/NAME.attack.npz)"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from certcore.attack import file_victim

    if args.model is None:
        raise InputError(
            "no model is given; name its file with --model, use certcore.attack in Python for any network, or "
            "`python -m experiments attack` in the repository, which trains the model of a bundle again"
        )
    require_file(args.model, "the model's weights", suffix=".safetensors")
    return search(args, lambda instance: (file_victim(instance, args.model), instance), ["certcore"])


def search(args: argparse.Namespace, ready: Callable[[Instance], tuple[Victim, Instance]], program: list[str]) -> int:
    """Attack the victim that `ready` makes of the instance, and print what changed; returns the exit code."""
    from certcore.attack import command_of
    from certcore.model_attack.run import AttackOptions, run_attack

    refuse_weights(args.weights, "a model attack")
    instance = read_instance(args)
    threat = threat_of(args, instance)
    options = AttackOptions(args.method, args.samples, args.alpha, args.seed, args.time_limit, args.nested)
    output = _output(args)
    start = load_attack(output, instance) if output is not None and output.exists() else None
    bar = ProgressBar("attack", sum(threat.budgets), unit="flips and units")
    # If another program calls this, its own arguments are not a certcore command.
    own = sys.argv[1:2] == ["attack"]
    provenance: dict[str, Any] = {"command": command_of(program, sys.argv[1:])} if own else {}
    recipe = {"recipe": instance.meta.get("command")}

    def keep(attack: ModelAttack) -> None:
        if output is not None:
            attack.meta.update(provenance)
            save_attack(output, attack)

    attack, _ = run_beside(
        lambda cancel: run_attack(
            *ready(instance),
            threat,
            options,
            meta=recipe,
            start=start,
            cancel=cancel,
            keep=keep,
            progress=None if args.json else lambda done, total, note: bar.update(done, note),
        ),
        lambda: print("certcore: stopping; what was counted so far follows", file=sys.stderr),
    )
    keep(attack)
    report = attack_report(attack, instance, args)
    return answer(args, report, *_lines(report), *([] if output is None else [f"wrote {output}"]))


def _output(args: argparse.Namespace) -> Path | None:
    path = Path(args.output) if args.output else beside(args.instance) if args.nested else None
    if path is not None:
        require_writable(path)
    return path


def attack_report(attack: ModelAttack, instance: Instance, args: argparse.Namespace) -> dict[str, Any]:
    """The object that `--json` prints: the largest attack, and every level."""
    threat = threat_of(args, instance)
    targets = np.asarray(instance.targets if threat.targets is None else threat.targets)
    levels = []
    for level in attack.levels:
        count = attack.count(instance, level, targets)
        levels.append(
            {
                "flips": level.flips,
                "spent": attack.spent(level),
                "words": size_words(level.flips, attack.distance(level)),
                "changed": count.n_changed,
                "accuracy_under_attack": count.accuracy,
            }
        )
    last = attack.count(instance, attack.levels[-1], targets)
    return {
        "targets": len(targets),
        "abstaining": int(last.abstaining.sum()),
        "changed": last.n_changed,
        "accuracy_under_attack": last.accuracy,
        "flips": len(attack.flips),
        "samples": attack.samples,
        "alpha": attack.alpha,
        "joint_alpha": last.joint_alpha,
        "test": None if attack.plain else "exact binomial, Holm",
        "method": attack.meta.get("method"),
        "seconds": attack.meta.get("seconds"),
        "model": attack.meta.get("model"),
        "digest": attack.digest,
        "levels": levels,
    }


def _lines(report: dict[str, Any]) -> list[str]:
    sure = (
        "the prediction differs"
        if report["test"] is None
        else (
            f"confidence {confidence_text(report['joint_alpha'], 100)} % over all targets together with the "
            f"certificate, {report['samples']:,} new samples"
        )
    )
    lines = [
        f"changed           {report['changed']:,} of {report['targets']:,} labels ({sure})",
        f"found             {report['levels'][-1]['words']} by {report['method']}, {report['seconds']} s; "
        "there may be worse",
    ]
    if report["abstaining"]:
        lines.append(f"abstaining        {report['abstaining']:,} targets without a certified label count neither way")
    if report["accuracy_under_attack"] is not None:
        lines.append(f"accuracy          {percent_up(report['accuracy_under_attack'])} under this attack")
    if len(report["levels"]) > 1:
        lines += [f"  {level['words']}: {level['changed']:,} changed" for level in report["levels"]]
    return lines
