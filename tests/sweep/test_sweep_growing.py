"""What a sweep yields is true at that moment: every cell after every yield is compared with an enumeration."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certcore import GridBase, Instance, ThreatModel
from certcore.sweep import Counts, Session, Sweep
from tests.oracle.truth import Truth
from tests.support import random_graph, random_grid

#: Axes, and what the base certificates are about.
AXES = {
    "global × global": (("attr_add", "attr_del"), ("attr_add", "attr_del")),
    "global × edges": (("attr_del", "adj_del"), ("attr_del", "adj_del")),
    "global × σ": (("attr_del", "sigma"), ("attr_del", "adj_del")),
    "σ × global": (("sigma", "adj_del"), ("attr_del", "adj_del")),
    "global": (("attr_del",), ("attr_add", "attr_del")),
    "σ": (("sigma",), ("attr_del", "adj_del")),
    "local": (("local_attr_del",), ("attr_add", "attr_del")),
    "local edges": (("local_adj_del",), ("attr_del", "adj_del")),
}


def example(rng: np.random.Generator, types: tuple[str, ...]) -> Instance:
    n = int(rng.integers(4, 7))
    graph = random_graph(rng, n, 3, 0.5)
    grid = random_grid(rng, n, tuple(int(rng.integers(2, 5)) for _ in types))
    return Instance(graph, GridBase(grid, types), layers=int(rng.integers(1, 3)), edge_field="messages")


def threat_of(rng: np.random.Generator, names: tuple[str, ...], types: tuple[str, ...]) -> ThreatModel:
    fixed: dict[str, Any] = {name: int(rng.integers(0, 3)) for name in types if name not in names}
    for name in names:
        if name.startswith("local_"):
            fixed[name.removeprefix("local_")] = 3
    if "sigma" not in names and rng.random() < 0.3:
        fixed["sigma"] = 2
    if not any(name.startswith("local_") for name in names) and rng.random() < 0.3:
        fixed[f"local_{types[-1]}"] = 1
    return ThreatModel(**fixed)


def wrong(found: Counts, truth: Truth) -> list[str]:
    """Cells of which more is claimed than the enumeration leaves."""
    said = []
    for cell in np.ndindex(found.done.shape):
        threat, left = found.threat_at(cell), truth.left(found.threat_at(cell))
        most = found.targets - left
        if max(int(found.certified[cell]), int(found.naive[cell])) > most or found.bounds[cell] < left:
            said.append(f"{found.certified[cell]} of at most {most} at {threat}")
    return said


@pytest.mark.parametrize("name", list(AXES))
@pytest.mark.parametrize("seed", range(6))
def test_every_cell_is_true_after_every_yield(
    name: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cancelled at random, resumed from its file, then asked again of a session that knows other answers."""
    monkeypatch.setattr("certcore.sweep.sweep.REFRESH", 0.0)
    monkeypatch.setattr("certcore.sweep.sweep.MANY_CELLS", 1)
    rng = np.random.default_rng([seed, list(AXES).index(name)])
    names, types = AXES[name]
    instance, threat = example(rng, types), threat_of(rng, names, types)
    truth, session = Truth(instance), Session(instance)
    axes = [(one, sorted(rng.permutation(5)[: int(rng.integers(2, 5))].tolist())) for one in names]
    near = None if seed % 2 else tuple(float(rng.integers(0, 5)) for _ in axes)
    relaxation = "paper" if seed == 5 else "tight"
    last: Counts | None = None
    for turn in range(3):
        stop, at = threading.Event(), int(rng.integers(1, 12)) if turn < 2 else None
        source = session if turn else instance
        sweep = Sweep(source, threat, axes, near=near, relaxation=relaxation, checkpoint=tmp_path / "cells.npz")
        for number, last in enumerate(sweep.run(stop)):
            assert not wrong(last, truth), (turn, number)
            if number == at:
                stop.set()
        session.certify(last.threat_at([0] * len(axes)), attack=False)
    assert last is not None
    assert last.done.all()
    fresh = Sweep(instance, threat, axes, relaxation=relaxation).finish()
    assert (fresh.certified == last.certified).all()
