"""The workbench in a browser: opened, read back, and what the engine says about the same attack."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from certcore import Certificate, ThreatModel, certify
from certcore.instance.instance import Instance
from certcore.result.attack_effects import Reach, reach
from pages.canvas import film
from tests.browser.conftest import Watched
from tests.pages import films
from tests.pages.toys import grid_instance

Visit = Callable[..., Watched]
VIEW = "?instance=ring-gcn-attr-s0&attr_del=5"
HEADING = "Workbench"


def engine(threat: ThreatModel, *, relaxed: bool = False) -> tuple[Instance, Certificate, Reach]:
    instance = grid_instance()
    result = certify(instance, threat)
    found = reach(instance, result, relaxed=relaxed)
    assert found is not None
    return instance, result, found


def opened(watched: Watched, address: str = VIEW) -> Any:
    page = watched.open(address, HEADING)
    quiet(page)
    return page


def quiet(page: Any, **at: int) -> None:
    """Wait until number, attack, curve and map are there (of these budgets) and nothing is under way."""
    page.wait_for_function(
        """(at) => { const now = window.certcore?.bench?.(), map = window.certcore?.map?.();
          return now?.fresh && !now.moved && !window.certcore.benchView.told.length
            && Object.entries(at).every(([name, value]) => now.at[name] === value)
            && map?.panels?.[0]?.sites && now.line && now.map
            && Object.values(now.progress).every((share) => share === null); }""",
        arg=at,
        timeout=90_000,
    )


def read(page: Any) -> Any:
    """What is on the screen, when the last frame is drawn."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.evaluate("window.certcore.bench()")


def drawn(page: Any) -> Any:
    """The pictures of the graph, when the last frame is drawn."""
    read(page)
    return page.evaluate("window.certcore.map()")


def by_itself(watched: Watched, folder: Path, instance: Instance, frames: list[film.Frame]) -> Any:
    """The film as a page of its own, open: what is drawn there comes from these certificates and no other solve."""
    path = folder / "film.html"
    path.write_bytes(films.page(instance, frames))
    watched.page.goto(path.as_uri())
    watched.page.wait_for_function("() => window.certcore?.map?.()?.panels?.[0]?.sites")
    watched.requests[:] = [url for url in watched.requests if not url.startswith("file:")]
    return watched.page


def site_of(found: Reach, node: int) -> int:
    return int(np.flatnonzero((found.ends == node).all(axis=1))[0])


def sites_of(found: Reach, target: int) -> list[int]:
    """The sites inside the field of a target, given by its number."""
    return [s for s in range(len(found.ends)) if target in found.reached_by(s)]
