"""Large programs: bounds between replayed attacks and the gap they state, and a way out of every stage.

PubMed is in the repository, with its votes; the synthetic graph is just beyond the size from which a restricted master
is used. What the restricted master says is compared with the whole program here, never with itself.
"""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from certcore import Instance, ThreatModel, load_instance
from certcore.program.incidence import Incidence
from certcore.program.problem import Problem
from certcore.program.program import Program
from certcore.result.allocation import inadmissible, replay
from certcore.solve import solver as solver_module
from certcore.solve.first_order import FirstOrder
from certcore.solve.large import Large
from certcore.solve.master import Master
from certcore.solve.solver import is_large
from certcore.solve.status import Status
from certcore.solve.tuning import LARGE
from certcore.sweep import Session
from certcore.verify.bound import exact_bound
from certcore.verify.duals import IntegerDuals, plain_bound, plain_duals

ROOT = Path(__file__).resolve().parents[2]
#: Cancelled requests are to return within this many seconds.
AT_ONCE = 0.1


@pytest.fixture(scope="module")
def pubmed() -> Instance:
    return load_instance(ROOT / "precomputed" / "pubmed-gcn-attr-s0.npz")


@pytest.fixture(scope="module")
def synthetic() -> Instance:
    from benchmarks.instances import synthetic

    return synthetic(8_000)


def excess(program: Program, x: np.ndarray) -> float:
    """By how much x breaks a row or a bound of the whole program, relative to the right-hand side."""
    rows = (program.matrix @ x - program.rhs) / np.maximum(np.abs(program.rhs), 1)
    return max(float(rows.max()), float(-x.min()), float((x - program.upper).max()))


def check_between(session: Session, threat: ThreatModel, *, attack: bool = True) -> Status:
    """Replayed attack ≤ bound = what its dual values prove over all columns ≤ feasible solution + stated gap."""
    found = session.certify(threat, attack=attack)
    solver = session.solver(threat)
    assert is_large(solver.structure, once=False)
    point = (threat.budgets, threat.sigma)
    program = solver.program(point)
    if attack:
        assert found.attack is not None
        problem, flips = Problem(session.instance, threat), found.attack
        again = replay(problem, flips.attributes, flips.deleted, flips.added, flips.attackers)
        assert inadmissible(problem, again) is None
        assert 0 < again.attacked.sum() == found.attack_found <= found.bound
    if found.status is Status.OPTIMAL:
        answer = solver.answer_at(point)
        assert answer is not None
        assert answer.x is not None
        assert answer.duals is not None
        assert excess(program, answer.x) < 1e-6
        value = solver.structure.constant + float(program.objective @ answer.x)
        assert value - 1e-5 * value <= found.bound <= value + 2 * LARGE.close * value
        assert exact_bound(program, answer.duals.repaired(program)) + solver.structure.constant == found.bound
    return found.status


@pytest.mark.parametrize("threat", [{"attr_del": 30}, {"attr_del": 400}, {"attr_add": 2, "attr_del": 9}])
def test_pubmed_lies_between_attack_and_relaxed_solution(pubmed: Instance, threat: dict[str, int]) -> None:
    session = Session(pubmed)
    assert check_between(session, ThreatModel(**threat)) is Status.OPTIMAL
    # And so it does warm, from the model that the first budgets have left.
    assert check_between(session, ThreatModel(**{**threat, "attr_del": threat["attr_del"] + 2})) is Status.OPTIMAL


def test_a_synthetic_graph_lies_between_them_too(synthetic: Instance) -> None:
    session = Session(synthetic)
    for budget in (20, 80, 79, 400):
        assert check_between(session, ThreatModel(attr_del=budget)) is Status.OPTIMAL


def test_a_bound_for_which_there_was_little_time_is_still_one(synthetic: Instance) -> None:
    """Stopped by the clock in whatever stage that is: at least the optimum and the attack, at most one by one."""
    threat = ThreatModel(attr_del=80)
    best = Session(synthetic).certify(threat, attack=False)
    stopped = 0
    for limit in (0.05, 0.2, 0.4, 0.8):
        session = Session(synthetic)
        session.solver(threat)  # building is not what is to be stopped
        found = session.certify(threat, time_limit=limit)
        assert best.bound <= found.bound <= found.targets - found.naive_certified
        assert best.attack_found is None or best.attack_found <= found.bound
        assert found.status in (Status.TIME_LIMIT, Status.OPTIMAL)
        stopped += found.status is Status.TIME_LIMIT
    assert stopped


def test_a_model_that_is_not_finished_is_not_called_optimal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing more is taken in although bound and solution are apart, the whole program has the last word."""
    citeseer = load_instance(ROOT / "precomputed" / "citeseer-gcn-attr-s0.npz")
    threat = ThreatModel(attr_del=20)
    point = (threat.budgets, None)
    best = Session(citeseer).certify(threat, attack=False)
    solver = Session(citeseer).solver(threat)
    solver._large = Large(solver.structure)
    take = Large._take

    def takes_nothing(self: Large, *args: Any) -> bool:
        with monkeypatch.context() as patch:
            patch.setattr(Master, "add_columns_and_groups", lambda *_: None)
            take(self, *args)
        return False

    monkeypatch.setattr(Large, "_take", takes_nothing)
    found = solver._large.solve(solver.program(point), time_limit=60)
    assert found.bound > best.bound
    assert found.gap > LARGE.close
    assert found.status is Status.FAILED
    answer = solver.solve(point, time_limit=60)
    assert answer.status.is_final
    assert abs(answer.bound - best.bound) <= 2 * LARGE.close * best.bound


# Ways out.


def at_a_random_moment_of(
    owner: Any, name: str, longest: float, cancel: threading.Event, patch: pytest.MonkeyPatch
) -> list[tuple[float, float]]:
    """Set `cancel` up to `longest` seconds after the stage has begun for the first time.

    Tells when that was: by the clock, and in processor time of the calling thread.
    """
    stage, rng = getattr(owner, name), random.Random(name)
    moment: list[tuple[float, float]] = []
    mine = time.pthread_getcpuclockid(threading.get_ident())

    def stop() -> None:
        moment.append((time.perf_counter(), time.clock_gettime(mine)))
        cancel.set()

    def watched(*args: Any, **options: Any) -> Any:
        if not timer.is_alive() and not moment:
            timer.start()
        return stage(*args, **options)

    timer = threading.Timer(rng.uniform(0.0, longest), stop)
    patch.setattr(owner, name, classmethod(lambda cls, *a, **o: watched(*a, **o)) if name == "of" else watched)
    return moment


STAGES: dict[str, tuple[Any, str, float]] = {
    "building": (solver_module, "build_structure", 0.5),
    "first order": (FirstOrder, "run", 0.1),
    "simplex": (Master, "solve", 0.1),
    "pricing": (Master, "reduced_costs", 0.002),
    "exact evaluation": (IntegerDuals, "of", 0.01),
}


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_can_be_left_at_once(pubmed: Instance, stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The request returns at once with a proven bound, and the next one finds the answer."""
    threat, delays = ThreatModel(attr_add=2, attr_del=9), []
    point = (threat.budgets, None)
    for _ in range(4):  # on a busy machine a thread may have to wait for its turn
        session, cancel = Session(pubmed), threading.Event()
        with monkeypatch.context() as patch:
            moment = at_a_random_moment_of(*STAGES[stage], cancel, patch)
            found = session.certify(threat, attack=False, cancel=cancel)
            returned = time.perf_counter()
        assert found.status is Status.INTERRUPTED
        delays.append(returned - moment[0][0])
        if delays[-1] < AT_ONCE:
            break
    assert min(delays) < AT_ONCE
    solver = session.solver(threat)
    assert solver.best(point)[0] <= found.bound <= plain_bound(solver.program(point))
    # The attack under this threat model is looked at above.
    assert check_between(session, threat, attack=False) is Status.OPTIMAL
    assert session.certify(threat, attack=False).bound <= found.bound, "what was told when it was left holds"


@pytest.mark.parametrize("stage", [name for name in STAGES if name != "building"])
def test_the_work_itself_ends_soon(pubmed: Instance, stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a thread that is left behind: the solver notices by itself, and keeps what it had proven."""
    threat = ThreatModel(attr_add=2, attr_del=9)
    point = (threat.budgets, None)
    solver = Session(pubmed).solver(threat)
    cancel = threading.Event()
    with monkeypatch.context() as patch:
        moment = at_a_random_moment_of(*STAGES[stage], cancel, patch)
        answer = solver.solve(point, time_limit=60, cancel=cancel)
        worked = time.thread_time()
    assert answer.status is Status.INTERRUPTED
    assert answer.bound <= plain_bound(solver.program(point))
    if answer.duals is not None:
        assert answer.duals.bound(solver.program(point)) == answer.bound
    assert solver.best(point)[0] == answer.bound, "what was told is kept"
    assert worked - moment[0][1] < AT_ONCE  # processor seconds, so that a busy machine does not matter


def test_multipliers_that_prove_less_do_not_replace_better_ones() -> None:
    """A request that is made again and left again early takes nothing from what the first one proved."""
    solver = Session(load_instance(ROOT / "precomputed" / "citeseer-gcn-attr-s0.npz")).solver(ThreatModel(attr_del=20))
    point = (ThreatModel(attr_del=20).budgets, None)
    proven = solver.solve(point, time_limit=60).bound
    solver._answers.clear()
    worse = IntegerDuals.of(solver.structure, plain_duals(solver.program(point)))
    assert worse is not None
    solver._know(point, worse)
    assert solver.best(point)[0] == proven


# What is large, and what is too large.


def test_the_machine_is_chosen_by_measured_size(pubmed: Instance, synthetic: Instance) -> None:
    """One type: PubMed by way of a restricted master, Citeseer as a whole. Two types or one budget: by its entries."""
    citeseer, adj, joint = (
        load_instance(ROOT / "precomputed" / f"citeseer-gcn-{kind}-s0.npz") for kind in ("attr", "adj", "joint")
    )
    both = ThreatModel(attr_del=5, adj_del=5)
    for instance, threat, once, large in (
        (pubmed, ThreatModel(attr_del=5), False, True),
        (synthetic, ThreatModel(attr_del=5), False, True),
        (citeseer, ThreatModel(attr_del=5), False, False),
        (adj, ThreatModel(adj_del=5), False, False),
        (adj, ThreatModel(adj_del=5), True, True),
        (joint, both, False, True),
    ):
        solver = Session(instance, once=once).solver(threat)
        assert is_large(solver.structure, once=once) is large
        assert isinstance(solver._large, Large) is large


def test_an_incidence_in_bytes_holds_ones_only() -> None:
    """Otherwise products, also those that verify a bound, would take a weight for 1."""
    with pytest.raises(AssertionError, match="not 1"):
        Incidence(sp.csr_array(np.array([[1, 2]], dtype=np.int8)))


def test_the_product_with_columns_is_that_of_the_whole_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns are a pattern beside a small matrix: products in whole numbers, sizes and parts are the same."""
    monkeypatch.setattr("certcore.program.incidence.BLOCK", 5000)
    rng, joint = np.random.default_rng(0), load_instance(ROOT / "precomputed" / "citeseer-gcn-joint-s0.npz")
    for options in ({}, {"sigma": 3}, {"local_adj_del": 1}):
        s = Session(joint).solver(ThreatModel(attr_del=5, adj_del=3, **options)).structure
        whole = s.matrix.copy()
        whole.data[s.attackers.entries] = 0
        y = rng.integers(0, 2**40, whole.shape[0])
        assert np.array_equal(s.steady_columns @ y, whole.T @ y)
        assert np.array_equal(s.steady_columns.absolute(y), abs(whole).T @ y)
        assert s.largest_coefficient == np.abs(whole.data).max()
        chosen = rng.permutation(whole.shape[1])[:500]
        assert (s.steady_columns.of(chosen) != whole.T.tocsr()[chosen]).nnz == 0
        rows = np.sort(rng.permutation(s.incidence.shape[0])[:700])
        values, some = np.zeros(s.incidence.shape[0]), rng.integers(0, 99, len(rows)).astype(float)
        values[rows] = some
        assert np.array_equal(s.incidence.reach(values), s.incidence.reach_from(rows, some))
        flips = rng.integers(0, 3, len(s.flips)).astype(float)
        used = np.flatnonzero(flips)
        assert np.array_equal(s.incidence.into(flips), s.incidence.into_from(used, flips[used]))


LIMITED = """
import resource, sys
from certcore import InputError, ThreatModel, load_instance
from certcore.sweep import Session
instance = load_instance(sys.argv[1])
import certcore.solve.solver
size = next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("VmSize")) * 1024
resource.setrlimit(resource.RLIMIT_AS, (size + (60 << 20),) * 2)
try:
    Session(instance).certify(ThreatModel(attr_add=1, attr_del=1), attack=False)
except InputError as error:
    print(error)
"""


def test_what_does_not_fit_is_refused_with_the_figure(pubmed: Instance) -> None:
    """In a process that may take 60 MiB more, PubMed with two types is refused before it is built."""
    path = ROOT / "precomputed" / "pubmed-gcn-attr-s0.npz"
    run = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, timeout=120, check=True, cwd=ROOT
    )
    assert "needs about 0.1 GiB of memory; 0." in run.stdout
