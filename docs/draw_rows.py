"""Draws the pictures of the row families in soundness.md: `python docs/draw_rows.py` writes docs/images/rows-*.svg.

A dot is a site and the number in it its flips; the solid frame is a set U, the dashed one the field of a target.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

IMAGES = Path(__file__).resolve().parent / "images"
INK, BLUE, ORANGE, PALE, GREEN = "#27303a", "#0072b2", "#c25b00", "#dbe9f4", "#00795a"
WIDTH, HEIGHT, STEP, LEFT, MIDDLE = 430, 150, 52, 48, 62


def dots(flips: list[int]) -> str:
    parts = []
    for place, amount in enumerate(flips):
        x = LEFT + STEP * place
        fill = PALE if amount else "#ffffff"
        parts.append(f'<circle cx="{x}" cy="{MIDDLE}" r="15" fill="{fill}" stroke="{INK}"/>')
        parts.append(text(x, MIDDLE + 5, str(amount), INK, "middle"))
    return "".join(parts)


def frame(first: int, last: int, colour: str, name: str, *, dashed: bool = False, grow: int = 0) -> str:
    x, width = LEFT + STEP * first - 21 - grow, STEP * (last - first) + 42 + 2 * grow
    y, height = MIDDLE - 23 - grow, 46 + 2 * grow
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    label = (
        text(x + 4, y - 13, name, colour) if not dashed else text(x + width - 4, y + height + 15, name, colour, "end")
    )
    box = f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="14" fill="none" stroke="{colour}"'
    return f'{box} stroke-width="2"{dash}/>{label}'


def text(x: float, y: float, words: str, colour: str = INK, anchor: str = "start", size: int = 14) -> str:
    return f'<text x="{x}" y="{y}" fill="{colour}" text-anchor="{anchor}" font-size="{size}">{escape(words)}</text>'


def picture(name: str, title: str, *parts: str) -> None:
    body = "".join(parts)
    IMAGES.joinpath(f"rows-{name}.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="Source Sans 3, DejaVu Sans, sans-serif" role="img"><title>{escape(title)}</title>'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>{body}</svg>\n',
        encoding="utf-8",
    )


def line(words: str) -> str:
    return text(27, HEIGHT - 12, words, INK)


def main() -> None:
    picture(
        "levels",
        "A set with three flips and its four levels: the first three are 1, the last is 0.",
        dots([2, 0, 1, 1, 0]),
        frame(0, 2, BLUE, "U, b(U) = 3"),
        *(
            f'<rect x="{300 + 28 * t}" y="{MIDDLE - 14}" width="24" height="28" fill="{BLUE if t < 3 else "#ffffff"}" '
            f'stroke="{BLUE}"/>' + text(312 + 28 * t, MIDDLE + 32, f"z{t + 1}", BLUE, "middle", 12)
            for t in range(4)
        ),
        line("levels: z₁ ≥ z₂ ≥ z₃ ≥ z₄, and their sum is b(U)"),
    )
    picture(
        "in",
        "A target that needs four flips sees two in the set and two beside it.",
        dots([1, 1, 2, 0, 0]),
        frame(0, 1, BLUE, "U"),
        frame(0, 2, ORANGE, "field, needs q = 4", dashed=True, grow=6),
        line("in: what is not in U must lie beside U"),
    )
    picture(
        "conflict",
        "Four of five flips lie in the set, so a target beside it that needs two cannot have them.",
        dots([3, 1, 1, 0, 0]),
        frame(0, 1, BLUE, "U, b(U) = 4 of R = 5"),
        frame(2, 4, ORANGE, "field, needs q = 2", dashed=True),
        line("conflict: flips in U are missing elsewhere"),
    )
    picture(
        "cover",
        "Two sites can hold one flip each; a target that needs three must have one elsewhere.",
        dots([1, 1, 1, 0, 0]),
        frame(0, 1, GREEN, "hold 1 each: κ = 2"),
        frame(0, 3, ORANGE, "field, needs q = 3", dashed=True, grow=6),
        line("cover: at least q − κ = 1 flip lies in the rest of the field"),
    )
    picture(
        "shift",
        "The flips that are surely there are taken off what the target needs of two types.",
        text(27, 40, "needs (4, 2) or (2, 5)", ORANGE),
        text(27, 66, "surely there: (2, 1)", BLUE),
        text(27, 92, "left: (2, 1) or (0, 4)", INK),
        f'<line x1="250" y1="112" x2="410" y2="112" stroke="{INK}"/>',
        f'<line x1="250" y1="112" x2="250" y2="14" stroke="{INK}"/>',
        f'<circle cx="310" cy="90" r="5" fill="{ORANGE}"/><circle cx="250" cy="24" r="5" fill="{ORANGE}"/>',
        f'<line x1="250" y1="24" x2="330" y2="112" stroke="{BLUE}" stroke-width="2"/>',
        text(322, 86, "w · rest ≥ M", BLUE),
        line("shift: what is left lies on a line or beyond it"),
    )


if __name__ == "__main__":
    main()
