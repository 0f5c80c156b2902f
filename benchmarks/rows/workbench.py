"""The workbench in Chromium (seconds on the wall, so the machine's load counts)"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.measure import spread
from benchmarks.rows import Figure, row

if TYPE_CHECKING:
    from benchmarks.latency import Latency


@cache
def citeseer() -> Latency:
    from benchmarks.latency import MOVES, measure  # needs a browser
    from tests.browser.server import browser

    with browser() as opened:
        return measure(opened, "citeseer-gcn-attr-s0", MOVES)


@row("Citeseer, from starting the server to the first number, wall", at_most=3.4)
def first_number() -> Figure:
    found = citeseer()
    return Figure(found.number, detail=f"the graph after {found.graph:.1f} s")


@row("Citeseer, from releasing a slider to the number, median, wall", at_most=0.25)
def release() -> Figure:
    return Figure(float(np.median(citeseer().waits)), detail=spread(citeseer().waits))


@row("Citeseer, a frame of a drag, median, wall", at_most=0.034)
def frame() -> Figure:
    return Figure(float(np.median(citeseer().frames)), detail=spread(citeseer().frames))
