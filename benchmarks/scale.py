"""Large programs against the way before: `python -m benchmarks.scale [PART …] [--old FOLDER]`.

Each part writes its own rows into benchmarks/RESULTS.md, with date and load, and leaves everything else there as it is.
Every figure is taken in a process of its own (`benchmarks/tasks.py`), in processor seconds, so that other work on the
machine does not count; medians of three where that is cheap. `--old` names a checkout of the commit before large
programs had a machine of their own (`git worktree add FOLDER 348c153`; Cora-ML needs `shared` beside that folder too):
what it takes is measured in turns with the code here. `--note` adds a line below a part: what a reader must know.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import instances
from benchmarks.measure import Report, machine, spread, timed, write_block

RESULTS = Path(__file__).resolve().parent / "RESULTS.md"
X, Y = list(range(9)), list(range(22))


class Bench:
    """Runs tasks here and in the old checkout, in turns."""

    def __init__(self, old: Path | None) -> None:
        self.old = old
        self.report = Report()

    def run(self, *, there: bool = False, **options: Any) -> dict[str, Any]:
        folder = self.old if there else instances.ROOT
        assert folder is not None
        command = [sys.executable, str(Path(__file__).parent / "tasks.py"), json.dumps(options)]
        environment = {**os.environ, "PYTHONPATH": str(folder)}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=folder)
        if done.returncode:
            raise SystemExit(f"{options} failed in {folder.name}: {done.stderr[-800:]}")
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found

    def both(self, times: int, old_times: int, **options: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The same task here and there, in turns; bounds must agree."""
        here: list[dict[str, Any]] = []
        there: list[dict[str, Any]] = []
        for turn in range(max(times, old_times)):
            if turn < times:
                here.append(self.run(**options))
            if turn < old_times and self.old is not None:
                there.append(self.run(there=True, **options))
        for found in there:
            apart = np.abs(np.array(found["bounds"]) - here[0]["bounds"]).max(initial=0.0)
            assert apart <= 1e-3, f"{options}: bounds are up to {apart} apart"
        return here, there

    def compare(self, what: str, asked: str, times: int = 3, old_times: int = 3, per: int = 1, **options: Any) -> None:
        """A row with the median of whole tasks here and there."""
        here, there = self.both(times, old_times, **options)
        now, before = (
            float(np.median([sum(run["cpu"]) for run in runs])) / per if runs else 0 for runs in (here, there)
        )
        if there:
            self.report.ratio(f"{what} ({_times(here, there)})", now, before, asked)
        else:
            self.report.row(f"{what} ({_times(here, there)})", f"{now:.4g} s", asked=asked)

    def distribution(self, what: str, asked: str, old_times: int = 0, times: int = 3, **options: Any) -> None:
        """A row with the distribution of single questions: the medians over the runs of each of them."""
        here, there = self.both(times, old_times, **options)
        now, before = (
            spread(np.median([run["cpu"] for run in runs], axis=0).tolist()) if runs else "" for runs in (here, there)
        )
        what = f"{what} ({len(here[0]['cpu'])} of them, {_times(here, there)})"
        self.report.row(what, now, before, asked=asked)


def _median(runs: list[dict[str, Any]]) -> float:
    """Processor seconds of a whole task."""
    return float(np.median([sum(run["cpu"]) for run in runs])) if runs else 0.0


def _times(here: list[Any], there: list[Any]) -> str:
    names = {1: "once", 2: "twice", 3: "median of three"}
    now, before = names[len(here)], names.get(len(there), "")
    return now if not there or len(here) == len(there) else f"{now}, before {before}"


def one(bench: Bench) -> None:
    """PubMed, one type."""
    bench.compare(
        "PubMed, 100 deletions, cold with building", "≤ 3 s", old_times=1, task="cold", graph="pubmed",
        budgets={"attr_del": 100},
    )  # fmt: skip
    steps = [100, *range(101, 113), *range(99, 87, -1)]
    bench.distribution(
        "PubMed, step ±1, one type", "median ≤ 300 ms", old_times=1, task="asked", graph="pubmed",
        places=[{"attr_del": at} for at in steps],
    )  # fmt: skip
    jumps = [100, *np.random.default_rng(0).integers(1, 1000, 15).tolist()]
    bench.distribution(
        "PubMed, random jump 1…1,000, one type", "≤ 1.5 s", task="asked", graph="pubmed",
        places=[{"attr_del": at} for at in jumps],
    )  # fmt: skip
    values = np.unique(np.linspace(0, 1000, 50).astype(int)).tolist()
    bench.compare(
        "PubMed, curve 0…1,000 at 50 values", "≤ 30 s", times=1, old_times=0, task="line", graph="pubmed",
        axis="attr_del", values=values,
    )  # fmt: skip


def two(bench: Bench) -> None:
    """PubMed, two types."""
    bench.compare(
        "PubMed, (8, 21), first cell, cold with building, solved to its end", "≤ 10 s", old_times=0, task="cold",
        graph="pubmed", budgets={"attr_add": 8, "attr_del": 21},
    )  # fmt: skip
    cells = (
        [(8, d) for d in range(21, 14, -1)] + [(a, 15) for a in range(7, 2, -1)] + [(3, d) for d in range(14, 9, -1)]
    )
    bench.distribution(
        "PubMed, further cells, neighbour by neighbour", "median ≤ 1.5 s", times=1, task="asked", graph="pubmed",
        places=[{"attr_add": a, "attr_del": d} for a, d in cells],
    )  # fmt: skip
    bench.compare(
        "PubMed, coarse map of 12 cells (3 × 4), every cell solved to its end", "≤ 30 s", times=1, old_times=0,
        task="grid", graph="pubmed", x=[0, 4, 8], y=[0, 7, 14, 21],
    )  # fmt: skip


def whole_map(bench: Bench) -> None:
    """All cells of PubMed's map."""
    found = bench.run(task="grid", graph="pubmed", x=X, y=Y)
    seconds, wall = sum(found["cpu"]), sum(found["wall"])
    text = f"{seconds:.0f} s ({wall:.0f} s on the wall), {seconds / (len(X) * len(Y)):.2f} s a cell"
    bench.report.row("PubMed, map of 198 cells (9 × 22), every cell solved to its end (once)", text, asked="minutes")


def sigma(bench: Bench) -> None:
    """σ on edges."""
    at_hand = instances.cora_ml("adj") is not None
    name, graph = ("Cora-ML", "cora_ml-adj") if at_hand else ("Citeseer", "citeseer-adj")
    budgets = {"adj_del": 200, "local_adj_del": 4, "sigma": 10}
    what = f"{name}, 200 edge deletions, 4 per node, σ = 10, cold"
    here, there = bench.both(3, 1, task="cold", graph=graph, budgets=budgets)
    now = _median(here)
    if there:
        bench.report.ratio(f"{what} (median of three, before once)", now, sum(there[0]["cpu"]), "≤ 6 s")
        bench.report.note(f"{what}: bound {here[0]['bounds'][0]:.9f}, before {there[0]['bounds'][0]:.9f}.")
    else:
        bench.report.row(f"{what} (median of three)", f"{now:.4g} s", asked="≤ 6 s")
    bench.compare(
        f"{name}, curve over σ = 0…20, per point", "≤ 0.7 s", times=1, old_times=0, per=21, task="line", graph=graph,
        budgets=budgets, axis="sigma", values=list(range(21)),
    )  # fmt: skip


def small(bench: Bench) -> None:
    """Citeseer and Cora-ML take the way they took before."""
    for name, graph in graphs():
        values = list(range(201))
        bench.compare(f"{name}, curve 0…200", "not slower", task="line", graph=graph, axis="attr_del", values=values)
        rng = np.random.default_rng(1)
        places = [{"attr_del": 30 + int(d)} for d in np.cumsum(rng.choice([1, 2, -5], 25))]
        bench.distribution(
            f"{name}, steps of 1 to 5, one type", "not slower", old_times=3, task="asked", graph=graph, places=places
        )
        places = [{"attr_add": 2 + i % 3, "attr_del": 8 + i // 3} for i in range(19)]
        bench.distribution(
            f"{name}, steps, two types", "not slower", old_times=3, task="asked", graph=graph, places=places
        )


def graphs() -> list[tuple[str, str]]:
    return [("Citeseer", "citeseer")] + ([("Cora-ML", "cora_ml")] if instances.cora_ml() is not None else [])


def surfaces(bench: Bench) -> None:
    """Maps 9 × 22 per cell: before, and the paper's program in CVXPY."""
    from benchmarks.reference import PaperProgram
    from certcore import ThreatModel

    for name, graph in graphs():
        times = 3 if name == "Citeseer" else 1
        here, there = bench.both(times, times, task="grid", graph=graph, x=X, y=Y)
        cells = len(X) * len(Y)
        now, before = (_median(runs) / cells for runs in (here, there))
        instance = instances.citeseer() if name == "Citeseer" else instances.cora_ml()
        assert instance is not None
        reference = PaperProgram(instance, ThreatModel(attr_add=8, attr_del=21))
        reference.attacked((1, 1, 0, 0))  # compile once
        five = [(1, 18), (2, 5), (4, 10), (6, 15), (8, 21)]
        took = [timed(partial(reference.attacked, (a, d, 0, 0), cold=True))[1].cpu for a, d in five]
        if there:
            bench.report.ratio(f"{name}, map 9 × 22, per cell ({_times(here, there)})", now, before, "not slower")
        bench.report.ratio(f"{name}, map 9 × 22, per cell, against CVXPY", now, float(np.mean(took)), "≥ 100×")
        each = ", ".join(f"{t:.1f} s" for t in took)
        bench.report.note(
            f"{name}: the paper's program in CVXPY takes {each} at {five}; its compilation is not counted."
        )


def visitors(bench: Bench) -> None:
    """Sixteen visitors on one server, four of them on PubMed, for three minutes."""
    from stress.load import load

    found = load(16, 180, pubmed=4)
    for name, who in found["graphs"].items():
        text = f"{who['numbers']} numbers, median {who['median']} s, 95 % {who['p95']} s, slowest {who['slowest']} s"
        bench.report.row(f"16 visitors, three minutes: the {who['visitors']} on {name}, seconds on the wall", text)
    text = f"{len(found['wrong'])} wrong numbers, {len(found['errors'])} errors, {len(found['log'])} lines in the log"
    bench.report.row("16 visitors: every number compared with a single user's", text, asked="none")
    bench.report.note(f"16 visitors: memory of the server over the four quarters {found['memory_mib']} MiB.")


PARTS = {
    "one": one, "two": two, "map": whole_map, "sigma": sigma, "small": small, "surfaces": surfaces,
    "visitors": visitors,
}  # fmt: skip


def block(name: str, report: Report, notes: list[str]) -> str:
    """What a part writes."""
    head = ("", "now", "before", "ratio", "asked for")
    when = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
    lines = [f"`python -m benchmarks.scale {name}`, {when} UTC. {machine()}.", ""]
    lines += ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in report.rows]
    lines += ["", *(f"- {note}" for note in [*report.notes, *notes])]
    return "\n".join(lines).rstrip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; default: all")
    parser.add_argument("--old", type=Path, help="a checkout of the commit to compare with")
    parser.add_argument("--note", action="append", default=[], help="a line below the table of the part")
    args = parser.parse_args()
    unknown = [name for name in args.parts if name not in PARTS]
    if unknown:
        raise SystemExit(f"there is no part {unknown[0]!r}; expected {', '.join(PARTS)}")
    for name in args.parts or PARTS:
        bench = Bench(args.old.resolve() if args.old is not None else None)
        PARTS[name](bench)
        write_block(RESULTS, "## Large programs", f"scale {name}", block(name, bench.report, args.note))


if __name__ == "__main__":
    main()
