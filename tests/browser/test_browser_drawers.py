"""A drawer that is open stays as it is while the page goes on computing, and the page says how far it is."""

from __future__ import annotations

from tests.browser.workbench import HEADING, Visit


def test_work_ends_for_the_eye_while_a_drawer_is_open(visit: Visit) -> None:
    page = visit().open("?instance=hard-s0&attr_del=6", HEADING)
    under_way = "() => Object.values(window.certcore?.bench?.()?.progress ?? {}).some((share) => share !== null)"
    page.wait_for_function(f"() => window.certcore?.map?.()?.panels?.[0]?.sites && ({under_way})()", timeout=90_000)
    page.evaluate("() => window.certcore.benchView.drawer('export_graph')")
    page.locator(".st-key-preview img").wait_for(timeout=90_000)
    page.evaluate(
        """() => { window.closed = 0; const look = () => { window.closed += !document.querySelector('[role=dialog]'); };
          new MutationObserver(look).observe(document.body, { childList: true, subtree: true }); }"""
    )
    waits = "window.certcore.benchView.data.waits"
    before, shares = page.evaluate(f"[{waits}, window.certcore.bench().progress]")
    lines = [name for name, share in shares.items() if share is not None]
    assert lines, "still computing"
    page.wait_for_function(
        "(lines) => lines.some((name) => window.certcore.bench().progress[name] === null)", arg=lines, timeout=90_000
    )
    assert page.evaluate(waits) == before, "without a run of the page"
    assert page.evaluate("window.closed") == 0
    page.keyboard.press("Escape")
    page.wait_for_function(f"(before) => {waits} !== before", arg=before, timeout=90_000)
