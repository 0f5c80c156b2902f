"""Weights on targets against enumeration: the largest sum of weights that any admissible attack takes away.

The reference below is the whole idea in a few lines: the rows of the program stay as they are, a group is worth the sum
of its members' weights, and targets that are uncertified from the start lose theirs. Its bound is never below what is
found by trying every attack, and the mistakes that are easily made are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from scipy.optimize import linprog

from certcore.program.build import build_structure
from certcore.program.problem import Problem
from certcore.program.program import Program
from tests.oracle.instances import Question, question
from tests.oracle.truth import Landscape

#: Weights drawn for targets: equal ones, a heavy one, large ones.
WEIGHTS = (1, 1, 2, 3, 5, 7, 9, 1000)
KINDS = ("grid", "explicit", "binary", "multiclass")

Worth = Callable[[list[list[int]], list[int]], tuple[list[int], int]]
"""The worth of groups, given the weights of their members, and of targets uncertified from the start."""


def right(groups: list[list[int]], fallen: list[int]) -> tuple[list[int], int]:
    return [sum(members) for members in groups], sum(fallen)


MISTAKES: dict[str, Worth] = {
    "weights ignored": lambda groups, fallen: ([len(members) for members in groups], len(fallen)),
    "number of members times the first weight": lambda groups, fallen: (
        [len(members) * members[0] for members in groups],
        sum(fallen),
    ),
    "uncertified from the start counted once": lambda groups, fallen: (right(groups, fallen)[0], len(fallen)),
    "weights rounded down": lambda groups, fallen: (
        [sum(weight - weight % 2 for weight in members) for members in groups],
        sum(weight - weight % 2 for weight in fallen),
    ),
}


def bound(problem: Problem, weights: list[int], relaxation: str, worth: Worth) -> float:
    """The relaxed attacker's optimum in floating point, with a worth for groups."""
    structure = build_structure(problem, relaxation)
    program = Program(structure, problem.threat.budgets, problem.threat.sigma)
    members: list[list[int]] = [[] for _ in range(len(structure.groups))]
    for group, weight in zip(structure.groups.of_target.tolist(), weights):
        if group >= 0:
            members[group].append(weight)
    stays = problem.fronts.certified([0] * len(problem.threat.budgets))[problem.targets].tolist()
    values, constant = worth(members, [weight for weight, certified in zip(weights, stays) if not certified])
    objective = np.zeros(structure.columns.count)
    if structure.relaxation.has_indicators:
        objective[structure.columns.indicators] = values
    else:
        objective[structure.columns.points] = np.array(values)[structure.points.group] if values else 0
    if not objective.any():
        return float(constant)
    found = linprog(-objective, program.matrix, program.rhs, bounds=[(0, upper) for upper in program.upper.tolist()])
    assert found.status == 0
    return constant - float(found.fun)


def cases(seed: int, number: int) -> Iterator[tuple[Question, Problem, list[int], int]]:
    """Questions with fields smaller than the graph, weights for their targets, and the true worst-case loss."""
    for turn in range(number):
        asked = question(seed, turn, KINDS[turn % len(KINDS)])
        threat, world = asked.threat, asked.truth.world
        if world.whole_graph(threat):
            continue
        targets = world.targets(threat)
        weights = np.random.default_rng([seed, turn]).choice(WEIGHTS, len(targets)).tolist()
        top = tuple(min(b, most) for b, most in zip(threat.budgets, world.all_there_is(threat)))
        lost = Landscape(world, threat, top, weights).left(top, threat.sigma)
        yield asked, Problem(asked.instance, threat), weights, lost


@pytest.mark.parametrize("relaxation", ["tight", "paper"])
def test_no_bound_is_below_the_true_loss(relaxation: str) -> None:
    equal = number = 0
    for asked, problem, weights, lost in cases(48, 100):
        found = math.floor(bound(problem, weights, relaxation, right) + 1e-6)
        assert found >= lost, asked.number
        number, equal = number + 1, equal + (found == lost)
    assert equal >= {"tight": 0.8, "paper": 0.7}[relaxation] * number, f"{equal} of {number}"


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found(name: str) -> None:
    wrong = sum(
        math.floor(bound(problem, weights, "tight", MISTAKES[name]) + 1e-6) < lost
        for _, problem, weights, lost in cases(48, 100)
    )
    assert wrong, f"{name}: no question shows it"
