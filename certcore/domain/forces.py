"""Force-directed layout: clusters are separated, hubs stay readable, and nodes do not overlap.

The forces are linear attraction along edges and repulsion by degree (Jacomy, Venturini, Heymann and Bastian,
"ForceAtlas2", 2014). Distant nodes are approximated by the cells of a grid. Finally, overlapping nodes are pushed
apart.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

#: Strength of the repulsion between nodes.
_REPULSION = 2.0
#: Strength of the attraction towards the middle.
_GRAVITY = 1.0


def spread_by_forces(positions: np.ndarray, edges: np.ndarray, rounds: int = 400) -> np.ndarray:
    """Improve the positions of connected nodes; the large distances in `positions` must be about right."""
    n = len(positions)
    if n < 3:
        return positions
    mass = 1.0 + np.bincount(edges.ravel(), minlength=n)
    start = (positions - positions.mean(axis=0)) / max(float(positions.std()), 1e-9) * np.sqrt(n) * 3
    moved = np.ascontiguousarray(start)
    side = int(np.clip(np.sqrt(n / 6), 1, 72))
    _rounds(moved, np.ascontiguousarray(edges), mass, rounds, side)
    return make_room(moved)


def make_room(positions: np.ndarray, rounds: int = 60) -> np.ndarray:
    """Push apart nodes that are closer than a marker is wide, without changing the overall picture."""
    points = positions.astype(float).copy()
    low, high = np.percentile(points, [1, 99], axis=0)
    # Somewhat less than the spacing of a uniform grid.
    gap = 0.6 * float(np.sqrt(np.prod(np.maximum(high - low, 1e-9)) / len(points)))
    for _ in range(rounds):
        pairs = cKDTree(points).query_pairs(gap, output_type="ndarray")
        if not len(pairs):
            break
        a, b = pairs[:, 0], pairs[:, 1]
        apart = points[b] - points[a]
        length = np.linalg.norm(apart, axis=1)
        same = length < 1e-9 * gap
        angle = (a + 0.618 * b)[same]
        apart[same] = np.column_stack([np.cos(angle), np.sin(angle)])
        push = apart / np.where(same, 1.0, length)[:, None] * ((gap - length) / 2)[:, None]
        shift, count = np.zeros_like(points), np.zeros(len(points))
        for end, sign in ((a, -1.0), (b, 1.0)):
            np.add.at(shift, end, sign * push)
            np.add.at(count, end, 1)
        points += shift / np.maximum(np.sqrt(count), 1)[:, None]
    return points


@functools.cache
def _compiled() -> tuple[Callable[..., Any], ...]:
    from numba import njit  # compiled on first use; the dashboard reads stored layouts and needs no Numba

    return tuple(njit(one) for one in (_cells, _forces, _move))


def _rounds(points: np.ndarray, edges: np.ndarray, mass: np.ndarray, rounds: int, side: int) -> None:
    """Move the points for `rounds` iterations; distant nodes are approximated by grid cells."""
    cells, forces, move = _compiled()
    force, before = np.zeros_like(points), np.zeros_like(points)
    speed, efficiency = 1.0, 1.0
    for _ in range(rounds):
        before[:] = force
        forces(points, edges, mass, side, *cells(points, mass, side), force)
        speed, efficiency = move(points, mass, force, before, speed, efficiency)


def _cells(points: np.ndarray, mass: np.ndarray, side: int) -> tuple[np.ndarray, ...]:
    """Assign nodes to grid cells: the cell of each node, nodes sorted by cell, and mass and centre of each cell."""
    n = len(points)
    cell, order = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    begin = np.zeros(side * side + 1, dtype=np.int64)
    heavy, centre = np.zeros(side * side), np.zeros((side * side, 2))
    lx, ly = points[:, 0].min(), points[:, 1].min()
    width = max(points[:, 0].max() - lx, points[:, 1].max() - ly) / side + 1e-9
    for i in range(n):
        c = int((points[i, 0] - lx) / width) * side + int((points[i, 1] - ly) / width)
        cell[i] = c
        begin[c + 1] += 1
        heavy[c] += mass[i]
        centre[c, 0] += mass[i] * points[i, 0]
        centre[c, 1] += mass[i] * points[i, 1]
    for c in range(side * side):
        begin[c + 1] += begin[c]
        if heavy[c] > 0:
            centre[c, 0] /= heavy[c]
            centre[c, 1] /= heavy[c]
    filled = begin[:-1].copy()
    for i in range(n):
        order[filled[cell[i]]] = i
        filled[cell[i]] += 1
    return cell, order, begin, heavy, centre


def _forces(
    points: np.ndarray,
    edges: np.ndarray,
    mass: np.ndarray,
    side: int,
    cell: np.ndarray,
    order: np.ndarray,
    begin: np.ndarray,
    heavy: np.ndarray,
    centre: np.ndarray,
    force: np.ndarray,
) -> None:
    """Repulsion between nodes, gravity towards the middle, attraction along edges."""
    for i in range(len(points)):
        x, y, ci = points[i, 0], points[i, 1], cell[i]
        cx, cy = ci // side, ci % side
        fx, fy = 0.0, 0.0
        for c in range(side * side):
            if heavy[c] == 0.0:
                continue
            if abs(c // side - cx) <= 1 and abs(c % side - cy) <= 1:
                for k in range(begin[c], begin[c + 1]):
                    j = order[k]
                    dx, dy = x - points[j, 0], y - points[j, 1]
                    d2 = dx * dx + dy * dy
                    if d2 > 0.0:
                        fx += mass[j] * dx / d2
                        fy += mass[j] * dy / d2
            else:
                dx, dy = x - centre[c, 0], y - centre[c, 1]
                d2 = dx * dx + dy * dy
                fx += heavy[c] * dx / d2
                fy += heavy[c] * dy / d2
        away = np.sqrt(x * x + y * y) + 1e-9
        force[i, 0] = mass[i] * (_REPULSION * fx - _GRAVITY * x / away)
        force[i, 1] = mass[i] * (_REPULSION * fy - _GRAVITY * y / away)
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        dx, dy = points[i, 0] - points[j, 0], points[i, 1] - points[j, 1]
        force[i, 0] -= dx
        force[i, 1] -= dy
        force[j, 0] += dx
        force[j, 1] += dy


def _move(
    points: np.ndarray, mass: np.ndarray, force: np.ndarray, before: np.ndarray, speed: float, efficiency: float
) -> tuple[float, float]:
    """Move the points along their forces; returns the new speed and efficiency."""
    n = len(points)
    # The step size of the paper: large while nodes travel, small while they oscillate.
    swing, travel = 0.0, 0.0
    for i in range(n):
        sx, sy = force[i, 0] - before[i, 0], force[i, 1] - before[i, 1]
        tx, ty = force[i, 0] + before[i, 0], force[i, 1] + before[i, 1]
        swing += mass[i] * np.sqrt(sx * sx + sy * sy)
        travel += 0.5 * mass[i] * np.sqrt(tx * tx + ty * ty)
    estimated = 0.05 * np.sqrt(n)
    jitter = max(np.sqrt(estimated), min(10.0, estimated * travel / (n * n)))
    if swing > 2.0 * travel:
        if efficiency > 0.05:
            efficiency *= 0.5
        jitter = max(jitter, 1.0)
    target = jitter * efficiency * travel / (swing + 1e-9)
    if swing > jitter * travel:
        if efficiency > 0.05:
            efficiency *= 0.7
    elif speed < 1000:
        efficiency *= 1.3
    speed += min(target - speed, 0.5 * speed)
    for i in range(n):
        sx, sy = force[i, 0] - before[i, 0], force[i, 1] - before[i, 1]
        factor = speed / (1.0 + np.sqrt(speed * mass[i] * np.sqrt(sx * sx + sy * sy)))
        points[i, 0] += force[i, 0] * factor
        points[i, 1] += force[i, 1] * factor
    return speed, efficiency
