"""How fast the dashboard feels: `python -m tests.browser.latency [--instance NAME] [--bundles FOLDER]`.

Measured in a real Chromium: from starting the server to a usable first page, and from releasing a slider to the new
number. The moves are those of a person: budgets up and down, both types, σ and back.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any

from tests.browser.server import browser, dashboard, ready, settled

#: Slider and the key that is pressed on it; each press moves it by one stop.
MOVES = [("attr_del", "ArrowRight")] * 6 + [("attr_del", "ArrowLeft")] * 2 + [("attr_add", "ArrowRight")]
MOVES += [("attr_del", "ArrowRight")] * 3 + [("attr_add", "ArrowLeft")]


def number(page: Any) -> str:
    return str(page.locator(".st-key-guarantee").inner_text())


def first_page(opened: Any, address: str, query: str) -> tuple[Any, float]:
    started = time.monotonic()
    page = opened.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.goto(f"{address}/?{query}")
    page.locator(".st-key-guarantee strong").nth(1).wait_for(timeout=120_000)
    return page, time.monotonic() - started


def move(page: Any, key: str, button: str) -> float:
    """Seconds from the key press on a slider until the sentence has changed to the new budget."""
    before = number(page)
    thumb = page.locator(f".st-key-slider_{key} input")
    thumb.focus()
    started = time.monotonic()
    thumb.press(button)
    page.wait_for_function(
        "before => document.querySelector('.st-key-guarantee').innerText !== before", arg=before, timeout=120_000
    )
    return time.monotonic() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instance", default="citeseer-gcn-attr-s0")
    parser.add_argument("--bundles", type=Path)
    args = parser.parse_args()
    started = time.monotonic()
    with browser() as opened:
        opened_after = time.monotonic() - started
        started = time.monotonic()
        with dashboard(args.bundles) as address:
            healthy = time.monotonic() - started
            page, usable = first_page(opened, address, f"instance={args.instance}&attr_del=10")
            settled(page)
            waits = []
            for key, button in MOVES:
                waits.append(move(page, key, button))
                settled(page)
            started = time.monotonic()
            page.goto(f"{address}/?instance={args.instance}&attr_del=10")
            ready(page, "Workbench")
            page.locator(".box .top[data-ready]").wait_for(timeout=120_000)
            graph = time.monotonic() - started
    result = {
        "instance": args.instance,
        "load": os.getloadavg()[0],
        "browser_start_s": round(opened_after, 2),
        "server_healthy_s": round(healthy, 2),
        "first_page_usable_after_health_s": round(usable, 2),
        "cold_start_to_first_number_s": round(healthy + usable, 2),
        "slider_to_number_median_s": round(statistics.median(waits), 2),
        "slider_to_number_all_s": [round(wait, 2) for wait in waits],
        "graph_drawn_s": round(graph, 2),
    }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
