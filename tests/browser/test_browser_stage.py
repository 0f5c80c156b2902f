"""The graph on the workbench's stage, read back from what was drawn, against the engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certcore import ThreatModel
from certcore.figures.style import TOKENS
from certcore.result.states import TargetState
from certcore.workbench import attack
from certcore.workbench import parts as canvas
from pages.canvas import film
from tests.browser.workbench import VIEW, Visit, by_itself, drawn, engine, opened, quiet, read, sites_of
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
        assert site["text"] == f"−{int(found.flips[s])}", "signed"
        assert site["name"] == f"paper {node}"
        assert site["amounts"] == found.amounts[s].tolist()
        assert 0 < site["x"] < panel["size"][0]
        assert 0 < site["y"] < panel["size"][1]
    assert sorted(panel["lostNodes"]) == found.targets[found.lost].tolist()
    assert "attacker, " in seen["legend"][0]
    assert "loses its certificate" in seen["legend"][1]
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
    instance, result, found = engine(ThreatModel(attr_del=5, sigma=4, protected=[protected]))
    assert not (found.ends == protected).any()
    page = opened(visit(1440, 1200, scheme), f"{VIEW}&sigma=4&protect={protected}")
    panel = drawn(page)["panels"][0]
    places = [tuple(page.evaluate(f"window.certcore.mapView.panels[0].place({i})")) for i in range(N)]
    tones = {name: getattr(token, scheme) for name, token in TOKENS.items()}
    # On the disc of a mark: a little inside its left end, where no line of another one ends.
    disc = inks(page, [(site["x"] - site["radius"] + 2, site["y"]) for site in panel["sites"]])
    assert len(disc) == len(found.ends)
    assert all(alike(colour, tones["ink"]) for colour in disc), disc
    held = inks(page, [(site["x"] - site["radius"] - 2.5, site["y"]) for site in panel["sites"]])
    assert all(alike(colour, tones["ink"]) for colour in held), f"a controlled node has a ring around its mark: {held}"
    lost = [int(i) for i in found.targets[found.lost] if free_of_marks(panel, places[i])]
    assert len(lost) > 1
    assert inks(page, [places[i] for i in lost]) == [tones["lost"]] * len(lost)
    gap = page.evaluate("window.certcore.mapView.panels[0].lostRadius()") + 2.5
    x, y = places[protected]
    around = inks(page, [(x - gap, y), (x + gap, y), (x, y - gap), (x, y + gap)])
    assert any(alike(colour, tones["proven"]) for colour in around), around
    kept = [t for t in np.flatnonzero(found.margin > 0).tolist() if free_of_marks(panel, places[found.targets[t]])]
    alone = result.states(instance.base.fronts())[found.targets[kept]] == TargetState.ALONE
    wanted = [tones["each" if one else "together"] for one in alone]
    seen = inks(page, [places[found.targets[t]] for t in kept])
    assert np.mean([a == b for a, b in zip(seen, wanted)]) > 0.6, "but for those under a line or another node"
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
    # The card of what is chosen takes its place, and the graph makes room.
    places = [tuple(page.evaluate(f"window.certcore.mapView.panels[0].place({i})")) for i in range(N)]
    assert tones["lost"] not in inks(page, [places[i] for i in faded if free_of_marks(lit, places[i])])
    assert set(inks(page, [places[i] for i in lost if i in by_it and free_of_marks(lit, places[i])])) <= {tones["lost"]}


def read_key(page: Any) -> str:
    read(page)
    return str(page.locator(".key").inner_text()).replace("\n", " ")


def test_choosing_a_site_lights_exactly_what_it_breaks(visit: Visit) -> None:
    _, _, found = engine(ThreatModel(attr_del=5))
    watched = visit()
    page = opened(watched)
    page.locator(".sites-button").click()
    for s, (node, _) in enumerate(found.ends.tolist()):
        page.locator(f".sites .site[data-site='{s}']").click()
        lit = drawn(page)["panels"][0]
        assert sorted(lit["highlighted"]) == sorted(found.targets[found.broken_by(s)].tolist())
        assert sorted(lit["reached"]) == sorted(found.targets[found.reached_by(s)].tolist())
        assert [site["site"] for site in lit["sites"] if site["alpha"] == 1] == [s], "all others fade"
        assert f"paper {node}" in page.locator(".detail h4").inner_text()
        assert f"paper {node} helps with {len(found.broken_by(s))}" in read_key(page)
    t = int(np.flatnonzero(found.lost)[0])
    target = int(found.targets[t])
    page.evaluate(f"window.certcore.mapView.choose({{ node: {target}, as: 'target' }})")
    lit = drawn(page)["panels"][0]
    assert sorted(lit["lit"]) == sites_of(found, t)
    told = page.locator(".detail").inner_text()
    assert f"{int(found.received[t, 1])} received, {int(found.needed[t, 1])} needed" in told
    assert "its label may still stay" in told
    page.wait_for_function(f"() => new URL(location).searchParams.get('picked') === '{target}'")
    quiet(page)
    assert drawn(page)["chosen"] == {"node": target, "as": "target"}, "the link has it, and it stays"


def test_pointer_keyboard_and_search_choose_alike(visit: Visit) -> None:
    _, _, found = engine(ThreatModel(attr_del=5))
    page = opened(visit())
    mark = next(site for site in drawn(page)["panels"][0]["sites"] if site["site"] == 0)
    box = page.locator(".box .top").bounding_box()
    page.mouse.move(box["x"] + mark["x"], box["y"] + mark["y"])
    assert sorted(drawn(page)["panels"][0]["highlighted"]) == sorted(found.targets[found.broken_by(0)].tolist())
    page.mouse.click(box["x"] + mark["x"], box["y"] + mark["y"])
    assert drawn(page)["chosen"] == {"node": int(found.ends[0, 0])}
    page.get_by_role("button", name="Find a node").click()
    page.get_by_role("searchbox", name="Find a node").fill("31")
    page.keyboard.press("Enter")
    assert drawn(page)["chosen"] == {"node": 31}
    top = page.locator(".box .top")
    top.focus()
    top.press("Escape")
    walked = []
    for _ in range(len(found.ends)):
        top.press("ArrowRight")
        walked.append(drawn(page)["chosen"]["node"])
    assert walked == found.ends[:, 0].tolist()
    top.press("ArrowLeft")
    last = int(found.ends[-2, 0])
    assert drawn(page)["chosen"]["node"] == last
    # The server has heard of the last choice, too: no run is on its way that would meet the change of the page.
    page.wait_for_function(f"() => new URL(location).searchParams.get('picked') === '{last}'")
    quiet(page)
    top.press("Enter")
    page.get_by_role("heading", name="One node", level=1).wait_for()
    page.wait_for_function(f"() => new URL(location).searchParams.get('node') === '{last}'")


def test_box_and_what_to_do_with_a_selection(visit: Visit) -> None:
    page = opened(visit(1440, 1200))
    places = {i: page.evaluate(f"window.certcore.mapView.panels[0].place({i})") for i in range(N)}
    box = page.locator(".box .top").bounding_box()
    xs = sorted(place[0] for place in places.values())
    middle = (xs[N // 2] + xs[N // 2 - 1]) / 2
    page.get_by_role("button", name="Box", exact=True).click()
    page.mouse.move(box["x"] + 3, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + middle, box["y"] + box["height"] - 3, steps=4)
    page.mouse.up()
    inside = sorted(i for i, (x, _) in places.items() if x < middle)
    assert drawn(page)["selection"] == inside
    page.wait_for_function("() => new URL(location).searchParams.has('marked')")
    quiet(page)
    page.locator(".acts").get_by_role("button", name="Protect", exact=True).click()
    page.wait_for_function("() => new URL(location).searchParams.has('protect')")
    _, result, _ = engine(ThreatModel(attr_del=5, protected=inside))
    shut = "(number) => window.certcore.mapView.attacks[0].protected.length === number"
    page.wait_for_function(shut, arg=len(inside), timeout=60_000)
    quiet(page)
    assert read(page)["proven"] == result.certified
    assert not {site["ends"][0] for site in drawn(page)["panels"][0]["sites"]} & set(inside), "protected"
    page.locator(".acts").get_by_role("button", name="Count only these").click()
    page.wait_for_function("() => new URL(location).searchParams.get('targets') === 'chosen'")
    page.wait_for_function(f"() => window.certcore.bench().asked === {len(inside)} && window.certcore.bench().fresh")


def test_a_site_whose_list_did_not_travel_is_counted_and_says_so(
    visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attack, "MOST_REACH", 1)
    instance, result, found = engine(ThreatModel(attr_del=5))
    page = by_itself(visit(), tmp_path, instance, [film.Frame(5, result)])
    page.locator(".sites-button").click()
    page.locator(".sites .site[data-site='0']").click()
    told = page.locator(".detail").inner_text()
    reached, broken = len(found.reached_by(0)), len(found.broken_by(0))
    assert broken > 1
    assert f"each {reached} labels and help" in told
    assert f"take {broken} certificates" in told
    assert "not shown for this many" in told
    assert f"helps take {broken} certificates" in page.locator(".sites .site[data-site='0']").inner_text()
    target = int(found.targets[np.flatnonzero(found.lost)[0]])
    page.evaluate(f"window.certcore.mapView.choose({{ node: {target}, as: 'target' }})")
    assert f"Only the first 0 of {len(found.ends)} sites are looked through" in page.locator(".detail").inner_text()


#: Just enough for a workbench without a graph.
SMALL: dict[str, Any] = {
    "at": {}, "axis": "attr_del", "end": 1, "axes": [], "head": [], "sub": [], "parts": None, "partsOf": "",
    "notes": [], "progress": {}, "stale": {}, "said": "", "fresh": True, "words": {"parts": {}}, "ramp": {},
    "shelves": {},
    "model": {"changed": None, "how": "", "head": [], "sub": "", "told": ""},
}  # fmt: skip


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
    script = canvas.script() + canvas.part("scripts").replace("export default function", "function load") + "load();"
    script += canvas.part("component")
    lived = page.evaluate(
        """async ([text, order, small]) => {
          const mount = (await import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })))).default;
          const host = document.getElementById("host"), root = host.querySelector(".bench"), goodbyes = {};
          for (const step of order.split(" ")) {
            if (step.startsWith("-")) goodbyes[step.slice(1)]();
            else goodbyes[step] = mount({ parentElement: host, data: { ...small, version: step } });
          }
          const after = window.certcore.benchView?.data.version;
          host.remove();
          goodbyes[after]?.();
          await new Promise((done) => setTimeout(done, 600));
          return [after, root.certcoreView || window.certcore.benchView ? "there" : "gone"];
        }""",
        [script, order, SMALL],
    )
    assert lived == expected


def test_with_two_types_only_sites_that_a_label_is_lost_by_are_connected_to_it(visit: Visit, tmp_path: Path) -> None:
    instance, result, found = engine(ThreatModel(attr_add=4, attr_del=6))
    inside = found.inside
    assert inside is not None
    assert found.breaks().sum() < inside[:, found.lost].sum(), "the example has flips that were of no use"
    page = by_itself(visit(), tmp_path, instance, [film.Frame(6, result)])
    assert drawn(page)["panels"][0]["lines"] == found.breaks().sum()
    page.locator(".sites-button").click()
    for s in range(len(found.ends)):
        page.locator(f".sites .site[data-site='{s}']").click()
        assert sorted(drawn(page)["panels"][0]["highlighted"]) == sorted(found.targets[found.broken_by(s)].tolist())
        assert (f"take {len(found.broken_by(s))} certif" in page.locator(".detail").inner_text()) == bool(
            len(found.broken_by(s))
        )
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
