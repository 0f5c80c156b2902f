"""Certify a model of your own: a function from sparse matrices to labels, and the rule by which it reads the graph."""

import numpy as np
import scipy.sparse as sp

from certcore import Instance, ThreatModel, certify
from certcore.base.smoothing import SmoothingBase
from certcore.data import citation_like
from certcore.domain.noise import Noise
from certcore.votes.function import FunctionVoter
from certcore.votes.run import collect_votes

dataset = citation_like(300, 80, 4, ones=20, seed=1)  # or from_pyg(data, "mine"), from_networkx(graph, "mine"), …
noise = Noise(("0.01", "0.6", "0", "0"))  # flip probabilities: attr_add, attr_del, adj_add, adj_del
topics = np.eye(4)[np.arange(80) % 4]  # "weights" of this toy model: attribute d speaks for class d mod 4


def my_model(attributes: sp.csr_array, adjacency: sp.csr_array) -> np.ndarray:
    """A label for every node: what its neighbours and itself talk about most."""
    return np.asarray(((adjacency + sp.eye_array(adjacency.shape[0])) @ (attributes @ topics)).argmax(axis=1))


def main(samples: int = 2000) -> None:
    voter = FunctionVoter(dataset.graph, noise, seed=0, function=my_model, n_classes=4)
    votes = collect_votes(voter, selection=200, estimation=samples, jobs=1)
    base = SmoothingBase(votes.estimation, votes.prediction, votes.n_samples, "0.01", noise.theta, graph=dataset.graph)
    # One step of unweighted messages: one layer, rule `messages`. Declare more, never less, than the model reads.
    instance = Instance(dataset.graph, base, layers=1, edge_field="messages", labels=dataset.labels)
    certificate = certify(instance, ThreatModel(attr_del=10))
    print(f"{certificate.certified} of {certificate.targets} labels stay, whatever 10 attributes are deleted")


if __name__ == "__main__":
    main()
