"""What is computed in the experiments: curves, maps, local budgets, attackers, brackets, times."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from certcore import certify
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.sweep import Counts, Session, curve, surface


def radius_curve(
    instance: Instance, *, relaxation: str, vary: str, most: int, step: int = 1, local: int | None = None
) -> dict[str, Any]:
    """The certified count at every budget until nothing is certified any more (or `most` is reached).

    The end is looked for with doubling steps, so that a curve does not pay for a long row of zeros.
    """
    threat = ThreatModel(**_local(vary, local))
    end = min(most, 64)
    while (
        end < most and certify(instance, threat.replace(**{vary: end}), relaxation=relaxation, attack=False).certified
    ):
        end = min(2 * end, most)
    found = curve(instance, threat, vary, np.arange(0, end + 1, step), relaxation=relaxation)
    return _curve_values(found)


def log_curve(instance: Instance, *, relaxation: str, vary: str, values: list[int]) -> dict[str, Any]:
    """The certified count at a few budgets, for graphs where every budget would take too long."""
    return _curve_values(curve(instance, ThreatModel(), vary, np.array(values), relaxation=relaxation))


def budget_map(
    instance: Instance, *, relaxation: str, x: str, x_values: list[int], y: str, y_values: list[int]
) -> dict[str, Any]:
    """The certified count for every pair of two budgets."""
    found = surface(instance, ThreatModel(), x, np.array(x_values), y, np.array(y_values), relaxation=relaxation)
    return {
        "x": x,
        "y": y,
        "x_values": x_values,
        "y_values": y_values,
        "certified": np.asarray(found.certified),
        "naive": np.asarray(found.naive),
    }


def local_curves(
    instance: Instance, *, relaxation: str, vary: str, values: list[int], local: list[int | None]
) -> dict[str, Any]:
    """One curve per local budget."""
    curves = []
    for budget in local:
        found = curve(instance, ThreatModel(**_local(vary, budget)), vary, np.array(values), relaxation=relaxation)
        curves.append({"local": budget, **_curve_values(found)})
    return {"curves": curves}


def attacker_curves(
    instance: Instance, *, relaxation: str, vary: str, values: list[int], local: int, sigma: list[int]
) -> dict[str, Any]:
    """One curve per number of attacker-controlled nodes."""
    curves = []
    for number in sigma:
        threat = ThreatModel(sigma=number, **_local(vary, local))
        found = curve(instance, threat, vary, np.array(values), relaxation=relaxation)
        curves.append({"sigma": number, **_curve_values(found)})
    return {"curves": curves}


def brackets(instance: Instance, *, relaxation: str, vary: str, values: list[int], time_limit: float) -> dict[str, Any]:
    """The paper's certificate next to a stronger one and to the best attack found: the integer optimum lies in between.

    `solved` says that nothing is left in between, so that the integer optimum is known.
    """
    rows = []
    for value in values:
        threat = ThreatModel().replace(**{vary: value})
        relaxed = certify(instance, threat, relaxation="paper", attack=False)
        exact = certify(instance, threat, relaxation=relaxation, time_limit=time_limit, proof=False)
        rows.append(
            {
                "value": value,
                "relaxed": relaxed.certified,
                "exact": exact.certified,
                "attack": exact.attack_found,
                "status": str(exact.status),
                "solved": exact.closed,
                "relaxed_seconds": relaxed.seconds,
                "exact_seconds": exact.seconds,
                "naive": exact.naive_certified,
            }
        )
    return {"rows": rows}


def tiers(
    instance: Instance, *, relaxation: str, vary: str, values: list[int], time_limit: float | None = None
) -> dict[str, Any]:
    """Certified targets, and certified targets with the right label, at a few budgets; single certificates."""
    session = Session(instance)
    counts: dict[str, list[int | None]] = {"certified": [], "naive": [], "accurate": [], "attack": []}
    for value in values:
        threat = ThreatModel().replace(**{vary: value})
        options: dict[str, Any] = {"relaxation": relaxation}
        if relaxation == "strong":  # the other ones are solved to the end
            options["time_limit"] = time_limit
        found = session.certify(threat, **options)
        right = session.certify(threat.replace(targets=instance.select_targets("correct")), attack=False, **options)
        counts["certified"].append(found.certified)
        counts["naive"].append(found.naive_certified)
        counts["attack"].append(found.attack_found)
        counts["accurate"].append(right.certified)
    return {"budgets": values, **counts}


def contour(
    instance: Instance, *, relaxation: str, vary: str, share: float, most: int, time_limit: float
) -> dict[str, Any]:
    """How far at least `share` of the targets are certified: the paper's program first, then a stronger one, budget by
    budget, until it certifies fewer. What the best attack leaves says how far any certificate could go."""
    session = Session(instance)
    assert instance.targets is not None
    enough = share * len(instance.targets)
    program = curve(session, ThreatModel(), vary, np.arange(most + 1), relaxation="paper")
    # −1: fewer are certified even without an attack, as with very few votes.
    first = int(np.flatnonzero(np.asarray(program.certified) >= enough).max(initial=-1))
    rows = []
    for value in range(first + 1, most + 1):
        found = session.certify(
            ThreatModel().replace(**{vary: value}), relaxation=relaxation, time_limit=time_limit, proof=False
        )
        rows.append(
            {
                "value": value,
                "certified": found.certified,
                "naive": found.naive_certified,
                "attack": found.attack_found,
                "seconds": found.seconds,
            }
        )
        if found.certified < enough:
            break
    return {"paper": first, "rows": rows}


def clock(instance: Instance, *, relaxation: str, threats: list[dict[str, Any]]) -> dict[str, Any]:
    """Seconds per certificate, each solved from scratch, nothing reused; processor time beside the wall clock."""
    rows = []
    for threat in threats:
        used = time.process_time()
        certificate = certify(instance, ThreatModel(**threat), relaxation=relaxation, attack=False)
        size = certificate.size
        rows.append(
            {
                "threat": threat,
                "certified": certificate.certified,
                "seconds": certificate.seconds,
                "processor_seconds": time.process_time() - used,
                "verified": True,
                "size": None if size is None else vars(size),
            }
        )
    return {"rows": rows}


def _local(vary: str, budget: int | None) -> dict[str, Any]:
    return {} if budget is None else {f"local_{vary}": budget}


def _curve_values(found: Counts) -> dict[str, Any]:
    return {
        "budgets": np.asarray(found.values),
        "certified": np.asarray(found.certified),
        "naive": np.asarray(found.naive),
        "verified": True,
        "solves": int(found.solves),
        "seconds": float(found.seconds),
    }
