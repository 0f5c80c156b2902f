"""The relaxed adversary, read back from what was drawn."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np

from certcore import ThreatModel
from tests.browser.workbench import VIEW, Visit, drawn, engine, opened, quiet, site_of


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
