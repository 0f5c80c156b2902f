"""What is measured: real graphs with real votes where they are at hand, made-up certificates where they are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from certcore import GridBase, Instance, load_instance
from certcore.data.dataset import load_dataset_file
from certcore.data.synthetic import citation_like
from certcore.domain.graph import Graph
from experiments.datasets.registry import get_dataset
from experiments.source import join_votes

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data"


def citeseer() -> Instance:
    """Citeseer with 10⁶ votes of a smoothed GCN."""
    return load_instance(ROOT / "precomputed" / "citeseer-gcn-attr-s0.npz")


def cora_ml(kind: str = "attr") -> Instance | None:
    """Cora-ML with the votes kept in the repository, if its graph is at hand."""
    graph, votes = SHARED / "cora_ml.npz", ROOT / "experiments" / "votes" / f"cora_ml-gcn-{kind}-s0.npz"
    if not graph.exists() or not votes.exists():
        return None
    return join_votes(votes, load_dataset_file(graph, "cora_ml"))


def with_made_up_certificate(graph: Graph, seed: int = 0) -> Instance:
    """Radii of attribute deletions drawn at random, spread as those of smoothed GCNs are."""
    rng = np.random.default_rng(seed)
    radius = np.floor(22 * rng.beta(1.2, 1.6, graph.n_nodes)).astype(int)
    return Instance(graph, GridBase(np.arange(22)[None] < radius[:, None], ("attr_del",)), layers=2)


def pubmed() -> Instance:
    """PubMed with made-up certificates."""
    return with_made_up_certificate(get_dataset("pubmed").graph)


def synthetic(n_nodes: int, degree: float = 4.0) -> Instance:
    """A citation-like graph of constant mean degree with made-up certificates."""
    return with_made_up_certificate(citation_like(n_nodes, 500, degree=degree).graph)
