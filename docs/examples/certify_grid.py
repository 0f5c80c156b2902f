"""Certify a graph from a base certificate of your own, given as a boolean grid.

    python docs/examples/certify_grid.py [FILE.npz]

The graph is a ring of 60 nodes, read by a two-layer network. Suppose some method has shown, node by node, that up to
`r` attribute deletions inside a node's field cannot change its label, with r = 0, 1 or 2.
"""

from __future__ import annotations

import sys

import numpy as np

from certcore import Graph, GridBase, Instance, ThreatModel, certify, save_instance

n = 60
edges = np.array([(i, (i + 1) % n) for i in range(n)])
attributes = np.ones((n, 5), dtype=np.int8)
radius = np.arange(n) % 3

# grid[node, d] says whether the node is certified at d deletions; budgets beyond the end count as uncertified.
grid = np.arange(3) <= radius[:, None]

instance = Instance(Graph.from_edges(n, edges, attributes), GridBase(grid, ("attr_del",)), layers=2)

print("deletions  naive  collective  best attack found")
for budget in range(0, 11, 2):
    c = certify(instance, ThreatModel(attr_del=budget))
    print(f"{budget:9}  {c.naive_certified:10}  {c.certified:8}  {c.attack_found:17}")

if len(sys.argv) > 1:
    save_instance(sys.argv[1], instance)
    print(f"wrote {sys.argv[1]}; try: certcore certify {sys.argv[1]} --attr-del 4")
