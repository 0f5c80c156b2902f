"""All ratios of one run: `make bench`, or `python -m benchmarks.run [--quick] [--only NAME]`.

Writes benchmarks/RESULTS.md unless something was left out.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np

from benchmarks import instances
from benchmarks.measure import STRONG_MARK, Report, peak_memory, spread, timed
from benchmarks.reference import PaperProgram
from certcore import Instance, ThreatModel, certify
from certcore.program.building import build_structure
from certcore.program.problem import Problem
from certcore.program.program import Program
from certcore.solve.highs import HighsModel
from certcore.solve.solver import cold_method
from certcore.sweep import Session, curve, surface
from certcore.verify.bound import scaled
from certcore.verify.duals import IntegerDuals

CURVE = range(201)
X, Y = range(9), range(22)


def one_dimension(report: Report, name: str, instance: Instance, quick: bool) -> None:
    """Every integer budget to 200: seconds per point."""
    threat = ThreatModel(attr_del=100)
    line, ours = timed(lambda: curve(instance, ThreatModel(), "attr_del", CURVE))
    reference = PaperProgram(instance, threat)
    reference.attacked((0, 1, 0, 0))  # compile once
    budgets = (50, 100) if quick else (10, 30, 50, 75, 100, 125, 150, 175, 200)
    warm, cold = [], []
    for budget in budgets:
        for times, alone in ((warm, False), (cold, True)):
            value, time_ = timed(lambda b=budget, c=alone: reference.attacked((0, b, 0, 0), cold=c))  # type: ignore[misc]
            times.append(time_.cpu)
            never_less(line.certified[budget], line.targets, value)
    what = f"{name}: curve over attribute deletions 0…200, per point"
    report.ratio(what, ours.cpu / len(CURVE), float(np.mean(cold)), "≥ 50×")
    report.ratio(f"{what}; reference warm", ours.cpu / len(CURVE), float(np.mean(warm)))
    report.note(
        f"{name}: {line.solves} solves for {len(CURVE)} points; reference timed at {len(budgets)} budgets; "
        f"never fewer certified than by the reference."
    )
    _, ours = timed(lambda: certify(instance, threat, attack=False))
    _, theirs = timed(lambda: reference.attacked(threat.budgets, cold=True))
    report.ratio(f"{name}: one cold certificate, 100 deletions", ours.cpu, theirs.cpu)


def two_dimensions(report: Report, name: str, instance: Instance, quick: bool) -> None:
    """Attribute additions × deletions 9 × 22: seconds per cell; the reference on five cells."""
    grid, ours = timed(lambda: surface(instance, ThreatModel(), "attr_add", X, "attr_del", Y))
    assert grid.done.all()
    threat = ThreatModel(attr_add=8, attr_del=21)
    reference = PaperProgram(instance, threat)
    reference.attacked((1, 1, 0, 0))
    cells = [(2, 5)] if quick else [(1, 18), (2, 5), (4, 10), (6, 15), (8, 21)]
    warm, cold = [], []
    for add, delete in cells:
        for times, alone in ((warm, False), (cold, True)):
            value, time_ = timed(lambda a=add, d=delete, c=alone: reference.attacked((a, d, 0, 0), cold=c))  # type: ignore[misc]
            times.append(time_.cpu)
            never_less(grid.certified[add, delete], grid.targets, value)
        report.note(
            f"{name}, additions {add}, deletions {delete}: certified ratio {grid.ratio[add, delete]:.3f}, "
            f"paper's program {1 - int(value + 1e-6) / grid.targets:.3f} in {cold[-1]:.1f} s ({warm[-1]:.1f} s warm)"
        )
    what = f"{name}: surface 9 × 22, additions × deletions, per cell"
    report.ratio(what, ours.cpu / grid.done.size, float(np.mean(cold)), "≥ 50×")
    report.ratio(f"{what}; reference warm", ours.cpu / grid.done.size, float(np.mean(warm)))
    _, single_ = timed(lambda: certify(instance, threat, attack=False))
    _, theirs = timed(lambda: reference.attacked(threat.budgets, cold=True))
    report.ratio(f"{name}: one cold certificate, 8 additions and 21 deletions", single_.cpu, theirs.cpu)


def all_cells(report: Report, name: str, instance: Instance, quick: bool) -> None:
    """The tight program never certifies less than the paper's, in any cell."""
    xs, ys = (range(0, 9, 4), range(0, 22, 7)) if quick else (range(0, 9, 2), range(0, 22, 3))
    ours = surface(instance, ThreatModel(), "attr_add", xs, "attr_del", ys)
    paper = surface(instance, ThreatModel(), "attr_add", xs, "attr_del", ys, relaxation="paper")
    assert ours.done.all()
    assert paper.done.all()
    assert (ours.certified >= paper.certified).all()
    gain = (ours.certified - paper.certified) / ours.targets
    report.row(
        f"{name}: tight against paper in {gain.size} cells", f"at least {gain.min():+.3f}, at most {gain.max():+.3f}",
        "", "", "never less",
    )  # fmt: skip


def agreement(report: Report, name: str, instance: Instance, quick: bool) -> None:
    """Counts of sweeps against single cold certificates in randomly chosen cells."""
    rng = np.random.default_rng(0)
    line = curve(instance, ThreatModel(), "attr_del", range(401))
    grid = surface(instance, ThreatModel(), "attr_add", X, "attr_del", Y)
    budgets = rng.choice(401, 20 if quick else 240, replace=False)
    cells = rng.integers((0, 0), (len(X), len(Y)), size=(5 if quick else 80, 2))
    wrong = 0
    for budget in budgets.tolist():
        wrong += certify(instance, ThreatModel(attr_del=budget), attack=False).certified != line.certified[budget]
    for add, delete in cells.tolist():
        cold = certify(instance, ThreatModel(attr_add=add, attr_del=delete), attack=False)
        wrong += cold.certified != grid.certified[add, delete]
    report.row(
        f"{name}: sweep = single cold certificate", f"{len(budgets) + len(cells)} cells, {wrong} differ", "", "", "0"
    )
    assert wrong == 0


def sliders(report: Report, name: str, instance: Instance, quick: bool) -> None:
    """What a person waits for: steps, jumps and previews in one and in two types."""
    count = 10 if quick else 60
    rng = np.random.default_rng(1)
    for types, start, ends, step_limit, jump_limit in (
        (("attr_del",), (30,), (200,), "≤ 100 ms", "≤ 1 s"),
        (("attr_add", "attr_del"), (4, 10), (9, 40), "≤ 400 ms", "≤ 4 s"),
    ):
        session = Session(instance)
        at = list(start)

        def threat(values: list[int], types: tuple[str, ...] = types) -> ThreatModel:
            return ThreatModel(**dict(zip(types, values)))

        def ask(values: list[int], session: Session = session) -> tuple[float, float]:
            _, preview = timed(lambda: session.preview(threat(values)))
            _, answer = timed(lambda: session.certify(threat(values), attack=False))
            return preview.cpu, answer.cpu

        _, first = timed(lambda s=session, v=tuple(at): s.certify(threat(list(v)), attack=False))  # type: ignore[misc]
        asked: set[tuple[int, ...]] = {tuple(at)}
        steps, jumps, previews = [], [], []
        while len(steps) < count:
            which = int(rng.integers(len(at)))
            at[which] = int(np.clip(at[which] + rng.choice([-1, 1]), 1, ends[which]))
            if tuple(at) in asked:  # answers that are remembered take no time: only new places count
                if rng.random() < 0.3:
                    at = [int(rng.integers(1, end + 1)) for end in ends]
                    ask(at)
                    asked.add(tuple(at))
                continue
            asked.add(tuple(at))
            preview, answer = ask(at)
            steps.append(answer)
            previews.append(preview)
        session = Session(instance)
        session.certify(threat(list(start)), attack=False)
        for _ in range(count // 2):
            values = [int(rng.integers(1, end + 1)) for end in ends]
            preview, answer = ask(values, session)
            jumps.append(answer)
            previews.append(preview)
        what = "one type" if len(types) == 1 else "two types"
        report.row(f"{name}: first certificate of a session, {what}", f"{first.cpu:.2f} s")
        report.row(f"{name}: step ±1 in one budget, {what}", spread(steps), "", "", f"median {step_limit}")
        report.row(f"{name}: random jump, {what}", spread(jumps), "", "", jump_limit)
        report.row(f"{name}: preview, {what}", spread(previews), "", "", "≤ 20 ms")


def limits(report: Report, instance: Instance, edges: Instance | None, quick: bool) -> None:
    """Local budgets and σ: single certificates and short curves."""
    threat = ThreatModel(attr_del=100, local_attr_del=2)
    single(report, "Cora-ML: 100 deletions, 2 per node", instance, threat)
    line, ours = timed(lambda: curve(instance, threat, "attr_del", range(0, 201, 2)))
    report.row("Cora-ML: curve with local budget, per point", f"{ours.cpu / len(line.values):.4g} s")
    single(report, "Cora-ML: 100 deletions, 2 per node, σ = 20", instance, threat.replace(sigma=20))
    if edges is None or quick:
        return
    threat = ThreatModel(adj_del=200, local_adj_del=4)
    single(report, "Cora-ML: 200 edge deletions, 4 per node", edges, threat)
    single(report, "Cora-ML: 200 edge deletions, 4 per node, σ = 10", edges, threat.replace(sigma=10))
    line, ours = timed(lambda: curve(edges, threat, "sigma", range(0, 21)))
    report.row("Cora-ML: curve over σ = 0…20, edge deletions, per point", f"{ours.cpu / len(line.values):.4g} s")


def single(report: Report, what: str, instance: Instance, threat: ThreatModel) -> None:
    found, ours = timed(lambda: certify(instance, threat, attack=False))
    reference = PaperProgram(instance, threat)
    reference.attacked(tuple(min(b, 1) for b in threat.budgets), threat.sigma)
    value, theirs = timed(lambda: reference.attacked(threat.budgets, threat.sigma, cold=True))
    never_less(found.certified, found.targets, value)
    report.ratio(f"{what}, cold", ours.cpu, theirs.cpu)


def never_less(certified: int, targets: int, attacked: float) -> None:
    """Ours certifies at least what the reference does (up to the reference's own rounding)."""
    assert certified >= targets - int(attacked + 1e-4), (certified, targets, attacked)


def verification(report: Report, name: str, instance: Instance) -> None:
    """Share of the exact check in a cold solve and in a warm step."""
    for threat in (ThreatModel(attr_del=100), ThreatModel(attr_add=4, attr_del=10)):
        structure = build_structure(
            Problem(instance, threat), "tight", tuple(10**9 if b else 0 for b in threat.budgets)
        )
        program = Program(structure, threat.budgets)
        model = HighsModel(program)
        solution, cold = timed(lambda m=model, s=structure: m.solve(time_limit=600, method=cold_method(s)))  # type: ignore[misc]
        moved = Program(structure, threat.replace(attr_del=threat.attr_del + 1).budgets)
        model.update(moved)
        again, warm = timed(lambda m=model: m.solve(time_limit=600))  # type: ignore[misc]
        assert solution.duals is not None
        assert again.duals is not None

        def check(y: np.ndarray, at: Program) -> None:
            duals = IntegerDuals.of(at.structure, scaled(y))
            assert duals is not None
            duals.bound(at)

        _, exact = timed(lambda y=again.duals, p=moved: check(y, p))  # type: ignore[misc]
        report.row(
            f"{name}: exact check, {len(structure.types)} type(s), share of the solve",
            f"cold {exact.cpu / cold.cpu:.1%}, step {exact.cpu / warm.cpu:.1%} ({exact.cpu * 1000:.1f} ms)",
            asked="≤ 10 %",
        )


def alone(report: Report, what: str, code: str, asked: str = "") -> list[str]:
    """Run something in a process of its own, to see its memory; it prints a line of numbers."""
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.run", "--alone", code], capture_output=True, text=True, cwd=root
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    seconds, memory, _, entries = done.stdout.split()
    report.row(what, f"{float(seconds):.2f} s, {float(memory):.2f} GiB, {int(entries):,} entries", "", "", asked)
    return [seconds, entries]


def run_alone(code: str) -> None:
    """`pubmed:100` or a number of nodes: one cold certificate, then its seconds, peak memory, count and entries."""
    instance = instances.pubmed() if code.startswith("pubmed") else instances.synthetic(int(code))
    budget = int(code.split(":")[1]) if ":" in code else instance.graph.n_nodes // 100
    found, ours = timed(lambda: certify(instance, ThreatModel(attr_del=budget), attack=False))
    assert found.size is not None
    print(ours.cpu, peak_memory(), found.certified, found.size.entries)


def large(report: Report, quick: bool) -> None:
    alone(report, "PubMed: one cold certificate, 100 deletions", "pubmed:100", "≤ 20 s, < 2 GiB")
    if not quick:
        alone(report, "PubMed: one cold certificate, 1,000 deletions", "pubmed:1000", "≤ 20 s, < 2 GiB")
    sizes = (2_000, 8_000) if quick else (2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
    found = [alone(report, f"synthetic graph, {n:,} nodes, {n // 100:,} deletions, cold", str(n)) for n in sizes]
    seconds, entries = (np.log([float(row[i]) for row in found]) for i in (0, 1))
    report.note(
        f"Time grows as entries^{np.polyfit(entries, seconds, 1)[0]:.2f} from {sizes[0]:,} to {sizes[-1]:,} nodes."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few minutes; nothing is written")
    parser.add_argument(
        "--only", choices=("citeseer", "cora_ml", "limits", "large"), help="one part; nothing is written"
    )
    parser.add_argument("--alone", metavar="CODE", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.alone:
        run_alone(args.alone)
        return
    report = Report()
    cora = instances.cora_ml()
    graphs = [("Citeseer", "citeseer", instances.citeseer())]
    if cora is not None:
        graphs.append(("Cora-ML", "cora_ml", cora))
    else:
        report.note("Cora-ML was left out: its graph is not in ../shared/data.")
    for name, key, instance in graphs:
        if args.only in (None, key):
            one_dimension(report, name, instance, args.quick)
            two_dimensions(report, name, instance, args.quick)
            sliders(report, name, instance, args.quick)
            verification(report, name, instance)
    if args.only in (None, "citeseer"):
        all_cells(report, "Citeseer", graphs[0][2], args.quick)
        agreement(report, "Citeseer", graphs[0][2], args.quick)
    if args.only in (None, "limits") and cora is not None:
        limits(report, cora, instances.cora_ml("adj"), args.quick)
    if args.only in (None, "large"):
        large(report, args.quick)
    report.note(f"Peak memory of this process: {peak_memory():.2f} GiB.")
    if not args.quick and args.only is None:
        path = Path(__file__).resolve().parent / "RESULTS.md"
        _, mark, strong = path.read_text(encoding="utf-8").partition(STRONG_MARK)  # another command's part stays
        path.write_text(report.markdown("make bench") + (f"\n{mark}{strong}" if mark else ""), encoding="utf-8")
        print(f"written to {path}")


if __name__ == "__main__":
    main()
