"""The tab that suggests nodes to protect: gains one by one, protect, undo, and a wrong node told at its field."""

from __future__ import annotations

from typing import Any

from certcore import ThreatModel, certify
from certcore.sweep import Session, defend
from tests.browser.workbench import Visit, opened, quiet, read
from tests.pages.toys import N, grid_instance

BUDGET = ThreatModel(attr_del=5)


def panel(page: Any) -> Any:
    return page.locator(".side-protect")


def guards(page: Any) -> list[int]:
    """The protected nodes of the certificate on show."""
    return sorted(page.evaluate("window.certcore.benchView.data.guards"))


def protected(page: Any, nodes: list[int]) -> None:
    """Wait until exactly these nodes are protected and all is drawn."""
    page.wait_for_function(
        "(nodes) => JSON.stringify([...window.certcore.benchView.data.guards].sort((a, b) => a - b)) === nodes",
        arg=str(sorted(nodes)).replace(" ", ""),
    )
    quiet(page)


def test_suggestions_arrive_with_gains_and_are_applied_in_order(visit: Visit) -> None:
    instance = grid_instance()
    plan = defend(Session(instance), BUDGET, 5)
    assert len(plan.steps) > 1
    page = opened(visit(1440, 1200))
    before = read(page)["proven"]
    page.locator(".side-tabs button", has_text="Protect").click()
    page.wait_for_function("() => window.certcore.benchView.side.guards.ended")
    told = [row.split() for row in panel(page).locator(".step-row").all_inner_texts()]
    for step, row in zip(plan.steps, told):
        assert f"+{step.gain}" in row
        assert str(step.certified) in row
        assert str(step.node) in row
    two = sorted(step.node for step in plan.steps[:2])
    panel(page).get_by_role("button", name="Protect 1–2").click()
    protected(page, two)
    assert read(page)["proven"] == plan.steps[1].certified == certify(instance, BUDGET.replace(protected=two)).certified
    assert panel(page).locator(".step-row.done").count() == 2, "gains of the others hold still"
    panel(page).get_by_role("button", name="Undo").click()
    protected(page, [])
    assert read(page)["proven"] == before
    assert panel(page).locator(".step-row.done").count() == 0


def test_a_wrong_node_is_told_at_its_field_and_changes_nothing(visit: Visit) -> None:
    page = opened(visit(1440, 1200))
    before = read(page)
    page.locator(".side-tabs button", has_text="Protect").click()
    field = panel(page).get_by_label("Or name them yourself")
    field.fill("paper 7, paper 4000")
    field.press("Enter")
    assert "There is no node paper 4000" in panel(page).get_by_role("alert").inner_text()
    assert field.get_attribute("aria-invalid") == "true"
    assert guards(page) == []
    assert read(page)["head"] == before["head"]
    field.fill("paper 7, 31")
    field.press("Enter")
    protected(page, [7, 31])
    assert read(page)["proven"] == certify(grid_instance(), BUDGET.replace(protected=[7, 31])).certified
    assert panel(page).get_by_role("alert").inner_text() == ""
    assert N > 31


def test_suggestions_of_other_budgets_are_not_kept(visit: Visit) -> None:
    page = opened(visit(1440, 1200))
    page.locator(".side-tabs button", has_text="Protect").click()
    page.wait_for_function("() => window.certcore.benchView.side.guards.ended")
    assert panel(page).locator(".step-row .gain").count() > 0
    page.evaluate("() => window.certcore.benchView.move({ attr_del: 4 }, true)")
    quiet(page, attr_del=4)
    assert panel(page).locator(".step-row .gain").count() == 0
    panel(page).get_by_role("button", name="Suggest five").click()
    page.wait_for_function("() => window.certcore.benchView.side.guards.ended")
    first = defend(Session(grid_instance()), ThreatModel(attr_del=4), 1).steps[0]
    assert panel(page).locator(".step-row .gain").first.inner_text() == f"+{first.gain}"
