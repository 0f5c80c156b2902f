"""One short example for each public name, shown on the page Python of the documentation and run by the tests.

    python docs/examples/names.py

The first part is common to all; every other part needs only that one. What a line prints stands behind it.
"""
# ruff: noqa: E402

# %% setup
import numpy as np

import certcore as cc

# A ring of twelve nodes with five bits each, read by two layers; node n is certified up to n mod 3 deletions.
ring = cc.Graph.from_edges(12, np.array([(i, (i + 1) % 12) for i in range(12)]), np.ones((12, 5), dtype=int))
grid = np.arange(3) <= np.arange(12)[:, None] % 3  # nodes × deletions 0, 1, 2
instance = cc.Instance(ring, cc.GridBase(grid, ("attr_del",)), layers=2)

# %% TYPES
print(cc.TYPES)  # ('attr_add', 'attr_del', 'adj_add', 'adj_del', 'inject', 'attr_l2')

# %% Certificate
certificate = cc.certify(instance, attr_del=1)
print(certificate)  # <Certificate attr_del=1: 10 of 12 certified; tight, optimal>
print(certificate.naive_certified, certificate.bound)  # 8 2

# %% Counts
found = cc.curve(instance, vary="attr_del", values=range(4))
print(found.certified.tolist(), found.naive.tolist())  # [12, 10, 6, 4] [12, 8, 4, 0]
found.plot()  # a figure

# %% Dataset
dataset = cc.Dataset("ring", ring, labels=np.arange(12) % 2, class_names=("even", "odd"))
print(dataset.n_classes)  # 2

# %% FieldCheck
from torch_geometric.nn import GCN

outcome = cc.check_field(GCN(12, 4, 2, 3).eval(), (np.eye(12), ring.adjacency), layers=1)
print(outcome.passed, outcome.violation is not None)  # False True

# %% Graph
pair = cc.Graph.from_edges(2, np.array([(0, 1)]), np.array([[1, 0], [1, 1]]))
print(pair.n_edges, pair.ones.tolist())  # 1 [1, 2]

# %% GridBase
base = cc.GridBase(np.array([[True, True], [True, False]]), ("adj_del",))  # node 0 stands one deletion, node 1 none
print(base.n_nodes, base.axes)  # 2 ('adj_del',)

# %% InputError
try:
    cc.certify(instance, attr_del=-1)
except cc.InputError as error:
    print(type(error).__name__)  # InputError

# %% Instance
print(instance)  # <Instance 12 nodes, 12 edges, 5 attributes; 2 layers, degrees; grid; 12 targets>

# %% ModelAttack
import torch
from torch_geometric.nn import GCN

torch.manual_seed(0)
model, data = GCN(5, 4, 2, 3), (ring.attributes, ring.adjacency)
mine = cc.smooth(model, data, attr_add=0.01, attr_del=0.3, samples=500)
found = cc.attack(model, data, mine, attr_del=3, samples=500, nested=True)
print(found.budgets[0], len(found.levels) > 1)  # 1 True

# %% Session
session = cc.Session(instance)  # keeps what it has built and solved
print([session.certify(cc.ThreatModel(attr_del=d)).certified for d in (1, 2, 3)])  # [10, 6, 4]

# %% SmoothingBase
votes = np.tile([990, 10], (12, 1))  # of 1,000 samples each, 990 for class 0
smoothed = cc.SmoothingBase(votes, np.zeros(12, int), 1_000, "0.01", ("0.01", "0.6", "0", "0"), graph=ring)
print(cc.certify(cc.Instance(ring, smoothed, layers=2), attr_del=3).certified)  # 12

# %% Status
print(cc.certify(instance, attr_del=1).status is cc.Status.OPTIMAL)  # True

# %% Sweep
growing = cc.Sweep(instance, None, [("attr_del", [0, 2]), ("sigma", [1, 2])])
print([counts.certified.tolist() for counts in growing.run()][-1])  # [[12, 12], [8, 6]]

# %% ThreatModel
threat = cc.ThreatModel(attr_del=6, local_attr_del=1, sigma=3)
print(threat.budgets, cc.certify(instance, threat).certified)  # (0, 6, 0, 0, 0, 0) 4

# %% Verdict
proof = cc.certify(instance, attr_del=1).proof
print(cc.verify_proof(proof | {"certified": 12}, instance).accepted)  # False

# %% attack
from torch_geometric.nn import GCN

model, data = GCN(5, 4, 2, 3), (ring.attributes, ring.adjacency)
mine = cc.smooth(model, data, attr_add=0.01, attr_del=0.3, samples=500)
found = cc.attack(model, data, mine, attr_del=3, samples=500)  # looks for labels that change in fact
left_open = 12 - cc.certify(mine, attr_del=3).certified
print(len(found.flips) <= 3, found.changed <= left_open)  # True True

# %% ballots
shown = np.eye(3)[np.arange(12) % 3]  # what every node shows
print(cc.certify(cc.ballots(shown, ring, conversion="shares"), inject=1, inject_edges=2).bound)  # 2

# %% certify
print(cc.certify(instance, attr_del=2, targets=[0, 4, 8]).certified)  # 1
print(cc.certify(instance, attr_del=2, relaxation="strong", rounds=3).certified)  # 6

# %% check_field
from torch_geometric.nn import GCN

print(bool(cc.check_field(GCN(5, 4, 2, 3).eval(), (ring.attributes, ring.adjacency))))  # True

# %% curve
print(cc.curve(instance, vary="attr_del", values=range(5)).certified.tolist())  # [12, 10, 6, 4, 2]

# %% dashboard
shown = cc.dashboard(instance, browser=False)
print(shown.running)  # True
shown.stop()

# %% load_instance
cc.save_instance("ring.npz", instance)
print(cc.load_instance("ring.npz").graph.n_nodes)  # 12

# %% radius
print(cc.radius(instance, vary="attr_del", at_least=0.5).value)  # 2

# %% read_proof
from certcore.verify.proof import proof_bytes

data = proof_bytes(
    cc.certify(instance, attr_del=1).proof, packed=False
)  # the bytes of proof.json; the name of a file does as well
print(cc.read_proof(data)["certified"])  # 10

# %% save_instance
cc.save_instance("ring.npz", instance)  # plain arrays, no pickles

# %% smooth
import torch
from torch_geometric.nn import GCN

torch.manual_seed(0)
mine = cc.smooth(GCN(5, 4, 2, 3), (ring.attributes, ring.adjacency), attr_add=0.01, attr_del=0.3, samples=500)
print(mine.layers, mine.edge_field)  # 2 degrees

# %% surface
found = cc.surface(instance, x="attr_del", x_values=[0, 1], y="sigma", y_values=[0, 1])
print(found.certified.tolist())  # [[12, 12], [12, 10]]

# %% verify_proof
proof = cc.certify(instance, attr_del=1).proof
print(cc.verify_proof(proof, instance).accepted)  # True
