"""What the adversary does, as a picture and as a table; both speak about the same allocation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from certcore import figures
from certcore.domain.perturbations import TYPES
from certcore.figures.style import STATES, series_colour, series_marker
from certcore.instance.instance import Instance
from certcore.result.certificate import Certificate
from pages.frame.sidebar import class_name, node_name
from pages.parts.graphview import Group, Picture
from pages.parts.text import SHORT, plain

#: More classes than this share one look: nobody can tell so many apart.
MOST_CLASSES = 24


def table(instance: Instance, result: Certificate, relaxed: bool) -> pd.DataFrame:
    """One row per node: what becomes of its certificate, and whether it is hit. Empty cells: not a target."""
    parts = result.nodes(instance.base.fronts(), instance.graph.edges, integer=not relaxed)
    columns: dict[str, object] = {"node": parts["node"]}
    if instance.node_names is not None:
        columns["name"] = [plain(name) for name in instance.node_names]
    columns["state"] = [state_name(state) for state in parts["state"]]
    columns["hit"] = np.where(parts["hit"], "hit", "not hit")
    if instance.prediction is not None:
        columns["predicted class"] = [class_name(instance, int(k)) for k in instance.prediction]
    if relaxed:
        columns["lost share"] = _numbers(parts["lost"], relaxed)
    in_play = [name for name, budget in zip(TYPES, result.threat.budgets) if budget]
    for name in in_play:
        columns[f"spent {SHORT[name]}"] = _numbers(parts[f"spent_{name}"], relaxed)
    for name in in_play:
        columns[f"inside {SHORT[name]}"] = _numbers(parts[f"inside_{name}"], relaxed)
    if result.threat.sigma is not None:
        columns["attacker"] = _numbers(parts["attacker"], relaxed)
    return pd.DataFrame(columns)


def _numbers(values: np.ndarray, relaxed: bool) -> pd.Series:
    """Whole numbers in an attack, fractions in the relaxed adversary; None stays empty."""
    numbers = pd.Series(np.asarray(values, dtype=float))
    return numbers.round(4) if relaxed else numbers.astype("Int64")


def state_name(state: str) -> str:
    """A state where there is little room: without what stands in brackets."""
    return str(state).split(" (")[0]


def _states(figure: figures.GraphFigure) -> np.ndarray:
    return np.asarray(figure.state)


def picture(
    instance: Instance,
    result: Certificate,
    figure: figures.GraphFigure,
    frame: pd.DataFrame,
    *,
    shown: np.ndarray,
    by_class: bool,
    selected: int,
    relaxed: bool,
) -> Picture:
    """The canvas picture of an allocation."""
    n = instance.graph.n_nodes
    state = _states(figure)
    keys = list(STATES)
    scale = np.array([STATES[key].scale for key in keys])[state]
    spent = frame[[c for c in frame.columns if c.startswith("spent")]].sum(axis=1).to_numpy()
    if by_class and instance.prediction is not None:
        group = np.minimum(np.asarray(instance.prediction), MOST_CLASSES)
        groups = [
            Group(class_name(instance, k), _ink(series_colour(k)), series_marker(k).screen)
            for k in range(int(group.max()) + 1)
        ]
        if len(groups) > MOST_CLASSES:
            groups[MOST_CLASSES] = Group("other classes", "#999999")
    else:
        group = state
        groups = [Group(STATES[k].label, _ink(STATES[k].colour), STATES[k].marker.screen) for k in keys]
    attackers = np.zeros(n, dtype=bool)
    if figure.attackers is not None:
        attackers[figure.attackers] = True
    protected = np.zeros(n, dtype=bool)
    if figure.protected is not None:
        protected[figure.protected] = True
    touched = np.flatnonzero(spent > 0)
    extra = {int(i): f"hit: flips spent here {spent[i]:,.4g}" for i in touched}
    deleted = figure.deleted if figure.deleted is not None else np.zeros((0, 2))
    what = "the relaxed adversary (not an attack)" if relaxed else "the replayed integer attack"
    counts = ", ".join(
        f"{int(c):,} {STATES[k].label}" for k, c in zip(keys, np.bincount(state, minlength=len(keys))) if c
    )
    return Picture(
        positions=figure.positions,
        edges=instance.graph.edges,
        group=group,
        groups=groups,
        size=scale * (1 + 0.5 * np.sqrt(np.minimum(spent, 16))),
        shown=shown,
        attackers=attackers,
        protected=protected,
        deleted=np.asarray(deleted),
        amount=np.asarray(figure.amount if figure.amount is not None else np.zeros(0)),
        alt=f"The graph under {what}: {counts}; {len(touched):,} nodes are hit. Keys: arrows move, + and − "
        "zoom, 0 shows all, n and p walk through the nodes where flips are spent, Enter opens one.",
        names=None if instance.node_names is None else [plain(name) for name in instance.node_names],
        extra=extra,
        tour=[int(i) for i in touched[np.argsort(-spent[touched], kind="stable")]],
        selected=selected,
    )


def _ink(colour: str) -> str:
    return "ink" if colour == "#000000" else colour


@st.cache_data(max_entries=4, show_spinner=False)
def search(names: tuple[str, ...] | None, n_nodes: int, text: str) -> list[int]:
    """Nodes whose index or name matches, best first."""
    text = text.strip().lower()
    if not text:
        return []
    found = [int(text)] if text.isascii() and text.isdigit() and int(text) < n_nodes else []
    if names is not None:
        starts = [i for i, name in enumerate(names) if name.lower().startswith(text)]
        inner = [i for i, name in enumerate(names) if text in name.lower()[1:]]
        found += [i for i in starts + inner if i not in found][:50]
    return list(dict.fromkeys(found))[:50]


def label(instance: Instance, node: int) -> str:
    return node_name(instance, node)
