"""Small models and graphs for the vote tests."""

from __future__ import annotations

import numpy as np
import torch

from certcore.data import citation_like
from experiments.networks.registry import model_class

DATASET = citation_like(220, 90, 4, degree=4, ones=12, seed=3)


def random_model(name: str, units: int = 64, n_classes: int = 4, **options):
    """A network with random weights, scaled so that its votes are undecided."""
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = model_class(name)(DATASET.graph.n_attrs, n_classes, units=units, **options)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(torch.randn_like(parameter) * 0.3)
    return model.eval()


def z_scores(votes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Two-sample z-scores over all node/class cells that are not certain."""
    n, m = votes[0].sum(), others[0].sum()
    pooled = (votes + others) / (n + m)
    spread = np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
    unsure = pooled * (1 - pooled) * min(n, m) > 20
    return ((votes / n - others / m)[unsure]) / spread[unsure]
