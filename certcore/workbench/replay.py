"""What a browser needs to replay flips on the certificates: fronts, fields and capacities, all as integers.

The replay itself is `replay.js`; a test holds it against the engine's. Where it would not be exact there is a reason
instead of data.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from certcore.base.ballots import BallotsBase
from certcore.domain.perturbations import ADJ_DEL, LABELS, TABLE, TYPES
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.workbench.packing import pack

BY_BALLOTS = (
    "Against ballots an attack rewrites whole nodes and labels are counted again, which the browser does not do."
)
BY_LENGTH = "Moves of attributes are real numbers, which the browser does not replay exactly."
BY_LIST = "The receptive fields of this model are lists of nodes, which are not sent to the browser."
#: Types that can be spent by hand: attributes at nodes, and deleted edges.
BY_HAND = (TYPES.index("attr_add"), TYPES.index("attr_del"), ADJ_DEL)
#: More flips than any node has, in 32 bits.
MOST = 2**31 - 1


def replay_data(instance: Instance) -> dict[str, Any]:
    """What no threat model changes: the fronts, how far fields reach, and how many flips exist at each node."""
    if isinstance(instance.base, BallotsBase):
        return {"why": BY_BALLOTS}
    if instance.node_field is not None:
        return {"why": BY_LIST}
    if instance.scale is not None:
        return {"why": BY_LENGTH}
    fronts, everybody = instance.base.fronts(), np.ones(instance.graph.n_nodes, dtype=bool)
    return {
        "why": "",
        "points": pack(np.minimum(fronts.points, MOST), np.uint32),
        "start": pack(fronts.indptr, np.uint32),
        "front": pack(fronts.front_of_node, np.uint32),
        "exists": {TYPES[k]: pack(TABLE[k].capacity(instance.graph, everybody), np.uint32) for k in BY_HAND},
        "types": list(TYPES),
        "layers": instance.layers,
        "rule": str(instance.edge_field),
        "directed": instance.graph.directed,
        "everyField": instance.base.global_fields,
    }


def limits_data(instance: Instance, threat: ThreatModel, version: str) -> dict[str, Any]:
    """What global budgets and σ do not change: whose labels count, and how many flips each node can take."""
    data: dict[str, Any] = {"version": version, "why": replay_data(instance)["why"]}
    if not data["why"]:
        capacities = np.minimum(threat.capacities(instance.graph), MOST)
        data["capacities"] = {TYPES[k]: pack(capacities[k], np.uint32) for k in BY_HAND}
        data["targets"] = pack(instance.targets if threat.targets is None else threat.targets, np.uint32)
        data["protected"] = pack(np.asarray(threat.protected, dtype=np.int64), np.uint32)
        data["kinds"] = [_kind(TYPES.index(name)) for name in instance.covered_types]
    return {"key": hashlib.sha256(repr(sorted(data.items())).encode()).hexdigest()[:16], **data}


def _kind(k: int) -> dict[str, Any]:
    entry = TABLE[k]
    words = {"name": TYPES[k], "label": LABELS[TYPES[k]], "one": entry.singular, "short": entry.short}
    return {"type": k, "edge": k == ADJ_DEL, "byHand": k in BY_HAND, "lengths": entry.lengths, **words}
