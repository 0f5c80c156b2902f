"""An attack by hand: clicks spend the budget, and what they take is the engine's own count."""

from __future__ import annotations

from typing import Any

import numpy as np

from certcore import ThreatModel
from certcore.program.problem import Problem
from certcore.result.allocation import empty_edges, replay
from tests.browser.workbench import VIEW, Visit, drawn, engine, opened, quiet, read
from tests.pages.toys import N, grid_instance


def taken(spent: dict[int, int], budget: int = 5) -> list[int]:
    """Labels that lose their certificate when these deletions are spent, by the engine."""
    problem = Problem(grid_instance(), ThreatModel(attr_del=budget))
    attributes = np.zeros((3, N), dtype=np.int64)
    for node, number in spent.items():
        attributes[1, node] = number
    found = replay(problem, attributes, np.zeros(problem.instance.graph.n_edges, np.int64), empty_edges(), np.zeros(N))
    clean = problem.fronts.clean[problem.targets]
    return problem.targets[(found.attacked > 0) & clean].tolist()


def mine(page: Any) -> tuple[dict[int, int], list[int]]:
    """What is spent on the screen, and which labels are drawn as lost."""
    panel = drawn(page)["panels"][0]
    return {site["ends"][0]: int(site["flips"]) for site in panel["sites"]}, panel["lostNodes"]


def click(page: Any, node: int, *, less: bool = False) -> None:
    drawn(page)
    box = page.locator(".box .top").bounding_box()
    sites = [site for site in drawn(page)["panels"][0]["sites"] if site["ends"][0] == node]
    place = page.evaluate(f"window.certcore.mapView.panels[0].place({node})")
    x, y = (sites[0]["x"], sites[0]["y"]) if sites else place
    page.mouse.click(box["x"] + x, box["y"] + y, button="right" if less else "left")


def shown(page: Any) -> str:
    drawn(page)
    return str(page.locator(".side-try").inner_text()).replace("\n", " ")


def test_clicks_spend_the_budget_and_are_replayed_at_once(visit: Visit) -> None:
    _, result, found = engine(ThreatModel(attr_del=5))
    best = int(found.lost.sum())
    page = opened(visit(1440, 1200))
    page.get_by_role("button", name="Yours").click()
    spent: dict[int, int] = {}
    for node in (3, 3, 31, 7):
        click(page, node)
        spent[node] = spent.get(node, 0) + 1
        assert mine(page) == (spent, taken(spent))
        behind = best - len(taken(spent))
        told = page.locator(".gauge").get_attribute("aria-label")
        assert told == (f"{behind} behind the best attack found." if behind else "As good as the best attack found.")
    lost = len(taken(spent))
    bound = result.targets - result.certified - read(page)["parts"]["none"]
    assert f"you {lost}" in shown(page)
    assert f"no attack takes more than {bound}" in shown(page)
    assert f"best found {best}" in shown(page)
    assert "4 of 5 attribute deletions spent" in shown(page)
    assert f"you take {lost}" in page.locator(".key").inner_text(), "the bar underlines them"
    click(page, 7)
    click(page, 12)
    assert "All attribute deletions are spent" in shown(page)
    assert mine(page)[0] == spent | {7: 2}
    click(page, 7, less=True)
    assert mine(page)[0] == spent
    page.locator(".box .top").press("z")
    assert mine(page)[0] == spent | {7: 2}, "undone"
    page.locator(".side-try").get_by_role("button", name="Reset").click()
    assert mine(page) == ({}, [])
    page.locator(".side-try").get_by_role("button", name="Best found").click()
    assert sorted(mine(page)[1]) == found.targets[found.lost].tolist()
    assert "As good as the best attack found" in shown(page)
    page.get_by_role("button", name="Certificate attack").click()
    assert not page.evaluate("window.certcore.mapView.own.active")
    assert sorted(mine(page)[1]) == found.targets[found.lost].tolist()


def test_a_smaller_budget_holds_back_flips_until_it_grows_again(visit: Visit) -> None:
    page = opened(visit(), f"{VIEW}#try=3x2,31x2,7x1")
    page.wait_for_function("() => window.certcore.mapView.own.active")
    assert mine(page) == ({3: 2, 31: 2, 7: 1}, taken({3: 2, 31: 2, 7: 1}))
    page.evaluate("() => window.certcore.benchView.move({ attr_del: 3 }, false)")
    assert mine(page) == ({3: 2, 31: 1}, taken({3: 2, 31: 1}, 3)), "never more than the budget"
    page.evaluate("() => window.certcore.benchView.move({ attr_del: 5 }, true)")
    quiet(page, attr_del=5)
    assert mine(page)[0] == {3: 2, 31: 2, 7: 1}


def test_a_link_is_replayed_where_it_is_opened(visit: Visit) -> None:
    page = opened(visit(), f"{VIEW}#try=3x2,31x1")
    page.wait_for_function("() => window.certcore.mapView.own.active")
    assert mine(page) == ({3: 2, 31: 1}, taken({3: 2, 31: 1}))
    click(page, 7)
    page.locator(".side-try").get_by_role("button", name="Share").click()
    link = page.evaluate("location.href")
    assert link.endswith("#try=3x2,31x1,7x1")
    other = opened(visit(), link.split("/", 3)[3])
    other.wait_for_function("() => window.certcore.mapView.own.active")
    assert mine(other) == mine(page)
    more = opened(visit(), f"{VIEW}#try=3x2,4000x1,31x9,x,7xx2")
    more.wait_for_function("() => window.certcore.mapView.own.active")
    assert mine(more)[0] == {3: 2}, "only what the budget and the graph allow"
    assert "The link spends 12 flips; 2 of them are possible here" in shown(more)


def test_where_it_would_not_be_exact_the_switch_says_why(visit: Visit) -> None:
    page = opened(visit())
    page.evaluate("""() => { const { own } = window.certcore.mapView, { kept } = window.certcore;
      kept.set("limits", { ...own.limits, why: "the reason" });
      window.certcore.benchView.side.open("try"); }""")
    button = page.get_by_role("button", name="Yours")
    assert button.get_attribute("aria-disabled") == "true"
    assert button.get_attribute("title") == "the reason"
    assert shown(page).strip() == "the reason"
    assert mine(page) == ({}, [])
