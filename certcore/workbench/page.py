"""The workbench as one self-contained page, for an animation or for one certificate."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from certcore.instance.instance import Instance
from certcore.result.certificate import Certificate
from certcore.workbench.parts import graph_data, markup, script, style

#: Number of frames per message.
IN_ONE = 6


@dataclass(frozen=True, eq=False)
class Frame:
    """One solved budget of the animation."""

    value: int
    result: Certificate
    sent: dict[str, Any] = field(default_factory=dict)
    """Its attack as data for the browser."""


def chunks(found: list[Frame], family: str, version: str) -> list[dict[str, Any]]:
    """Frames in order, several per message, so that complete messages are not sent again."""
    sent = []
    for start in range(0, len(found), IN_ONE):
        part = found[start : start + IN_ONE]
        key = f"{version}-{family}-{[frame.value for frame in part]}"
        shown = [{"value": frame.value, "attack": frame.sent} for frame in part]
        sent.append({"key": key, "version": version, "family": family, "frames": shown})
    return sent


def content(
    instance: Instance, found: list[Frame], small: dict[str, Any], shelves: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """The data for the scripts: graph, message, the data that it refers to, and the frames of an animation."""
    graph = graph_data(instance)
    small = small | {"shelves": {name: data["key"] for name, data in shelves.items()}}
    for k, chunk in enumerate(chunks(found, small["family"], graph["version"])):
        shelves = shelves | {f"frames{k}": chunk}
    return {"graph": graph, "bench": small, "shelves": shelves}


def page(content: dict[str, Any]) -> bytes:
    """One self-contained page: the workbench with the scripts of the dashboard."""
    text = json.dumps(content).replace("<", "\\u003c")  # escaped, so that no content can end its script element
    page = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    # The content is inserted last, so that placeholders inside it are not replaced.
    parts = {"STYLE": style(), "MARKUP": markup(), "SCRIPT": script(), "CONTENT": text}
    for name, part in parts.items():
        page = page.replace(f"%{name}%", part, 1)
    return page.encode()
