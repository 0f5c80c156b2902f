"""The workbench in Chromium (seconds on the wall, so the machine's load counts)"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.measure import spread
from benchmarks.rows import Figure, row

if TYPE_CHECKING:
    from benchmarks.latency import Latency

CITESEER = "citeseer-gcn-attr-s0"


@cache
def measured(name: str) -> Latency:
    from benchmarks.latency import MOVES, measure  # needs a browser
    from tests.browser.server import browser

    with browser() as opened:
        return measure(opened, name, MOVES if name == CITESEER else [])


@row("Citeseer, from starting the server to the first number, wall", at_most=3.4)
def first_number() -> Figure:
    found = measured(CITESEER)
    return Figure(found.number, detail=f"the graph after {found.graph:.1f} s")


@row("Citeseer, from releasing a slider to the number, median, wall", at_most=0.25)
def release() -> Figure:
    waits = measured(CITESEER).waits
    return Figure(float(np.median(waits)), detail=spread(waits))


@row("Citeseer, a frame of a drag, median, wall", at_most=0.034)
def frame() -> Figure:
    return _frame(CITESEER)


@row("PubMed, a frame of a drag, median, wall", at_most=0.1)
def frame_pubmed() -> Figure:
    return _frame("pubmed-gcn-attr-s0")


@row("Citeseer, questions in a second while charts are computed", unit="", at_most=2.6)
def polls() -> Figure:
    return Figure(measured(CITESEER).polls, detail="one timer of 0.4 s for the whole page asks 2.5 times")


def _frame(name: str) -> Figure:
    frames = measured(name).frames
    return Figure(float(np.median(frames)), detail=spread(frames))
