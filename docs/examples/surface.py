"""Certified labels over two kinds of flips at once: attribute additions × attribute deletions.

    python docs/examples/surface.py [INSTANCE.npz]

The table shows, for each pair of budgets, how many labels provably stay together and (in brackets) how many stay when
nodes are certified one by one. Every cell is proven by itself; nothing is interpolated.
"""

from __future__ import annotations

import sys

from certcore import ThreatModel, load_instance
from certcore.sweep import surface

path = sys.argv[1] if len(sys.argv) > 1 else "precomputed/citeseer-gcn-attr-s0.npz"
additions, deletions = range(0, 4), range(0, 25, 6)

found = surface(load_instance(path), ThreatModel(), "attr_add", additions, "attr_del", deletions)

print(f"of {found.targets} targets" + "".join(f"{d:>11} del" for d in deletions))
for i, a in enumerate(additions):
    cells = zip(found.certified[i], found.naive[i])
    print(f"{a:>11} add" + "".join(f"{together:>7} ({alone:>5})" for together, alone in cells))
print(f"{found.solves} solves, {found.seconds:.1f} s")
