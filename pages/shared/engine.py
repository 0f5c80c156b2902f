"""The pages' door to the engine: certificates and sweeps as background work."""

from __future__ import annotations

import numpy as np

from certcore.certificate import Certificate
from certcore.certify import certify
from pages.shared.jobs import Job
from pages.shared.state import View
from pages.shared.work import Work, ask


def certificate(view: View, slot: str = "certificate") -> Work:
    """The certificate at the sliders' position."""

    def run(job: Job) -> Certificate:
        limit = view.time_limit if view.relaxation == "exact" else None
        return certify(view.instance, view.threat, relaxation=view.relaxation, time_limit=limit, cancel=job.cancel)

    what = {"tight": "Solving", "paper": "Solving the paper's relaxation", "exact": "Solving the integer program"}
    return ask(slot, ("certify", *view.key), run, what[view.relaxation], same=view.instance.digest)


def per_class(view: View) -> Work:
    """One certificate per predicted class: the attacker turns all budget against that class."""
    prediction = view.instance.prediction
    assert prediction is not None

    def run(job: Job) -> list[tuple[int, int, int, int]]:
        rows = []
        labels = np.asarray(prediction)[view.targets]
        classes = np.unique(labels).tolist()
        for number, label in enumerate(classes):
            job.report(number / len(classes), f"class {number + 1} of {len(classes)}")
            threat = view.threat.replace(targets=view.targets[labels == label])
            relaxation = "tight" if view.relaxation == "exact" else view.relaxation
            result = certify(view.instance, threat, relaxation=relaxation, attack=False, proof=False, cancel=job.cancel)
            if job.cancel.is_set():
                break
            rows.append((label, result.certified, result.naive_certified, result.targets))
        return rows

    return ask("classes", ("classes", *view.key), run, "Certifying each class", same=view.instance.digest, patience=0.0)


def preview(view: View) -> str:
    """What multipliers of earlier solves already prove at the new budgets, in words; empty if nothing."""
    return ""


def suggest(view: View, number: int) -> Work:
    """Which nodes to protect next."""

    def run(job: Job) -> tuple[list[int], list[int]]:
        from certcore.sweep import defend

        plan = defend(view.instance, view.threat, number, cancel=job.cancel)
        return list(plan.nodes), list(plan.certified)

    return ask("suggest", ("suggest", number, *view.key), run, "Looking for the best protection", patience=0.2)
