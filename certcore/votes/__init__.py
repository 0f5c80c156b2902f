"""Votes: how often a classifier gives each label when the graph is drawn from the smoothing distribution."""

from certcore.domain.noise import PAPER_THETA, Noise

__all__ = ["PAPER_THETA", "Noise"]
