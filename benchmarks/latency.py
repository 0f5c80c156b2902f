"""How fast the dashboard feels, in one run: `python -m benchmarks.latency [--instance NAME] [--write]`.

Measured in a real Chromium with software rendering: from starting the server to the graph and to the first number, from
releasing a slider to the new number, and frames while a budget is dragged. The moves are those of a person: budgets up
and down, both types and back.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.measure import machine, write_block
from benchmarks.view import RESULTS
from tests.browser.server import browser, dashboard, settled

#: Slider and the key that is pressed on it; each press moves it by one stop.
MOVES = [("attr_del", "ArrowRight")] * 6 + [("attr_del", "ArrowLeft")] * 2 + [("attr_add", "ArrowRight")]
MOVES += [("attr_del", "ArrowRight")] * 3 + [("attr_add", "ArrowLeft")]
GRAPH = "() => window.certcore?.mapView?.graph && window.certcore.map()?.panels?.length"
NUMBER = "() => window.certcore?.bench?.()?.fresh && window.certcore.bench().proven !== null"
#: Milliseconds of each frame of a drag back and forth along the budget, as far as attacks are in the browser.
DRAG = """async () => {
  const bench = window.certcore.benchView, times = [], frame = () => new Promise(requestAnimationFrame);
  for (let k = 0; k < 80; k++) {
    const started = performance.now();
    bench.move({ attr_del: 2 + (k % 20 < 10 ? k % 20 : 20 - (k % 20)) }, false);
    await frame(); await frame();
    times.push((performance.now() - started) / 2);
  }
  return times;
}"""


def move(page: Any, key: str, button: str) -> float:
    """Seconds from the key press on a slider until the certificate of the new budget is on show."""
    before = page.evaluate("window.certcore.benchView.data.at")
    thumb = page.locator(f".st-key-slider_{key} input")
    thumb.focus()
    started = time.monotonic()
    thumb.press(button)
    page.wait_for_function(
        "([key, old]) => { const { fresh, at } = window.certcore.benchView.data; return fresh && at[key] !== old; }",
        arg=[key, before[key]],
        timeout=120_000,
        polling=20,
    )
    return time.monotonic() - started


def told(values: list[float], digits: int = 2) -> str:
    """A distribution: median, and the range from the fastest to the slowest."""
    low, middle, high = np.percentile(values, [0, 50, 100])
    return f"{middle:.{digits}f} ({low:.{digits}f} … {high:.{digits}f}, {len(values)} times)"


@dataclass(frozen=True)
class Latency:
    """Seconds on the wall: three since the start of the server, then of each frame of a drag and each release; and how
    often in a second the page asks how far its charts are.
    """

    healthy: float
    graph: float
    number: float
    frames: list[float]
    waits: list[float]
    polls: float

    def lines(self) -> dict[str, str]:
        """The table's column."""
        found = {
            "server answers after start, s": f"{self.healthy:.1f}",
            "graph on the screen after start, s": f"{self.graph:.1f}",
            "first number after start, s": f"{self.number:.1f}",
            "graph before number, ratio": f"{self.number / self.graph:.2f}×",
        }
        if self.waits:
            found["release → number, s"] = told(self.waits)
        frames = [1000 * frame for frame in self.frames]
        found["questions a second while charts are computed"] = f"{self.polls:.1f}"
        return found | {"a frame of a drag, ms": told(frames, 1), "frames a second": f"{1000 / np.median(frames):.0f}"}


def measure(opened: Any, name: str, moves: list[tuple[str, str]]) -> Latency:
    started = time.monotonic()
    with dashboard() as address:
        healthy = time.monotonic() - started
        page = opened.new_context(viewport={"width": 1440, "height": 900}).new_page()
        asked: list[float] = []
        page.on("websocket", lambda line: line.on("framesent", lambda _: asked.append(time.monotonic())))
        page.goto(f"{address}/?instance={name}&attr_del=10")
        page.wait_for_function(GRAPH, timeout=120_000, polling=20)
        graph = time.monotonic() - started
        page.wait_for_function(NUMBER, timeout=120_000, polling=20)
        number = time.monotonic() - started
        with contextlib.suppress(TimeoutError):  # on large graphs the map goes on for minutes; it is not what is timed
            settled(page, 60)
        polls = sum(one > started + number for one in asked) / max(1.0, time.monotonic() - started - number)
        frames = page.evaluate(DRAG)
        page.evaluate("() => window.certcore.benchView.move({ attr_del: 10 }, false)")
        waits = []
        for key, button in moves:
            waits.append(move(page, key, button))
            page.wait_for_timeout(1500)
    return Latency(healthy, graph, number, [frame / 1000 for frame in frames], waits, polls)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instance", nargs="*", default=["citeseer-gcn-attr-s0", "pubmed-gcn-attr-s0"])
    parser.add_argument("--write", action="store_true", help="put the table into RESULTS.md")
    args = parser.parse_args()
    load = os.getloadavg()[0]
    with browser() as opened:
        found = {name: measure(opened, name, MOVES if k == 0 else []).lines() for k, name in enumerate(args.instance)}
    rows = dict.fromkeys(row for one in found.values() for row in one)
    lines = [f"| | {' | '.join(found)} |", "|---" * (len(found) + 1) + "|"]
    lines += [f"| {row} | {' | '.join(one.get(row, '–') for one in found.values())} |" for row in rows]
    print(*lines, sep="\n", flush=True)
    if args.write:
        when = (
            f"`python -m benchmarks.latency --write`, {time.strftime('%Y-%m-%d')}, load {load:.1f} before. {machine()}."
        )
        write_block(RESULTS, "## The dashboard", "latency", "\n".join([when, "", *lines]))


if __name__ == "__main__":
    main()
