"""Smooth and certify your own PyTorch model; here a graph network of torch-geometric, trained on a small graph.

python docs/examples/pytorch_model.py [FILE.npz]
"""

import sys

import numpy as np
import torch
from torch_geometric.nn import GCN

from certcore import Instance, ThreatModel, certify, save_instance
from certcore.base import SmoothingBase
from certcore.data import citation_like
from certcore.votes import Noise
from certcore.votes.function import FunctionVoter
from certcore.votes.run import collect_votes

torch.manual_seed(0)
torch.set_num_threads(1)  # small tensors: more threads only wait for each other
data = citation_like(300, 80, 4, ones=20, seed=1)  # or: from certcore.data import from_pyg
model = GCN(in_channels=80, hidden_channels=16, num_layers=2, out_channels=4)  # any torch module


def scores(attributes, adjacency):  # two sparse 0/1 matrices; entry (i, j) of the adjacency: i receives from j
    receiver, sender = adjacency.nonzero()
    edge_index = torch.from_numpy(np.stack([sender, receiver]).astype(np.int64))
    return model(torch.from_numpy(attributes.toarray().astype(np.float32)), edge_index)


def labels(attributes, adjacency):
    with torch.no_grad():
        return scores(attributes, adjacency).argmax(dim=1).numpy()


optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(60):
    loss = torch.nn.functional.cross_entropy(
        scores(data.graph.attributes, data.graph.adjacency), torch.tensor(data.labels)
    )
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval()

noise = Noise(("0.01", "0.6", "0", "0"))  # flip probabilities: attr_add, attr_del, adj_add, adj_del
voter = FunctionVoter(data.graph, noise, seed=0, function=labels, n_classes=4)
votes = collect_votes(voter, selection=200, estimation=2000, jobs=1)
base = SmoothingBase(votes.estimation, votes.prediction, votes.n_samples, "0.01", noise.theta, graph=data.graph)
instance = Instance(
    data.graph, base, layers=2, edge_field="degrees"
)  # what the model reads: more if unsure, never less
certificate = certify(instance, ThreatModel(attr_del=10))
print(certificate.certified, "of", certificate.targets, "labels stay under any 10 deleted attributes")
print("the naive certificate:", certificate.naive_certified)
if len(sys.argv) > 1:
    save_instance(sys.argv[1], instance)
