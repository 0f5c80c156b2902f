"""Sessions: checked answers, previews, cancelling, threads, bounded memory."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from certcore import InputError, Status, ThreatModel, certify, verify_proof
from certcore.program.build import build_structure
from certcore.program.problem import Problem
from certcore.result import attack as attack_module
from certcore.result.allocation import inadmissible
from certcore.result.search import Annealer, Greedy
from certcore.solve import solver as solver_module
from certcore.solve.master import Proposal, WholeProgram
from certcore.solve.tuning import SOLVER
from certcore.sweep import Counts, Session, curve, surface
from certcore.sweep.session import Sessions
from tests.oracle.truth import most_broken
from tests.support import random_instance, random_threat
from tests.sweep.cases import middling, smoothed_like


class WarmLiar(WholeProgram):
    """Honest from scratch, wrong whenever it starts from where it was; always says it is optimal."""

    mode = "noise"
    lies = 0

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.used = False

    def solve(self, **options: Any) -> Proposal:
        honest = super().solve(**options)
        warm, self.used = self.used, True
        if not warm or honest.y is None or honest.x is None:
            return honest
        type(self).lies += 1
        rng = np.random.default_rng(type(self).lies)
        y, x = honest.y, honest.x
        match self.mode:
            case "noise":
                y = y * rng.uniform(0.5, 1.5, len(y))
            case "stale":  # the sound but weak answer of another budget
                y, x = y * 1.3, x * 0.5
            case "nothing":
                y = np.zeros_like(y)
            case "infeasible":
                y, x = y * 1.2, x * 1.2
            case "none":
                return Proposal(honest.status, x, None, 0.0, 0)
        return Proposal(honest.status, x, y, 0.0, 0, honest.basis)


@pytest.mark.parametrize("mode", ["noise", "stale", "nothing", "infeasible", "none"])
def test_wrong_warm_answers_are_noticed(mode: str) -> None:
    liar = type("Liar", (WarmLiar,), {"mode": mode, "lies": 0})
    instance = smoothed_like(5, n=80)
    session = Session(instance, factory=liar)
    recomputed = 0
    for add, delete in ((2, 4), (2, 5), (3, 5), (3, 9), (1, 1), (2, 4)):
        threat = ThreatModel(attr_add=add, attr_del=delete)
        found = session.certify(threat, attack=False)
        assert found.certified == certify(instance, threat, attack=False).certified
        recomputed += found.status is Status.RECOMPUTED
        assert found.status in (Status.OPTIMAL, Status.RECOMPUTED)
    assert liar.lies > 0
    assert recomputed > 0


class Liar(WarmLiar):
    """Wrong from the first solve on."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.used = True


@pytest.mark.parametrize("mode", ["noise", "nothing", "none"])
def test_a_solver_that_always_lies_certifies_nothing_untrue(mode: str) -> None:
    liar = type("AlwaysLiar", (Liar,), {"mode": mode, "lies": 0})
    failed = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        instance = random_instance(rng, max_nodes=5)
        threat = random_threat(rng, instance)
        found = Session(instance, factory=liar).certify(threat, attack=False)
        assert found.certified <= found.targets - most_broken(instance, threat)
        failed += found.status is Status.FAILED
        if found.status is not Status.FAILED:  # a lie may be as good as the truth
            assert found.certified == certify(instance, threat, attack=False).certified
        line = curve(Session(instance, factory=liar), threat, instance.base.axes[0], range(4))
        for value, certified in zip(line.values.tolist(), line.certified.tolist()):
            real = threat.replace(**{instance.base.axes[0]: value})
            assert certified <= line.targets - most_broken(instance, real)
    assert failed > 0


def test_previews_are_quick_sound_and_useful() -> None:
    instance = smoothed_like(6)
    session = Session(instance)
    first = session.preview(ThreatModel(attr_add=3, attr_del=6))
    assert first.certified == first.naive_certified
    assert not first.final
    session.certify(ThreatModel(attr_add=3, attr_del=6), attack=False)
    again = session.preview(ThreatModel(attr_add=3, attr_del=6))
    assert again.final
    gained = 0
    for add, delete in ((3, 5), (2, 6), (3, 7), (4, 6), (1, 3)):
        threat = ThreatModel(attr_add=add, attr_del=delete)
        preview = session.preview(threat)
        real = certify(instance, threat, attack=False)
        assert preview.bound >= real.bound - 1e-6
        assert preview.certified <= real.certified
        assert not preview.final
        gained += preview.certified - preview.naive_certified
    assert gained > 0
    # A narrower attacker can do no more than the one that was bounded.
    narrower = session.preview(ThreatModel(attr_add=3, attr_del=6, sigma=5, local_attr_del=2))
    assert narrower.certified >= again.certified
    seconds = min(session.preview(ThreatModel(attr_add=2, attr_del=5 + i)).seconds for i in range(5))
    assert seconds < 0.02


def test_sessions_attack_and_prove_like_certify() -> None:
    rng = np.random.default_rng(11)
    for _ in range(4):
        instance = middling(rng, nodes=(10, 25))
        threat = random_threat(rng, instance)
        session = Session(instance)
        session.certify(threat.replace(**{instance.base.axes[0]: 2}), attack=False)
        found = session.certify(threat, proof=True)
        cold = certify(instance, threat)
        assert found.certified == cold.certified
        assert found.attack_found is not None
        assert found.attack_found <= found.targets - found.certified
        assert found.proof is not None
        assert verify_proof(found.proof, instance).accepted
        assert found.proof["certified"] == found.certified
        assert session.certify(threat, relaxation="exact").certified == found.certified


@pytest.mark.parametrize(("search", "step"), [(Greedy, "_deficits"), (Annealer, "_step")])
def test_a_cancelled_attack_search_ends_at_its_next_step(
    search: type, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both searches look at the event inside their loops; the best attack so far is replayed as usual."""
    instance = smoothed_like(7, n=300, sides=(9, 20))
    problem = Problem(instance, ThreatModel(attr_add=6, attr_del=19))
    structure, cancel, usual, calls = build_structure(problem, "tight"), threading.Event(), getattr(search, step), []

    def counted(self: Any, *arguments: Any) -> Any:
        calls.append(cancel.is_set())
        if len(calls) == 3:
            cancel.set()
        return usual(self, *arguments)

    monkeypatch.setattr(search, step, counted)
    found = attack_module.improved_attack(problem, structure, None, cancel=cancel)
    assert calls == [False] * 3
    assert inadmissible(problem, found) is None


def test_cancelled_requests_return_at_once() -> None:
    instance = smoothed_like(7, n=1500, sides=(9, 20))
    threat = ThreatModel(attr_add=6, attr_del=19)
    delays = []
    for wait in (0.05, 0.3, 0.8, 1.2):
        session = Session(instance)
        cancel = threading.Event()
        moment: list[float] = []

        def stop(cancel: threading.Event = cancel, moment: list[float] = moment) -> None:
            moment.append(time.perf_counter())
            cancel.set()

        timer = threading.Timer(wait, stop)
        timer.start()
        found = session.certify(threat, attack=False, cancel=cancel)
        returned = time.perf_counter()
        timer.cancel()
        if found.status is Status.OPTIMAL:
            continue
        assert found.status is Status.INTERRUPTED
        assert found.certified >= found.naive_certified
        delays.append(returned - moment[0])
    assert delays
    # The least of a few: on a busy machine a thread may have to wait for its turn.
    assert min(delays) < 0.1
    already = threading.Event()
    already.set()
    assert Session(instance).certify(threat, cancel=already).status is Status.INTERRUPTED
    # What was cancelled can be asked for again.
    small = smoothed_like(7, n=60)
    session = Session(small)
    assert session.certify(ThreatModel(attr_del=5), cancel=already).status is Status.INTERRUPTED
    assert session.certify(ThreatModel(attr_del=5), attack=False).status is Status.OPTIMAL


def test_a_cancelled_request_does_not_wait_for_its_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Building a program cannot be interrupted: the request leaves it behind."""
    session, cancel, go = Session(smoothed_like(7, n=60)), threading.Event(), threading.Event()
    build, built = session._solver, []

    def slowly(*asked: Any) -> Any:
        go.wait(5)
        built.append(asked)
        return build(*asked)

    monkeypatch.setattr(session, "_solver", slowly)
    threading.Timer(0.05, cancel.set).start()
    assert session.certify(ThreatModel(attr_del=5), attack=False, cancel=cancel).status is Status.INTERRUPTED
    assert not built
    go.set()


def test_a_cancelled_sweep_keeps_sound_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("certcore.sweep.sweep.REFRESH", 0.0)
    instance = smoothed_like(8, n=200)
    full = curve(instance, ThreatModel(), "attr_del", range(120))
    cancel = threading.Event()

    def stop(growing: Counts) -> None:
        if growing.share_done > 0.2:
            cancel.set()

    part = curve(instance, ThreatModel(), "attr_del", range(120), cancel=cancel, progress=stop)
    assert part.status is Status.INTERRUPTED
    assert part.done.any()
    assert not part.done.all()
    assert (part.certified <= full.certified).all()
    assert (part.certified[part.done] == full.certified[part.done]).all()
    cells = surface(instance, ThreatModel(), "attr_add", range(4), "attr_del", range(4), cancel=cancel)
    assert cells.status is Status.INTERRUPTED
    assert (cells.certified == cells.naive).all()


def test_one_session_serves_many_threads() -> None:
    instance = smoothed_like(9, n=100)
    session = Session(instance, max_bytes=100_000)
    rng = np.random.default_rng(0)
    threats = [
        ThreatModel(
            attr_add=int(rng.integers(0, 4)),
            attr_del=int(rng.integers(0, 9)),
            sigma=None if rng.random() < 0.7 else int(rng.integers(0, 6)),
        )
        for _ in range(60)
    ]
    expected = {}
    for threat in threats:
        place = (threat.budgets, threat.sigma)
        if place not in expected:
            expected[place] = certify(instance, threat, attack=False).certified

    def ask(threat: ThreatModel) -> None:
        real = expected[threat.budgets, threat.sigma]
        assert session.preview(threat).certified <= real
        assert session.certify(threat, attack=False, cancel=threading.Event()).certified == real

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, threats))


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    small = replace(SOLVER, max_answers=10, max_known=4, max_bases=3, max_cuts=40)
    monkeypatch.setattr(solver_module, "SOLVER", small)
    rng = np.random.default_rng(3)
    instance = middling(rng, ("attr_del", "adj_del"), nodes=(30, 31))
    session = Session(instance, max_bytes=1)
    for sigma in (3, None):
        for value in range(1, 26):
            threat = ThreatModel(attr_del=value, adj_del=1 + value % 3, sigma=sigma)
            found = session.certify(threat, attack=False)
            assert found.certified == certify(instance, threat, attack=False).certified
            live = session.solver(threat)
            assert len(live._answers) <= 10
            assert len(live._known) <= 4
            assert len(live._bases) <= 3
    for local in range(5):
        session.certify(ThreatModel(attr_del=3, local_attr_del=local), attack=False)
    assert len(session._solvers) == 1, "a program that is larger than allowed stays until the next one is built"


def test_a_session_tells_its_size_and_keeps_to_it() -> None:
    """Programs, stored results and attacks count; the least recently used program goes first."""
    instance = smoothed_like(3, n=120)
    session = Session(instance)
    sizes = [session.bytes]
    for local in (None, 1, 2):
        for value in (3, 5):
            session.certify(ThreatModel(attr_add=2, attr_del=value, local_attr_del=local))
            sizes.append(session.bytes)
    assert sizes[0] == 0
    assert sizes == sorted(sizes)
    small = Session(instance, max_bytes=sizes[4])
    for local in (None, 1, None, 2, 3):
        small.certify(ThreatModel(attr_add=2, attr_del=3, local_attr_del=local), attack=False)
        assert small.bytes <= sizes[4]
    assert small.preview(ThreatModel(attr_add=2, attr_del=3, local_attr_del=3)).final
    assert small.solves == 4, "the one without local budgets had been used before the one that went"


def test_a_server_holds_many_sessions_within_one_limit() -> None:
    instances = [smoothed_like(seed, n=60) for seed in range(4)]
    sessions = Sessions(max_bytes=1)
    first = sessions.of(instances[0])
    assert sessions.of(instances[0]) is first
    first.certify(ThreatModel(attr_del=3), attack=False)
    second = sessions.of(instances[1])
    assert second is not first
    assert sessions.of(instances[0]) is not first, "it was larger than allowed and used least recently"
    roomy = Sessions()
    found = [roomy.of(instance) for instance in instances]
    assert [roomy.of(instance) for instance in instances] == found


def test_bad_requests_are_refused() -> None:
    instance = smoothed_like(0, n=30)
    session = Session(instance)
    for options in ({"relaxation": "loose"}, {"time_limit": -1.0}, {"time_limit": float("nan")}):
        with pytest.raises(InputError):
            session.certify(ThreatModel(attr_del=1), **options)
    with pytest.raises(InputError, match="nothing that can be varied"):
        curve(session, ThreatModel(), "colour", [1])
    for values in ([], [3, 2], [1, 1], [-1], [0.5], ["a"]):
        with pytest.raises(InputError):
            curve(session, ThreatModel(), "attr_del", values)
    with pytest.raises(InputError, match="two different"):
        surface(session, ThreatModel(), "sigma", [1], "sigma", [1])
    with pytest.raises(InputError):
        surface(session, ThreatModel(), "local_attr_del", [1], "sigma", [1])


def test_a_time_limit_is_no_error() -> None:
    instance = smoothed_like(7, n=600, sides=(9, 20))
    found = Session(instance).certify(ThreatModel(attr_add=6, attr_del=19), attack=False, time_limit=1e-6)
    assert found.status is Status.TIME_LIMIT
    assert found.certified >= found.naive_certified
