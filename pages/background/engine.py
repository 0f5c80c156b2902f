"""The pages' door to the engine: certificates, attacks and proofs as background work."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from certcore import messages
from certcore.common.errors import SoundnessError
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.model_attack.along import Along, attacks_along
from certcore.model_attack.ballots import changed_by_ballots
from certcore.model_attack.stored import FoundAttack, ModelAttack
from certcore.program.relaxation import Relaxation
from certcore.result.certificate import Certificate
from certcore.solve.status import Status
from certcore.solve.strong import Progress
from certcore.sweep import Defence, Session, defend
from certcore.sweep.family import Question
from certcore.sweep.session import Preview, Sessions
from certcore.verify.proof import certified_count

from ..state.state import View
from .jobs import Job
from .work import PATIENCE, Work, ask


def session(instance: Instance) -> Session:
    """The engine's memory of one instance, shared by visitors."""
    return _sessions().of(instance)


@st.cache_resource(show_spinner=False)
def _sessions() -> Sessions:
    return Sessions()


def certificate(view: View, patience: float = PATIENCE) -> Work:
    """The certificate at the sliders' position; the attack is looked for afterwards, the number comes first."""

    def run(job: Job) -> Certificate:
        return session(view.instance).certify(view.threat, relaxation=view.relaxation, attack=False, cancel=job.cancel)

    what = {"tight": "Solving", "paper": "Solving the paper's relaxation"}
    in_play = tuple(budget > 0 for budget in view.threat.budgets)
    program = (*view.family, view.relaxation, in_play, view.threat.sigma is not None)
    return ask(
        "certificate",
        ("certify", *view.key),
        run,
        what[view.relaxation],
        same=view.instance.full_digest,
        program=program,
        patience=patience,
    )


def strengthened(view: View, result: Certificate) -> Work:
    """The tight certificate improved in place; what is on show meanwhile is what has been proven so far."""

    def run(job: Job) -> Certificate:
        def told(step: Progress) -> None:
            better = min(step.bound, result.bound)
            proven = certified_count(result.targets, better)
            note = messages.strengthening(result.certified, proven, result.targets)
            part = replace(
                result, bound=better, certified=proven,
                relaxation=Relaxation.STRONG, attack=None, status=Status.TIME_LIMIT, rounds=step.rounds,
                seconds=step.seconds,
            )  # fmt: skip
            job.report(min(1.0, step.seconds / view.time_limit), str(note), part)

        return session(view.instance).certify(
            view.threat, relaxation=Relaxation.STRONG, time_limit=view.time_limit, cancel=job.cancel, progress=told
        )

    key = ("strengthen", *view.key)
    return ask("strengthen", key, run, "Strengthening", same=key, patience=0.3)


def model_attacks(view: View, axis: str, attacks: list[ModelAttack]) -> Work:
    """What stored attacks on the model change as one budget grows, each held against the certificates."""

    def run(job: Job) -> Along:
        return attacks_along(attacks, view.instance, view.threat, axis)

    fixed = view.threat.replace(**{axis: None if axis == "sigma" else 0})
    key = ("model_attacks", axis, fixed.budgets, fixed.sigma, tuple(one.digest for one in attacks), *view.family)
    return ask("model_attacks", key, run, "Reading model attacks", same=key, patience=0.4)


def on_ballots(name: str, instance: Instance, threat: ThreatModel) -> Work:
    """Ballots: the attack found with a certificate, as one on the model; its result is None if it is none."""

    def run(job: Job) -> FoundAttack | None:
        return changed_by_ballots(instance, session(instance).certify(threat, cancel=job.cancel))

    key = ("on_ballots", Question(instance, threat).key)
    return ask(f"on_ballots_{name}", key, run, "Looking for an attack on ballots", same=key, patience=0.4)


def attacked(view: View, result: Certificate) -> Work:
    """The same certificate together with the best attack that was found."""
    if result.attack is not None:
        return Work("attack", view.key, result, True)

    def run(job: Job) -> Certificate:
        relaxation = view.relaxation.relaxed
        return session(view.instance).certify(view.threat, relaxation=relaxation, cancel=job.cancel)

    same = ("attack", view.instance.full_digest)
    return ask("attack", ("attack", *view.key), run, "Looking for an attack", same=same, patience=0.25)


def proof(view: View) -> Work:
    """The proof of the number on show, solved on its own minimal program."""

    def run(job: Job) -> dict[str, Any] | None:
        known = session(view.instance)
        if view.strengthen:
            return known.proof(view.threat, relaxation=Relaxation.STRONG, time_limit=view.time_limit, cancel=job.cancel)
        return known.proof(view.threat, relaxation=view.relaxation, cancel=job.cancel)

    return ask(
        "proof",
        ("proof", view.strengthen, *view.key),
        run,
        "Writing the proof",
        same=("proof", *view.key),
        patience=1.5,
    )


def known(view: View) -> Preview | None:
    """What dual values of earlier solves already prove at the new budgets."""
    try:
        return session(view.instance).preview(view.threat, relaxation=view.relaxation)
    except SoundnessError:
        return None  # the number that is being computed meets the same attack and says so


def preview(view: View) -> str:
    """The same in words; empty if nothing."""
    found = known(view)
    if found is None:
        return ""
    whole = found.targets if view.counted is None else len(view.counted)
    return str(messages.known_already(found.certified, whole))


def suggest(view: View, number: int) -> Work:
    """Which nodes to protect next."""
    relaxation = view.relaxation.relaxed

    def run(job: Job) -> Defence:
        return defend(
            session(view.instance),
            view.threat,
            number,
            relaxation=relaxation,
            cancel=job.cancel,
            progress=lambda done: job.report(done),
        )

    return ask("suggest", ("suggest", number, *view.key), run, "Looking for the best protection", patience=0.2)


def protecting(view: View, node: int) -> Work:
    """The certificate with one more node protected."""
    threat = view.threat.replace(protected=[*np.asarray(view.threat.protected).tolist(), node])

    def run(job: Job) -> Certificate:
        return session(view.instance).certify(
            threat, relaxation=view.relaxation.relaxed, attack=False, cancel=job.cancel
        )

    key = ("protecting", node, *view.key)
    return ask("protecting", key, run, "Certifying with this node protected", same=key, patience=0.2)


def report(view: View, source: str, attacks: list[ModelAttack]) -> Work:
    """A complete report at the sliders' position, as the bytes of a zip."""
    relaxation = view.relaxation.relaxed

    def run(job: Job) -> bytes:
        # Imported only now: drawing for print is not needed to show a page.
        from certcore.report import build, packed

        made = build(
            view.instance,
            view.threat,
            source=source,
            base_rule=view.rule,
            relaxation=relaxation,
            attacks=attacks,
            progress=job.report,
            cancel=job.cancel,
            session=session(view.instance),
            counted=view.counted,
        )
        return packed(made)

    # The name of the file is in the report, and nowhere in the instance.
    asked = None if view.counted is None else view.counted.tobytes()
    key = ("report", view.name, asked, tuple(one.digest for one in attacks), *view.key)
    return ask("report", key, run, "Writing the report", same=key, patience=0.2)
