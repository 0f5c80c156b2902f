"""Where the sliders of budgets stop and end."""

from __future__ import annotations

from certcore.domain.perturbations import entry_of
from certcore.instance.instance import Instance

from .state import MAX_BUDGET


def stops(limit: int) -> list[int]:
    """Values a slider stops at: every number at first, then coarser, so that both ends are usable."""
    values = list(range(0, min(limit, 20) + 1))
    value = 20
    for edge, step in ((30, 2), (60, 5), (100, 10), (200, 20), (500, 50), (1000, 100)):
        values += list(range(value + step, min(edge, limit) + 1, step))
        value = edge
    scale = 1000
    while scale < limit:
        values += [v for v in range(scale, 10 * scale, scale // 2) if scale < v <= limit]
        scale *= 10
    if limit not in values:
        values.append(limit)
    return sorted(set(values))


def slider_end(instance: Instance, name: str) -> int:
    """Where a budget slider ends: at the bits that exist, and at about as many flips as there are nodes."""
    graph = instance.graph
    exist = entry_of(name).total(graph)
    end = next(e for e in (50, 100, 200, 500, 1000, 2000, 5000, 10**9) if e >= graph.n_nodes / 2)
    return max(1, min(exist, end, MAX_BUDGET))
