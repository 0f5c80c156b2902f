"""Every address people have kept, in Chromium: `python -m stress.links`, about a minute.

The page opens, and its sidebar and its address say what the link said. What a link says is read without a browser in
`make test` (`tests/net/test_net_files.py`).
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from certcore.domain.perturbations import FLIPS
from pages.state.menu import BY_SLUG
from tests.browser import server
from tests.net import ask, doors, links


def differences(page: Any, shown: dict[str, Any]) -> list[str]:
    """What the open page says other than the link."""
    page.wait_for_function("document.querySelector('.st-key-attr_del input')")
    given = dict(parse_qsl(urlsplit(page.url).query))
    told = {key: read(given[key]) if key in given else first for key, (first, read) in doors.link_readers().items()}
    inputs = {name: int(page.locator(f".st-key-{name} input").first.input_value().replace(",", "")) for name in FLIPS}
    if not any(name in shown for name in FLIPS):  # a visit without a budget begins with one of its own
        shown = shown | {name: told[name] for name in FLIPS}
    shown = {"instance": told["instance"]} | shown  # without one the first is taken
    firsts = {key: first for key, (first, _) in doors.link_readers().items()}
    found = [f"{key} is {told[key]!r} in the address" for key in told if told[key] != (firsts | shown)[key]]
    return found + [f"{name} is {inputs[name]} in the sidebar" for name in FLIPS if inputs[name] != told[name]]


def run() -> int:
    """Open all of them; returns how many do not open what they say."""
    failed = 0
    with (
        tempfile.TemporaryDirectory() as folder,
        server.browser() as chromium,
        server.dashboard(ask.INSTANCES, Path(folder)) as address,
    ):
        page = chromium.new_page(viewport={"width": 1440, "height": 900})
        for link, shown, _ in links.kept():
            page.goto(f"{address}{link}")
            server.ready(page, BY_SLUG[links.page_of(link)].module().TITLE)
            found = differences(page, shown)
            failed += bool(found)
            print(f"{link}: {'; '.join(found) or 'as it says'}", flush=True)
        page.close()
    return failed


if __name__ == "__main__":
    raise SystemExit(bool(run()))
