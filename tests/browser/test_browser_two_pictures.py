"""The relaxed adversary and two situations side by side, read back from what was drawn."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from certcore import ThreatModel, certify
from certcore.result.attack_effects import reach
from certcore.result.attack_text import read_attack
from tests.browser.workbench import VIEW, Visit, drawn, engine, opened, quiet, site_of
from tests.pages.toys import grid_instance


def test_fractions_of_the_relaxed_adversary_arrive_unrounded_beside_the_attack(visit: Visit) -> None:
    watched = visit()
    page = opened(watched, f"{VIEW}&attr_add=1&adversary=both")
    _, result, found = engine(ThreatModel(attr_add=1, attr_del=5), relaxed=True)
    left, right = drawn(page)["panels"]
    assert not left["relaxed"]
    assert right["relaxed"]
    assert left["size"] == right["size"]
    spent = {tuple(site["ends"]): site["amounts"] for site in right["sites"]}
    assert sorted(spent) == sorted(map(tuple, found.ends.tolist()))
    drawn_amounts = np.array([spent[a, b] for a, b in found.ends.tolist()])
    # Equal up to the last bits, in which two solves differ; more digits than anybody would round to.
    np.testing.assert_allclose(drawn_amounts, found.amounts, atol=1e-9)
    np.testing.assert_allclose(np.array(right["broken"])[found.targets], found.broken, atol=1e-9)
    assert (np.abs(found.amounts - found.amounts.round(4)) > 1e-6).any(), "the example has long fractions"
    page.locator(".box .top").first.focus()
    page.locator(".box .top").first.press("+")
    drawn(page)
    places = page.evaluate("[0, 1].map((k) => window.certcore.mapView.panels[k].place(7))")
    assert places[0] == places[1], "both pictures move together"
    assert result.bound >= result.attack_found


def test_two_situations_side_by_side_move_together(visit: Visit) -> None:
    watched = visit(1440, 1200)
    page = opened(watched)
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("button", name="Keep beside").click()
    page.wait_for_function("() => new URL(location).searchParams.has('beside')")
    quiet(page)
    field = page.get_by_role("spinbutton", name="Attribute deletions, exact value")
    field.fill("2")
    field.press("Enter")
    page.wait_for_function("() => window.certcore?.map?.()?.panels?.[1]?.title?.includes('2 attribute deletions')")
    quiet(page)
    kept, now = drawn(page)["panels"]
    assert "5 attribute deletions" in kept["title"]
    instance = grid_instance()
    for threat, panel in ((ThreatModel(attr_del=5), kept), (ThreatModel(attr_del=2), now)):
        # Of several equal attacks another one may be found: what is drawn is replayed.
        text = ",".join(f"attr_del@{site['ends'][0]}x{int(site['flips'])}" for site in panel["sites"]) or "nothing"
        replayed = replace(certify(instance, threat), attack=read_attack(instance, threat, text))
        found = reach(instance, replayed)
        assert found is not None
        assert sorted(panel["lostNodes"]) == found.targets[found.lost].tolist()
    page.get_by_role("button", name="Zoom in").click()
    drawn(page)
    places = page.evaluate("[0, 1].map((k) => window.certcore.mapView.panels[k].place(7))")
    assert places[0] == places[1]
    page.get_by_role("button", name="Show one situation only").click()
    page.wait_for_function("() => window.certcore?.map?.()?.panels?.length === 1")


def test_the_relaxed_adversary_counts_and_takes_nothing(visit: Visit) -> None:
    _, _, found = engine(ThreatModel(attr_add=1, attr_del=5), relaxed=True)
    page = opened(visit(), f"{VIEW}&attr_add=1&adversary=relaxed")
    page.locator(".sites-button").click()
    page.locator(".sites .site[data-site='0']").click()
    ends = page.locator(".detail h4").inner_text().split("paper ")[1].split("\n")[0]
    s = site_of(found, int(ends))
    counted = found.broken_by(s)
    told = page.locator(".detail").inner_text() + page.locator(".legend").inner_text()
    assert f"of which the bound counts {len(counted)}" in told
    spoken = page.locator(".live").inner_text()
    total = float(spoken.split("add up to ")[1].split(";")[0])
    assert abs(total - found.broken[counted].sum()) < 0.01
    assert not re.search(r"\b(lose|loses|lost)\b", told)
