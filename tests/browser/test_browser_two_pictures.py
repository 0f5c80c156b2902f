"""The relaxed adversary and two situations side by side, read back from what was drawn."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from certcore import ThreatModel, certify
from certcore.result.attack_effects import reach
from certcore.result.attack_text import read_attack
from tests.browser.workbench import VIEW, Visit, drawn, engine, opened, quiet, site_of
from tests.pages.toys import grid_instance


def test_fractions_of_the_relaxed_adversary_arrive_unrounded(visit: Visit) -> None:
    page = opened(visit(), f"{VIEW}&attr_add=1")
    _, result, found = engine(ThreatModel(attr_add=1, attr_del=5), relaxed=True)
    page.get_by_role("button", name="LP relaxation").click()
    page.wait_for_function("() => window.certcore.mapView.attacks[0]?.relaxed")
    quiet(page)
    assert page.get_by_role("button", name="LP relaxation").get_attribute("aria-pressed") == "true"
    assert page.locator(".chip-note").inner_text() == "relaxed, not an attack"
    (picture,) = drawn(page)["panels"]
    spent = {tuple(site["ends"]): site["amounts"] for site in picture["sites"]}
    assert sorted(spent) == sorted(map(tuple, found.ends.tolist()))
    drawn_amounts = np.array([spent[a, b] for a, b in found.ends.tolist()])
    # Equal up to the last bits, in which two solves differ; more digits than anybody would round to.
    np.testing.assert_allclose(drawn_amounts, found.amounts, atol=1e-9)
    np.testing.assert_allclose(np.array(picture["broken"])[found.targets], found.broken, atol=1e-9)
    assert (np.abs(found.amounts - found.amounts.round(4)) > 1e-6).any(), "the example has long fractions"
    assert result.bound >= result.attack_found
    page.locator(".side-tabs button", has_text="Nodes").click()
    page.locator(".pill.sites").click()
    with page.expect_download() as waiting:
        page.locator(".side-nodes .foot button", has_text="CSV").click()
    assert "relaxed" in waiting.value.suggested_filename
    table = {int(row["node"]): row for row in csv.DictReader(Path(waiting.value.path()).read_text().splitlines())}
    for (node, _), amounts in zip(found.ends.tolist(), found.amounts):
        for k, name in enumerate(("attribute_additions", "attribute_deletions")):
            assert abs(float(table[node][name]) - amounts[k]) < 1e-9, "unrounded"
    page.get_by_role("button", name="Certificate attack").click()
    page.wait_for_function("() => window.certcore.mapView.attacks[0]?.relaxed === false")
    assert page.locator(".chip-note").count() == 0


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
