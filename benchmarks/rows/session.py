"""What a person waits for in a session"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks import instances
from benchmarks.measure import spread, timed
from benchmarks.rows import Figure, row
from benchmarks.rows.against import cora_ml
from certcore import Instance, ThreatModel, certify
from certcore.sweep import Session, curve, surface

STEPS = 40


def walk(
    instance: Instance, types: tuple[str, ...], start: tuple[int, ...], ends: tuple[int, ...]
) -> list[list[float]]:
    """Seconds of steps of one budget by one, of random jumps, and of previews; no place is asked for twice."""
    rng, session, at = np.random.default_rng(1), Session(instance), list(start)
    seconds: list[list[float]] = [[], [], []]
    asked = {tuple(at)}

    def ask(kind: int) -> None:
        threat = ThreatModel(**dict(zip(types, at)))
        asked.add(tuple(at))
        seconds[2].append(timed(lambda: session.preview(threat))[1].cpu)
        seconds[kind].append(timed(lambda: session.certify(threat, attack=False))[1].cpu)

    session.certify(ThreatModel(**dict(zip(types, at))), attack=False)
    while len(seconds[0]) < STEPS:
        which = int(rng.integers(len(at)))
        at[which] = int(np.clip(at[which] + rng.choice([-1, 1]), 1, ends[which]))
        if tuple(at) not in asked:
            ask(0)
        elif rng.random() < 0.3:
            at = [int(rng.integers(1, end + 1)) for end in ends]
            if tuple(at) not in asked:
                ask(1)
    return seconds


def median(values: list[float]) -> Figure:
    return Figure(float(np.median(values)), detail=spread(values))


def register(name: str, title: str, instance: Callable[[], Instance]) -> None:
    """Rows of steps and previews of one graph, with one type and with two."""
    both = ("attr_add", "attr_del")

    def one() -> Figure:
        return median(walk(instance(), ("attr_del",), (30,), (200,))[0])

    def two() -> Figure:
        return median(walk(instance(), both, (4, 10), (9, 40))[0])

    def preview() -> Figure:
        return median(walk(instance(), both, (4, 10), (9, 40))[2])

    limits = ((one, "step of one budget, one type", 0.1), (two, "step, two types", 0.4), (preview, "preview", 0.02))
    for measure, what, limit in limits:
        measure.__name__ = f"{name}_{measure.__name__}"
        row(f"{title}, {what}, median", at_most=limit)(measure)


register("citeseer", "Citeseer", instances.citeseer)
register("cora_ml", "Cora-ML", cora_ml)


@row("Citeseer, curves and maps that differ from single certificates, of 100", unit="", at_most=0)
def agreement() -> Figure:
    rng, instance = np.random.default_rng(0), instances.citeseer()
    line = curve(instance, ThreatModel(), "attr_del", range(401))
    grid = surface(instance, ThreatModel(), "attr_add", range(9), "attr_del", range(22))
    wrong = 0
    for budget in rng.choice(401, 60, replace=False).tolist():
        wrong += certify(instance, ThreatModel(attr_del=budget), attack=False).certified != line.certified[budget]
    for add, delete in rng.integers((0, 0), grid.certified.shape, size=(40, 2)).tolist():
        found = certify(instance, ThreatModel(attr_add=add, attr_del=delete), attack=False)
        wrong += found.certified != grid.certified[add, delete]
    return Figure(int(wrong))  # JSON takes no integers of numpy


@row("Citeseer, map cells where the paper's form certifies more, of 40", unit="", at_most=0)
def never_less() -> Figure:
    found = [
        surface(
            instances.citeseer(), ThreatModel(), "attr_add", range(0, 9, 2), "attr_del", range(0, 22, 3), relaxation=r
        )
        for r in ("tight", "paper")
    ]
    gain = (found[0].certified - found[1].certified) / found[0].targets
    return Figure(int((gain < 0).sum()), detail=f"the tight form certifies {gain.min():+.3f} to {gain.max():+.3f} more")
