"""Mistakes made on purpose: the walk has to find each of them, or it would not find one made by accident."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import certcore as cc
from certcore.base import smoothing
from certcore.base.ballots import BallotsBase
from certcore.common.errors import SoundnessError
from certcore.instance import fields
from certcore.program.ballots import BallotsBuilder
from certcore.program.builder import Builder
from certcore.program.groups import undominated
from certcore.result import assemble
from certcore.result.certificate import Certificate
from certcore.server import questions
from certcore.solve.solver import Solver
from certcore.sweep import axis as axis_module
from certcore.sweep import session, sweep
from certcore.sweep.checkpoint import Checkpoint
from certcore.sweep.family import ThreatFamily
from certcore.workbench import message
from pages.background import engine
from tests.oracle.instances import question
from tests.oracle.walk import AboveTheTruth, Tally, go
from tests.oracle.ways import WAYS

Patch = pytest.MonkeyPatch
SEED = 5


@dataclasses.dataclass(frozen=True)
class Mistake:
    """What is changed, on which way and kind of base certificate it is looked for, and from which question on."""

    make: Callable[[Patch], None]
    way: str
    kind: str
    first: int

    def caught(self, patch: Patch, most: int) -> int:
        """The number of the question that shows it; `go` raises nothing for others."""
        self.make(patch)
        for number in range(self.first, self.first + most):
            try:
                asked = question(SEED, number, self.kind)
                go(asked, WAYS[self.way], "tight", warm=number % 2 == 0, large=False, tally=Tally())
            except (AboveTheTruth, SoundnessError):
                return number
        raise AssertionError(f"nothing was found in {most} questions")


MISTAKES: dict[str, Mistake] = {}


def mistake(name: str, way: str, kind: str, first: int = 0) -> Callable[[Callable[[Patch], None]], None]:
    def register(make: Callable[[Patch], None]) -> None:
        MISTAKES[name] = Mistake(make, way, kind, first)

    return register


@mistake("one hop too few", "certify", "grid", 9)
def _hops(patch: Patch) -> None:
    right = fields.hop_fields
    patch.setattr(fields, "hop_fields", lambda g, t, layers, *a, **k: right(g, t, max(layers - 1, 0), *a, **k))


@mistake("the rule of messages where degrees are read", "certify", "grid", 22)
def _rule(patch: Patch) -> None:
    right = fields.hop_fields
    patch.setattr(fields, "hop_fields", lambda g, t, layers, rule, **k: right(g, t, layers, "messages", **k))


@mistake("a budget one too small", "session, any order", "grid", 13)
def _budget(patch: Patch) -> None:
    right = Solver.solve

    def solve(self: Solver, place: Any, **more: Any) -> Any:
        budgets, sigma = place
        largest = int(np.argmax(budgets))
        less = tuple(b - (k == largest and b > 1) for k, b in enumerate(budgets))
        return right(self, (less, sigma), **more)

    patch.setattr(Solver, "solve", solve)


@mistake("confidence bounds rounded up", "certify", "binary", 33)
def _rounding(patch: Patch) -> None:
    right = smoothing.lower_bounds
    patch.setattr(smoothing, "lower_bounds", lambda *a: np.minimum(np.ceil(right(*a) * 20) / 20, 1 - 1e-9))


@mistake("the confidence of one rule for the other", "certify", "multiclass", 8)
def _mixed_rules(patch: Patch) -> None:
    patch.setattr(cc.SmoothingBase, "level", property(lambda self: Fraction(self.alpha)))


@mistake("dominated sites dropped although nodes have capacities", "certify", "grid", 32)
def _domination(patch: Patch) -> None:
    right = Builder._attribute_flips

    def fewer(self: Builder, k: int) -> Any:
        found = right(self, k)
        inside = np.zeros(self.graph.n_nodes, dtype=bool)
        inside[found[0]] = True
        keep = undominated(self.node_field, inside)[found[0]]
        return tuple(part[keep] for part in found)

    patch.setattr(Builder, "_attribute_flips", fewer)


@mistake("who pays for an edge must stand in the field", "certify", "grid", 22)
def _payer(patch: Patch) -> None:
    right = Builder._touch

    def inside(self: Builder, nodes: np.ndarray) -> Any:
        touch: Any = right(self, nodes)
        near = sp.csr_array(self.node_field[:, nodes]) if len(nodes) else None
        return touch if near is None else sp.csr_array(touch.multiply(near > 0).astype(np.int64))

    patch.setattr(Builder, "_touch", inside)


@mistake("bounds of smaller values for larger ones", "curve", "grid", 4)
def _monotone(patch: Patch) -> None:
    patch.setattr(sweep, "monotone", lambda bounds: np.minimum.accumulate(bounds, axis=0))


@mistake("a plateau where there is none", "curve", "grid", 23)
def _plateau(patch: Patch) -> None:
    """The bound of the first value of a local budget taken over by larger ones."""
    patch.setattr(sweep, "can_do_no_more", lambda weaker, stronger, graph: True)


@mistake("a checkpoint of another threat model", "curve, resumed", "grid")
def _checkpoint(patch: Patch) -> None:
    right = Checkpoint.__init__
    patch.setattr(Checkpoint, "__init__", lambda self, path, key, *more, **k: right(self, path, {}, *more, **k))


@mistake("bounds of other local budgets, targets and protected nodes", "preview", "grid")
def _family(patch: Patch) -> None:
    patch.setattr(ThreatFamily, "holds_for", lambda self, other: self.sigma <= other.sigma)


@mistake("one session for all instances of the dashboard", "page number", "grid", 8)
def _one_session(patch: Patch) -> None:
    kept: list[session.Session] = []

    def shared(instance: cc.Instance) -> session.Session:
        same = kept and kept[0].instance.graph.n_nodes == instance.graph.n_nodes
        if not same:
            kept[:] = [session.Session(instance)]
        return kept[0]

    patch.setattr(engine, "session", shared)


@mistake("a line for one budget less than was asked", "server number", "grid", 8)
def _other_budget(patch: Patch) -> None:
    right = session.Session.certify

    def less(self: session.Session, threat: cc.ThreatModel, **more: Any) -> Certificate:
        largest = max(cc.TYPES, key=lambda name: int(getattr(threat, name)))
        return right(self, threat.replace(**{largest: max(0, int(getattr(threat, largest)) - 1)}), **more)

    patch.setattr(session.Session, "certify", less)


@mistake("a curve that leaves the number of attackers out", "server curve", "grid")
def _free_sigma(patch: Patch) -> None:
    right = questions.free_of
    patch.setattr(questions, "free_of", lambda threat, *axes: right(threat, *axes).replace(sigma=0))


@mistake("a map whose axes are exchanged", "server map", "joint")
def _exchanged(patch: Patch) -> None:
    right = message.map_data

    def turned(*words: Any) -> dict[str, Any]:
        found = right(*words)
        shape = len(found["xs"]), len(found["ys"])
        return found | {"certified": np.reshape(found["certified"], shape).ravel(order="F").tolist()}

    patch.setattr(message, "map_data", turned)


@mistake("frames one budget too late", "server frames", "grid")
def _late(patch: Patch) -> None:
    right = axis_module.Axis.at
    patch.setattr(axis_module.Axis, "at", lambda self, threat, value: right(self, threat, max(0, value - 1)))


@mistake("a proof of another attacker", "server proof", "grid")
def _other_proof(patch: Patch) -> None:
    right = session.Session.proof
    patch.setattr(session.Session, "proof", lambda self, threat, **k: right(self, threat.replace(sigma=0), **k))


@mistake("a suggestion counted before it is made", "server suggestion", "grid")
def _too_early(patch: Patch) -> None:
    patch.setattr(questions, "write_nodes", lambda nodes: "")


@mistake("attacks of larger budgets taken for smaller ones", "session, any order", "grid", 8)
def _known_attacks(patch: Patch) -> None:
    right = session.covers
    patch.setattr(session, "covers", lambda larger, smaller: right(smaller, larger))


@mistake("an attack that counts one target too many", "certify", "grid", 1)
def _attack(patch: Patch) -> None:
    found = property(
        lambda self: None if self.attack is None else min(self.targets, int(self.attack.attacked.sum()) + 1)
    )
    patch.setattr(Certificate, "attack_found", found)


@mistake("a bound counted as if it were never reached", "certify", "grid")
def _never_reached(patch: Patch) -> None:
    right = assemble.certified_count
    patch.setattr(assemble, "certified_count", lambda targets, bound: right(targets, bound - Fraction(1, 1000)))


@mistake("one attacker too few", "certify", "grid", 1)
def _sigma(patch: Patch) -> None:
    right = Solver.solve
    patch.setattr(Solver, "solve", lambda self, place, **k: right(self, (place[0], place[1] and place[1] - 1), **k))


@mistake("ballots that bear one new sender more than they do", "certify", "ballots")
def _needs(patch: Patch) -> None:
    right = vars(BallotsBase)["needs"].func
    patch.setattr(BallotsBase, "needs", property(lambda self: right(self) + 1))


@mistake("a new node that has one edge less than it may", "certify", "ballots")
def _edges_each(patch: Patch) -> None:
    right = BallotsBuilder._edges_each
    patch.setattr(BallotsBuilder, "_edges_each", lambda self: max(right(self) - 1, 0))


@pytest.mark.parametrize("name", MISTAKES)
def test_the_walk_finds_the_mistake(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the question that showed it when this was written: others follow, should questions be made differently."""
    assert MISTAKES[name].caught(monkeypatch, most=150) >= 0


def test_there_are_enough_of_them() -> None:
    assert len(MISTAKES) >= 8


def test_without_a_mistake_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, wrong in MISTAKES.items():
        right = dataclasses.replace(wrong, make=lambda _: None)
        with pytest.raises(AssertionError, match="nothing was found"):
            assert right.caught(monkeypatch, most=1) is None, name
