"""One measured piece of work in a process of its own: `python benchmarks/tasks.py '{"task": "cold", …}'`.

It runs with the certcore of whichever checkout PYTHONPATH names, so that two states of the code can be measured in
turns; hence nothing but names that both have. Prints one line of JSON: processor seconds of each question, seconds on
the wall, bounds, memory.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import instances
from benchmarks.measure import peak_memory
from certcore import Instance, ThreatModel, load_instance
from certcore.sweep import Session, curve, surface


def graph(name: str) -> Instance:
    kind, _, size = name.partition("-")
    if kind == "cora_ml":
        found = instances.cora_ml(size or "attr")
        assert found is not None
        return found
    return load_instance(instances.ROOT / "precomputed" / f"{kind}-gcn-{size or 'attr'}-s0.npz")


class Watch:
    """Processor seconds and seconds on the wall of each question, and what was found."""

    def __init__(self) -> None:
        self.cpu: list[float] = []
        self.wall: list[float] = []
        self.bounds: list[float] = []

    def time(self, work: Callable[[], Any]) -> Any:
        wall, cpu = time.perf_counter(), time.process_time()
        result = work()
        self.cpu.append(time.process_time() - cpu)
        self.wall.append(time.perf_counter() - wall)
        return result

    def ask(self, session: Session, threat: ThreatModel) -> None:
        found = self.time(lambda: session.certify(threat, attack=False))
        self.bounds.append(float(found.bound))


def cold(watch: Watch, instance: Instance, options: dict[str, Any]) -> None:
    watch.ask(Session(instance), ThreatModel(**options["budgets"]))


def asked(watch: Watch, instance: Instance, options: dict[str, Any]) -> None:
    """One question after the other in one session; the first one is not counted."""
    session = Session(instance)
    first, *rest = options["places"]
    session.certify(ThreatModel(**first), attack=False)
    for place in rest:
        watch.ask(session, ThreatModel(**place))


def line(watch: Watch, instance: Instance, options: dict[str, Any]) -> None:
    threat = ThreatModel(**options.get("budgets", {}))
    found = watch.time(lambda: curve(Session(instance), threat, options["axis"], options["values"]))
    watch.bounds = np.asarray(found.bound, dtype=float).tolist()


def grid(watch: Watch, instance: Instance, options: dict[str, Any]) -> None:
    x, y = options["x"], options["y"]
    found = watch.time(lambda: surface(Session(instance), ThreatModel(), "attr_add", x, "attr_del", y))
    assert found.done.all()
    watch.bounds = np.asarray(found.bound, dtype=float).ravel().tolist()


TASKS = {"cold": cold, "asked": asked, "line": line, "grid": grid}


def main() -> None:
    options = json.loads(sys.argv[1])
    watch = Watch()
    TASKS[options["task"]](watch, graph(options["graph"]), options)
    found = {"cpu": watch.cpu, "wall": watch.wall, "bounds": watch.bounds, "memory": peak_memory()}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
