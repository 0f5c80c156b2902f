"""The sidebar in a real browser: every slider moves the number and the URL; state survives."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs, urlparse

from tests.browser.conftest import Watched

Visit = Callable[..., Watched]
GUARANTEE = "Workbench"


def parameters(watched: Watched) -> dict[str, str]:
    return {key: values[0] for key, values in parse_qs(urlparse(watched.page.url).query).items()}


def press(watched: Watched, key: str, button: str, times: int = 1) -> None:
    thumb = watched.page.locator(f".st-key-slider_{key} input")
    thumb.focus()
    for _ in range(times):
        thumb.press(button)
    watched.page.wait_for_function(f"() => new URL(location).searchParams.has('{key}')")
    watched.settled()


def test_budget_sliders_move_number_and_url(visit: Visit) -> None:
    watched = visit()
    watched.open("?instance=ring-all-s0&attr_add=0", GUARANTEE)
    watched.settled()
    for key in ("attr_add", "attr_del", "adj_del", "adj_add"):
        before = watched.certified()
        press(watched, key, "ArrowRight", 2)
        assert parameters(watched)[key] == "2"
        assert watched.page.locator(f".st-key-{key} input").input_value() == "2"
        assert watched.certified() != before, key


def test_sigma_local_budgets_targets_and_relaxation(visit: Visit) -> None:
    watched = visit()
    page = watched.open("?instance=ring-gcn-attr-s0&attr_del=6", GUARANTEE)
    watched.settled()
    before = watched.certified()
    press(watched, "sigma", "Home")
    assert parameters(watched)["sigma"] == "0"
    assert watched.certified() != before
    page.locator(".st-key-per_node_attr_del button").first.click()
    page.get_by_role("radio", name="A number").first.click()
    page.wait_for_function("() => new URL(location).searchParams.get('local_mode') === 'absolute'")
    watched.settled()
    press(watched, "local_attr_del", "Home")
    assert parameters(watched)["local_attr_del"] == "0"
    page.keyboard.press("Escape")
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("radio", name="Paper").click()
    page.wait_for_function("() => new URL(location).searchParams.get('relaxation') === 'paper'")
    field = page.locator(".st-key-attr_del input")
    field.fill("7")
    field.press("Enter")
    page.wait_for_function("() => new URL(location).searchParams.get('attr_del') === '7'")
    page.get_by_test_id("stSidebarUserContent").get_by_role("button", name="Reset").click()
    page.wait_for_function("() => new URL(location).searchParams.get('attr_del') === '10'")
    assert set(parameters(watched)) == {"instance", "attr_del"}


def test_deep_link_in_a_fresh_browser_and_nonsense_in_it(visit: Visit) -> None:
    link = (
        "?instance=ring-gcn-attr-s0&attr_add=1&attr_del=4&sigma=3&local_mode=absolute&local_attr_del=2&relaxation=paper"
    )
    first = visit()
    first.open(link, GUARANTEE)
    first.settled()
    second = visit()
    second.open(f"{link}&attr_add=1&targets=everything&limit=-3&adj_del=abc&nonsense=%00%FF", GUARANTEE)
    second.settled()
    assert first.certified() == second.certified()
    assert first.page.locator(".st-key-sigma input").input_value() == "3"
    assert parameters(second).keys() == parameters(first).keys()


def test_a_click_before_everything_is_drawn_does_not_lose_the_view(visit: Visit) -> None:
    """A rerun may overtake the message that sets the widgets; they must not fall back to other defaults."""
    for number in range(1, 4):
        watched = visit()
        page = watched.open(f"?instance=ring-votes-s0&attr_del={number}&base_rule=multiclass", GUARANTEE)
        page.get_by_role("button", name="Proven", exact=True).click(timeout=90_000)
        page.get_by_role("button", name="Download the proof").wait_for(timeout=90_000)
        assert parameters(watched) == {"instance": "ring-votes-s0", "attr_del": str(number), "base_rule": "multiclass"}


def test_the_menu_works_from_the_keyboard_and_shows_where_it_is(visit: Visit) -> None:
    watched = visit()
    page = watched.open("?instance=ring-gcn-attr-s0&attr_del=4", GUARANTEE)
    watched.settled()
    for _ in range(9):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.innerText || ''").strip() == "Compare":
            break
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Compare", level=1, exact=True).wait_for()
    assert page.locator(".st-key-attr_del input").input_value() == "4"
