"""The rows of the strong form, each against every whole-number perturbation of small instances."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from certcore.common.errors import InputError
from tests.engine.strong_cases import FAMILIES, add_random_sets, group_of, perturbations, random_case, random_tag, worst

PARTS = {
    "monotone": ("levels",),
    "least": ("levels", "flips"),
    "most": ("levels", "flips"),
    "in": ("points", "levels", "flips"),
    "conflict": ("points", "levels", "flips", "rhs"),
    "cover": ("points", "flips"),
    "shift": ("points", "levels", "flips"),
    "paid": ("points", "attackers", "flips"),
}


def sharpened(row: np.ndarray, rhs: int, part: str, levels: object) -> list[tuple[np.ndarray, int]]:
    """The row with one coefficient of a part moved by one to the side that claims more."""
    columns = levels.structure.columns  # type: ignore[attr-defined]
    if part == "rhs":
        return [(row, rhs - 1)]
    where = {
        "points": columns.points,
        "flips": columns.flips,
        "attackers": columns.attackers,
        "levels": slice(columns.count, None),
    }[part]
    result = []
    for column in (np.arange(len(row))[where][row[where] != 0]).tolist():
        changed = row.copy()
        changed[column] += 1
        result.append((changed, rhs))
    return result


def test_no_perturbation_violates_a_row_and_every_sharper_row_is_violated_by_one() -> None:
    """Every family, every threat model; a coefficient that is off by one is found in each part of each family."""
    rng = np.random.default_rng(20260)
    checked: Counter[str] = Counter()
    caught: Counter[tuple[str, str]] = Counter()
    kinds: Counter[str] = Counter()
    for _ in range(90):
        problem, levels = random_case(rng)
        sets = add_random_sets(levels, rng, 5)
        tags = [tag for family in FAMILIES for _ in range(6) if (tag := random_tag(levels, sets, family, rng))]
        flips = perturbations(problem, levels, rng, most=2500)
        for tag in tags:
            try:
                matrix, rhs = levels.rows([tag])
            except InputError:
                assert tag[0] in ("cover", "shift", "paid")  # a capacity or a weight that asks for nothing
                continue
            row = matrix.toarray()[0]
            left = worst(levels, flips, row, group_of(tag))
            assert (left <= rhs[0]).all(), (tag, problem.threat)
            checked[tag[0]] += len(flips)
            for part in PARTS[tag[0]]:
                for changed, limit in sharpened(row, int(rhs[0]), part, levels):
                    caught[tag[0], part] += bool((worst(levels, flips, changed, group_of(tag)) > limit).any())
        threat = problem.threat
        kinds.update(
            name
            for name, there in (
                ("sigma", threat.sigma is not None),
                ("local", threat.has_local),
                ("relative", threat.has_local and threat.local_mode == "relative"),
                ("directed", problem.instance.graph.directed),
                ("protected", len(threat.protected) > 0),
                ("several", len(levels.structure.types) > 1),
                ("edges", 3 in levels.structure.types),
            )
            if there
        )
    assert set(checked) == set(FAMILIES)
    assert len(kinds) == 7
    assert min(kinds.values()) >= 5
    for family, parts in PARTS.items():
        for part in parts:
            assert caught[family, part] > 0, (family, part)


def test_what_does_not_fit_is_refused() -> None:
    rng = np.random.default_rng(5)
    refused = 0
    for _ in range(40):
        _, levels = random_case(rng)
        sets = add_random_sets(levels, rng, 4)
        for family in FAMILIES:
            tag = random_tag(levels, sets, family, rng)
            if tag is None:
                continue
            for place in range(1, len(tag)):
                for wrong in (-1, 10**6, 1.0, True, None, "1", [[-1]], [True], []):
                    forged = [*tag[:place], wrong, *tag[place + 1 :]]
                    if wrong == [] and tag[0] in ("cover", "shift", "paid"):
                        continue  # no blocks, no shifts, no payers: a row like any other
                    with pytest.raises(InputError):
                        levels.row(forged)
                    refused += 1
            for forged in ([*tag, 1], list(tag[:-1]), ["cutt", *tag[1:]], tag[0], [None]):
                with pytest.raises(InputError):
                    levels.row(forged)
    assert refused > 1000
