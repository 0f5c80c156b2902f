"""Coordinates and outlines shared by the screen, print and the workbench."""

from __future__ import annotations

import numpy as np

#: Position of the budget 0 on a logarithmic axis.
LOG_ZERO = 0.5
#: Width of a drawn graph divided by its height.
GRAPH_ASPECT = 1.6
#: The most marks on a line.
MOST_MARKS = 8


def positions(values: np.ndarray, log: bool) -> np.ndarray:
    """Budgets as positions on an axis; on a logarithmic one, 0 is drawn at one half."""
    array = np.asarray(values, dtype=float)
    return np.where(array <= 0, LOG_ZERO, array) if log else array


def log_ticks(largest: float) -> tuple[list[float], list[str]]:
    """Ticks of a logarithmic axis from 0 to `largest`, at round numbers, with their labels."""
    where, text = [LOG_ZERO], ["0"]
    power = 1
    while power <= max(largest, 1):
        where.append(float(power))
        text.append(f"{power:,}")
        power *= 10
    if len(where) <= 3:
        extra = [v for v in (2, 5, 20, 50) if v <= largest]
        where += [float(v) for v in extra]
        text += [str(v) for v in extra]
    order = np.argsort(where)
    return [where[i] for i in order], [text[i] for i in order]


def cell_edges(values: np.ndarray, log: bool = False, lengths: bool = False) -> np.ndarray:
    """Edges of the cells of a map: a cell covers the integers after the previous value up to its own.

    A certificate at a larger budget also holds at smaller ones, so a cell never claims more than was computed. With
    steps of one the cells are centred on the integers. Cells of `lengths` end at their value; the first, which is one
    value only, lies before it.
    """
    array = np.asarray(values, dtype=float)
    if lengths:
        return np.concatenate([[array[0] - (array[1] - array[0] if len(array) > 1 else 1.0) / 2], array])
    first = array[0] - 0.5
    if log and first <= 0:
        first = LOG_ZERO / 2
    return np.concatenate([[first], array + 0.5])


def _boundary(inside: np.ndarray, known: np.ndarray, x_edges: np.ndarray, y_edges: np.ndarray) -> list[np.ndarray]:
    """The border between cells inside and outside a set, as polylines along the edges of the cells.

    It is exact, whereas a smooth contour would interpolate. Unknown cells have no border.
    """
    steps: dict[tuple[int, int], list[tuple[int, int]]] = {}

    def connect(a: tuple[int, int], b: tuple[int, int]) -> None:
        steps.setdefault(a, []).append(b)
        steps.setdefault(b, []).append(a)

    both = known[:-1] & known[1:] & (inside[:-1] != inside[1:])
    for i, j in np.argwhere(both).tolist():
        connect((i + 1, j), (i + 1, j + 1))
    both = known[:, :-1] & known[:, 1:] & (inside[:, :-1] != inside[:, 1:])
    for i, j in np.argwhere(both).tolist():
        connect((i, j + 1), (i + 1, j + 1))

    lines: list[np.ndarray] = []
    ends = [corner for corner, around in steps.items() if len(around) % 2]
    for start in ends + list(steps):
        while steps.get(start):
            path = [start]
            while steps.get(path[-1]):
                following = steps[path[-1]].pop()
                steps[following].remove(path[-1])
                path.append(following)
            corners = np.array(path)
            lines.append(np.stack([x_edges[corners[:, 0]], y_edges[corners[:, 1]]], axis=1))
    return lines


def level_lines(grid: np.ndarray, level: float, x_edges: np.ndarray, y_edges: np.ndarray) -> list[np.ndarray]:
    """Polylines where a map falls below a level."""
    known = np.isfinite(grid)
    return _boundary(np.where(known, grid, 0) >= level, known, x_edges, y_edges)


def line_marks(x: np.ndarray, group: int, groups: int) -> np.ndarray:
    """Indices with a marker: evenly along the axis, shifted between groups so that none covers another."""
    if len(x) <= MOST_MARKS:
        return np.arange(len(x))
    goals = x[0] + (x[-1] - x[0]) * (np.arange(MOST_MARKS) + (group % groups + 0.5) / groups) / MOST_MARKS
    return np.unique(np.clip(np.searchsorted(x, goals), 0, len(x) - 1))


def graph_shares(positions: np.ndarray) -> np.ndarray:
    """Positions of the nodes of a graph in its picture: fractions of the width from the left, of the height from the
    top.

    Outliers must not compress all other nodes into the middle.
    """
    points = np.asarray(positions, dtype=float)
    low, high = points.min(axis=0), points.max(axis=0)
    inner = np.percentile(points, [0.5, 99.5], axis=0)
    tight = (inner[1] - inner[0]) < 0.5 * (high - low)
    low, high = np.where(tight, inner[0], low), np.where(tight, inner[1], high)
    share = (points - low) / np.maximum(high - low, 1e-9)
    # Outliers are compressed monotonically into a margin, which keeps their order.
    margin = np.where(tight, 0.1, 0.0)
    before, beyond = np.maximum(-share, 0), np.maximum(share - 1, 0)
    pulled = np.clip(share, 0, 1) * (1 - 2 * margin) + margin * (1 + beyond / (0.3 + beyond) - before / (0.3 + before))
    return np.clip(pulled, 0, 1)


def graph_places(positions: np.ndarray) -> np.ndarray:
    """The same positions with the y axis upwards, as print uses it: GRAPH_ASPECT wide, 1 high."""
    shares = graph_shares(positions)
    return np.column_stack([GRAPH_ASPECT * shares[:, 0], 1 - shares[:, 1]])


def edge_keys(edges: np.ndarray, changed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One key per edge, and for each changed edge the key of that edge, in either orientation."""
    n = int(max(edges.max(initial=0), changed.max(initial=0))) + 1
    keys = edges[:, 0] * n + edges[:, 1]
    forward, backward = changed[:, 0] * n + changed[:, 1], changed[:, 1] * n + changed[:, 0]
    return keys, np.where(np.isin(forward, keys), forward, backward)


def deleted_amounts(edges: np.ndarray, deleted: np.ndarray | None, amount: np.ndarray | None) -> np.ndarray:
    """How much of each edge is deleted (0 or 1 in an attack, a fraction in the relaxed adversary)."""
    if deleted is None or not len(deleted):
        return np.zeros(len(edges), dtype=np.int64)
    keys, gone = edge_keys(edges, deleted)
    amounts = np.ones(len(gone), dtype=np.int64) if amount is None else amount
    result = np.zeros(len(keys), dtype=amounts.dtype)
    order = np.argsort(keys)
    result[order[np.searchsorted(keys, gone, sorter=order)]] = amounts
    return result


def remaining(edges: np.ndarray, deleted: np.ndarray | None) -> np.ndarray:
    """The edges that an attack does not delete."""
    if deleted is None or not len(deleted) or not len(edges):
        return edges
    keys, gone = edge_keys(edges, deleted)
    return edges[~np.isin(keys, gone)]


def segments(where: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All edges as one path with gaps: much faster to draw than thousands of lines."""
    path = np.full((len(edges), 3, 2), np.nan)
    if len(edges):
        path[:, :2] = where[edges]
    return path[:, :, 0].ravel(), path[:, :, 1].ravel()


def step_band(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Corners of a step-shaped band: between two values it has the limits of the larger one, like the line itself."""
    if len(x) == 1:
        return np.repeat(x, 2), np.repeat(high, 2), np.repeat(low, 2)
    top, bottom = (np.concatenate([v[:1], np.repeat(v[1:], 2)]) for v in (high, low))
    return np.repeat(x, 2)[:-1], top, bottom


def bracket_area(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The outline between the proven ratio and the ratio that the best attack leaves, as one closed path.

    Between two values the proven ratio is that of the larger one, and the attack is that of the smaller one: both hold
    at every integer between them. Where no attack was searched there is no area.
    """
    x, low, high = (part[~np.isnan(high)] for part in (x, low, high))
    lower_x, lower = np.repeat(x, 2)[:-1], np.concatenate([low[:1], np.repeat(low[1:], 2)])
    upper_x, upper = np.repeat(x, 2)[1:], np.repeat(high, 2)[:-1]
    if len(x) > 1:
        upper_x, upper = np.concatenate([x[:1], upper_x]), np.concatenate([high[:1], upper])
    return np.concatenate([upper_x, lower_x[::-1]]), np.concatenate([upper, lower[::-1]])
