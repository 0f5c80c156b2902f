"""What counts as changed: exact tails, Holm's procedure, nobody who abstains."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np

from certcore.model_attack.counting import beaten, count_changed
from tests.model_attack.cases import case


def tail(own: int, other: int) -> Fraction:
    n = own + other
    return Fraction(sum(comb(n, k) for k in range(other, n + 1)), 2**n)


def by_hand(votes: np.ndarray, labels: np.ndarray, alpha: Fraction) -> np.ndarray:
    tests = [
        (tail(int(row[label]), int(row[c])), number)
        for number, (row, label) in enumerate(zip(votes, labels))
        for c in range(len(row))
        if c != label
    ]
    changed = np.zeros(len(votes), dtype=bool)
    for place, (value, number) in enumerate(sorted(tests)):
        if value > alpha / (len(tests) - place):
            break
        changed[number] = True
    return changed


def test_the_test_is_the_exact_binomial_one_with_holms_correction():
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(200):
        shares = rng.dirichlet(np.ones(3), size=5)
        votes = np.stack([rng.multinomial(40, share) for share in shares])
        labels = rng.integers(0, 3, size=5)
        found = beaten(votes, labels, 0.05)
        assert np.array_equal(found, by_hand(votes, labels, Fraction(1, 20)))
        seen.add(int(found.sum()))
    assert len(seen) > 3


def test_equal_votes_change_nothing_however_many_there_are():
    votes = np.full((4, 2), 50_000)
    assert not beaten(votes, np.zeros(4, dtype=np.int64), 0.01).any()


def test_by_chance_alone_hardly_any_label_is_called_changed():
    rng = np.random.default_rng(1)
    mistakes = 0
    for _ in range(300):
        votes = rng.multinomial(200, (0.5, 0.5), size=50)
        mistakes += bool(beaten(votes, np.zeros(50, dtype=np.int64), 0.05).any())
    assert mistakes <= 30  # 15 expected at most


def test_whichever_targets_are_chosen_the_same_labels_have_changed():
    """All nodes are tested together, so nobody can choose targets afterwards until something is sure."""
    instance, _ = case()
    n, classes = instance.base.votes.shape
    rng = np.random.default_rng(0)
    votes = rng.multinomial(60, np.full(classes, 1 / classes), size=n)
    whole = count_changed(instance, np.arange(n), votes, "0.3", plain=False)
    alone = [bool(count_changed(instance, np.array([i]), votes, "0.3", plain=False).changed[0]) for i in range(n)]
    assert alone == whole.changed.tolist()
    certified = ~whole.abstaining
    labels = np.asarray(instance.prediction)[certified]
    assert np.array_equal(whole.changed[certified], by_hand(votes[certified], labels, Fraction(3, 10)))


def test_who_abstains_counts_neither_way():
    instance, _ = case()
    n, classes = instance.base.votes.shape
    votes = np.zeros((n, classes), dtype=np.int64)
    votes[np.arange(n), (np.asarray(instance.prediction) + 1) % classes] = 1000
    count = count_changed(instance, np.arange(n), votes, "0.01", plain=False)
    assert count.abstaining.any()
    assert np.array_equal(count.changed, ~count.abstaining)
    assert count.accuracy == 0.0
