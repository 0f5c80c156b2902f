"""The paper's tightness theorem, carried out: the worst-case classifier keeps exactly o* predictions."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from certcore import Graph, GridBase, Instance, ThreatModel, certify
from tests.support import hops

ADD, DEL = Fraction(1, 5), Fraction(2, 5)
HALF = Fraction(1, 2)


def binomial(n: int, p: Fraction) -> list[Fraction]:
    return [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def convolve(a: list[Fraction], b: list[Fraction]) -> list[Fraction]:
    result = [Fraction(0)] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            result[i + j] += x * y
    return result


def worst_case(add: int, delete: int, p: Fraction) -> tuple[list[Fraction], Fraction]:
    """Output per region (bits that agree with the clean graph) of the worst classifier, and its mass when perturbed."""
    clean = convolve(binomial(add, 1 - ADD), binomial(delete, 1 - DEL))
    perturbed = convolve(binomial(add, DEL), binomial(delete, ADD))
    output, left, mass = [Fraction(0)] * len(clean), p, Fraction(0)
    for q in sorted(range(len(clean)), key=lambda q: clean[q] / perturbed[q], reverse=True):
        take = min(left, clean[q])
        output[q] = take / clean[q]
        left -= take
        mass += output[q] * perturbed[q]
    return output, mass


@pytest.mark.parametrize("seed", range(10))
def test_the_worst_case_classifier_keeps_exactly_what_is_certified(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d = 4, 2
    edges = np.array([(i, j) for i in range(n) for j in range(i + 1, n) if rng.random() < 0.4]).reshape(-1, 2)
    x = (rng.random((n, d)) < 0.5).astype(np.int8)
    graph = Graph.from_edges(n, edges, x)
    p = [Fraction(int(v), 1000) for v in rng.integers(550, 999, n)]
    grid = np.array([[[worst_case(a, b, q)[1] > HALF for b in range(5)] for a in range(5)] for q in p])
    instance = Instance(graph, GridBase(grid, ("attr_add", "attr_del")), 1)
    budgets = ThreatModel(attr_add=int(rng.integers(0, 3)), attr_del=int(rng.integers(1, 3)))
    exact = certify(instance, budgets, relaxation="exact")
    assert exact.attack is not None
    # The solver of the integer program gives no bound where nothing can be broken.
    kept = exact.integer_claim if exact.bound else exact.certified
    assert exact.attack_found == exact.targets - kept  # an optimal attack is in our hands

    # The perturbed graph of the proof: flip the first bits of each node.
    changed = x.copy()
    for node in range(n):
        zeros, ones = np.flatnonzero(x[node] == 0), np.flatnonzero(x[node] == 1)
        changed[node, zeros[: exact.attack.attributes[0, node]]] = 1
        changed[node, ones[: exact.attack.attributes[1, node]]] = 0

    def smoothed(centre: np.ndarray, node: int, output: list[Fraction]) -> Fraction:
        """Pr[h̃ = y] by enumerating every attribute matrix."""
        near = sorted(hops(graph, node, 1))
        differs = [(m, b) for m in near for b in range(d) if x[m, b] != changed[m, b]]
        total = Fraction(0)
        for bits in itertools.product((0, 1), repeat=len(near) * d):
            sample = np.array(bits).reshape(len(near), d)
            probability = Fraction(1)
            for row, m in enumerate(near):
                for b in range(d):
                    flip = DEL if centre[m, b] else ADD
                    probability *= flip if sample[row, b] != centre[m, b] else 1 - flip
            agree = sum(sample[near.index(m), b] == x[m, b] for m, b in differs)
            total += probability * output[agree]
        return total

    unchanged = 0
    for node in range(n):
        inside = exact.attack.inside[node]
        output, _ = worst_case(int(inside[0]), int(inside[1]), p[node])
        assert smoothed(x, node, output) == p[node]
        unchanged += smoothed(changed, node, output) > HALF
    assert unchanged == kept
