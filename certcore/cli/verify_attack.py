"""`certcore verify-attack`: count the labels that a stored attack on a model changes again, with new samples."""

from __future__ import annotations

import argparse
import threading
from typing import Any

from certcore.cli.options import add_instance, add_json, answer, natural, read_instance
from certcore.cli.parser import Subparsers
from certcore.cli.paths import require_file
from certcore.cli.status_line import StatusLine
from certcore.common.errors import InputError
from certcore.messages.model_attack import size_words
from certcore.model_attack.stored import load_attack


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "verify-attack",
        help="count a stored attack on a model again, with new samples",
        description="Train the model again by its recorded command, make the attacked graphs again and count labels "
        "with new samples. Exit code 0: accepted, 1: a label that the file calls changed is not, 2: "
        "unreadable.",
        epilog="example: certcore verify-attack NAME.attack.npz NAME.npz",
    )
    parser.add_argument("attack", metavar="ATTACK", help="a file written by certcore attack")
    add_instance(parser)
    parser.add_argument("--seed", type=natural, default=1, help="seed of the new samples (default 1)")
    parser.add_argument("--model", metavar="FILE.safetensors", help="the model itself, instead of training it again")
    parser.add_argument("--work", metavar="DIR", help="where trained models are kept (default: the cache folder)")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from certcore.model_attack.run import recount
    from certcore.pipeline.attacking import bundle_victim, with_attributes

    require_file(args.attack, "a file written by certcore attack", suffix=".npz")
    instance = read_instance(args)
    attack = load_attack(args.attack, instance)
    instance = with_attributes(instance)
    with StatusLine("verify-attack", quiet=args.json):
        victim = bundle_victim(instance, args.model, args.work)
        if victim.digest != attack.meta.get("model"):
            raise InputError(
                f"the attack is on the model {str(attack.meta.get('model'))[:12]}, but this one is "
                f"{victim.digest[:12]}; give the model that was attacked with --model"
            )
        levels: list[dict[str, Any]] = [
            {
                "flips": level.flips,
                "words": size_words(level.flips, level.distance),
                "changed": level.stored,
                "recounted": level.recounted,
                "wrong": level.wrong,
            }
            for level in recount(attack, victim, instance, args.seed, threading.Event())
        ]
    accepted = not any(level["wrong"] for level in levels)
    lines = [f"{'accepted' if accepted else 'rejected'}: new samples {'agree' if accepted else 'disagree'}"]
    for level in levels:
        lines.append(f"  {level['words']}: {level['changed']:,} changed, {level['recounted']:,} counted again")
    answer(args, {"accepted": accepted, "levels": levels}, *lines)
    return 0 if accepted else 1
