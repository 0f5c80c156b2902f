"""A dashboard on toy bundles, and a way to wait for background work."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.opening import ROOT, at_page
from tests.pages.toys import write_bundles


@pytest.fixture(scope="session")
def bundle_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundles")
    write_bundles(folder)
    return folder


@pytest.fixture(autouse=True)
def dashboard(bundle_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CERTCORE_BUNDLES", str(bundle_folder))
    monkeypatch.setenv("CERTCORE_IMPORTS", str(tmp_path / "imported"))
    monkeypatch.chdir(ROOT)


def _jobs(at: AppTest) -> dict[str, Any]:
    """The background work of the page; a session state of a test has no `get`."""
    return dict(at.session_state["_jobs"]) if "_jobs" in at.session_state else {}


def settle(thing: Any, patience: float = 60.0) -> AppTest:
    """Run until no background work is left and all of it is on the page, as the browser does by itself."""
    until = time.monotonic() + patience
    at: AppTest = thing.run(timeout=60)  # a page, or a widget that was just moved
    shown: dict[str, Any] | None = None  # also without work a second run may draw more than the first
    while True:
        assert not at.exception, [e.value for e in at.exception]
        jobs = _jobs(at)
        keys = {slot: job.key for slot, job in jobs.items()}
        if keys == shown and all(job.finished.is_set() for job in jobs.values()):
            return at
        assert time.monotonic() < until, "the background work did not finish"
        for job in jobs.values():
            job.wait(2)  # not for longer: work that no page asks about is given up
        shown = keys if all(job.finished.is_set() for job in jobs.values()) else None
        at.run(timeout=60)


def sent(at: AppTest, name: str = "bench", shelf: str = "") -> dict[str, Any]:
    """What a component of ours was sent: the workbench, something on one of its shelves, or a slider."""
    found = [
        json.loads(one.proto.json) for one in at.get("bidi_component") if one.proto.component_name == f"certcore_{name}"
    ]
    return next(one for one in found if not shelf or one.get("name") == shelf)


def drawer(at: AppTest, name: str) -> AppTest:
    """Open one of the workbench's drawers."""
    at.session_state["_drawer"] = name
    return settle(at)


@pytest.fixture
def open_page() -> Callable[..., AppTest]:
    def open_it(page: str = "overview", **parameters: str) -> AppTest:
        return settle(at_page(page, parameters))

    return open_it
