"""Small pictures of the steps of the method, drawn from the numbers and attacks of the live instance."""

from __future__ import annotations

import numpy as np

from certcore.figures.graph import positions_of
from certcore.figures.style import TOKENS
from certcore.instance.instance import Instance
from certcore.result.attack_effects import reach
from certcore.result.certificate import Certificate

WIDTH, HEIGHT = 300, 150
#: A dot stands for a part of the labels; more nodes than this are thinned out behind an attack.
ROWS, COLUMNS, MOST_NODES = 6, 20, 2500


def _tone(name: str, dark: bool) -> str:
    return str(getattr(TOKENS[name], "dark" if dark else "light"))


def _framed(parts: list[str]) -> str:
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(parts)}</svg>'


def shares(certified: int, targets: int, *, shared: bool, dark: bool) -> str:
    """Labels as dots, filled where they are certified: each meets an attacker of its own, or all meet one."""
    number = ROWS * COLUMNS
    kept = number * certified // max(targets, 1)
    ink, parts = _tone("ink", dark), []
    for k in range(number):
        x, y = 12 + 14.5 * (k // ROWS), 12 + 17 * (k % ROWS)
        colour = _tone("each" if k < kept else "none", dark)
        parts.append(f'<circle cx="{x}" cy="{y}" r="4.6" fill="{colour}"/>')
        if not shared and k % ROWS == ROWS - 1:
            parts.append(f'<circle cx="{x}" cy="{y + 22}" r="3.4" fill="{ink}"/>')
            parts.append(f'<path d="M{x} {y + 19}V{y + 6}" stroke="{ink}"/>')
    if shared:
        lines = "".join(f"M{WIDTH / 2} 138L{12 + 14.5 * k} {12 + 17 * (ROWS - 1) + 7}" for k in range(COLUMNS))
        parts.append(f'<path d="{lines}" stroke="{ink}" stroke-width="0.7"/>')
        parts.append(f'<circle cx="{WIDTH / 2}" cy="138" r="8" fill="{ink}"/>')
    return _framed(parts)


def where(instance: Instance, result: Certificate, *, dark: bool) -> str:
    """The graph with the attack found: where flips are spent, and whose certificates are lost."""
    found = reach(instance, result)
    places = np.asarray(positions_of(instance), dtype=float)
    low, high = places.min(axis=0), places.max(axis=0)
    at = 8 + (places - low) / np.maximum(high - low, 1e-9) * [WIDTH - 16, HEIGHT - 16]

    def marks(nodes: np.ndarray, name: str, size: float) -> str:
        drawn = "".join(f"M{x - size / 2:.1f} {y:.1f}h{size}" for x, y in at[nodes].tolist())
        return f'<path d="{drawn}" stroke="{_tone(name, dark)}" stroke-width="{size}"/>'

    every = max(1, len(places) // MOST_NODES)
    parts = [marks(np.arange(0, len(places), every), "together", 1.6)]
    if found is None:
        return _framed(parts)
    parts.append(marks(found.targets[found.lost], "lost", 3.6))
    ends = at[found.ends].mean(axis=1)
    parts += [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{4 + min(6, flips):.0f}" fill="{_tone("ink", dark)}" '
        f'stroke="{_tone("paper", dark)}"/>'
        for (x, y), flips in zip(ends.tolist(), found.amounts.sum(axis=1).tolist())
    ]
    return _framed(parts)
