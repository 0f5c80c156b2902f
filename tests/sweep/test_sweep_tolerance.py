"""Sweeps to a tolerance: every count rests on an exact bound, and no gap is wider than what is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certcore import InputError, Instance, ThreatModel
from certcore.cli import main
from certcore.domain.threat import MAX_BUDGET
from certcore.instance.instance import save_instance
from certcore.program.build import build_structure
from certcore.program.problem import Problem
from certcore.program.program import Program
from certcore.solve.highs import HighsModel
from certcore.sweep import Session, curve, surface, surfaces
from certcore.sweep.axis import Axis
from certcore.sweep.counts import Counts
from certcore.sweep.gaps import Gaps, _Pairs
from certcore.sweep.grid import Grid, SweepSpec
from certcore.sweep.solve_options import SolveOptions
from certcore.sweep.tolerance import fill
from certcore.verify.bound import SCALE, exact_bound, scaled
from certcore.verify.cells import Cells
from certcore.verify.duals import IntegerDuals, plain_bound
from tests.oracle.truth import most_broken
from tests.support import random_instance, random_threat
from tests.sweep.cases import middling, smoothed_like

X, Y = range(5), range(0, 9)


@pytest.mark.parametrize("relaxation", ["tight", "paper"])
def test_the_bounds_of_all_cells_are_exact_bounds(relaxation: str) -> None:
    """At each cell they are the formula of weak duality for the same dual values, a group's choice priced anew."""
    compared = lower = 0
    for seed in range(24):
        rng = np.random.default_rng(seed)
        axes = ("attr_add", "attr_del")
        instance = random_instance(rng, max_nodes=5, axes=axes) if seed % 3 else middling(rng, axes, nodes=(6, 15))
        threat = random_threat(rng, instance).replace(attr_add=2, attr_del=3)
        extent = tuple(MAX_BUDGET if b else 0 for b in threat.budgets)
        structure = build_structure(Problem(instance, threat), relaxation, extent)  # type: ignore[arg-type]
        found = HighsModel(Program(structure, threat.budgets, threat.sigma)).solve(time_limit=10).duals
        if found is None:
            continue
        known = IntegerDuals.of(structure, scaled(found * rng.uniform(0.8, 1.2, len(found))))
        assert known is not None
        kinds: tuple[int | None, int | None] = (1, None if threat.sigma is not None else 0)
        cells = Cells(structure, (threat.budgets, threat.sigma), kinds, ([0, 1, 3, 6], [0, 1, 2, 5]))
        bounds, plain = cells.bounds(known), cells.plain()
        for cell in np.ndindex(cells.shape):
            program = cells.program(cell)
            assert plain[cell] == plain_bound(program) * SCALE
            y = known.repaired(program)
            if relaxation == "tight":
                rows = structure.rows["choose"]
                without = IntegerDuals.of(structure, np.where(np.isin(np.arange(len(y)), np.r_[rows]), 0, y))
                assert without is not None
                worth = np.where(program.open, np.maximum(without.reduced_costs[structure.columns.points], 0), 0)
                y[rows] = np.maximum.reduceat(worth, structure.points.first) if len(worth) else 0
            assert bounds[cell] == (structure.constant + exact_bound(program, y)) * SCALE
            lower += bool(bounds[cell] < known.bound(program) * SCALE)
            compared += 1
    assert compared > 100
    assert relaxation == "paper" or lower > 20


def wrong(instance: Instance | None, found: Counts, solved: Counts, tolerance: float) -> list[str]:
    """What is wrong with counts to a tolerance, next to those of a sweep that solved everything."""
    off = (solved.certified - found.certified).max(initial=0) / max(found.targets, 1)
    kept = solved.certified
    if instance is not None:  # small enough for all attacks to be tried
        truth = [most_broken(instance, found.threat_at(cell)) for cell in np.ndindex(found.bounds.shape)]
        kept = found.targets - np.array(truth).reshape(found.bounds.shape)
    return [
        text
        for text, bad in (
            ("a bound below that of a solve", (found.bounds.astype(float) < solved.bounds.astype(float) - 1e-6).any()),
            ("more certified than is true", (found.certified > kept).any()),
            ("a gap wider than what is told", off > found.largest_gap + 1e-12),
            ("a gap wider than the tolerance", found.largest_gap > tolerance),
            ("a cell called done that is not", (found.certified < solved.certified)[found.done].any()),
        )
        if bad
    ]


def cases() -> list[tuple[Instance, ThreatModel, str, str]]:
    """Small instances with all types, local budgets, costs, σ, protected nodes."""
    result = []
    for seed in range(14):
        rng = np.random.default_rng(100 + seed)
        instance = random_instance(rng, max_nodes=5)
        names = list(instance.base.axes)
        x = names[seed % len(names)]
        y = "sigma" if seed % 3 == 0 or len(names) == 1 else names[(seed + 1) % len(names)]
        result.append((instance, random_threat(rng, instance).replace(adj_add=0), x, y))
    return result


@pytest.mark.parametrize("relaxation", ["tight", "paper"])
def test_small_maps_and_curves_to_a_tolerance(relaxation: str) -> None:
    fewer = 0
    for number, (instance, threat, x, y) in enumerate(cases()):
        tolerance = (0.001, 0.25, 0.45)[number % 3]
        grid = (x, range(4), y, range(3))
        solved = surface(instance, threat, *grid, relaxation=relaxation)
        found = surface(instance, threat, *grid, relaxation=relaxation, tolerance=tolerance)
        assert not wrong(instance, found, solved, tolerance)
        fewer += found.solves < solved.solves
        for vary in (x, y):
            along = curve(instance, threat, vary, range(5), relaxation=relaxation)
            some = curve(instance, threat, vary, range(5), relaxation=relaxation, tolerance=tolerance)
            assert not wrong(instance, some, along, tolerance)
    assert fewer > 3


def test_strong_and_local_curves_to_a_tolerance() -> None:
    instance = smoothed_like(3, n=30)
    for vary, options in (
        ("attr_del", {"relaxation": "strong", "rounds": 2}),
        ("local_attr_del", {"attr_del": 5}),
    ):
        found = curve(instance, None, vary, range(10), tolerance=0.1, **options)  # type: ignore[arg-type]
        solved = curve(instance, None, vary, range(10), **options)  # type: ignore[arg-type]
        assert found.largest_gap <= 0.1
        assert found.verified.all()
        assert (found.certified >= solved.certified - 0.1 * found.targets).all()
        assert 0 < found.solves < solved.solves or vary != "attr_del"


def test_a_map_is_whole_from_the_first_cells_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("certcore.sweep.surface_maps.REFRESH", 0.0)
    instance = smoothed_like(1, n=120)
    solved = surface(instance, ThreatModel(), "attr_add", X, "attr_del", Y)
    seen = list(surfaces(instance, ThreatModel(), "attr_add", X, "attr_del", Y, tolerance=0.06))
    assert seen[5].solves <= 5
    assert [one.largest_gap for one in seen] == sorted((one.largest_gap for one in seen), reverse=True)
    for one in seen:
        assert (one.certified <= solved.certified).all()
        assert (solved.certified - one.certified).max() / one.targets <= one.largest_gap
    last = seen[-1]
    assert last.largest_gap <= 0.06 < seen[5].largest_gap
    assert last.solves < solved.solves / 2
    assert last.to_json()["largest_gap"] == last.largest_gap
    assert solved.largest_gap == 0.0


def break_by_interpolating(monkeypatch: pytest.MonkeyPatch) -> None:
    """The estimate from below instead of the proven bound."""
    fractions = Gaps.fractions

    def interpolated(self: Gaps) -> Any:
        return np.minimum(fractions(self), np.floor(self.lower).astype(int))

    monkeypatch.setattr(Gaps, "fractions", interpolated)


def break_the_range(monkeypatch: pytest.MonkeyPatch) -> None:
    """The points within reach at one cell taken for those of all."""
    monkeypatch.setattr(Cells, "ever_open", property(lambda self: np.flatnonzero(self.program((0, 0)).open)))


def break_the_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Solutions taken for ones at smaller budgets too."""

    def optimistic(self: Gaps, cell: tuple[int, ...], lower: float) -> None:
        self.lower = np.maximum(self.lower, lower)

    monkeypatch.setattr(Gaps, "_raise", optimistic)


def break_the_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    """Combinations scaled beyond the budgets."""
    scale = Gaps._scale
    monkeypatch.setattr(Gaps, "_scale", lambda self, cell, parts: 1.3 * scale(self, cell, parts))


def break_the_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two points of a group paid for by the same flips."""

    def twice(self: _Pairs, broken: np.ndarray, flips: np.ndarray, open_: np.ndarray) -> None:
        broken *= 2

    monkeypatch.setattr(_Pairs, "raise_to", twice)


def too_high(instance: Instance, threat: ThreatModel, axes: tuple[str, str], sizes: tuple[int, int]) -> tuple[int, int]:
    """At how many cells the lower estimate is above the relaxed optimum, and how many were re-optimised."""
    values = (list(range(sizes[0])), list(range(sizes[1])))
    spec = SweepSpec(threat, (Axis(axes[0]), Axis(axes[1])), values, SolveOptions.read("tight", None, None), 0.01)
    grid = Grid(Session(instance), spec)
    for _ in fill(grid, None):
        pass
    solved = surface(instance, threat, axes[0], values[0], axes[1], values[1])
    assert grid.gaps is not None
    return int((grid.gaps.lower > solved.bounds.astype(float) + 1e-6).sum()), len(grid.gaps._looked)


def test_no_estimate_is_above_the_optimum() -> None:
    """Otherwise a cell would be left unsolved whose gap is wider than told."""
    looked = 0
    for instance, threat, x, y in cases():
        above, tried = too_high(instance, threat, (x, y), (4, 3))
        assert not above
        looked += tried
    above, tried = too_high(smoothed_like(1, n=120), ThreatModel(), ("attr_add", "attr_del"), (len(X), len(Y)))
    assert not above
    assert looked + tried > 20


@pytest.mark.parametrize("mistake", [break_the_scale, break_the_pairs, break_the_estimate])
def test_estimates_above_the_optimum_are_seen(mistake: Callable[[pytest.MonkeyPatch], None], monkeypatch: Any) -> None:
    mistake(monkeypatch)
    assert too_high(smoothed_like(1, n=120), ThreatModel(), ("attr_add", "attr_del"), (len(X), len(Y)))[0]


@pytest.mark.parametrize("mistake", [break_by_interpolating, break_the_range, break_the_estimate])
def test_deliberate_mistakes_are_seen(mistake: Callable[[pytest.MonkeyPatch], None], monkeypatch: Any) -> None:
    instance, grid = smoothed_like(1, n=120), ("attr_add", X, "attr_del", Y)
    solved = surface(instance, ThreatModel(), *grid)
    assert not wrong(None, surface(instance, ThreatModel(), *grid, tolerance=0.1), solved, 0.1)
    mistake(monkeypatch)
    assert wrong(None, surface(instance, ThreatModel(), *grid, tolerance=0.1), solved, 0.1)


def test_a_checkpoint_belongs_to_its_tolerance(tmp_path: Path) -> None:
    instance, path = smoothed_like(2, n=60), tmp_path / "cells.npz"
    grid = ("attr_add", X, "attr_del", Y)
    first = surface(instance, ThreatModel(), *grid, tolerance=0.05, checkpoint=path)
    again = surface(instance, ThreatModel(), *grid, tolerance=0.05, checkpoint=path)
    assert (again.certified >= first.certified).all()
    assert again.largest_gap <= 0.05
    for other in (0.0, 0.01):
        with pytest.raises(InputError, match="another curve or surface"):
            surface(instance, ThreatModel(), *grid, tolerance=other, checkpoint=path)


@pytest.mark.parametrize("bad", [-0.1, 1, 2.0, float("nan"), "0.1", True, None])
def test_a_tolerance_is_a_share(bad: Any) -> None:
    with pytest.raises(InputError, match="share of the targets"):
        curve(smoothed_like(2, n=20), None, "attr_del", range(3), tolerance=bad)


@pytest.mark.parametrize("sigma", [None, 6])
def test_two_processes_prove_bounds_within_the_tolerance(sigma: int | None) -> None:
    instance, threat = smoothed_like(3, n=100), ThreatModel(sigma=sigma)
    grid = ("attr_add", range(6), "attr_del", range(14))
    exact = surface(instance, threat, *grid)
    for _ in range(2):  # the second map finds the processes of the first
        found = surface(instance, threat, *grid, tolerance=0.02, jobs=2)
        assert found.status.is_final
        assert found.largest_gap <= 0.02
        assert (found.certified <= exact.certified).all()
        assert (exact.certified - found.certified).max() <= 0.02 * exact.targets
        assert 0 < found.solves < exact.solves


def test_the_commands_take_a_tolerance(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "instance.npz")
    save_instance(path, smoothed_like(2, n=60))
    assert main(["curve", path, "--vary", "attr_del", "--values", "0:20", "--tolerance", "0.05", "--json"]) == 0
    line = json.loads(capsys.readouterr().out)
    assert 0 <= line["largest_gap"] <= 0.05
    assert line["solves"] > 0
    axes = ["--x", "attr_add", "--x-values", "0:4", "--y", "attr_del", "--y-values", "0:8"]
    assert main(["surface", path, *axes, "--tolerance", "0.05", "--json"]) == 0
    assert 0 <= json.loads(capsys.readouterr().out)["largest_gap"] <= 0.05
    assert main(["surface", path, *axes, "--tolerance", "1.5"]) == 2
    assert "share of the targets" in capsys.readouterr().err
