"""Every page by its address: as a fresh server's first visit, loaded again, turned back to, and in two tabs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pages.state.menu import BY_SLUG, MENU
from tests.browser import server
from tests.browser.conftest import Watched
from tests.browser.server import PAGES
from tests.pages.toys import write_bundles

Visit = Callable[..., Watched]
VIEW = "instance=ring-votes-s0&attr_del=7&sigma=30"


def shows(page: Any, heading: str, deletions: str = "7") -> None:
    """The right page in the right view, and nothing in front of it."""
    server.ready(page, heading)
    page.wait_for_function(
        f"""() => document.querySelector('.st-key-attr_del input')?.value === '{deletions}'
          && new URL(location).searchParams.get('attr_del') === '{deletions}'"""
    )
    assert page.get_by_role("dialog").count() == 0


def test_every_page_is_in_the_menu() -> None:
    assert {path for path, *_ in PAGES.values()} == {
        "" if entry is MENU[0] else entry.slug for entry in BY_SLUG.values()
    }


def test_a_fresh_server_is_first_visited_by_a_link(chromium: Any, tmp_path: Path) -> None:
    """With a folder called `pages` beside it, Streamlit by itself would first say that there is no such page."""
    write_bundles(tmp_path)
    with server.dashboard(tmp_path, tmp_path / "imports") as address:
        page = chromium.new_page()
        page.goto(f"{address}/attack_map?{VIEW}")
        shows(page, "Workbench")
        page.close()


def test_every_page_opens_by_link_and_again_and_fits_a_narrow_screen(visit: Visit) -> None:
    watched = visit()
    page = watched.page
    for path, heading, own in PAGES.values():
        page.set_viewport_size({"width": 1440, "height": 900})
        page.goto(f"{watched.address}/{path}?{VIEW}&{own}")
        shows(page, heading)
        assert own in page.url
        page.set_viewport_size({"width": 420, "height": 800})
        page.reload()
        server.ready(page, heading)
        watched.settled()
        assert own in page.url
        assert "attr_del=7" in page.url
        wide = page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
        assert wide <= 420, f"{heading} is {wide} pixels wide"


def test_the_menu_keeps_the_view_and_back_returns_to_it(visit: Visit) -> None:
    watched = visit()
    page = watched.page
    page.goto(f"{watched.address}/curves?{VIEW}&log=1")
    shows(page, "Curves")
    watched.settled()
    before = page.url
    page.get_by_role("link", name="One node").click()
    shows(page, "One node")
    page.locator(".st-key-attr_del input").fill("3")
    page.locator(".st-key-attr_del input").press("Enter")
    shows(page, "One node", "3")
    watched.settled()
    page.go_back()
    shows(page, "One node")
    page.go_back()
    shows(page, "Curves")
    watched.settled()
    assert page.url == before
    assert "sigma=30" in before
    assert page.locator(".st-key-sigma input").input_value() == "30"
    assert page.get_by_role("switch", name="Logarithmic axis").is_checked()


def test_one_step_back_leaves_a_page(visit: Visit) -> None:
    """Also one that has filled in what to show, and from an address that says nothing."""
    watched = visit()
    page = watched.page
    page.goto(f"{watched.address}/curves")
    server.ready(page, "Curves")
    watched.settled()
    page.get_by_role("link", name="Learn").click()
    server.ready(page, "Learn")
    for name, heading in (("Compare", "Compare"), ("One node", "One node")):
        page.get_by_role("link", name=name, exact=True).click()
        server.ready(page, heading)
        watched.settled()
        page.go_back()
        server.ready(page, "Learn")
    page.go_back()
    server.ready(page, "Curves")
    watched.settled()
    page.go_back()
    server.ready(page, "Curves")  # the bare address, before a budget was filled in
    watched.settled()
    assert page.url == f"{watched.address}/curves"
    page.go_back()
    page.wait_for_url("about:blank")


def test_two_tabs_are_two_views(visit: Visit) -> None:
    watched = visit()
    one = watched.page
    one.goto(f"{watched.address}/curves?{VIEW}")
    shows(one, "Curves")
    other = one.context.new_page()
    other.goto(f"{watched.address}/{one.get_by_role('link', name='One node', exact=True).get_attribute('href')}")
    shows(other, "One node")
    other.locator(".st-key-attr_del input").fill("2")
    other.locator(".st-key-attr_del input").press("Enter")
    shows(other, "One node", "2")
    one.get_by_role("link", name="Learn").click()
    shows(one, "Learn")
    shows(other, "One node", "2")
