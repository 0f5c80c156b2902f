"""Budget as time: one attack after the other, through solved points, and the film as a file."""

from __future__ import annotations

import io
import time
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from certcore import figures
from certcore.figures.style import BLUE, WIDTHS
from certcore.instance.instance import Instance
from certcore.messages.text import some
from certcore.result.attack_effects import reach
from certcore.sweep.axis import Axis
from certcore.sweep.ranges import slider_end, unit_of
from certcore.workbench.attack import sent_of
from certcore.workbench.axis import AXES, values_of
from certcore.workbench.page import Frame

from ..background.engine import session
from ..background.jobs import Job
from ..background.work import Work, ask
from ..messages.text import count
from ..state.state import View

if TYPE_CHECKING:
    from PIL import Image

#: Height of what stands below the map in the animated picture: the count and its curve.
STRIP = 150
#: Seconds between two looks at the frames that are there.
REFRESH = 1.2


def present(view: View, axis: str) -> Any:
    """Where this budget or σ stands; None if every node is controlled."""
    value = Axis.parse(axis).of(view.threat)
    return float(value) if isinstance(value, Fraction) else value


def longest(view: View, axis: str) -> Any:
    """How far a film of this budget or σ can go."""
    end = view.instance.graph.n_nodes if axis == "sigma" else slider_end(view.instance, axis)
    return max(end, present(view, axis) or 0, unit_of(view.instance, axis) if isinstance(end, float) else 1)


def frames(view: View, axis: str, first: int, last: int) -> Work:
    """The certificates of a film, each with its attack, those nearest to the present value first.

    What is there already is on show while others are solved; moving along the axis leaves them as they are.
    """
    fixed, now = Axis.parse(axis).at(view.threat, first), present(view, axis)
    values = sorted(values_of(first, last), key=lambda value: (abs(value - (last if now is None else now)), value))
    relaxation = view.relaxation.relaxed

    def run(job: Job) -> list[Frame]:
        found: list[Frame] = []
        told = 0.0
        for k, value in enumerate(values):
            threat = Axis.parse(axis).at(view.threat, value)
            made = session(view.instance).certify(threat, relaxation=relaxation, cancel=job.cancel)
            if job.cancel.is_set():
                break
            found.append(Frame(value, made, sent_of(view.instance, made)))
            enough = time.monotonic() - told > REFRESH
            told = time.monotonic() if enough else told
            job.report((k + 1) / len(values), f"{k + 1} of {len(values)}", list(found) if enough else None)
        return found

    key = ("film", axis, first, last, relaxation, fixed.budgets, fixed.sigma, *view.family)
    return ask("film", key, run, "Looking for attacks along the budget", same=key, patience=0.1)


def data(instance: Instance, found: list[Frame], axis: str) -> list[dict[str, Any]]:
    """What is told of each frame: its value, what is certified, what the attack found leaves, and both in words."""
    many = AXES[axis]
    made = []
    found = sorted(found, key=lambda frame: frame.value)
    # What is certified against more is certified against less, and an attack with less is one with more.
    certified = np.maximum.accumulate([frame.result.verified_certified for frame in found][::-1])[::-1].tolist()
    broken = np.maximum.accumulate([frame.result.attack_found or 0 for frame in found]).tolist()
    for k, frame in enumerate(found):
        result = frame.result
        here = reach(instance, result)
        assert here is not None
        lost = int(here.lost.sum())
        told = (
            f"{some(frame.value, many.removesuffix('s'), many)}: "
            f"at least {count(certified[k])} of {count(result.targets)} stay, "
            f"{count(lost)} {'loses its' if lost == 1 else 'lose their'} certificate"
        )
        left, targets = result.targets - broken[k], result.targets
        made.append({"value": frame.value, "told": told, "certified": certified[k], "left": left, "targets": targets})
    return made


def gif(instance: Instance, found: list[Frame], axis: str, seconds: float = 0.5) -> bytes:
    """The film as an animated picture: the printed map, and below it the count and its curve, growing."""
    from PIL import Image

    from certcore.export.rendering import render

    width = 1000
    found = sorted(found, key=lambda frame: frame.value)
    told = data(instance, found, axis)
    # As many dots as are shown: drawing more and making them smaller takes three times as long.
    dpi = round(width * 2.54 / WIDTHS["two-column"])
    pictures = []
    for frame in found:
        png = render(figures.graph_figure(instance, frame.result), "png", width="two-column", dpi=dpi)
        pictures.append(Image.open(io.BytesIO(png)).convert("RGB"))
    height = max(picture.height for picture in pictures)
    sheets = []
    for k, picture in enumerate(pictures):
        sheet = Image.new("RGB", (width, height + STRIP), "white")
        sheet.paste(picture, (0, 0))
        sheet.paste(_growing(told[: k + 1], told[-1]["value"], AXES[axis], width), (0, height))
        # The other methods leave out a colour that few dots have.
        sheets.append(sheet.quantize(256, Image.Quantize.FASTOCTREE))
    target = io.BytesIO()
    pace = [int(1000 * seconds)] * (len(sheets) - 1) + [2500]
    sheets[0].save(target, "GIF", save_all=True, append_images=sheets[1:], duration=pace, loop=0)
    return target.getvalue()


def _growing(shown: list[dict[str, Any]], last: int, axis: str, width: int) -> Image.Image:
    """What the player draws beside the map: the bracket and the certified count so far, and the words."""
    from matplotlib.font_manager import findfont
    from PIL import Image, ImageDraw, ImageFont

    fine = 3  # drawn larger and made smaller: lines without steps
    strip = Image.new("RGB", (width * fine, STRIP * fine), "white")
    pen = ImageDraw.Draw(strip)
    left, right, top, bottom = 20 * fine, (width - 20) * fine, 44 * fine, (STRIP - 34) * fine
    first, total = shown[0]["value"], shown[0]["targets"] or 1

    def at(value: int, number: int) -> tuple[float, float]:
        along = (value - first) / (last - first) if last > first else 1
        return left + (right - left) * along, bottom - (bottom - top) * number / total

    # As in the player: between two solved points only what is certified at the next one and left at the last one.
    proven, attacked = ([at(first, shown[0][what])] for what in ("certified", "left"))
    for before, frame in pairwise(shown):
        proven += [at(before["value"], frame["certified"]), at(frame["value"], frame["certified"])]
        attacked += [at(frame["value"], before["left"]), at(frame["value"], frame["left"])]
    pen.line([(left, bottom), (right, bottom)], fill="#C9CCD1", width=fine)
    if len(shown) > 1:
        pen.polygon(attacked + proven[::-1], fill="#CCE3F0")
        pen.line(proven, fill=BLUE, width=3 * fine, joint="curve")
    x, y = proven[-1]
    pen.ellipse([x - 6 * fine, y - 6 * fine, x + 6 * fine, y + 6 * fine], fill=BLUE)
    font = ImageFont.truetype(findfont("DejaVu Sans"), 20 * fine)
    pen.text((left, 8 * fine), shown[-1]["told"], fill="#1B2430", font=font)
    small = ImageFont.truetype(findfont("DejaVu Sans"), 14 * fine)
    for text, middle, anchor in (
        (count(first), left, "la"),
        (axis, (left + right) / 2, "ma"),
        (count(last), right, "ra"),
    ):
        pen.text((middle, bottom + 6 * fine), text, fill="#4A5563", font=small, anchor=anchor)
    return strip.resize((width, STRIP), Image.Resampling.LANCZOS)
