"""A film as a page of its own, made of given certificates without a dashboard."""

from __future__ import annotations

from typing import Any

from certcore.domain.base_rule import BaseRule
from certcore.instance.instance import Instance
from certcore.program.relaxation import Relaxation
from certcore.workbench import message as bench
from certcore.workbench.attack import sent_of
from certcore.workbench.page import Frame, content
from certcore.workbench.page import page as film_page
from certcore.workbench.parts import graph_data
from pages.state.state import View


def page(instance: Instance, frames: list[Frame], colour: str = "state") -> bytes:
    """The page, at the budgets of the last of the frames."""
    last = frames[-1].result
    view = View("toy", instance, last.threat, Relaxation.TIGHT, 30.0, BaseRule.BINARY)
    sent = [Frame(one.value, one.result, sent_of(instance, one.result)) for one in frames]
    at = bench.position(last.threat, bench.names_of(view))
    shelves = {"attack": bench.attack_data(graph_data(instance)["version"], "film", at, [sent[-1].sent])}
    seen: dict[str, Any] = {"colour": colour, "colours": [[colour, colour]], "only": [], "part": "", "chosen": None}
    seen |= {"selection": [], "worth": None, "progress": {}, "stale": {"graph": "", "curve": "", "map": ""}}
    axes = {"attr_del": "Attribute deletions"}
    small = bench.small(
        view, "attr_del", max(1, frames[-1].value), axes, seen, bench.answer(view, last) | {"open": "", "notes": []}
    )
    return film_page(content(instance, sent, small, shelves))
