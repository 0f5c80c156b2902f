"""The workbench: number, bar, curve and map agree, also while a budget is dragged, and nothing is stale."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from certcore import ThreatModel, certify
from certcore.common.rounding import share_down
from certcore.domain.perturbations import FLIPS
from certcore.figures.style import TOKENS
from certcore.instance.local_limits import within_base
from tests.browser.workbench import VIEW, Visit, drawn, engine, opened, quiet, read
from tests.pages.toys import N, ballots_instance, grid_instance, limited_instance
from tests.waiting import until

#: Attributes, edges, both, a convex base certificate and votes over groups of edges, each with a first budget.
BUNDLES = {
    "ring-gcn-attr-s0": (grid_instance, "attr_del"),
    "ring-edges-s0": (lambda: grid_instance(("adj_del",)), "adj_del"),
    "ring-all-s0": (lambda: grid_instance(FLIPS), "attr_del"),
    "ring-gcn-convex-s0": (limited_instance, "attr_add"),
    "ring-ballots-s0": (ballots_instance, "adj_add"),
}


def agree(now: Any) -> None:
    """All that is on the screen says the same, and the parts of the bar add up."""
    parts = now["parts"]
    assert sum(parts.values()) == now["asked"]
    assert parts["naive"] + parts["collective"] == now["proven"]
    head = f"At least {now['proven']:,} of {now['asked']:,} labels stay · {share_down(now['proven'], now['asked'])}"
    assert now["head"] == head, "always the same form"
    assert now["dot"]["proven"] == now["proven"]
    if now["cross"] is not None:
        assert now["cross"]["proven"] == now["proven"]
        assert now["cross"]["certified"] <= now["proven"], "a cell holds for all budgets up to its corner"
    widths = np.array([now["widths"][name] for name in parts if parts[name]])
    shares = np.array([parts[name] for name in parts if parts[name]]) / now["asked"]
    np.testing.assert_allclose(widths / widths.sum(), shares, atol=0.02)


def gone(now: Any) -> int:
    """How many targets the best attack known leaves uncertified."""
    return sum(now["parts"][name] for name in ("lost", "none"))


@pytest.mark.parametrize("name", BUNDLES)
def test_all_views_agree_at_random_budgets_while_dragging_and_after_it(visit: Visit, name: str) -> None:
    """Twenty random budgets of one or two types; the server meets the first one cold, and at last once more warm."""
    make, axis = BUNDLES[name]
    instance = make()
    page = opened(visit(), f"?instance={name}&{axis}=3&play={axis}")
    agree(read(page))
    rng = np.random.default_rng(len(name))
    for k in range(20):
        now, to = read(page), {axis: int(rng.integers(1, 9))}
        assert now["line"]["axis"] == axis
        if k % 2 and now["map"]["y"] in FLIPS:
            to[now["map"]["y"]] = int(rng.integers(0, 4))
        page.evaluate("(to) => window.certcore.benchView.move(to, false)", to)
        moving = read(page)
        asked = {t: moving["values"].get(t, 0) for t in FLIPS}
        released = k % 6 == 2
        real = certify(instance, within_base(ThreatModel(**asked), instance), attack=released)
        assert moving["proven"] <= real.certified, "of this very budget or of a larger one"
        assert gone(moving) <= int(real.bound), "of an attack within it"
        assert moving["attack"] is None or moving["attack"] <= to[axis] or "stage" in moving["dimmed"], "or it is faded"
        agree(moving)
        if not released:
            continue
        page.evaluate("(to) => window.certcore.benchView.move(to, true)", to)
        quiet(page, **to)
        assert f"{axis}={to[axis]}" in page.url
        after = read(page)
        assert after["proven"] == real.certified
        assert gone(after) >= real.attack_found, "the best attack known"
        assert after["dimmed"] == []
        agree(after)
    again = opened(visit(), f"?instance={name}&{axis}=3")
    agree(read(again))


def test_a_message_is_shown_when_everything_it_names_has_come(visit: Visit) -> None:
    """Messages and charts overtake each other on their way: nothing of two of them stands side by side."""
    page = opened(visit())
    before = read(page)
    page.evaluate(
        """() => { const bench = window.certcore.benchView, { data } = bench, parts = { ...data.parts };
          parts.collective += 1; parts.lost -= 1;
          bench.update({ ...data, parts, shelves: { ...data.shelves, curve: "later" } }, bench.send); }"""
    )
    waits = read(page)
    assert waits["proven"] == waits["dot"]["proven"] == before["proven"]
    assert waits["parts"] == before["parts"]
    page.evaluate(
        """() => { const { kept, hearing } = window.certcore; kept.set("curve", { ...kept.get("curve"), key: "later" });
          for (const hear of [...hearing]) hear({ kind: "kept", name: "curve" }); }"""
    )
    come = read(page)
    assert come["proven"] == come["dot"]["proven"] == come["cross"]["proven"] == before["proven"] + 1


def test_a_drag_runs_nothing_until_it_ends_and_back_returns(visit: Visit) -> None:
    watched = visit()
    page = watched.page
    told: list[Any] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda data: told.append(data)))
    opened(watched)
    before = read(page)
    field, slider = page.locator(".st-key-attr_del input"), page.locator(".st-key-slider_attr_del input")
    box, share = slider.bounding_box(), slider.evaluate("(input) => input.value / input.max")
    x, y = box["x"] + 8 + (box["width"] - 16) * share, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    quiet_so_far = len(told)
    seen = set()
    for step in range(1, 7):
        page.mouse.move(x + 9 * step, y)
        now = read(page)
        agree(now)
        seen.add(now["proven"])
        assert field.input_value() == str(now["values"]["attr_del"]), "the field follows"
    assert len(seen) > 2, "the number moves"
    assert len(told) == quiet_so_far, "and Python hears nothing of it"
    value = read(page)["values"]["attr_del"]
    page.mouse.up()
    quiet(page, attr_del=value)
    assert f"attr_del={value}" in page.url
    page.go_back()
    quiet(page, attr_del=5)
    assert read(page)["proven"] == before["proven"]
    assert field.input_value() == "5"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1920, 1080), (420, 800)])
def test_what_matters_is_above_the_fold_in_the_colours_of_the_table(
    visit: Visit, width: int, height: int, scheme: str
) -> None:
    page = opened(visit(width, height, scheme))
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= width
    important = [".big", ".found", ".parts", ".key", ".pictures", ".legend", ".chart.curve canvas"]
    important += [".chart.contour canvas", ".st-key-sigma"] if width > 1200 else [".player"]
    for name in important:
        box = page.locator(name).first.bounding_box()
        assert box is not None, name
        assert box["y"] >= 0, name
        assert box["y"] + box["height"] <= height, name
        assert box["x"] + box["width"] <= width, name
    tones = page.evaluate("window.certcore.benchView.tones")
    assert tones == {name: getattr(TOKENS[name], scheme) for name in tones}
    shown = page.locator(".part.naive, .part.collective").first.evaluate(
        "(part) => getComputedStyle(part).backgroundColor"
    )
    wanted = [getattr(TOKENS[name], scheme) for name in ("each", "together")]
    assert shown in [f"rgb({int(w[1:3], 16)}, {int(w[3:5], 16)}, {int(w[5:], 16)})" for w in wanted]


@pytest.mark.parametrize(("width", "height"), [(720, 450), (960, 540)])
def test_enlarged_twice_nothing_goes_sideways_and_the_answer_is_on_the_first_screen(
    visit: Visit, width: int, height: int
) -> None:
    """A zoom of 200 % halves the page: 1440×900 and 1920×1080 become these."""
    page = opened(visit(width, height))
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= width
    for name in (".big", ".parts", ".key", ".st-key-instance"):
        box = page.locator(name).first.bounding_box()
        assert box["y"] + box["height"] <= height, name
        assert box["x"] + box["width"] <= width, name
    assert page.locator(".pictures").bounding_box()["y"] < height - 100, "the graph begins there"
    sliders = page.locator("[class*=st-key-slider_]")
    tops = {round(sliders.nth(k).bounding_box()["y"]) for k in range(sliders.count()) if sliders.nth(k).is_visible()}
    assert len(tops) <= 1, "the sliders share one row"


def test_no_panel_covers_a_site_and_no_name_is_cut(visit: Visit) -> None:
    """The list of sites takes some of the room: the picture is fitted into the rest. “More” floats over the panel."""
    _, _, found = engine(ThreatModel(attr_del=5))
    page = opened(visit())

    def sites_between(left: float, right: float) -> None:
        read(page)
        for node in found.ends[:, 0].tolist():
            x, y = page.evaluate(f"window.certcore.mapView.place({node})")
            assert left < x < right
            assert page.locator(".tools").bounding_box()["y"] < y < page.locator(".legend").bounding_box()["y"]

    page.locator(".sites-button").click()
    listed = page.locator(".list").bounding_box()
    sites_between(listed["x"] + listed["width"], page.locator(".cards").bounding_box()["x"])
    assert "can count at several sites" in page.locator(".list").inner_text()
    names = page.evaluate("window.certcore.benchView.curve.named")
    assert "collective" in [one["text"] for one in names]
    for k, one in enumerate(names):
        for other in names[:k]:
            (a, b, c, d), (e, f, g, h) = one["box"], other["box"]
            assert c <= e or g <= a or d <= f or h <= b, (one, other)
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_test_id("stSidebarUserContent").get_by_role("button", name="Reset").wait_for()
    floats = page.get_by_test_id("stSidebar").bounding_box()
    assert floats["y"] > page.locator(".key").bounding_box()["y"] + 20, "never over the answer"
    assert floats["x"] >= page.locator(".cards").bounding_box()["x"], "nor over the picture"
    sites_between(listed["x"] + listed["width"], page.locator(".cards").bounding_box()["x"])
    assert page.evaluate("document.documentElement.scrollWidth") <= 1440
    cut = "(labels) => labels.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent)"
    assert page.locator("[class*=st-key-slider_] label").evaluate_all(cut) == []
    page.set_viewport_size({"width": 420, "height": 800})
    page.reload()
    quiet(page)
    assert page.get_by_test_id("stSidebarUserContent").is_hidden(), "what was left open covers no narrow page"


@pytest.mark.parametrize("path", ["overview", "attack_map", ""])
def test_old_addresses_open_the_workbench_with_all_they_say(visit: Visit, path: str) -> None:
    _, _, found = engine(ThreatModel(attr_del=5))
    node = int(found.ends[0, 0])
    page = opened(visit(), f"{path}{VIEW}&adversary=attack&colour=margin&picked={node}&only=attacked")
    seen = drawn(page)
    assert seen["chosen"] == {"node": node}
    assert seen["colour"] == "margin"
    assert page.evaluate("window.certcore.mapView.only") == [4]
    assert sorted(site["ends"][0] for site in seen["panels"][0]["sites"]) == sorted(found.ends[:, 0].tolist())


def test_with_the_keyboard_alone(visit: Visit) -> None:
    """One of the first stops of the Tab key leads to the picture; from there everything has a key."""
    watched = visit()
    page = opened(watched)
    skip = page.get_by_role("button", name="Skip to the picture")
    for _ in range(4):  # Streamlit's own link, its menu and the page itself come before
        page.keyboard.press("Tab")
        if skip.evaluate("(button) => button.matches(':focus')"):
            break
    box = skip.bounding_box()
    assert min(box["width"], box["height"]) > 20, "on the screen"
    page.keyboard.press("Enter")
    assert page.locator(".box .top").evaluate("(picture) => picture.matches(':focus')")
    page.keyboard.press("ArrowRight")
    assert drawn(page)["chosen"]
    page.keyboard.press("Escape")
    page.keyboard.press("]")  # at once: two keys in a row are two events, and the page hears both
    assert read(page)["values"]["attr_del"] == 6
    quiet(page, attr_del=6)
    page.wait_for_function("() => !window.certcore.benchView.told.length")
    assert not drawn(page)["chosen"]
    page.keyboard.press("c")
    page.locator(".cards").wait_for(state="hidden")
    page.keyboard.press("c")
    page.locator(".cards").wait_for()
    page.keyboard.press("/")
    page.wait_for_function("() => document.activeElement?.shadowRoot?.activeElement?.matches('.sought')")
    page.keyboard.type("paper 31")
    page.keyboard.press("Enter")
    assert drawn(page)["chosen"] == {"node": 31}
    page.locator(".chart.curve canvas").focus()
    page.keyboard.press("ArrowLeft")
    quiet(page, attr_del=5)
    curve = page.locator(".chart.curve canvas")
    proven = certify(grid_instance(), attr_del=5).certified
    until(lambda: curve.get_attribute("aria-valuetext") == f"5 attribute deletions: at least {proven} of {N}, proven")
    until(lambda: page.locator(".live").inner_text().startswith("At least"))
    field = page.locator(".st-key-attr_del input[type=number]")
    field.focus()
    page.keyboard.press("ArrowUp")
    quiet(page, attr_del=6)
    page.locator(".st-key-slider_attr_del input").focus()
    for _ in range(6):  # answers to earlier keys come in between, and none of them takes the slider back
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(150)
    quiet(page, attr_del=12)
    page.evaluate("() => window.certcore.benchView.drawer('export_curve')")
    page.locator(".st-key-preview img").wait_for(timeout=90_000)
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press("Escape")  # also where the focus is on no part of the drawer
    page.get_by_role("dialog").wait_for(state="detached")
    page.locator(".box .top").focus()
    page.keyboard.press("m")
    page.get_by_test_id("stSidebarUserContent").get_by_role("button", name="Reset").wait_for()


def test_events_that_overtake_each_other_are_all_heard(visit: Visit) -> None:
    """A run of the page that a newer one overtakes must not take with it what it was told."""
    page = opened(visit())
    page.evaluate(
        """async () => { const bench = window.certcore.benchView;
          const rest = () => new Promise((done) => setTimeout(done, 40));
          bench.tell({ chosen: { node: 4 } }); await rest(); bench.tell({ colour: "class" }); await rest();
          bench.tell({ move: { attr_del: 7 } }); }"""
    )
    quiet(page, attr_del=7)
    for told in ("picked=4", "colour=class", "attr_del=7"):
        assert told in page.url


def test_numbers_of_budgets_in_the_hand_come_from_the_api(visit: Visit) -> None:
    """A slider of which neither curve nor map tells: while it is held the number is there, and of these budgets."""
    page = opened(visit(), "?instance=ring-all-s0&attr_del=4&protect=3")
    page.wait_for_function("() => window.certcore.benchView.number.source")
    instance = grid_instance(FLIPS)
    for adj_del in (7, 2):
        page.evaluate("(value) => window.certcore.benchView.move({ adj_del: value }, false)", adj_del)
        real = certify(instance, ThreatModel(attr_del=4, adj_del=adj_del, protected=[3]))
        page.wait_for_function("(proven) => window.certcore.bench().proven === proven", arg=real.certified)
        now = read(page)
        agree(now | {"dot": {"proven": now["proven"]}, "cross": None})
        assert f"{adj_del} edge deletions" in now["sub"]
        assert {name.split()[-1] for name in now["dimmed"]} >= {"curve", "contour"}, "charts are of other budgets"
        assert now["at"]["adj_del"] == 0, "and Python has not heard of it"


@pytest.mark.parametrize("broken", ["family", "targets"])
def test_a_number_of_another_question_is_not_shown(visit: Visit, broken: str) -> None:
    """What the server reads out of the parameters has to be the page's own question, digest for digest."""
    watched = visit()

    def other(route: Any) -> None:
        text = route.fetch().text()
        for old, new in (('"family":"', '"family":"0'), ('"targets":', '"targets":1')):
            text = text.replace(old, new) if broken in old else text
        route.fulfill(body=text)

    watched.page.route("**/api/instances/**", other)
    page = opened(watched, "?instance=ring-all-s0&attr_del=4")
    page.wait_for_timeout(500)
    page.evaluate("() => window.certcore.benchView.move({ adj_del: 7 }, false)")
    page.wait_for_timeout(1500)
    assert read(page)["proven"] is None


def test_what_is_of_other_budgets_is_faded_and_says_whose_it_is(visit: Visit) -> None:
    watched = visit()
    watched.page.route("**/api/instances/*/certificate*", lambda route: route.fulfill(body=""))  # no API
    page = opened(watched, "?instance=ring-all-s0&attr_del=4")
    # A slider of which nothing is known in the browser: neither on the curve nor on the map.
    page.evaluate("() => window.certcore.benchView.move({ adj_del: 7 }, false)")
    now = read(page)
    assert now["proven"] is None
    assert {name.split()[-1] for name in now["dimmed"]} >= {"curve", "contour"}
    assert "for 4 attribute deletions" in now["sub"]
    for chart in ("curve", "contour"):
        assert page.locator(f".chart.{chart} .grown").inner_text() == "for 4 attribute deletions", "whose it is"
    assert page.locator(".big").evaluate("(claim) => getComputedStyle(claim).opacity") == "0.62"
    page.evaluate("() => window.certcore.benchView.move({ adj_del: 7 }, true)")
    quiet(page, adj_del=7)
    assert read(page)["dimmed"] == []
    instance = grid_instance(FLIPS)
    assert read(page)["proven"] == certify(instance, ThreatModel(attr_del=4, adj_del=7)).certified


def test_a_part_of_the_bar_lights_its_nodes_and_the_proof_opens(visit: Visit) -> None:
    _, result, found = engine(ThreatModel(attr_del=5))
    page = opened(visit())
    page.locator(".key [data-part=lost]").hover()
    drawn(page)
    looks = "window.certcore.mapView.lookCache.get(window.certcore.mapView.attacks[0])"
    hidden = f"() => {looks}.members[0].length"
    assert page.evaluate(hidden) == N - int(found.lost.sum()), "all others are faded"
    page.locator(".key [data-part=lost]").click()
    page.wait_for_function("() => new URL(location).searchParams.get('only') === 'lost'")
    quiet(page)
    assert page.locator(".key [data-part=lost]").get_attribute("aria-pressed") == "true"
    page.get_by_role("button", name="Proven", exact=True).click()
    drawer = page.get_by_role("dialog")
    drawer.get_by_text("all at once").wait_for(timeout=90_000)
    assert f"{result.certified} of {N}" in drawer.inner_text()


def test_protecting_a_site_in_place(visit: Visit) -> None:
    _, result, found = engine(ThreatModel(attr_del=5))
    node = int(found.ends[0, 0])
    safer = certify(grid_instance(), ThreatModel(attr_del=5, protected=[node]))
    page = opened(visit(), f"{VIEW}&picked={node}")
    more = safer.certified - result.certified
    page.get_by_text(f"at least {safer.certified} stay, {more} more").wait_for(timeout=90_000)
    page.locator(".actions").get_by_role("button", name="Protect", exact=True).click()
    page.wait_for_function(f"() => new URL(location).searchParams.get('protect') === '{node}'")
    quiet(page)
    assert read(page)["proven"] == safer.certified
