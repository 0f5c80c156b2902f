"""The screen stands still: what arrives, is dragged, hovered or opened moves none of the fixed places."""

from __future__ import annotations

from tests.browser.workbench import Visit, opened, quiet, read

PLACES = (
    ".big", ".big span", ".big b + span", ".sub", ".changes", ".changes-why", ".brackets", ".parts", ".key",
    ".key [data-part=naive]", ".key [data-part=collective]", ".key [data-part=open]", ".key [data-part=lost]",
    ".key [data-part=none]", ".stage", ".pictures", ".tools", ".cards", ".chart.curve canvas", ".chart.contour header",
    ".chart.contour canvas",
)  # fmt: skip
#: From the first frame on: where each place stands in the workbench, in every frame that is drawn.
WATCH = """(names) => { window.places = {};
  const look = () => { const root = window.certcore?.benchView?.root;
    if (root?.isConnected && window.certcore.benchView.data && root.querySelector(".big b")) {
      const from = root.getBoundingClientRect();
      // Before the page's own style has come, Streamlit draws it narrower: nothing can be read there yet.
      if (Math.round(from.width) !== innerWidth - 48) return requestAnimationFrame(look);
      for (const name of names) { const box = root.querySelector(name).getBoundingClientRect();
        const at = [box.left - from.left, box.top - from.top].map(Math.round).join();
        if (box.width) (places[name] ||= new Set()).add(at); } }
    requestAnimationFrame(look); };
  requestAnimationFrame(look); }"""


def test_no_fixed_place_moves_in_any_state(visit: Visit) -> None:
    watched = visit()
    watched.page.add_init_script(f"({WATCH})({list(PLACES)!r})")
    page = opened(watched, "?instance=ring-all-s0&attr_del=4")
    move = "([to, done]) => window.certcore.benchView.move(to, done)"
    page.evaluate(move, [{"attr_del": 6}, False])
    read(page)
    page.evaluate(move, [{"adj_del": 7}, False])  # of which curve and map tell nothing
    read(page)
    page.evaluate(move, [{"adj_del": 7}, True])
    quiet(page, adj_del=7)
    page.locator(".key [data-part=lost]").hover()
    page.locator(".chart.curve canvas").hover()
    page.locator(".changes-why .link").click()
    assert "certcore attack" in page.locator(".float code").inner_text()
    page.keyboard.press("Escape")
    assert page.locator(".float").is_hidden()
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_test_id("stSidebarUserContent").get_by_role("button", name="Reset").wait_for()
    read(page)
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_test_id("stSidebar").wait_for(state="hidden")
    page.get_by_role("button", name="LP relaxation").click()
    page.wait_for_function("() => new URL(location).searchParams.get('adversary') === 'relaxed'")
    quiet(page)
    moved = page.evaluate(
        "() => Object.entries(window.places).filter(([, seen]) => seen.size > 1).map(([n, s]) => [n, [...s]])"
    )
    assert moved == []
    assert page.evaluate("() => Object.keys(window.places).length") == len(PLACES)


def test_held_beyond_the_drawn_range_the_axis_grows_and_stays_when_let_go(visit: Visit) -> None:
    page = opened(visit(), "?instance=ring-gcn-attr-s0&attr_del=2")
    end = "window.certcore.benchView.axisEnd"
    drawn_to = page.evaluate(end)
    beyond = drawn_to + 3
    page.evaluate("(value) => window.certcore.benchView.move({ attr_del: value }, false)", beyond)
    read(page)
    grown = page.evaluate(end)
    assert beyond <= grown < 2 * beyond
    page.evaluate("(value) => window.certcore.benchView.move({ attr_del: value }, true)", beyond)
    quiet(page, attr_del=beyond)
    assert page.evaluate(end) == grown
    page.evaluate("() => window.certcore.benchView.move({ attr_del: 2 }, false)")
    read(page)
    assert page.evaluate(end) == grown, "and does not shrink under the hand"
