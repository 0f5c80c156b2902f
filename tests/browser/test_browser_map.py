"""The attack map, read back from what was drawn, against the engine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certcore import ThreatModel
from certcore.figures.style import CLOSENESS, LOST_COLOUR, PROTECTED_COLOUR, TYPE_COLOURS
from pages.canvas import attack, film
from pages.canvas import view as canvas
from tests.browser.attack_map import VIEW, Visit, by_itself, drawn, engine, opened, sites_of
from tests.pages.toys import N


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (420, "dark")])
def test_every_site_is_drawn_with_its_number_and_name(visit: Visit, width: int, scheme: str) -> None:
    _, result, found = engine(ThreatModel(attr_del=5))
    watched = visit(width, 900, scheme)
    page = opened(watched)
    seen = drawn(page)
    panel = seen["panels"][0]
    by_node = {site["ends"][0]: site for site in panel["sites"]}
    assert sorted(by_node) == sorted(found.ends[:, 0].tolist())
    for s, (node, _) in enumerate(found.ends.tolist()):
        site = by_node[node]
        assert site["text"] == str(int(found.flips[s]))
        assert site["name"] == f"paper {node}"
        assert site["amounts"] == found.amounts[s].tolist()
        assert 0 < site["x"] < panel["size"][0]
        assert 0 < site["y"] < panel["size"][1]
    assert sorted(panel["lostNodes"]) == found.targets[found.lost].tolist()
    flips = int(found.flips.sum())
    assert f"hit: {len(found.ends)} sites, {flips} of 5 attribute deletions" in seen["legend"][0]
    assert f"loses its certificate ({int(found.lost.sum())})" in seen["legend"]
    assert f"{int(found.lost.sum())} labels lose their certificate" in seen["sentence"]
    most = result.targets - result.verified_certified - int(found.broken.sum() - found.lost.sum())
    assert f"takes more than {most} certificates of the labels counted here (proven)" in seen["sentence"]
    assert f"{int((found.margin == 1).sum())} more are 1 further flip away from losing theirs" in seen["sentence"]
    if width > 1000:
        assert {label["text"] for label in panel["labels"]} == {site["name"] for site in panel["sites"]}, (
            "all are named"
        )
    boxes = [label["box"] for label in panel["labels"]]
    for i, (left, top, right, bottom) in enumerate(boxes):
        for other in boxes[:i]:
            assert right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top, "labels collide"
    assert result.attack_found is not None


def inks(page: Any, places: list[tuple[float, float]]) -> list[str]:
    """The colours that are on the screen at these places of the first picture."""
    script = """(at) => { const { canvas, ratio } = window.certcore.mapView.panels[0], c = canvas.getContext("2d");
      const hex = ([r, g, b]) => "#" + [r, g, b].map((v) => v.toString(16).padStart(2, "0")).join("").toUpperCase();
      return at.map(([x, y]) => hex(c.getImageData(Math.round(x * ratio), Math.round(y * ratio), 1, 1).data)); }"""
    return [str(colour) for colour in page.evaluate(script, places)]


def alike(one: str, other: str) -> bool:
    """The same colour, up to the edge of a line."""
    return all(abs(int(one[k : k + 2], 16) - int(other[k : k + 2], 16)) < 40 for k in (1, 3, 5))


def free_of_marks(panel: dict[str, Any], place: tuple[float, float]) -> bool:
    """Whether neither a site nor a name covers this place."""
    x, y = place
    return all(np.hypot(site["x"] - x, site["y"] - y) > site["radius"] + 4 for site in panel["sites"]) and not any(
        left - 4 < x < right + 4 and top - 4 < y < bottom + 4
        for left, top, right, bottom in (label["box"] for label in panel["labels"])
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_told_to_be_drawn_is_on_the_screen(visit: Visit, scheme: str) -> None:
    protected = 31
    _, _, found = engine(ThreatModel(attr_del=5, sigma=4, protected=[protected]))
    assert not (found.ends == protected).any()
    page = opened(visit(1440, 1200, scheme), f"{VIEW}&sigma=4&protect={protected}")
    panel = drawn(page)["panels"][0]
    places = [tuple(page.evaluate(f"window.certcore.mapView.panels[0].place({i})")) for i in range(N)]
    # On the ring of a mark: a little inside its left end, where no line of another one ends.
    ring = inks(page, [(site["x"] - site["radius"] + 1, site["y"]) for site in panel["sites"]])
    assert len(ring) == len(found.ends)
    assert all(alike(colour, TYPE_COLOURS[1]) for colour in ring), ring
    held = inks(page, [(site["x"] - site["radius"] - 2.5, site["y"]) for site in panel["sites"]])
    named = """() => { const c = document.createElement("canvas").getContext("2d");
      c.fillStyle = window.certcore.mapView.ink; return c.fillStyle; }"""
    ink = str(page.evaluate(named))
    assert all(alike(colour, ink) for colour in held), f"a controlled node has its ring around its mark: {held}"
    lost = [int(i) for i in found.targets[found.lost] if free_of_marks(panel, places[i])]
    assert len(lost) > 1
    assert inks(page, [places[i] for i in lost]) == [LOST_COLOUR] * len(lost)
    gap = page.evaluate("window.certcore.mapView.panels[0].lostRadius()") + 2.5
    x, y = places[protected]
    around = inks(page, [(x - gap, y), (x + gap, y), (x, y - gap), (x, y + gap)])
    assert any(alike(colour, PROTECTED_COLOUR) for colour in around), around
    kept = [t for t in np.flatnonzero(found.margin > 0).tolist() if free_of_marks(panel, places[found.targets[t]])]
    ends = [step.most or 10**6 for step in CLOSENESS]
    steps = [CLOSENESS[int(np.searchsorted(ends, found.margin[t]))] for t in kept]
    tones = [step.dark if scheme == "dark" else step.colour for step in steps]
    seen = inks(page, [places[found.targets[t]] for t in kept])
    assert np.mean([a == b for a, b in zip(seen, tones)]) > 0.6, "but for those under a line or another node"
    paper = inks(page, [(3, 3)])[0]
    assert (int(paper[1:3], 16) < 60) == (scheme == "dark")
    # A choice fades all but what it lights.
    page.evaluate(f"window.certcore.mapView.choose({{ node: {found.ends[0, 0]} }})")
    drawn(page)
    by_it = set(found.targets[found.broken_by(0)].tolist())
    faded = [i for i in lost if i not in by_it]
    assert faded
    page.evaluate("window.certcore.mapView.fit(); window.certcore.mapView.paint()")
    lit = drawn(page)["panels"][0]
    assert LOST_COLOUR not in inks(page, [places[i] for i in faded if free_of_marks(lit, places[i])])
    assert set(inks(page, [places[i] for i in lost if i in by_it and free_of_marks(lit, places[i])])) <= {LOST_COLOUR}


def test_sites_sort_by_what_they_break_and_the_arrows_follow(visit: Visit) -> None:
    _, _, found = engine(ThreatModel(attr_del=11))
    page = opened(visit(), VIEW.replace("attr_del=5", "attr_del=11"))
    order = sorted(range(len(found.ends)), key=lambda s: -found.breaks()[s])
    assert order != list(range(len(found.ends))), "the example has another order"
    page.locator(".sort").focus()
    page.locator(".sort").select_option("breaks")
    rows = page.locator(".sites .site").evaluate_all("(rows) => rows.map((row) => Number(row.dataset.site))")
    assert rows == order
    assert page.locator(".sort").evaluate("(box) => box.matches(':focus')"), "drawn anew, kept"
    top = page.locator(".box .top")
    top.focus()
    walked = []
    for _ in order:
        top.press("ArrowRight")
        walked.append(drawn(page)["chosen"]["node"])
    assert walked == found.ends[order, 0].tolist()


def test_the_list_says_how_many_sites_are_below_its_edge(visit: Visit) -> None:
    page = opened(visit(), VIEW.replace("attr_del=5", "attr_del=11"))
    page.locator(".sites .site[data-site='0']").click()  # what is chosen stands below the list
    below = page.locator(".below")
    hidden = """() => { const { list } = window.certcore.mapView, box = list.getBoundingClientRect();
      const line = list.querySelector(".below").getBoundingClientRect(), end = line.height ? line.top : box.bottom;
      const ends = [...list.querySelectorAll(".site")].map((row) => row.getBoundingClientRect().bottom);
      return ends.filter((here) => here > end + 22).length; }"""
    page.wait_for_function("() => window.certcore.mapView.list.querySelector('.below').textContent")
    number = page.evaluate(hidden)
    assert number > 1
    assert below.inner_text().split()[1:] == [str(number), "more", "sites"]
    page.locator(".list").evaluate("(list) => { list.scrollTop = list.scrollHeight; }")
    page.wait_for_function("() => !window.certcore.mapView.list.querySelector('.below').textContent")


def test_a_ring_follows_the_pointer_and_small_shapes_are_said_to_be_small(visit: Visit) -> None:
    _, _, found = engine(ThreatModel(attr_del=5))
    page = opened(visit(420, 1400, "light"))
    note = page.locator(".legend .note")
    assert note.is_visible(), "dots have no shape at this size"
    box = page.locator(".box .top").bounding_box()
    alone = next(int(found.targets[t]) for t in np.flatnonzero(found.margin > 0) if not sites_of(found, t))
    page.evaluate("""() => { const panel = window.certcore.mapView.panels[0], compose = panel.compose;
      window.composed = 0;
      panel.compose = (...given) => { window.composed++; return compose.apply(panel, given); }; }""")
    x, y = page.evaluate(f"window.certcore.mapView.panels[0].place({alone})")
    page.mouse.move(box["x"] + x, box["y"] + y)
    drawn(page)
    ring = page.locator(".halo").bounding_box()
    assert abs(ring["x"] + ring["width"] / 2 - box["x"] - x) < 1
    assert abs(ring["y"] + ring["height"] / 2 - box["y"] - y) < 1
    assert page.evaluate("window.composed") == 0, "nothing is drawn anew for it"
    # What reaches a target is lit when the pointer rests there, and not on its way.
    below = """(node) => { const panel = window.certcore.mapView.panels[0], [x, y] = panel.place(node);
      return panel.at(x, y, false)?.node === node && panel.siteAt(x, y) < 0; }"""
    t = next(t for t in np.flatnonzero(found.lost).tolist() if page.evaluate(below, int(found.targets[t])))
    passed = """(node) => { const map = window.certcore.mapView, [x, y] = map.place(node);
      const moved = new PointerEvent("pointermove", { pointerId: 1, clientX: x, clientY: y });
      map.panels[0].canvas.dispatchEvent(moved); map.panels[0].draw(); return window.certcore.map().panels[0].lit; }"""
    assert page.evaluate(passed, int(found.targets[t])) is None
    page.wait_for_function("() => window.certcore.map().panels[0].lit")
    assert sorted(drawn(page)["panels"][0]["lit"]) == sites_of(found, t)
    page.mouse.move(box["x"] + 3, box["y"] + 3)
    drawn(page)
    assert not page.locator(".halo").is_visible()
    for _ in range(4):
        page.locator(".larger").click()
    drawn(page)
    assert not note.is_visible()


def test_choosing_a_site_lights_exactly_what_it_breaks(visit: Visit) -> None:
    _, _, found = engine(ThreatModel(attr_del=5))
    watched = visit()
    page = opened(watched)
    for s, (node, _) in enumerate(found.ends.tolist()):
        page.locator(f".sites .site[data-site='{s}']").click()
        lit = drawn(page)["panels"][0]
        assert sorted(lit["highlighted"]) == sorted(found.targets[found.broken_by(s)].tolist())
        assert sorted(lit["reached"]) == sorted(found.targets[found.reached_by(s)].tolist())
        assert [site["site"] for site in lit["sites"] if site["alpha"] == 1] == [s], "all others fade"
        assert page.locator(".detail h4").inner_text() == f"paper {node}"
    t = int(np.flatnonzero(found.lost)[0])
    target = int(found.targets[t])
    page.evaluate(f"window.certcore.mapView.choose({{ node: {target}, as: 'target' }})")
    lit = drawn(page)["panels"][0]
    assert sorted(lit["lit"]) == sites_of(found, t)
    told = page.locator(".detail").inner_text()
    assert f"{int(found.received[t, 1])} of {int(found.needed[t, 1])}" in told
    page.wait_for_function(f"() => new URL(location).searchParams.get('picked') === '{target}'")
    watched.settled()
    assert drawn(page)["chosen"] == {"node": target, "as": "target"}, "the link has it, and it stays"


def test_pointer_keyboard_and_search_choose_alike(visit: Visit) -> None:
    _, _, found = engine(ThreatModel(attr_del=5))
    watched = visit()
    page = opened(watched)
    first = drawn(page)["panels"][0]["sites"]
    mark = next(site for site in first if site["site"] == 0)
    box = page.locator(".box .top").bounding_box()
    page.mouse.move(box["x"] + mark["x"], box["y"] + mark["y"])
    assert sorted(drawn(page)["panels"][0]["highlighted"]) == sorted(found.targets[found.broken_by(0)].tolist())
    page.mouse.click(box["x"] + mark["x"], box["y"] + mark["y"])
    assert drawn(page)["chosen"] == {"node": int(found.ends[0, 0])}
    find = page.get_by_role("textbox", name="Find a node")
    find.fill("paper 31")
    find.press("Enter")
    page.wait_for_function("() => window.certcore?.map?.()?.chosen?.node === 31")
    watched.settled()
    canvas = page.locator(".box .top")
    canvas.focus()
    canvas.press("Escape")
    walked = []
    for _ in range(len(found.ends)):
        canvas.press("ArrowRight")
        walked.append(drawn(page)["chosen"]["node"])
    assert walked == found.ends[:, 0].tolist()
    canvas.press("ArrowLeft")
    assert drawn(page)["chosen"]["node"] == found.ends[-2, 0]
    canvas.press("a")
    assert drawn(page)["zoom"] >= 1
    # The server has heard of the last choice, too: no run is on its way that would meet the change of the page.
    page.get_by_role("button", name=re.compile(rf"Open paper {found.ends[-2, 0]}$")).wait_for()
    watched.settled()
    canvas.press("Enter")
    page.get_by_role("heading", name="One node", level=1).wait_for()
    page.wait_for_function(f"() => new URL(location).searchParams.get('node') === '{found.ends[-2, 0]}'")


def test_the_second_tab_leads_to_the_picture(visit: Visit) -> None:
    """The first one is Streamlit's own, to the beginning of the page."""
    page = opened(visit())
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    skip = page.get_by_role("button", name="Skip to the picture")
    assert skip.evaluate("(button) => button.matches(':focus')")
    box = skip.bounding_box()
    assert min(box["width"], box["height"]) > 20
    seen = "([x, y]) => Boolean(document.elementFromPoint(x, y)?.closest('.st-key-skip'))"
    assert page.evaluate(seen, [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]), "on the screen"
    page.keyboard.press("Enter")
    assert page.locator(".box .top").evaluate("(picture) => picture.matches(':focus')")
    page.keyboard.press("ArrowRight")
    assert drawn(page)["chosen"]


def test_the_list_keeps_the_focus_and_escape_leaves(visit: Visit) -> None:
    _, _, found = engine(ThreatModel(attr_del=5))
    watched = visit(420, 800, "dark")
    page = opened(watched)
    focused = "() => window.certcore.mapView.root.getRootNode().activeElement?.className"
    page.locator(".sites .site[data-site='1']").focus()
    page.keyboard.press("Enter")
    page.wait_for_function(f"() => new URL(location).searchParams.get('picked') === '{found.ends[1, 0]}'")
    watched.settled()
    assert page.locator(".sites .site[data-site='1']").evaluate("(row) => row.matches(':focus')"), "drawn anew, kept"
    page.keyboard.press("Escape")
    page.wait_for_function("() => !new URL(location).searchParams.has('picked')")
    watched.settled()
    assert drawn(page)["chosen"] is None
    assert page.evaluate(focused) == "site"
    page.keyboard.press("Enter")
    page.locator(".detail .targets button").first.focus()
    page.keyboard.press("Enter")
    assert drawn(page)["chosen"]["as"] == "target"
    assert page.evaluate(focused) == "name", "the focus stays beside the picture"
    page.keyboard.press("Escape")
    assert page.evaluate(focused) == "top"


def test_the_list_shows_its_sites_and_a_choice_cuts_nothing_off_the_legend(visit: Visit) -> None:
    watched = visit()
    page = opened(watched, f"{VIEW}&attr_add=2")
    whole = """() => { const { scrollHeight, clientHeight } = window.certcore.mapView.legend;
      return [scrollHeight <= clientHeight, clientHeight]; }"""
    before = page.evaluate(whole)
    assert before[0]
    assert any("in the field of the hit that is chosen" in line for line in drawn(page)["legend"]), "hollow circles"
    rows = """() => { const { list } = window.certcore.mapView, box = list.getBoundingClientRect();
      return [...list.querySelectorAll(".site")].map((row) => row.getBoundingClientRect())
        .filter((row) => row.top >= box.top - 1 && row.bottom <= box.bottom + 1).length; }"""
    assert page.evaluate(rows) == page.locator(".sites .site").count() > 4
    page.locator(".sites .site[data-site='0']").click()
    assert page.evaluate(rows) >= 3
    assert page.evaluate(whole) == before


def test_on_a_narrow_screen_the_picture_is_on_the_first_one(visit: Visit) -> None:
    page = opened(visit(420, 800))
    box = page.locator(".box").bounding_box()
    assert box["y"] + box["height"] < 800
    assert page.locator(".sentence").bounding_box()["y"] < box["y"]
    for below in (".tools", ".further", ".legend", ".list", ".st-key-adversary"):
        assert page.locator(below).first.bounding_box()["y"] >= box["y"] + box["height"], below
    seen = """() => { const { list } = window.certcore.mapView, box = list.getBoundingClientRect();
      return [list.querySelectorAll(".site").length, box.height]; }"""
    rows, height = page.evaluate(seen)
    assert height > 37 * min(rows, 8), "the list is as long as it needs to be"


def test_lasso_box_targets_and_protection(visit: Visit) -> None:
    watched = visit(1440, 1200)
    page = opened(watched)
    before = page.locator(".st-key-work_certificate").inner_text()
    places = {i: page.evaluate(f"window.certcore.mapView.panels[0].place({i})") for i in range(N)}
    box = page.locator(".box .top").bounding_box()
    xs = sorted(place[0] for place in places.values())
    middle = (xs[N // 2] + xs[N // 2 - 1]) / 2
    page.get_by_role("button", name="Box", exact=True).click()
    marks = drawn(page)["panels"][0]["sites"]
    rings = [
        (site["x"] + share * site["radius"] * np.cos(turn), site["y"] + share * site["radius"] * np.sin(turn))
        for site in marks
        for share in (0.5, 0.7, 0.9)
        for turn in np.arange(0, 6.2, 0.3)
    ]
    plain = inks(page, rings)
    page.mouse.move(box["x"] + 3, box["y"] + 3)
    page.evaluate("() => { const map = window.certcore.mapView; map.showTip(map.panels[0], { node: 7 }, 3, 3); }")
    assert page.locator(".tip").is_visible()
    page.mouse.down()
    assert not page.locator(".tip").is_visible(), "it would stay where it was"
    page.mouse.move(box["x"] + middle, box["y"] + box["height"] - 3, steps=4)
    page.mouse.up()
    inside = sorted(i for i, (x, _) in places.items() if x < middle)
    assert drawn(page)["selection"] == inside
    assert inks(page, rings) == plain, "what is selected covers nothing of the attack"
    assert f"selected by hand ({len(inside)})" in drawn(page)["legend"]
    page.get_by_role("heading", name=f"{len(inside)} selected").wait_for()
    watched.settled()
    page.get_by_role("button", name="Lasso").click()
    corners = [(middle, 3), (box["width"] - 3, 3), (box["width"] - 3, box["height"] - 3), (middle, box["height"] - 3)]
    page.mouse.move(box["x"] + corners[0][0], box["y"] + corners[0][1])
    page.mouse.down()
    for x, y in corners[1:]:
        page.mouse.move(box["x"] + x, box["y"] + y, steps=5)
    page.mouse.up()
    assert drawn(page)["selection"] == sorted(set(range(N)) - set(inside))
    page.get_by_role("heading", name=f"{N - len(inside)} selected").wait_for()
    watched.settled()
    page.get_by_role("button", name="Protect these").first.click()
    page.wait_for_function("() => new URL(location).searchParams.has('protect')")
    watched.settled()
    protected = sorted(set(range(N)) - set(inside))
    _, result, found = engine(ThreatModel(attr_del=5, protected=protected))
    page.wait_for_function(
        "before => document.querySelector('.st-key-work_certificate')?.innerText !== before", arg=before
    )
    now = page.locator(".st-key-work_certificate").inner_text()
    assert now.startswith(f"{result.certified} of {N}")
    assert not set(found.ends[:, 0].tolist()) & set(protected)
    assert sorted(site["ends"][0] for site in drawn(page)["panels"][0]["sites"]) == sorted(found.ends[:, 0].tolist())
    page.get_by_role("button", name="Make these the targets").click()
    page.wait_for_function("() => new URL(location).searchParams.get('targets') === 'chosen'")
    watched.settled()
    assert f"of {len(protected)} labels" in page.locator(".st-key-work_certificate").inner_text()


def test_margins_are_those_of_the_engine(visit: Visit) -> None:
    _, _, found = engine(ThreatModel(attr_del=5))
    watched = visit()
    page = opened(watched)
    kept = found.margin[found.margin != 0]
    steps = {step["label"]: step for step in drawn(page)["panels"][0]["close"]}
    below = 0
    for step in CLOSENESS:
        here = kept > below if step.most is None else (kept > below) & (kept <= step.most)
        assert steps[step.label]["count"] == here.sum(), "how close the rest is, without asking for it"
        assert steps[step.label]["colour"] == step.colour
        below = step.most or below
    assert steps["never"]["count"] == (kept < 0).sum()
    assert len({step["count"] for step in steps.values()}) > 2, "the example has close and far targets"
    page = opened(watched, f"{VIEW}&colour=margin")
    seen = drawn(page)
    assert seen["colour"] == "margin"
    assert np.array_equal(np.array(seen["panels"][0]["margin"])[found.targets], found.margin)
    assert page.locator(".legend .strip").count() == 1
    colour_of = "(node) => { const map = window.certcore.mapView; return map.looks(map.attacks[0]).colourOf(node); }"
    tones = canvas.margin_scale(dark=False)
    near, far = (int(found.targets[np.flatnonzero(found.margin == m)[0]]) for m in (1, found.margin.max()))
    assert [page.evaluate(colour_of, node) for node in (near, far)] == [tones[0], tones[-1]]


def test_the_graph_travels_once_and_a_new_attack_sends_what_changed(visit: Visit) -> None:
    watched = visit()
    sizes: list[int] = []
    page = watched.page
    page.on("websocket", lambda socket: socket.on("framereceived", lambda data: sizes.append(len(data))))
    opened(watched, "attack_map?instance=hard-s0&attr_del=5")
    total = page.evaluate("window.certcore.map().panels[0].margin.length")
    first, sizes[:] = sum(sizes), []
    field = page.get_by_role("spinbutton", name="Attribute deletions, exact value")
    field.fill("6")
    field.press("Enter")
    page.wait_for_function("() => window.certcore?.map?.()?.legend?.[0]?.includes('of 6')")
    watched.settled()
    assert total > 100
    assert sum(sizes) < first, (sum(sizes), first)


def test_a_site_whose_list_did_not_travel_is_counted_and_says_so(
    visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attack, "MOST_REACH", 1)
    instance, result, found = engine(ThreatModel(attr_del=5))
    page = by_itself(visit(), tmp_path, instance, [film.Frame(5, result)])
    page.locator(".sites .site[data-site='0']").click()
    told = page.locator(".detail").inner_text()
    reached, broken = len(found.reached_by(0)), len(found.broken_by(0))
    assert broken > 1
    assert f"In the field of {reached} targets; it helps break {broken} labels." in told
    assert "not shown for this many" in told
    assert f"helps break {broken}" in page.locator(".sites .site[data-site='0']").inner_text()
    target = int(found.targets[np.flatnonzero(found.lost)[0]])
    page.evaluate(f"window.certcore.mapView.choose({{ node: {target}, as: 'target' }})")
    assert f"Only the first 0 of {len(found.ends)} sites are looked through" in page.locator(".detail").inner_text()


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("new old -old", ["new", "gone"]),
        ("old new -old", ["new", "gone"]),
        ("new old older -old -older", ["new", "gone"]),
        ("new old -new", ["old", "gone"]),
    ],
)
def test_dismissed_mounts_leave_the_newest_on_show(visit: Visit, order: str, expected: list[str]) -> None:
    """Streamlit may mount older data after newer ones and dismiss them at once, with the same elements."""
    page = visit().page
    page.set_content(f"<div id='host'>{canvas.markup()}</div>")
    script = canvas.script() + (Path(canvas.__file__).parent / "component.js").read_text(encoding="utf-8")
    lived = page.evaluate(
        """async ([text, order]) => {
          const mount = (await import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })))).default;
          const host = document.getElementById("host"), root = host.querySelector(".map"), goodbyes = {};
          for (const step of order.split(" ")) {
            if (step.startsWith("-")) goodbyes[step.slice(1)]();
            else goodbyes[step] = mount({ parentElement: host, data: { version: step } });
          }
          const after = window.certcore.mapView?.data.version;
          host.remove();
          goodbyes[after]?.();
          return [after, root.certcoreMap || window.certcore.mapView ? "there" : "gone"];
        }""",
        [script, order],
    )
    assert lived == expected


def test_with_two_types_only_sites_that_a_label_is_lost_by_are_connected_to_it(visit: Visit, tmp_path: Path) -> None:
    instance, result, found = engine(ThreatModel(attr_add=4, attr_del=6))
    inside = found.inside
    assert inside is not None
    assert found.breaks().sum() < inside[:, found.lost].sum(), "the example has flips that were of no use"
    page = by_itself(visit(), tmp_path, instance, [film.Frame(6, result)])
    assert drawn(page)["panels"][0]["lines"] == found.breaks().sum()
    for s in range(len(found.ends)):
        page.locator(f".sites .site[data-site='{s}']").click()
        assert sorted(drawn(page)["panels"][0]["highlighted"]) == sorted(found.targets[found.broken_by(s)].tolist())
        assert f"helps break {len(found.broken_by(s)) or 'none'}" in page.locator(".detail").inner_text()
    idle = next(t for t in np.flatnonzero(found.lost) if any(t not in found.broken_by(s) for s in sites_of(found, t)))
    page.evaluate(f"window.certcore.mapView.choose({{ node: {found.targets[idle]}, as: 'target' }})")
    useful = sum(idle in found.broken_by(s) for s in sites_of(found, idle))
    assert drawn(page)["panels"][0]["lines"] == useful < len(sites_of(found, idle))
    assert page.locator(".detail").inner_text().count("not needed") == len(sites_of(found, idle)) - useful
    over = (found.received - found.needed).clip(0) * (found.needed > 0)
    most = int(over.sum(axis=1)[found.lost].max())
    more = next(int(found.targets[t]) for t in np.flatnonzero(found.lost) if over[t].sum() == most)
    page.evaluate(f"window.certcore.mapView.choose({{ node: {more}, as: 'target' }})")
    assert f"{most} flip{'s' * (most > 1)} more than it takes" in page.locator(".detail").inner_text()
