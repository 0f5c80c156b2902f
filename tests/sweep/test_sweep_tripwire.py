"""No count stands beside an attack that refutes it: a bound that is made wrong on purpose is stopped on every way."""

from __future__ import annotations

import gc
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certcore import Graph, GridBase, Instance, ThreatModel, __version__, certify, report
from certcore.cli import main
from certcore.common.errors import InputError, SoundnessError
from certcore.instance.instance import save_instance
from certcore.result import assemble, tripwire
from certcore.solve.solver import BoundResult, Solver
from certcore.solve.strong import StrongSearch
from certcore.sweep import (
    Session,
    SweepTask,
    curve,
    defend,
    radius,
    run_many,
    surface,
)
from certcore.sweep.attack_curve import attacks_along
from certcore.verify import proof
from tests.sweep.test_sweep_plateaus import alone

THREE = ThreatModel(attr_del=3)


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tripwire, "_memories", OrderedDict())


@contextmanager
def wrong() -> Iterator[None]:
    """Every solve claims that nothing can be attacked."""
    with pytest.MonkeyPatch.context() as patch:
        solve, tight = Solver.solve, StrongSearch.run
        patch.setattr(Solver, "solve", lambda *a, **k: _nothing(solve(*a, **k)))

        def run(search: StrongSearch, **more: Any) -> Iterator[Any]:
            for step in tight(search, **more):
                search.bound = Fraction(0)
                yield step

        patch.setattr(StrongSearch, "run", run)
        written = assemble._proof
        patch.setattr(assemble, "_proof", lambda *a: (Fraction(0), written(*a)[1]))
        yield


def _nothing(answer: BoundResult) -> BoundResult:
    return replace(answer, bound=Fraction(0), duals=None)


def ways(session: Session) -> dict[str, Callable[[], Any]]:
    """All that gives a certified count of this session against at least two deletions."""
    options: dict[str, Any] = {"attack": False}
    return {
        "certify": lambda: session.certify(THREE, **options),
        "unlike": lambda: session.certify(THREE.replace(local_attr_del=3), **options),
        "strong": lambda: session.certify(THREE, relaxation="strong", rounds=1),
        "curve": lambda: curve(session, ThreatModel(), "attr_del", [0, 2, 3]),
        "strong curve": lambda: curve(session, ThreatModel(), "attr_del", [3], relaxation="strong", rounds=1),
        "local curve": lambda: curve(session, THREE, "local_attr_del", [0, 3]),
        "surface": lambda: surface(session, ThreatModel(), "attr_del", [0, 3], "attr_add", [0, 1]),
        "radius": lambda: radius(session, ThreatModel(), "attr_del", "0.9"),
        "defend": lambda: defend(session, THREE, 1),
        "report": lambda: report.build(session.instance, THREE, session=session),
        "many": lambda: run_many([SweepTask(session.instance, ThreatModel(), [("attr_del", (0, 3))])], jobs=1),
    }


@pytest.mark.parametrize("way", list(ways(Session(alone()))))
def test_a_wrong_count_meets_an_attack_found_before_by_a_smaller_attacker(way: str) -> None:
    session = Session(alone(n=6))
    assert session.certify(ThreatModel(attr_del=2, sigma=2)).attack_found == 2
    with wrong(), pytest.raises(SoundnessError, match="internal error: 6 of 6"):
        ways(session)[way]()


@pytest.mark.parametrize("way", list(ways(Session(alone()))))
def test_right_counts_pass(way: str) -> None:
    session = Session(alone(n=6))
    session.certify(ThreatModel(attr_del=2, sigma=2))
    assert ways(session)[way]() is not None


def test_a_wrong_count_meets_its_own_attack() -> None:
    with wrong(), pytest.raises(SoundnessError, match="4 of 4 targets were certified"):
        certify(alone(), attr_del=2)


def test_a_wrong_count_meets_an_attack_of_another_session() -> None:
    certify(alone(), attr_del=2)
    with wrong(), pytest.raises(SoundnessError):
        certify(alone(), attr_del=3, attack=False)


def test_a_wrong_preview_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(alone())
    session.certify(ThreatModel(attr_del=2))
    assert session.preview(THREE).certified <= 2
    monkeypatch.setattr(Session, "_best_known", lambda *a: (Fraction(0), False))
    with pytest.raises(SoundnessError):
        session.preview(THREE)


def test_an_attack_refutes_what_somebody_still_has() -> None:
    session = Session(alone())
    with wrong():
        kept = [
            session.certify(THREE, attack=False),
            curve(session, ThreatModel(), "attr_del", [1, 3]),
            surface(session, ThreatModel(), "attr_del", [1, 3], "sigma", [1, 3]),
        ]
    while kept:
        with pytest.raises(SoundnessError):
            certify(alone(), attr_del=1, sigma=1)
        kept.pop()
        gc.collect()
    assert certify(alone(), attr_del=1, sigma=1).attack_found == 1, "what nobody has is forgotten"


def test_attacks_along_a_curve_count_as_well() -> None:
    list(attacks_along(alone(), ThreatModel(), "attr_del", [0, 3]))
    with wrong(), pytest.raises(SoundnessError):
        certify(alone(), attr_del=3, attack=False)


def test_an_attack_of_a_larger_or_another_attacker_refutes_nothing() -> None:
    instance = alone()
    certify(instance, attr_del=3, sigma=3)
    others: list[dict[str, Any]] = [
        {"attr_del": 2},
        {"attr_del": 3, "sigma": 2},
        {"attr_del": 9, "protected": [0]},
        {"attr_del": 3, "local_attr_del": 0},
        {"attr_del": 3, "targets": [0, 1, 2]},
    ]
    with wrong():
        for other in others:
            assert certify(instance, **other, attack=False).certified >= 3
        unlike = Instance(instance.graph, GridBase(np.tile([True, True, False], (4, 1)), ("attr_del",)), layers=0)
        assert certify(unlike, attr_del=3, attack=False).certified == 4
        with pytest.raises(SoundnessError):
            certify(instance, attr_del=3, attack=False)


def test_an_attack_found_elsewhere_takes_the_claim_of_an_integer_program_back(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.from_edges(3, np.array([[0, 1], [1, 2]]), np.ones((3, 3), np.int8), n_attrs=3)
    instance = Instance(graph, GridBase(np.tile([True, True, False], (3, 1)), ("attr_del",)), layers=1)
    tight = certify(instance, attr_del=2)
    monkeypatch.setattr("certcore.result.assemble.math.floor", lambda value: 0)
    found = Session(instance).certify(ThreatModel(attr_del=2), relaxation="exact", attack=False)
    assert (found.integer_claim, found.certified) == (None, tight.certified)


def test_the_terminal_tells_what_to_send_and_ends_with_a_code_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "alone.npz"
    save_instance(file, alone())
    for command in (["certify", str(file), "--attr-del", "3"], ["certify", str(file), "--attr-del", "3", "--json"]):
        with wrong():
            assert main(command) == 70
        said = capsys.readouterr()
        assert said.out == ""
        told = ("4 of 4 targets were certified", "leaves 1", alone().digest, f"certcore {__version__}", "attr_del 3")
        for part in (*told, " ".join(command)):
            assert part in said.err


def test_it_is_no_mistake_of_the_input() -> None:
    assert not issubclass(SoundnessError, InputError)
    long = ThreatModel(attr_del=1, protected=range(60), local_attr_del=[1, 2] * 50)
    said = str(tripwire.contradiction(alone(), long, 4, 4, tripwire.KnownAttack(long, 1)))
    assert len(said) < 900
    assert "\n" not in said


def test_proofs_claim_nothing_that_an_attack_refutes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The count beside a proof is the proof's own: it is held against the attacks as well."""
    session = Session(alone())
    session.certify(ThreatModel(attr_del=2))
    monkeypatch.setattr(proof, "certified_count", lambda targets, bound: targets)
    monkeypatch.setattr("certcore.result.assemble.certified_count", lambda targets, bound: targets)
    with pytest.raises(SoundnessError):
        certify(alone(), attr_del=2, attack=False, proof=True)


def test_the_order_of_targets_makes_no_difference() -> None:
    """An attack on the same nodes, named in another order, was not held against the count."""
    tripwire.remember(alone(), THREE.replace(targets=[2, 0]), 2)
    with pytest.raises(SoundnessError):
        tripwire.check_count(alone(), THREE.replace(targets=[0, 2]), 2, 1)
    tripwire.check_count(alone(), THREE.replace(targets=[0, 1]), 2, 1)
