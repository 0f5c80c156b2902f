"""A film as a page of its own, made of given certificates without a dashboard."""

from __future__ import annotations

from typing import Any

from certcore import Certificate
from certcore.domain.base_rule import BaseRule
from certcore.instance.instance import Instance
from certcore.messages import short_head, short_sub
from certcore.program.relaxation import Relaxation
from pages.canvas import bench, film
from pages.canvas import view as canvas
from pages.state.state import View


def page(instance: Instance, frames: list[film.Frame], colour: str = "state") -> bytes:
    """The page, at the budgets of the last of the frames."""
    last = frames[-1].result
    view = View("toy", instance, last.threat, Relaxation.TIGHT, 30.0, BaseRule.BINARY)
    sent = [film.Frame(one.value, one.result, film.sent_of(instance, one.result)) for one in frames]
    at = bench.position(last.threat, bench.names_of(view))
    shelves = {"attack": bench.attack_data(canvas.graph_data(instance)["version"], "film", at, [sent[-1].sent])}
    seen: dict[str, Any] = {"colour": colour, "colours": [[colour, colour]], "only": [], "part": "", "chosen": None}
    seen |= {"selection": [], "worth": None, "progress": {}, "stale": {"graph": "", "curve": "", "map": ""}}
    axes = {"attr_del": "Attribute deletions"}
    small = bench.small(view, instance, "attr_del", max(1, frames[-1].value), axes, seen, _told(view, last))
    return film.page(instance, sent, small, shelves)


def _told(view: View, last: Certificate) -> dict[str, Any]:
    proven = last.verified_certified
    return {
        "head": bench.pieces(short_head(last.threat, proven, last.targets)),
        "sub": bench.pieces(short_sub(view.instance, last.threat, proven, last.certified)),
        "parts": bench.bar(bench.parts(view, last)),
        "partsOf": "",
        "open": "",
        "act": "",
        "notes": [],
        "fresh": True,
        "said": "",
    }
