"""`certcore attack`: search for a perturbation that changes labels of the certified model."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from certcore.cli.options import add_instance, add_json, add_threat, answer, natural, read_instance, seconds, threat_of
from certcore.cli.parser import Subparsers
from certcore.cli.paths import require_file
from certcore.common.exact import confidence_text
from certcore.common.files import require_writable
from certcore.common.interrupt import run_beside
from certcore.common.progress import ProgressBar
from certcore.common.rounding import percent_up
from certcore.instance.instance import Instance
from certcore.messages.model import size_words
from certcore.model_attack.methods import AttackMethod
from certcore.model_attack.stored import ModelAttack, beside, load_attack, save_attack


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "attack",
        help="change labels of the model in fact: the other side of a certificate",
        description="Look for a perturbation within the threat model that changes as many labels of the certified "
        "model as possible, count them with new samples, and hold the result against the certificates. The model is "
        "trained again by the command that the instance tells. An interrupted run continues from the file it wrote.",
        epilog="example: certcore attack precomputed/citeseer-gcn-attr-s0.npz --attr-del 50 --time-limit 60",
    )
    add_instance(parser)
    add_threat(parser)
    parser.add_argument(
        "--method", choices=list(map(str, AttackMethod)), default=str(AttackMethod.LOCAL),
        help="how flips are looked for (default: local, greedy by gradients and then swapping); attributes that are "
        "numbers are moved by projected gradients",
    )  # fmt: skip
    parser.add_argument("--time-limit", type=seconds, metavar="S", help="seconds of searching (default: by steps)")
    parser.add_argument(
        "--samples", type=natural, default=10_000, help="new samples by which labels are counted (default 10,000)"
    )
    parser.add_argument("--alpha", default="0.01", help="error probability for all targets together (default 0.01)")
    parser.add_argument("--seed", type=natural, default=0, help="seed of the search and of the samples (default 0)")
    parser.add_argument(
        "--nested", action="store_true", help="also at budgets of 1, 2, 5, 10, …, each attack contained in the next"
    )
    parser.add_argument("--model", metavar="FILE.safetensors", help="the model itself, instead of training it again")
    parser.add_argument("--work", metavar="DIR", help="where trained models are kept (default: the cache folder)")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write the attack (default if nested: attacks/NAME.attack.npz)"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from certcore.model_attack.run import AttackOptions
    from certcore.pipeline.attacking import attack_bundle, command_of

    instance = read_instance(args)
    threat = threat_of(args, instance)
    options = AttackOptions(args.method, args.samples, args.alpha, args.seed, args.time_limit, args.nested)
    output = _output(args)
    start = load_attack(output, instance) if output is not None and output.exists() else None
    if args.model is not None:
        require_file(args.model, "a model written by `certcore train`", suffix=".safetensors")
    bar = ProgressBar("attack", sum(threat.budgets), unit="flips and units")
    # If another program calls this, its own arguments are not a certcore command.
    provenance: dict[str, Any] = {"command": command_of(sys.argv[1:])} if sys.argv[1:2] == ["attack"] else {}

    def keep(attack: ModelAttack) -> None:
        if output is not None:
            attack.meta.update(provenance)
            save_attack(output, attack)

    attack, _ = run_beside(
        lambda cancel: attack_bundle(
            instance, threat, options, model=args.model, work=args.work, start=start, cancel=cancel, keep=keep,
            progress=None if args.json else lambda done, total, note: bar.update(done, note),
        ),
        lambda: print("certcore: stopping; what was counted so far follows", file=sys.stderr),
    )  # fmt: skip
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
            {"flips": level.flips, "spent": attack.spent(level),
             "words": size_words(level.flips, attack.distance(level)), "changed": count.n_changed,
             "accuracy_under_attack": count.accuracy}
        )  # fmt: skip
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
    sure = "the prediction differs" if report["test"] is None else (
        f"confidence {confidence_text(report['joint_alpha'], 100)} % over all targets together with the certificate, "
        f"{report['samples']:,} new samples"
    )  # fmt: skip
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
