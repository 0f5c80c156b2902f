"""One dashboard and one Chromium for all browser tests; each test gets a fresh, watched page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from certcore.instance.instance import save_instance
from tests.browser import server
from tests.pages.toys import N, grid_instance, hard_instance, write_bundles

EVIL = '</script><img src=x onerror="window.pwned=1"><b>x</b>[a](javascript:window.pwned=1)\'\u202etxt'


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = server.chromium() is None
    for item in items:
        if "browser" in str(item.path):
            item.add_marker(pytest.mark.browser)
            if missing:
                item.add_marker(pytest.mark.skip(reason="Chromium is not installed: apt-get install chromium"))


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("bundles")
    write_bundles(folder)
    save_instance(folder / "hard-s0.npz", hard_instance())
    evil = grid_instance(node_names=(EVIL,) * N, class_names=(EVIL, "b", "c"), meta={"dataset": EVIL, "model": EVIL})
    save_instance(folder / "evil-s0.npz", evil)
    with server.dashboard(
        folder, tmp_path_factory.mktemp("imports"), tmp_path_factory.mktemp("log") / "server.log"
    ) as where:
        yield where


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Closed before other tests begin: while Playwright runs, nothing else may use asyncio in this thread."""
    with server.browser() as opened:
        yield opened


@dataclass
class Watched:
    """A page with everything it asked for and complained about."""

    page: Any
    address: str
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def open(self, path: str, heading: str) -> Any:
        self.page.goto(f"{self.address}/{path}")
        server.ready(self.page, heading)
        return self.page

    def certified(self) -> str:
        """The number in the guarantee."""
        return str(self.page.locator(".st-key-guarantee strong").nth(1).inner_text())

    def settled(self) -> None:
        server.settled(self.page)


@pytest.fixture
def visit(chromium: Any, address: str) -> Iterator[Callable[..., Watched]]:
    """Open fresh browsers; at the end of the test nothing may have left the machine and nothing may have complained."""
    opened: list[tuple[Any, Watched]] = []

    def fresh(width: int = 1440, height: int = 900, scheme: str = "light") -> Watched:
        context = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        watched = Watched(context.new_page(), address)
        context.on("request", lambda request: watched.requests.append(request.url))
        # On deep links Streamlit looks for its health page below the page's own path first; that is no error of ours.
        context.on(
            "response",
            lambda answer: (
                watched.complaints.append(f"{answer.status} {answer.url}")
                if answer.status >= 400 and "_stcore" not in answer.url
                else None
            ),
        )
        context.on(
            "console",
            lambda message: (
                watched.complaints.append(message.text)
                if message.type == "error" and "404" not in message.text
                else None
            ),
        )
        watched.page.on("pageerror", lambda error: watched.complaints.append(str(error)))
        opened.append((context, watched))
        return watched

    yield fresh
    for context, watched in opened:
        context.close()
        outside = [url for url in watched.requests if not url.startswith((address, "data:", "blob:", "about:"))]
        outside = [url for url in outside if not url.startswith(address.replace("http", "ws"))]
        assert not outside, f"requests left the machine: {outside}"
        assert not watched.complaints, watched.complaints


@pytest.fixture
def example(tmp_path: Path) -> Path:
    from pages.files import examples

    path = tmp_path / "example.npz"
    path.write_bytes(examples.instance())
    return path
