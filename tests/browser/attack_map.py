"""The attack map in a browser: opened, read back, and what the engine says about the same attack."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from certcore import Certificate, ThreatModel, certify
from certcore.instance.instance import Instance
from certcore.result.attack_effects import Reach, reach
from pages.canvas import film
from pages.canvas import view as canvas
from tests.browser.conftest import Watched
from tests.pages.toys import grid_instance

Visit = Callable[..., Watched]
VIEW = "attack_map?instance=ring-gcn-attr-s0&attr_del=5"


def engine(threat: ThreatModel, *, relaxed: bool = False) -> tuple[Instance, Certificate, Reach]:
    instance = grid_instance()
    result = certify(instance, threat)
    found = reach(instance, result, relaxed=relaxed)
    assert found is not None
    return instance, result, found


def opened(watched: Watched, address: str = VIEW) -> Any:
    page = watched.open(address, "Attack map")
    watched.settled()
    page.wait_for_function("() => window.certcore?.map?.()?.panels?.[0]?.sites")
    return page


def drawn(page: Any) -> Any:
    """What is on the screen, when the last frame is drawn."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.evaluate("window.certcore.map()")


def by_itself(
    watched: Watched, folder: Path, instance: Instance, frames: list[film.Frame], now: int | None = None
) -> Any:
    """The film as a page of its own, open: what is drawn there comes from these certificates and no other solve."""
    path = folder / "film.html"
    player = film.data(instance, frames, "attr_del", now)
    path.write_bytes(film.page(instance, player, canvas.settings("state", [], None, [], 500)))
    watched.page.goto(path.as_uri())
    watched.page.wait_for_function("() => window.certcore?.map?.()?.panels?.[0]?.sites")
    watched.requests[:] = [url for url in watched.requests if not url.startswith("file:")]
    return watched.page


def site_of(found: Reach, node: int) -> int:
    return int(np.flatnonzero((found.ends == node).all(axis=1))[0])


def sites_of(found: Reach, target: int) -> list[int]:
    """The sites inside the field of a target, given by its number."""
    return [s for s in range(len(found.ends)) if target in found.reached_by(s)]
