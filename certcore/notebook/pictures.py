"""Small pictures for cards, as SVG text: no scripts, no libraries, readable on light and dark pages."""

from __future__ import annotations

import numpy as np

from certcore.figures.style import BLUE, GREEN, ORANGE

_WIDTH = 460
_GREY = "#8a8f98"


def bracket_bar(targets: int, proven: int, naive: int, attack: int | None) -> str:
    """All targets as one bar: proven, open, and left uncertified by the best attack found."""
    if not targets:
        return ""
    lost = min(targets - proven, attack or 0)
    parts = [(proven, BLUE, "proven"), (targets - proven - lost, _GREY, "open"), (lost, ORANGE, "attack found")]
    x, out = 0.0, []
    for size, colour, label in parts:
        width = _WIDTH * size / targets
        if width > 0:
            out.append(f'<rect x="{x:.1f}" y="4" width="{width:.1f}" height="16" fill="{colour}"/>')
            if width > 70:
                out.append(_text(x + width / 2, 16, f"{label} {size:,}", fill="#fff", anchor="middle"))
        x += width
    if naive:
        at = _WIDTH * naive / targets
        out.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="1" y2="23" stroke="{GREEN}" stroke-width="2"/>')
    return _svg("".join(out), 26, "proven, open and attacked shares of the targets")


def lines(values: np.ndarray, together: np.ndarray, alone: np.ndarray, label: str) -> str:
    """The collective and the naive certified ratio over one budget."""
    height, left, bottom = 130, 34, 20
    span = float(values[-1] - values[0]) or 1.0

    def path(ratio: np.ndarray) -> str:
        xs = left + (_WIDTH - left - 8) * (values - values[0]) / span
        ys = 6 + (height - bottom - 6) * (1 - ratio)
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs.tolist(), ys.tolist()))

    base = height - bottom
    out = [f'<path d="M{left} 6V{base}H{_WIDTH - 8}" fill="none" stroke="{_GREY}"/>']
    for ratio, colour, dash in ((alone, ORANGE, "5 3"), (together, BLUE, "none")):
        out.append(
            f'<polyline points="{path(np.asarray(ratio, dtype=float))}" fill="none" stroke="{colour}" '
            f'stroke-width="2" stroke-dasharray="{dash}"/>'
        )
    out += [
        _text(left - 4, 14, "1", anchor="end"), _text(left - 4, base, "0", anchor="end"),
        _text(left, height - 5, f"{values[0]:g}"), _text(_WIDTH - 8, height - 5, f"{values[-1]:g}", anchor="end"),
        _text(_WIDTH / 2, height - 5, label, anchor="middle"),
        _text(_WIDTH - 12, 16, "together", fill=BLUE, anchor="end"),
        _text(_WIDTH - 12, 30, "node by node", fill=ORANGE, anchor="end"),
    ]  # fmt: skip
    return _svg("".join(out), height, f"certified ratio over {label}")


def cells(ratio: np.ndarray, x: str, y: str) -> str:
    """The certified ratio over two budgets, darker for larger ratios; at most 48 cells per side."""
    height, left, bottom = 150, 20, 20
    step = [max(1, -(-side // 48)) for side in ratio.shape]
    shown = ratio[:: step[0], :: step[1]]
    width, tall = (_WIDTH - left - 8) / shown.shape[0], (height - bottom - 4) / shown.shape[1]
    out = [
        f'<rect x="{left + i * width:.1f}" y="{height - bottom - (j + 1) * tall:.1f}" width="{width + 0.3:.1f}" '
        f'height="{tall + 0.3:.1f}" fill="{BLUE}" fill-opacity="{float(shown[i, j]):.3f}"/>'
        for i in range(shown.shape[0])
        for j in range(shown.shape[1])
    ]
    out.append(f'<path d="M{left} 4V{height - bottom}H{_WIDTH - 8}" fill="none" stroke="{_GREY}"/>')
    out.append(_text(_WIDTH / 2, height - 5, x, anchor="middle"))
    turned = f'transform="rotate(-90 12 {height / 2 - 8})"'
    out.append(_text(12, height / 2 - 8, y, anchor="middle", more=turned))
    return _svg("".join(out), height, f"certified ratio over {x} and {y}")


def _text(x: float, y: float, text: str, *, fill: str = "currentColor", anchor: str = "start", more: str = "") -> str:
    """SVG text of our own labels only: nothing from files is drawn here."""
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{fill}" text-anchor="{anchor}" font-size="11" {more}>{text}</text>'


def _svg(inside: str, height: float, title: str) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" role="img" aria-label="{title}" '
        f'style="max-width:100%;font-family:sans-serif">{inside}</svg>'
    )
