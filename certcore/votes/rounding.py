"""When two ways to compute the same scores are called equal."""

from __future__ import annotations

from torch import Tensor


def rounding(scores: Tensor) -> float:
    """What sums in another order may change: relative to how far scores lie apart, and a little to how large they are.

    Single precision rounds at 1e-7, and networks add up some hundred terms a few times.
    """
    apart = float((scores.amax(dim=1) - scores.amin(dim=1)).max())
    return 5e-5 * apart + 4e-6 * float(scores.abs().max()) + 1e-30


def same_scores(ours: Tensor, own: Tensor) -> bool:
    """Whether two ways give the same scores up to rounding, and so the same labels wherever the margin is clear."""
    return ours.shape == own.shape and float((ours.double() - own.double()).abs().max()) <= rounding(own)
