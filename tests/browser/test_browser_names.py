"""A file whose node and class names hold markup does no harm on any page."""

from __future__ import annotations

from collections.abc import Callable

from tests.browser.conftest import Watched
from tests.browser.server import PAGES


def test_hostile_names_on_every_page(visit: Callable[..., Watched]) -> None:
    watched, more = visit(), {"": "colour=class"}
    for path, heading, extra in PAGES.values():
        page = watched.open(f"{path}?instance=evil-s0&attr_del=4&{extra}{more.get(path, '')}", heading)
        watched.settled()
        assert page.evaluate("window.pwned") is None, heading
        assert page.locator("img[src=x]").count() == 0, heading
