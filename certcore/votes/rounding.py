"""Tolerance for comparing scores that were computed in two ways."""

from __future__ import annotations

from torch import Tensor


def rounding(scores: Tensor) -> float:
    """The largest expected difference from another order of summation: relative to the spread and the size of scores.

    Single precision rounds at 1e-7, and networks sum some hundred terms a few times.
    """
    apart = float((scores.amax(dim=1) - scores.amin(dim=1)).max())
    return 5e-5 * apart + 4e-6 * float(scores.abs().max()) + 1e-30


def same_scores(ours: Tensor, own: Tensor) -> bool:
    """Whether scores are equal up to rounding, which implies equal labels wherever the margin is clear."""
    return ours.shape == own.shape and float((ours.double() - own.double()).abs().max()) <= rounding(own)
