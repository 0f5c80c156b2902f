"""The program's layout: named blocks in the order that proofs rely on, families of rows, small vocabularies."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from certcore import GridBase, InputError, Instance, Status, ThreatModel
from certcore.program import cuts as cuts_module
from certcore.program.build import build_structure
from certcore.program.cuts import Cuts, Rows
from certcore.program.problem import Problem
from certcore.program.program import Program
from certcore.program.relaxation import Relaxation
from certcore.program.structure import Structure
from certcore.verify.bound import exact_bound, scaled
from certcore.verify.duals import IntegerDuals
from tests.oracle.truth import most_broken
from tests.support import random_graph, random_grid, random_instance, random_threat

ORDER = ["global", "local", "sigma", "payer", "pair", "field0", "field1", "field2", "field3", "choose"]


@given(st.integers(0, 10**6), st.sampled_from(list(Relaxation)))
@settings(max_examples=80)
def test_blocks_follow_each_other_in_the_order_of_the_proof_format(seed: int, relaxation: Relaxation) -> None:
    rng = np.random.default_rng(seed)
    instance = random_instance(rng)
    structure = build_structure(Problem(instance, random_threat(rng, instance)), relaxation)
    rows = list(structure.rows.values())
    assert [name for name in ORDER if name in structure.rows] == list(structure.rows)
    assert rows[0].start == 0
    assert rows[-1].stop == structure.matrix.shape[0]
    assert all(a.stop == b.start for a, b in pairwise(rows))
    blocks = structure.columns
    columns = [blocks.flips, blocks.attackers, blocks.points, blocks.indicators]
    assert [c.stop - c.start for c in columns] == [
        len(structure.flips),
        len(structure.attackers.nodes),
        len(structure.points),
        len(structure.groups) if relaxation is Relaxation.PAPER else 0,
    ]
    assert columns[0].start == 0
    assert columns[-1].stop == structure.matrix.shape[1]
    assert all(a.stop == b.start for a, b in pairwise(columns))


class Halves:
    """A toy family with right-hand sides of its own: twice the points of a group are at most 2."""

    def fits(self, structure: Structure, index: np.ndarray) -> bool:
        return bool((index < len(structure.groups)).all())

    def rows(self, structure: Structure, index: np.ndarray) -> Rows:
        dense = np.zeros((len(index), structure.columns.count), dtype=np.int64)
        dense[:, structure.columns.points] = 2 * (structure.points.group == index[:, None])
        return Rows(sp.csr_array(dense), np.full(len(index), 2, dtype=np.int64))

    def violated(self, structure: Structure, x: np.ndarray, present: np.ndarray) -> np.ndarray:
        return np.flatnonzero(structure.attacked(x) > 1)


def test_a_further_family_of_rows_is_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact bound, stored dual values and the program take its rows as they take all others."""
    monkeypatch.setattr(cuts_module, "FAMILIES", (*cuts_module.FAMILIES, Halves()))
    for seed in range(30):
        rng = np.random.default_rng(seed)
        instance = random_instance(rng, max_nodes=5, axes=("attr_add", "adj_del"))
        threat = random_threat(rng, instance)
        structure = build_structure(Problem(instance, threat), "tight")
        if not len(structure.groups):
            continue
        cuts = Cuts(np.array([2, 2]), np.array([len(structure.groups) - 1, 0]))
        if structure.has_sigma:
            cuts = cuts.plus(Cuts(np.array([1, 2]), np.array([0, 0])))
        assert cuts.fit(structure)
        assert not Cuts(np.array([2]), np.array([len(structure.groups)])).fit(structure)
        assert not Cuts(np.array([3]), np.array([0])).fit(structure)
        program = Program(structure, threat.budgets, threat.sigma, cuts)
        assert program.matrix.shape[0] == len(program.rhs) == structure.matrix.shape[0] + len(cuts)
        assert program.rhs[-len(cuts) :].tolist() == [2, 2, 0, 2][: len(cuts)]
        for scale in (0.1, 1.0, 5.0):
            y = scaled(rng.random(len(program.rhs)) * scale)
            known = IntegerDuals.of(structure, y, cuts)
            assert known is not None
            assert known.bound(program) == structure.constant + exact_bound(program, known.repaired(program))
            assert known.bound(program) >= most_broken(instance, threat)


def test_problems_of_one_family_share_what_is_derived_and_stay_as_they_are() -> None:
    rng = np.random.default_rng(0)
    graph = random_graph(rng, 12, 4, 0.3)
    instance = Instance(graph, GridBase(random_grid(rng, 12, (3, 3)), ("attr_del", "adj_del")), layers=1)
    one = Problem(instance, ThreatModel(attr_del=1, adj_del=1))
    other = Problem(instance, ThreatModel(attr_del=2, adj_del=2, sigma=3), like=one)
    before = set(vars(other))
    for name in ("targets", "fields", "local_limits", "capacities"):
        assert getattr(other, name) is getattr(one, name)
    assert before == {"instance", "threat", "like", "round_up"}
    only_nodes = Problem(instance, ThreatModel(attr_del=1))
    assert Problem(instance, ThreatModel(adj_del=1), like=only_nodes).fields.edges is not None


def test_relaxations_are_the_texts_they_were() -> None:
    assert json.dumps(list(Relaxation)) == '["paper", "tight", "strong", "exact"]'
    assert [f"{form}" for form in Relaxation] == ["paper", "tight", "strong", "exact"]
    assert [repr(form) for form in Relaxation] == ["'paper'", "'tight'", "'strong'", "'exact'"]
    assert [form.relaxed for form in Relaxation] == ["paper", "tight", "tight", "tight"]
    assert [form.seconds(None) for form in Relaxation] == [600.0, 600.0, 10.0, 30.0]
    with pytest.raises(InputError, match="expected 'paper', 'tight', 'strong' or 'exact'"):
        Relaxation.parse("loose", "the relaxation")
    for limit in (0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="time limit"):
            Relaxation.TIGHT.seconds(limit)


def test_the_status_of_several_solves_tells_the_worst() -> None:
    assert [status for status in Status if status.is_final] == [Status.OPTIMAL, Status.RECOMPUTED]
    assert Status.OPTIMAL.then(Status.RECOMPUTED) is Status.RECOMPUTED
    assert Status.RECOMPUTED.then(Status.OPTIMAL) is Status.RECOMPUTED
    assert Status.TIME_LIMIT.then(Status.OPTIMAL) is Status.TIME_LIMIT
    assert Status.TIME_LIMIT.then(Status.INTERRUPTED) is Status.INTERRUPTED


def test_the_claim_of_an_integer_program_is_printed_and_read_by_nothing_else() -> None:
    """Not by a count, a curve, a cache, a sentence or a page."""
    root = Path(__file__).resolve().parents[2]
    files = [path for folder in ("certcore", "pages") for path in (root / folder).rglob("*.*")]
    texts = {path: path.read_text("utf-8") for path in files if path.suffix in (".py", ".js")}
    readers = {path.relative_to(root).as_posix() for path, text in texts.items() if ".integer_claim" in text}
    assert readers == {"certcore/cli/certify.py", "certcore/result/certificate.py"}
    certificate = texts[root / "certcore/result/certificate.py"]
    assert certificate.count(".integer_claim") == certificate.count('"integer_claim": self.integer_claim') == 1
