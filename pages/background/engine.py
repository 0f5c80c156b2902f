"""The pages' door to the engine: certificates, attacks and proofs as background work."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from certcore import messages
from certcore.common.errors import SoundnessError
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.model_attack.along import Along, attacks_along
from certcore.model_attack.ballots import changed_by_ballots
from certcore.model_attack.stored import FoundAttack, ModelAttack
from certcore.program.relaxation import Relaxation
from certcore.result.certificate import Certificate
from certcore.result.tripwire import check_count
from certcore.server.shelf import SHELF
from certcore.solve.status import Status
from certcore.solve.strong import Progress
from certcore.sweep import Defence, Session, defend
from certcore.sweep.family import Question
from certcore.sweep.session import Preview
from certcore.verify.proof import certified_count

from ..state.state import View
from .answers import Asked
from .jobs import Job
from .work import PATIENCE, Work, ask, follow

#: Seconds of a strong search between two results.
STEP = 0.5


def session(instance: Instance) -> Session:
    """The engine's memory of one instance, shared by visitors and within the API's limit for all instances."""
    return SHELF.session(instance)


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
    """What stored attacks on the model change as one budget grows, for the workbench."""
    asked = along(view, axis, attacks)
    return follow("model_attacks", asked, same=asked.key, patience=0.4)


def attacked(view: View, result: Certificate) -> Work:
    """The same certificate together with the best attack that was found."""
    if result.attack is not None:
        return Work("attack", view.key, result, True)

    def run(job: Job) -> Certificate:
        relaxation = view.relaxation.relaxed
        return session(view.instance).certify(view.threat, relaxation=relaxation, cancel=job.cancel)

    same = ("attack", view.instance.full_digest)
    return ask("attack", ("attack", *view.key), run, "Looking for an attack", same=same, patience=0.25)


def known(view: View) -> Preview | None:
    """What dual values of earlier solves already prove at the new budgets."""
    try:
        return session(view.instance).preview(view.threat, relaxation=view.relaxation)
    except SoundnessError:
        return None  # the number that is being computed meets the same attack and says so


def protecting(view: View, node: int) -> Work:
    """The certificate with one more node protected."""
    threat = view.threat.replace(protected=[*np.asarray(view.threat.protected).tolist(), node])

    def run(job: Job) -> Certificate:
        return session(view.instance).certify(
            threat, relaxation=view.relaxation.relaxed, attack=False, cancel=job.cancel
        )

    key = ("protecting", node, *view.key)
    return ask("protecting", key, run, "Certifying with this node protected", same=key, patience=0.2)


# What pages ask for in plain loops.


def number(view: View) -> Asked:
    """The certificate, what the strong search adds to it if that is wanted, and at last with the best attack found."""

    def steps(cancel: threading.Event) -> Iterator[Certificate]:
        known = session(view.instance)
        found = known.certify(view.threat, relaxation=view.relaxation, attack=False, cancel=cancel)
        yield found
        if view.strengthen and found.size is not None:
            seconds = 0.0
            while seconds < view.time_limit:
                seconds = min(seconds + STEP, view.time_limit)
                found = known.certify(view.threat, relaxation=Relaxation.STRONG, time_limit=seconds, cancel=cancel)
                yield found
                if found.status.is_final:
                    break
        if found.attack is None:
            best = known.certify(view.threat, relaxation=view.relaxation.relaxed, cancel=cancel)
            yield replace(found, attack=best.attack, fractional=best.fractional)

    return Asked(("number", view.strengthen, *view.key), steps, "Solving")


def along(view: View, axis: str, attacks: list[ModelAttack]) -> Asked:
    """What stored attacks on the model change as one budget grows, each compared with the certificates."""

    def steps(cancel: threading.Event) -> Iterator[Along]:
        yield attacks_along(attacks, view.instance, view.threat, axis)

    fixed = view.threat.replace(**{axis: None if axis == "sigma" else 0})
    key = ("along", axis, fixed.budgets, fixed.sigma, tuple(one.digest for one in attacks), *view.family)
    return Asked(key, steps, "Reading model attacks")


def on_ballots(instance: Instance, threat: ThreatModel) -> Asked:
    """Ballots: the attack found with a certificate, as one on the model; nothing if it is none."""

    def steps(cancel: threading.Event) -> Iterator[FoundAttack]:
        found = changed_by_ballots(instance, session(instance).certify(threat, cancel=cancel))
        if found is not None:
            yield found

    return Asked(("on ballots", Question(instance, threat).key), steps, "Looking for an attack on ballots")


def proof(view: View) -> Asked:
    """The proof of the number on show, solved on its own minimal program."""

    def steps(cancel: threading.Event) -> Iterator[dict[str, Any]]:
        known = session(view.instance)
        if view.strengthen:
            made = known.proof(view.threat, relaxation=Relaxation.STRONG, time_limit=view.time_limit, cancel=cancel)
        else:
            made = known.proof(view.threat, relaxation=view.relaxation, cancel=cancel)
        if made is not None:
            yield made

    def hold(made: dict[str, Any]) -> None:
        check_count(view.instance, view.threat, len(view.targets), int(made["certified"]))

    return Asked(("proof", view.strengthen, *view.key), steps, "Writing the proof", hold)


def suggestions(view: View, number: int) -> Asked:
    """Which nodes to protect next, one after the other."""

    def steps(cancel: threading.Event) -> Iterator[Defence]:
        threat, first = view.threat, None
        for _ in range(number):
            found = defend(session(view.instance), threat, 1, relaxation=view.relaxation.relaxed, cancel=cancel)
            first = (
                found
                if first is None
                else replace(first, steps=(*first.steps, *found.steps), threat=found.threat, status=found.status)
            )
            yield first
            if not found.steps:
                return
            threat = found.threat

    def hold(found: Defence) -> None:
        before = np.asarray(view.threat.protected).tolist()
        counts = [found.certified, *(step.certified for step in found.steps)]
        for k, certified in enumerate(counts):
            threat = view.threat.replace(protected=[*before, *found.nodes[:k]])
            check_count(view.instance, threat, found.targets, certified)

    return Asked(("suggest", number, *view.key), steps, "Looking for the best protection", hold)


def unprotected(view: View) -> Asked:
    """The certificate of the same attacker without any protected node."""
    bare = replace(view, threat=view.threat.replace(protected=()))

    def steps(cancel: threading.Event) -> Iterator[Certificate]:
        relaxation = view.relaxation.relaxed
        yield session(view.instance).certify(bare.threat, relaxation=relaxation, attack=False, cancel=cancel)

    return Asked(("unprotected", *bare.key), steps, "Certifying without protection")


def report(view: View, source: str, attacks: list[ModelAttack]) -> Asked:
    """A complete report at the sliders' position, as the bytes of a zip."""

    def steps(cancel: threading.Event) -> Iterator[bytes]:
        # Imported only now: drawing for print is not needed to show a page.
        from certcore.report import build, packed

        made = build(
            view.instance,
            view.threat,
            source=source,
            base_rule=view.rule,
            relaxation=view.relaxation.relaxed,
            attacks=attacks,
            cancel=cancel,
            session=session(view.instance),
            counted=view.counted,
        )
        yield packed(made)

    # The name of the file is in the report, and nowhere in the instance.
    asked = None if view.counted is None else view.counted.tobytes()
    key = ("report", view.name, asked, tuple(one.digest for one in attacks), *view.key)
    return Asked(key, steps, "Writing the report")
