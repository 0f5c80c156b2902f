"""Strong certificates against tight ones and HiGHS's integer program: `python -m benchmarks.strong`.

Everything is measured in processor seconds of one process, so that other work on the machine does not count: a thread
looks at the processor clock and cancels. Rows are kept in a JSON file as they come (`--keep`), and the table is written
into benchmarks/RESULTS.md after each, which `make bench` leaves in place; begun again it goes on with what is missing,
also within a row: take "strong" out of one, and only that is measured anew.
One run gives all marks: the search and the integer program both improve their bounds as they go.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shlex
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import instances
from benchmarks.measure import STRONG_MARK, machine
from certcore import Instance, ThreatModel, load_instance
from certcore.program.build import build_structure
from certcore.program.problem import Problem
from certcore.program.program import Program
from certcore.program.relaxation import Relaxation
from certcore.result.attack import find_attack
from certcore.result.search import Annealer
from certcore.solve.engine import Method
from certcore.solve.master import WholeProgram
from certcore.solve.strong import StrongSearch

WHAT = """Targets left uncertified at most: the tight bound, the strong one and that of HiGHS's integer program (the
solver's word, not verified) within the same processor seconds of one process, and targets broken by the best attack
found. All but the integer program's are verified in exact integers. "Closed" is the part of the bracket between the
tight bound and the best attack that ten seconds of search close. A bound counts for a mark if it was proven within 5 %
more than it."""
RESULTS = Path(__file__).resolve().parent / "RESULTS.md"


def bundle(name: str) -> Callable[[], Instance]:
    return lambda: load_instance(instances.ROOT / "precomputed" / f"{name}.npz")


def cases() -> list[tuple[str, Callable[[], Instance | None], dict[str, Any]]]:
    listed: list[tuple[str, Callable[[], Instance | None], dict[str, Any]]] = []
    for graph, attributes, edges in (
        ("Citeseer", bundle("citeseer-gcn-attr-s0"), bundle("citeseer-gcn-adj-s0")),
        ("Cora-ML", instances.cora_ml, lambda: instances.cora_ml("adj")),
    ):
        listed += [(f"{graph}, {n} attribute deletions", attributes, {"attr_del": n}) for n in (10, 21, 50, 100, 300)]
        listed += [
            (f"{graph}, {a} additions and {d} deletions", attributes, {"attr_add": a, "attr_del": d})
            for a, d in ((2, 20), (8, 21))
        ]
        for n in (10, 50):
            listed += [
                (f"{graph}, {n} edge deletions", edges, {"adj_del": n}),
                (f"{graph}, {n} edge deletions, one per node", edges, {"adj_del": n, "local_adj_del": 1}),
            ]
        listed.append((f"{graph}, 50 attribute deletions, σ = 5", attributes, {"attr_del": 50, "sigma": 5}))
        listed.append((f"{graph}, 50 edge deletions, σ = 5", edges, {"adj_del": 50, "sigma": 5}))
    pubmed = bundle("pubmed-gcn-attr-s0")
    listed += [(f"PubMed, {n} attribute deletions", pubmed, {"attr_del": n}) for n in (10, 30, 100)]
    return listed


class CpuClock:
    """Sets an event when this process has used so many processor seconds from now on."""

    def __init__(self, seconds: float) -> None:
        self.cancel = threading.Event()
        self.start, self.limit = time.process_time(), seconds
        self._done = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    @property
    def spent(self) -> float:
        return time.process_time() - self.start

    def _watch(self) -> None:
        while not self._done.wait(0.02):
            if self.spent > self.limit:
                self.cancel.set()
                return

    def end(self) -> None:
        self._done.set()


def strong(problem: Problem, marks: list[float]) -> dict[str, Any]:
    """The tight bound, the strong one at each mark, and the best attack."""
    clock = CpuClock(marks[-1])
    search = StrongSearch(problem)
    annealer = Annealer(problem, search.structure)
    search.attack = annealer
    seen: list[tuple[float, int, int]] = []
    row: dict[str, Any] = {}
    for step in search.run(time_limit=marks[-1] * 1000, cancel=clock.cancel):
        if "tight" not in row:
            row["tight"], row["tight_seconds"] = math.floor(step.bound), clock.spent
            annealer.offer(find_attack(problem, search.structure, search.x, time_limit=20.0))
        seen.append((clock.spent, math.floor(step.bound), search.progress.attack))
    clock.end()
    # What was proven within a mark; a solve that began before it may end a little later.
    row["strong"] = {_key(mark): min((b for t, b, _ in seen if t <= mark * 1.05), default=None) for mark in marks}
    row["attack"] = max(annealer.found, search.structure.constant)
    row["closed"] = search.progress.closed
    row["seconds"], row["rounds"] = clock.spent, search.rounds
    return row


def integer(problem: Problem, marks: list[float]) -> dict[str, int | None]:
    """The bound of HiGHS's integer program at each mark, on the solver's word, from one run."""
    clock = CpuClock(marks[-1])
    structure = build_structure(problem, Relaxation.EXACT)
    model = WholeProgram(Program(structure, problem.threat.budgets, problem.threat.sigma), integer=True)
    seen: list[tuple[float, float]] = []
    hook = model._h.cbMipInterrupt  # called between nodes and rounds of cuts
    hook.subscribe(lambda event: seen.append((clock.spent, -event.data_out.mip_dual_bound)))
    solution = model.solve(time_limit=marks[-1] * 1000, cancel=clock.cancel, method=Method.BRANCH_AND_BOUND)
    clock.end()
    seen.append((clock.spent, solution.limit))
    sane = [(t, b) for t, b in seen if math.isfinite(b) and b <= len(problem.targets) * 10]
    best = {mark: min((b for t, b in sane if t <= mark * 1.05), default=None) for mark in marks}
    return {_key(mark): None if b is None else structure.constant + math.floor(b + 1e-6) for mark, b in best.items()}


def table(rows: dict[str, dict[str, Any]], marks: list[float]) -> str:
    head = ["", "tight", *(f"strong, {m:g} s" for m in marks), *(f"integer program, {m:g} s" for m in marks)]
    head += ["best attack", "closed at 10 s"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name, row in ((name, rows[name]) for name, _, _ in cases() if "strong" in rows.get(name, {})):
        part = _closed(row)
        ours = [_number(row["strong"].get(_key(m))) for m in marks]
        theirs = [_number(row["integer"].get(_key(m))) for m in marks]
        share = "optimal" if row["closed"] else "" if part is None else f"{part:.0%}"
        lines.append(
            "| " + " | ".join([name, _number(row["tight"]), *ours, *theirs, _number(row["attack"]), share]) + " |"
        )
    return "\n".join(lines)


def _closed(row: dict[str, Any]) -> float | None:
    """The part of the bracket between the tight bound and the best attack that ten seconds close."""
    reached = row["strong"].get("10")
    width = row["tight"] - row["attack"]
    return None if reached is None or width <= 0 else (row["tight"] - reached) / width


def _key(mark: float) -> str:
    return f"{mark:g}"


def _number(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", default="2,10", help="processor seconds: marks of one run, the last one ends it")
    parser.add_argument("--long", default="", help="cases with one of these names (…;…) run to 60 s, last of all")
    parser.add_argument("--case", default="", help="only cases whose name contains one of these (…;…)")
    parser.add_argument("--keep", default="", help="a JSON file: rows in it are not measured again")
    parser.add_argument("--note", action="append", default=[], help="a line below the table: what a reader must know")
    args = parser.parse_args()
    marks = [float(text) for text in args.seconds.split(",")]
    keep = Path(args.keep) if args.keep else None
    rows: dict[str, dict[str, Any]] = json.loads(keep.read_text()) if keep is not None and keep.exists() else {}
    long = args.long.split(";") if args.long else []
    for name, load, values in sorted(cases(), key=lambda case: case[0] in long):
        known = rows.get(name, {})
        if not _named(name, args.case or name) or {"strong", "integer"} <= known.keys():
            continue
        instance = load()
        if instance is None:
            print(f"{name}: left out, its graph is not in ../shared/data")
            continue
        problem = Problem(instance, ThreatModel(**values))
        mine = [*marks, 60.0] if name in long else marks
        row = known if "strong" in known else known | strong(problem, mine)
        row = row if "integer" in row else row | {"integer": integer(problem, mine)}
        row["load"] = os.getloadavg()[0]
        rows[name] = row
        print(name, json.dumps(row), flush=True)
        if keep is not None:
            keep.write_text(json.dumps(rows, indent=1))
        write(rows, [*marks, *([60.0] if long else [])], args.note)


def _named(name: str, listed: str) -> bool:
    return any(part and part in name for part in listed.split(";"))


def write(rows: dict[str, dict[str, Any]], marks: list[float], notes: list[str]) -> None:
    """The table with what there is so far, between what other commands wrote."""
    command = " ".join(["python -m benchmarks.strong", *(shlex.quote(part) for part in _shown(sys.argv[1:]))])
    loads = [row["load"] for row in rows.values() if "strong" in row]
    when = f"`{command}`, {time.strftime('%Y-%m-%d')}. {machine()}."
    load = f"Load while the rows were measured: {min(loads):.0f} to {max(loads):.0f}; each row is one run."
    text = f"{STRONG_MARK}\n## Strong certificates\n\n{when} {load}\n\n{WHAT}\n\n{table(rows, marks)}\n"
    text += "".join(f"\n- {note}" for note in notes) + ("\n" if notes else "")
    before, _, rest = RESULTS.read_text(encoding="utf-8").partition(STRONG_MARK)
    others = rest.partition("\n## ")[2].partition("\n## ")  # what other commands wrote behind it stays
    RESULTS.write_text(f"{before.rstrip()}\n\n{text}{others[1]}{others[2]}", encoding="utf-8")


def _shown(arguments: list[str]) -> list[str]:
    """The command line without notes (they stand below the table) and without where rows were kept."""
    shown, skip = [], False
    for part in arguments:
        if not skip and part not in ("--note", "--keep"):
            shown.append(part)
        skip = part in ("--note", "--keep")
    return shown


if __name__ == "__main__":
    main()
