"""Questions to the engine as plain JSON, and their answers as plain JSON with bounds as exact fractions.

A *group* is a list of questions about one instance under one base rule. They share one session and are asked in
their order, because what a session answers in the last bit may depend on what it was asked before.
"""

from __future__ import annotations

import contextlib
import os
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tests.net import doors
from tests.support import few_steps, unhurried

ROOT = Path(__file__).resolve().parents[2]
BUNDLES = ROOT / "precomputed"
FIXTURES = Path(__file__).with_name("fixtures")
INSTANCES = FIXTURES / "instances"
NUMBERS = Path(__file__).with_name("numbers")

Question = dict[str, Any]
Answer = dict[str, Any]

#: Perturbation types, as columns of files name them.
TYPES = ("attr_add", "attr_del", "adj_add", "adj_del")


def path_of(name: str) -> Path:
    """A frozen toy instance, or a bundle."""
    toy = INSTANCES / f"{name}.npz"
    return toy if toy.exists() else BUNDLES / f"{name}.npz"


@lru_cache(maxsize=2)
def instance_of(name: str, rule: str) -> doors.Instance:
    return doors.load_instance(path_of(name), base_rule=rule)


def targets_of(instance: doors.Instance, which: Any) -> np.ndarray | None:
    if which is None or isinstance(which, list):
        return None if which is None else np.array(which, dtype=np.int64)
    return instance.select_targets(which)


def threat_of(instance: doors.Instance, question: Question) -> doors.ThreatModel:
    """Threat models are kept in the form that proofs hold; what is not named is at its first value."""
    return doors.ThreatModel.from_json(question.get("threat", {}), targets_of(instance, question.get("targets")))


def text(bound: Fraction) -> str:
    return f"{bound.numerator}/{bound.denominator}"


def ask_group(questions: list[Question]) -> list[Answer]:
    """All answers, through one fresh session."""
    first = questions[0]
    name, rule = first["instance"], first.get("rule", "binary")
    assert all((q["instance"], q.get("rule", "binary")) == (name, rule) for q in questions)
    session = doors.Session(instance_of(name, rule))
    return [ask(session, question) for question in questions]


def ask(session: doors.Session, question: Question) -> Answer:
    """One answer. `way` says who is asked: `cold` (certcore.certify) or the session."""
    kind = question["kind"]
    instance = session.instance
    if kind == "digest":
        return {"digest": instance.digest, "targets": len(targets_of(instance, "all")), "own": len(instance.targets)}
    if kind == "command":
        return _command(question)
    threat = threat_of(instance, question)
    options = {"relaxation": question.get("relaxation", "tight")}
    if kind == "certify":
        call = doors.certify if question.get("way", "cold") == "cold" else None
        options |= {"attack": question.get("attack", True), "proof": False, "rounds": question.get("rounds")}
        # The same threat models are asked up to four times. The best attack that we can find is held against the
        # lowest bound, once: cold, and not against the paper's bound.
        best = call and options["relaxation"] != "paper"
        with contextlib.nullcontext() if best else few_steps():
            found = call(instance, threat, **options) if call else session.certify(threat, **options)
        answer = certificate(found)
        if question.get("rounds") is not None:
            del answer["status"]  # rounds used up
        return answer
    if kind == "attack":
        with unhurried():
            return certificate(doors.certify(instance, threat, proof=False))
    if kind == "preview":
        shown = session.preview(threat, **options)
        return {
            "bound": text(shown.bound),
            "certified": shown.certified,
            "naive": shown.naive_certified,
            "targets": shown.targets,
            "final": shown.final,
        }
    if kind == "curve":
        line = doors.curve(session, threat, question["vary"], question["values"], **options)
        return {
            "bound": [text(b) for b in line.bounds],
            "certified": line.certified.tolist(),
            "naive": line.naive.tolist(),
            "done": line.done.tolist(),
            "targets": line.targets,
            "status": str(line.status),
            "relaxation": line.relaxation,
        }
    if kind == "surface":
        q = question
        cells = doors.surface(session, threat, q["x"], q["x_values"], q["y"], q["y_values"], **options)
        places = [(i, j) for i in range(len(q["x_values"])) for j in range(len(q["y_values"]))]
        return {
            "bound": [text(cells.bounds[i, j]) for i, j in places],
            "certified": cells.certified.ravel().tolist(),
            "naive": cells.naive.ravel().tolist(),
            "done": cells.done.ravel().tolist(),
            "targets": cells.targets,
            "status": str(cells.status),
            "relaxation": cells.relaxation,
        }
    if kind == "radius":
        found = doors.radius(session, threat, question["vary"], question["at_least"], **options).to_json()
        answer = {key: value for key, value in found.items() if key not in ("seconds", "solves", "ratio")}
        return answer | {"verified": True}
    if kind == "defend":
        plan = doors.defend(session, threat, question["nodes"], **options)
        return {
            "targets": plan.targets,
            "certified": plan.certified,
            "gain": plan.gain,
            "steps": [[step.node, step.certified, step.gain] for step in plan.steps],
            "status": str(plan.status),
            "relaxation": plan.relaxation,
        }
    raise AssertionError(kind)


def certificate(found: doors.Certificate) -> Answer:
    return {
        "bound": text(found.bound),
        "certified": found.certified,
        "naive": found.naive_certified,
        "attack": found.attack_found,
        "targets": found.targets,
        "status": str(found.status),
        "relaxation": found.relaxation,
    }


def _command(question: Question) -> Answer:
    """What a command prints as JSON, without what depends on the machine or the versions."""
    before = Path.cwd()
    os.chdir(ROOT)  # answers may repeat the path they were given
    try:
        found = doors.command_json(*question["words"])
    finally:
        os.chdir(before)
    return {key: value for key, value in found.items() if key not in ("seconds", "solves", "facts")}


def points(question: Question) -> list[Question]:
    """The single certificates that a curve or a surface speaks about, point by point, asked cold."""
    kind, threat = question["kind"], question.get("threat", {})

    def at(**moved: Any) -> Question:
        changed = dict(threat)
        for name, value in moved.items():
            if name.startswith("local_"):
                local = {"mode": "absolute", **(changed.get("local") or {}), name.removeprefix("local_"): value}
                changed["local"] = local
            else:
                changed[name] = value
        kept = {key: question[key] for key in ("instance", "rule", "targets", "relaxation") if key in question}
        return {"kind": "certify", "way": "cold", "attack": False, "threat": changed, **kept}

    if kind == "certify":
        other = "session" if question.get("way", "cold") == "cold" else "cold"
        return [{**question, "way": other}]
    if kind == "curve":
        return [at(**{question["vary"]: value}) for value in question["values"]]
    if kind == "surface":
        xs, ys = question["x_values"], question["y_values"]
        return [at(**{question["x"]: x, question["y"]: y}) for x in xs for y in ys]
    return []
