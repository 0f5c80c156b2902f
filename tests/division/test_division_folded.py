"""The folded model of division voting says what the whole program says, and needs only part of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import certcore.program.division as rows
from certcore import Graph, Instance, ThreatModel
from certcore.base.division import DivisionBase, PairHash
from certcore.program.problem import Problem
from certcore.program.relaxation import Relaxation
from certcore.solve import folded
from certcore.solve.highs import HighsModel
from certcore.solve.solver import Solver
from certcore.solve.status import Status


class Whole(HighsModel):
    """The model of all rows and columns: only the plain one is replaced by the folded one."""


def instance(seed: int, n: int = 120, groups: int = 8, directed: bool = False) -> Instance:
    rng = np.random.default_rng(seed)
    edges = rng.integers(0, n, size=(2 * n, 2))
    graph = Graph.from_edges(n, np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0), directed=directed)
    label = rng.integers(0, 4, n)
    votes = np.where(rng.random((groups, n)) < 0.4, rng.integers(-1, 4, (groups, n)), label)
    base = DivisionBase(votes, 4, PairHash(groups, seed))
    return Instance(
        graph=graph, base=base, layers=int(rng.integers(1, 3)), edge_field=["messages", "degrees"][seed % 2]
    )


THREATS: list[dict[str, Any]] = [
    {"adj_add": 6},
    {"adj_add": 15},
    {"adj_add": 4, "adj_del": 3},
    {"adj_add": 9, "local_adj_add": 1},
    {"adj_add": 3, "adj_del": 6, "local_adj_del": 1, "protected": [0, 1, 2]},
]


@pytest.mark.parametrize("given", THREATS, ids=str)
def test_it_gives_the_optimum_of_the_whole_program(given: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "FEW_VOTES", 0)
    smaller = 0
    for seed in range(6):
        problem = Problem(instance(seed, directed=seed == 5), ThreatModel(**given))
        place = (problem.threat.budgets, None)
        short, whole = (Solver(problem, Relaxation.TIGHT, factory=factory) for factory in (HighsModel, Whole))
        assert folded.can_be_folded(short.structure)
        # Where counting settles everything no model is made.
        few, all_ = (solver.solve(place, time_limit=60, want_x=True) for solver in (short, whole))
        assert few.status is all_.status is Status.OPTIMAL
        assert abs(float(few.bound - all_.bound)) < 1e-5
        if isinstance(short._model, folded.FoldedModel):
            assert few.lower == pytest.approx(all_.lower, abs=1e-5), "its solution is one of the whole program"
            smaller += not short._model._inside.all()
    assert smaller, "targets that are too strong stay outside"


def test_budgets_move_up_and_down_in_one_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "FEW_VOTES", 0)
    problem = Problem(instance(1), ThreatModel(adj_add=40, adj_del=5))
    short, whole = (Solver(problem, Relaxation.TIGHT, factory=factory) for factory in (HighsModel, Whole))
    for added, deleted in ((2, 1), (20, 0), (5, 5), (40, 5), (1, 0), (12, 3)):
        place = ((0, 0, added, deleted), None)
        few, all_ = (solver.solve(place, time_limit=60) for solver in (short, whole))
        assert few.status is Status.OPTIMAL
        assert abs(float(few.bound - all_.bound)) < 1e-5


@pytest.mark.parametrize("wrong", ["fold", "pay"])
def test_a_model_that_is_wrong_proves_less_and_is_noticed(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dual values of a model that claims too much do not stand up to the whole program: its bound is larger."""
    monkeypatch.setattr(rows, "FEW_VOTES", 0)
    if wrong == "fold":
        right = folded.Fold.duals
        monkeypatch.setattr(folded.Fold, "duals", lambda self, y: 0.5 * right(self, y))
    else:
        monkeypatch.setattr(folded.Fold, "pay", lambda self, y, targets: targets[:0])
    problem = Problem(instance(1), ThreatModel(adj_add=6))
    place = (problem.threat.budgets, None)
    short, whole = (Solver(problem, Relaxation.TIGHT, factory=factory) for factory in (HighsModel, Whole))
    assert short.solve(place, time_limit=60).bound > whole.solve(place, time_limit=60).bound + 1
