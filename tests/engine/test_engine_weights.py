"""Fields with weights: a flip counts weight/unit of a flip. Small programs against every attack, with mistakes made."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from certcore import Graph, GridBase, Instance, ThreatModel, certify, curve, load_instance, save_instance, verify_proof
from certcore.common.errors import InputError, SoundnessError
from certcore.program import builder, groups
from certcore.program.field_capacity import FieldCapacity
from certcore.program.problem import Problem
from certcore.solve import solver
from certcore.solve.solver import Solver
from tests.checker.cases import accepts, as_seen


class Violation(Exception):
    """Something was promised that does not hold."""


@dataclass(frozen=True, eq=False)
class Case:
    """A small instance with weights, and the most targets that any attack in whole numbers breaks."""

    instance: Instance
    threat: ThreatModel
    truth: int


def case(seed: int, most: int = 5) -> Case:
    rng = np.random.default_rng(seed)
    n, unit = int(rng.integers(2, most)), int(rng.integers(2, 6))
    weights = rng.integers(0, unit + 1, (n, n)) * (rng.random((n, n)) < 0.7)
    match int(rng.integers(4)):
        case 0:  # equal rows, which are merged
            weights[1] = weights[0]
        case 1:  # rows with equal patterns, which are not
            weights[1] = (weights[0] > 0) * rng.integers(1, unit + 1, n)
        case 2:  # columns with equal patterns
            weights[:, 1] = (weights[:, 0] > 0) * rng.integers(1, unit + 1, n)
    sides = tuple(int(side) for side in rng.integers(2, 4, 2))
    grid = np.zeros((n, *sides), dtype=bool)
    for node in grid:
        for _ in range(2):
            node[tuple(slice(0, int(rng.integers(1, side + 1))) for side in sides)] = True
    if rng.random() < 0.5:
        grid[:] = grid[0]
    graph = Graph.from_edges(n, np.zeros((0, 2), dtype=np.int64), (rng.random((n, 3)) < 0.5).astype(int))
    base = GridBase(grid, ("attr_add", "attr_del"))
    instance = Instance(graph, base, layers=None, node_field=sp.csr_array(weights), field_unit=unit)
    values: dict[str, Any] = {"attr_add": int(rng.integers(0, 4)), "attr_del": int(rng.integers(0, 4))}
    if rng.random() < 0.3:
        values["sigma"] = int(rng.integers(0, 3))
    if rng.random() < 0.3:
        values["local_attr_del"] = int(rng.integers(0, 3))
    if rng.random() < 0.2:
        values["node_costs"] = rng.integers(1, 3, n)
    threat = ThreatModel(**values)
    return Case(instance, threat, _truth(threat, weights, unit, grid, graph.ones.tolist()))


def _truth(threat: ThreatModel, weights: np.ndarray, unit: int, grid: np.ndarray, ones: list[int]) -> int:
    n, worst = len(weights), 0
    costs = np.ones(n, np.int64) if threat.node_costs is None else np.asarray(threat.node_costs)
    limit = 10**6 if threat.local_attr_del is None else int(threat.local_attr_del)  # type: ignore[arg-type]
    room = [[3 - o for o in ones], [min(o, limit) for o in ones]]
    ways = [
        [v for v in itertools.product(*(range(r + 1) for r in room[k])) if costs @ np.array(v) <= threat.budgets[k]]
        for k in (0, 1)
    ]
    for added, deleted in itertools.product(*ways):
        if threat.sigma is not None and sum(a + d > 0 for a, d in zip(added, deleted)) > threat.sigma:
            continue
        amounts = [(weights @ np.array(v)) // unit for v in (added, deleted)]
        broken = 0
        for node in range(n):
            budget = int(amounts[0][node]), int(amounts[1][node])
            beyond = any(b >= side for b, side in zip(budget, grid.shape[1:]))
            broken += beyond or not grid[(node, *budget)]
        worst = max(worst, broken)
    return worst


def judge(number: int) -> int:
    """Whether the bound of the tight form is the truth; all forms and the attack are held against it."""
    asked = case(number)
    tight = certify(asked.instance, asked.threat)
    if tight.bound < asked.truth:
        raise Violation(f"{asked.truth} targets can be broken, the bound is {tight.bound}")
    assert tight.attack is not None
    if tight.attack.attacked.sum() > asked.truth:
        raise Violation("the attack does more than any attack")
    return int(tight.bound) == asked.truth


def test_no_attack_does_more_than_promised() -> None:
    assert sum(judge(number) for number in range(120)) > 100


def test_all_forms_are_sound_and_the_exact_one_is_the_truth() -> None:
    for number in range(25):
        asked = case(number)
        exact, paper, strong = (
            certify(asked.instance, asked.threat, relaxation=form) for form in ("exact", "paper", "strong")
        )
        assert int(exact.bound) == asked.truth
        assert paper.bound >= asked.truth
        assert strong.relaxation == "tight", "rows about whole flips in a set are not valid here"


def test_both_checkers_know_weights() -> None:
    for number in range(40):
        asked = case(number)
        for form in ("tight", "paper"):
            proof = json.loads(json.dumps(certify(asked.instance, asked.threat, relaxation=form, attack=False).proof))
            assert verify_proof(proof, asked.instance).accepted
            assert accepts(proof, as_seen(asked.instance)), (number, form)


def test_the_machine_for_large_programs_reads_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [certify(case(number).instance, case(number).threat, attack=False).bound for number in range(30)]
    monkeypatch.setattr(solver, "is_large", lambda structure, once: structure.has_fields and len(structure.groups) > 0)
    large = 0
    for number, bound in enumerate(before):
        asked = case(number)
        large += Solver(Problem(asked.instance, asked.threat), solver.Relaxation.TIGHT)._large is not None
        found = certify(asked.instance, asked.threat, attack=False).bound
        assert asked.truth <= found
        assert abs(found - bound) < 1e-6
    assert large > 10


def test_curves_do_not_cross_the_truth() -> None:
    for number in range(15):
        asked = case(number)
        line = curve(asked.instance, asked.threat, "attr_del", [0, 1, 2, 3])
        for value, certified in zip((0, 1, 2, 3), line.certified.tolist()):
            single = certify(asked.instance, asked.threat.replace(attr_del=value), attack=False)
            assert certified == single.certified


def test_weights_are_kept_in_files(tmp_path: Path) -> None:
    instance = case(3).instance
    save_instance(tmp_path / "weights.npz", instance)
    again = load_instance(tmp_path / "weights.npz")
    assert again.digest == instance.digest
    assert again.node_field is not None
    assert instance.node_field is not None
    assert (again.node_field.toarray() == instance.node_field.toarray()).all()
    with pytest.raises(InputError, match="weights"):
        Instance(instance.graph, instance.base, layers=None, node_field=instance.node_field * 9, field_unit=2)


def test_weights_that_are_all_the_unit_change_nothing() -> None:
    """The same rows times the unit: the same bounds."""
    for number in range(20):
        asked = case(number)
        assert asked.instance.node_field is not None
        plain = Instance(asked.instance.graph, asked.instance.base, layers=None, node_field=asked.instance.node_field)
        pattern = plain.node_field
        assert pattern is not None
        whole = Instance(plain.graph, plain.base, layers=None, node_field=pattern * 7, field_unit=7)
        assert abs(certify(plain, asked.threat).bound - certify(whole, asked.threat).bound) < 1e-9


# Mistakes on purpose.


def _pattern(matrix: Any) -> sp.csr_array:
    return sp.csr_array((np.ones_like(matrix.data), matrix.indices, matrix.indptr), shape=matrix.shape)


def _domination(patch: pytest.MonkeyPatch) -> None:
    right = builder.undominated
    patch.setattr(builder, "undominated", lambda field, keep: right(_pattern(field), keep))


def _merging(patch: pytest.MonkeyPatch) -> None:
    right = groups.merge_rows
    patch.setattr(
        builder, "merge_rows", lambda labels, rows, chosen: right(labels, [_pattern(row) for row in rows], chosen)
    )


def _capacity(patch: pytest.MonkeyPatch) -> None:
    right = FieldCapacity.limit
    patch.setattr(FieldCapacity, "limit", lambda self, sigma: np.maximum(right(self, sigma) - 1, 0))


def _rows(patch: pytest.MonkeyPatch) -> None:
    right = builder.Builder._inside

    def one_smaller(self: builder.Builder, k: int) -> sp.csr_array:
        inside = right(self, k)
        return sp.csr_array((np.maximum(inside.data - 1, 0), inside.indices, inside.indptr), shape=inside.shape)

    patch.setattr(builder.Builder, "_inside", one_smaller)


def _unit(patch: pytest.MonkeyPatch) -> None:
    right = builder.Builder._groups

    def larger(self: builder.Builder, fronts: Any) -> None:
        right(self, fronts)
        self.unit += 1

    patch.setattr(builder.Builder, "_groups", larger)


MISTAKES: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "domination by pattern": _domination,
    "rows with other weights merged": _merging,
    "a capacity that is one too small": _capacity,
    "weights that are one too small": _rows,
    "a unit that is one too large": _unit,
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_enumeration_finds_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MISTAKES[name](monkeypatch)
    with pytest.raises((Violation, SoundnessError)):
        _judge_many()


def _judge_many() -> None:
    for number in range(300):
        judge(number)


def test_a_checker_with_other_weights_is_noticed() -> None:
    wrong = 0
    for number in range(40):
        asked = case(number)
        proof = json.loads(json.dumps(certify(asked.instance, asked.threat, attack=False).proof))
        seen = as_seen(asked.instance)
        seen.weights = [tuple(min(weight + 1, seen.unit) for weight in row) for row in seen.weights]
        wrong += not accepts(proof, seen)
    assert wrong > 5
