"""The four perturbation types, always in the same order, and vectors indexed by them."""

from __future__ import annotations

from typing import Final

ATTR_ADD: Final = 0
ATTR_DEL: Final = 1
ADJ_ADD: Final = 2
ADJ_DEL: Final = 3

TYPES: Final = ("attr_add", "attr_del", "adj_add", "adj_del")

#: What people call them.
LABELS: Final = {
    "attr_add": "attribute additions",
    "attr_del": "attribute deletions",
    "adj_add": "edge additions",
    "adj_del": "edge deletions",
}

#: Larger than any count of flips, small enough that sums of a few fit into 64 bits.
UNLIMITED: Final = 2**40
