"""The two tables of an attack: where the flips go, which labels are lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from certcore.domain.perturbations import LABELS, TABLE, TYPES
from certcore.instance.instance import Instance
from certcore.messages.names import class_name, node_name
from certcore.result.attack_effects import Reach
from certcore.result.certificate import Certificate
from certcore.workbench.attack import name_in_sentence

from ..messages.text import SHORT, plain


def sites_table(instance: Instance, result: Certificate, found: Reach, *, relaxed: bool) -> pd.DataFrame:
    """Where the flips go: one row per site, with how many labels it helps to break."""
    node = np.where(found.is_edge, -1, found.ends[:, 0])
    other = np.where(found.is_edge, found.ends[:, 1], -1)
    named = [
        node_name(instance, a) if a == b else f"{name_in_sentence(instance, a)} – {name_in_sentence(instance, b)}"
        for a, b in found.ends.tolist()
    ]
    columns: dict[str, Any] = {
        "site": named,
        "what": np.where(
            found.is_edge, "edge", np.where(found.ends[:, 0] < instance.graph.n_nodes, "node", "new node")
        ),
        "node": pd.Series(np.where(node < 0, found.ends[:, 0], node)).astype("Int64"),
    }
    if found.is_edge.any():
        columns["other end"] = pd.Series(other).astype("Int64").mask(other < 0)
    for k in _in_play(result):
        columns[LABELS[TYPES[k]]] = _amounts(found.amounts[:, k], k, relaxed)
    if not relaxed:
        columns["labels it helps to break"] = found.breaks()
    columns["targets in reach"] = found.reaches()
    return pd.DataFrame(columns)


def lost_table(instance: Instance, result: Certificate, found: Reach, *, relaxed: bool) -> pd.DataFrame:
    """Which labels are lost (or counted by the bound, by which fraction): what each received and needed.

    What it received comes from the sites in its field; not all of them need to have been of use (`Reach.uses`).
    """
    chosen = np.flatnonzero(found.uses.any(axis=1))
    nodes = found.targets[chosen]
    columns: dict[str, Any] = {"node": nodes}
    if instance.node_names is not None:
        columns["name"] = [plain(instance.node_names[i]) for i in nodes.tolist()]
    if instance.prediction is not None:
        columns["predicted class"] = [class_name(instance, int(instance.prediction[i])) for i in nodes.tolist()]
    if instance.labels is not None:
        columns["true class"] = [class_name(instance, int(instance.labels[i])) for i in nodes.tolist()]
    if relaxed:
        columns["fraction counted"] = found.broken[chosen]
    for k in _in_play(result):
        columns[f"received {SHORT[TYPES[k]]}"] = _amounts(found.received[chosen, k], k, relaxed)
        columns[f"needed {SHORT[TYPES[k]]}"] = _amounts(found.needed[chosen, k], k, False)
    columns["sites in its field"] = (
        np.full(len(chosen), len(found.ends))
        if found.inside is None
        else np.asarray(found.inside.sum(axis=0)).ravel()[chosen]
    )
    return pd.DataFrame(columns)


def _amounts(values: np.ndarray, kind: int, relaxed: bool) -> np.ndarray:
    """Flips of an attack are integers; lengths and what the relaxed adversary spends are not."""
    return values if relaxed or TABLE[kind].lengths else values.astype(np.int64)


def _in_play(result: Certificate) -> list[int]:
    return [k for k, budget in enumerate(result.threat.budgets) if budget]
