"""Budget as time: one attack after the other, through solved points, and the film as a file."""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from certcore import figures
from certcore.domain.perturbations import LABELS, TYPES
from certcore.instance.instance import Instance
from certcore.result.certificate import Certificate
from certcore.result.reach import reach
from certcore.sweep.axis import Axis

from ..background.engine import session
from ..background.jobs import Job
from ..background.work import Work, ask
from ..frame.sidebar import stops
from ..parts.text import count
from ..state.state import View
from . import attack
from . import view as canvas

#: More pictures than this nobody waits for.
MOST_FRAMES = 31


@dataclass(frozen=True, eq=False)
class Frame:
    """One solved point of the film."""

    value: int
    result: Certificate


def axes(view: View) -> dict[str, str]:
    """What can run as time: each budget that is set, and σ."""
    found = {name: LABELS[name] for name, budget in zip(TYPES, view.threat.budgets) if budget}
    return found | ({"sigma": "σ"} if view.threat.sigma else {})


def values_of(last: int) -> list[int]:
    """From 0 to the slider's value: every number at first, then coarser; the last one is always there."""
    values = stops(last)
    if len(values) > MOST_FRAMES:
        step = (len(values) - 1) / (MOST_FRAMES - 1)
        values = sorted({values[round(k * step)] for k in range(MOST_FRAMES)})
    return values


def frames(view: View, result: Certificate, axis: str) -> Work:
    """The certificates of a film, each with its attack; the last one is the very certificate of the map."""
    last = int(Axis.parse(axis).of(view.threat))
    values = values_of(last)
    relaxation = view.relaxation.relaxed

    def run(job: Job) -> list[Frame]:
        found = []
        for k, value in enumerate(values[:-1]):
            job.report(k / len(values), f"{count(value)} of {count(last)}")
            threat = Axis.parse(axis).at(view.threat, value)
            found.append(Frame(value, session(view.instance).certify(threat, relaxation=relaxation, cancel=job.cancel)))
            if job.cancel.is_set():
                break
        return [*found, Frame(last, result)]

    return ask("film", ("film", axis, *view.key), run, "Solving the points of the film", same=view.key, patience=0.4)


def data(instance: Instance, found: list[Frame], axis: str) -> dict[str, Any]:
    """The film as the browser plays it."""
    name = LABELS.get(axis, "σ")
    made = []
    for frame in found:
        result = frame.result
        here = reach(instance, result)
        assert here is not None
        told = (
            f"{count(frame.value)} {name}: {count(result.certified)} of {count(result.targets)} certified, "
            f"{count(int(here.lost.sum()))} lose their certificate"
        )
        made.append(
            {
                "value": frame.value,
                "told": told,
                "certified": result.certified,
                "left": result.targets - (result.attack_found or 0),
                "targets": result.targets,
                "attack": attack.data(instance, result, here),
            }
        )
    key = hashlib.sha256(json.dumps([axis, made]).encode()).hexdigest()[:16]
    return {"key": key, "frames": made}


def page(instance: Instance, player: dict[str, Any], shown: dict[str, Any]) -> bytes:
    """The film as one page that needs nothing else, with the scripts of the dashboard."""
    graph = canvas.graph_data(instance)
    last = player["frames"][-1]["attack"]
    content = {"graph": graph, "map": shown | {"version": graph["version"], "attacks": [last], "player": player}}
    text = json.dumps(content).replace("<", "\\u003c")  # nothing in it can end the script it stands in
    page = Path(__file__).with_name("film.html").read_text(encoding="utf-8")
    # The content comes last: whatever stands in it is not looked at for further places.
    parts = {"STYLE": canvas.style(), "MARKUP": canvas.markup(), "SCRIPT": canvas.script(), "CONTENT": text}
    for name, part in parts.items():
        page = page.replace(f"%{name}%", part, 1)
    return page.encode()


def gif(instance: Instance, found: list[Frame], seconds: float = 0.5) -> bytes:
    """The film as an animated picture, drawn as the printed map is."""
    from PIL import Image

    from certcore.export.rendering import render

    pictures = []
    for frame in found:
        png = render(figures.graph_figure(instance, frame.result), "png", width="two-column")
        picture = Image.open(io.BytesIO(png)).convert("RGB")
        picture.thumbnail((1000, 1000))
        pictures.append(picture)
    size = (max(p.width for p in pictures), max(p.height for p in pictures))
    sheets = []
    for picture in pictures:
        sheet = Image.new("RGB", size, "white")
        sheet.paste(picture, (0, 0))
        sheets.append(sheet.convert("P", palette=Image.Palette.ADAPTIVE, colors=64))
    target = io.BytesIO()
    pace = [int(1000 * seconds)] * (len(sheets) - 1) + [2500]
    sheets[0].save(target, "GIF", save_all=True, append_images=sheets[1:], duration=pace, loop=0)
    return target.getvalue()
