"""Draw docs/images/architecture.svg: the stages of the engine in the order in which data passes them.

python docs/draw_architecture.py
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from html import escape
from pathlib import Path

TARGET = Path(__file__).parent / "images" / "architecture.svg"
PROJECT = Path(__file__).parents[1] / "pyproject.toml"
WIDTH, HEIGHT = 1120, 690
BOX_WIDTH, BOX_HEIGHT = 176, 96
INK, QUIET, LINE = "#1B2430", "#5A6470", "#8A939E"
#: Okabe–Ito colours, the ones of the dashboard.
BLUE, ORANGE, GREEN = "#0072B2", "#E69F00", "#009E73"
FONT = "font-family='DejaVu Sans, Verdana, sans-serif'"
MONO = "font-family='DejaVu Sans Mono, Menlo, Consolas, monospace'"


@dataclass(frozen=True)
class Box:
    """One stage: where it stands, its folder or file, and what it does in two short lines."""

    x: int
    y: int
    name: str
    lines: tuple[str, ...]
    colour: str
    dashed: bool = False


LEFT, GAP = 40, 216
ROWS = (96, 290, 484)
COLUMNS = tuple(LEFT + GAP * i for i in range(5))

BOXES = (
    Box(COLUMNS[0], ROWS[0], "data/", ("one graph, binary", "attributes, labels"), ORANGE),
    Box(COLUMNS[1], ROWS[0], "models/", ("a classifier, and how", "it reads the graph"), ORANGE),
    Box(COLUMNS[2], ROWS[0], "votes/", ("labels under random", "noise, counted"), ORANGE),
    Box(COLUMNS[3], ROWS[0], "base/", ("per node: budgets that", "cannot change its label"), ORANGE),
    Box(COLUMNS[4], ROWS[0], "instance/", ("graph + fields + base", "+ targets: one .npz file"), INK, dashed=True),
    Box(COLUMNS[0], ROWS[1], "domain/threat.py", ("what the attacker", "may do"), INK, dashed=True),
    Box(COLUMNS[1], ROWS[1], "domain/ instance/", ("what breaks a node;", "who can influence whom"), BLUE),
    Box(COLUMNS[2], ROWS[1], "program/", ("the adversary as a", "linear program"), BLUE),
    Box(COLUMNS[3], ROWS[1], "solve/", ("HiGHS finds", "dual values"), BLUE),
    Box(COLUMNS[4], ROWS[1], "verify/", ("the bound, recomputed", "in exact integers"), BLUE),
    Box(COLUMNS[4], ROWS[2], "result/", ("certified count, bound,", "attack found, proof"), INK, dashed=True),
    Box(COLUMNS[3], ROWS[2], "sweep/", ("curves, surfaces, radius,", "defence, previews"), GREEN),
    Box(COLUMNS[2], ROWS[2], "figures/", ("one figure for screen", "and for print"), GREEN),
    Box(COLUMNS[1], ROWS[2], "report.py", ("a page, PDF, CSV,", "proof"), GREEN),
    Box(COLUMNS[0], ROWS[2], "app.py pages/ cli/", ("dashboard and", "command line"), GREEN),
)
HEADINGS = (
    (ROWS[0], "Once per model", "#9A6700"),
    (ROWS[1], "Once per threat model", BLUE),
    (ROWS[2], "What people see", GREEN),
)


def text(
    x: float,
    y: float,
    words: str,
    *,
    size: float = 13,
    fill: str = INK,
    anchor: str = "middle",
    font: str = FONT,
    bold: bool = False,
) -> str:
    weight = " font-weight='bold'" if bold else ""
    place = f"x='{x:g}' y='{y:g}' text-anchor='{anchor}'"
    return f"<text {place} font-size='{size:g}' fill='{fill}' {font}{weight}>{escape(words)}</text>"


def draw_box(box: Box) -> str:
    dash = " stroke-dasharray='6 4'" if box.dashed else ""
    middle = box.x + BOX_WIDTH / 2
    parts = [
        f"<rect x='{box.x}' y='{box.y}' width='{BOX_WIDTH}' height='{BOX_HEIGHT}' rx='8' fill='{box.colour}' "
        f"fill-opacity='0.09' stroke='{box.colour}' stroke-width='1.8'{dash}/>",
        text(middle, box.y + 30, box.name, size=13.5, font=MONO, bold=True),
    ]
    parts += [text(middle, box.y + 55 + 18 * i, line, size=12.5, fill=QUIET) for i, line in enumerate(box.lines)]
    return "\n".join(parts)


def arrow(path: str, *, dotted: bool = False) -> str:
    dash = " stroke-dasharray='3 4'" if dotted else ""
    return f"<path d='{path}' fill='none' stroke='{LINE}' stroke-width='2.2'{dash} marker-end='url(#head)'/>"


def between(row: int, first: int, second: int) -> str:
    """An arrow from one column to a neighbouring one of the same row."""
    y = ROWS[row] + BOX_HEIGHT / 2
    if first < second:
        return arrow(f"M{COLUMNS[first] + BOX_WIDTH + 3} {y} H{COLUMNS[second] - 5}")
    return arrow(f"M{COLUMNS[first] - 3} {y} H{COLUMNS[second] + BOX_WIDTH + 5}")


def layers() -> str:
    """The layers of the engine as the contract names them, each of which imports only those to its right."""
    contracts = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract.get("containers") == ["certcore"])
    return " › ".join(layer.replace(" | ", " · ").replace(" : ", " · ") for layer in layers)


def draw() -> str:
    centre = [column + BOX_WIDTH / 2 for column in COLUMNS]
    below = [row + BOX_HEIGHT for row in ROWS]
    turn = ROWS[1] - 52
    arrows = [between(0, i, i + 1) for i in range(4)]
    arrows += [between(1, i, i + 1) for i in range(4)]
    arrows += [between(2, i + 1, i) for i in range(4)]
    arrows.append(arrow(f"M{centre[4]} {below[0] + 3} V{turn} H{centre[1]} V{ROWS[1] - 5}"))
    arrows.append(arrow(f"M{centre[4]} {below[1] + 3} V{ROWS[2] - 5}"))
    # A sweep goes back to the same model of the solver, many times.
    arrows.append(arrow(f"M{centre[3]} {ROWS[2] - 3} V{below[1] + 5}", dotted=True))
    headings = [
        text(LEFT, y - 16, words, size=15, fill=colour, anchor="start", bold=True) for y, words, colour in HEADINGS
    ]
    legend = "Solid: a stage (folder of certcore/). Dashed: a small immutable object that passes between stages."
    beside = (below[1] + ROWS[2]) / 2 + 5
    title = "How data flows through certcore"
    size = f"viewBox='0 0 {WIDTH} {HEIGHT}' width='{WIDTH}' height='{HEIGHT}'"
    head = "viewBox='0 0 10 10' refX='8' refY='5' markerWidth='6' markerHeight='6' orient='auto'"
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' {size} role='img' aria-labelledby='title'>",
        f"<title id='title'>{title}</title>",
        f"<defs><marker id='head' {head}><path d='M0 0 L10 5 L0 10 z' fill='{LINE}'/></marker></defs>",
        f"<rect width='{WIDTH}' height='{HEIGHT}' rx='10' fill='#FFFFFF'/>",
        text(LEFT, 44, title, size=20, anchor="start", bold=True),
        *headings,
        *arrows,
        *[draw_box(box) for box in BOXES],
        text(centre[3] - 10, beside, "the same model, new bounds", size=12, fill=QUIET, anchor="end"),
        text(LEFT, HEIGHT - 66, "A layer imports only those to its right:", size=12.5, anchor="start", bold=True),
        text(LEFT, HEIGHT - 46, layers(), size=9.5, anchor="start", font=MONO),
        text(LEFT, HEIGHT - 20, legend, size=12, fill=QUIET, anchor="start"),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    TARGET.write_text(draw(), encoding="utf-8")
    print(f"wrote {TARGET.name}")
