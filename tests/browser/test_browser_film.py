"""Budget as time: the film on the page and by itself, against the engine."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from certcore import ThreatModel, certify
from pages.canvas import film
from tests.browser.attack_map import VIEW, Visit, by_itself, drawn, engine, opened
from tests.pages.toys import N, grid_instance


def test_the_film_ends_with_the_map_and_every_frame_is_solved(visit: Visit) -> None:
    instance, result, found = engine(ThreatModel(attr_del=5))
    watched = visit(1440, 1200)
    page = opened(watched)
    alone = drawn(page)["panels"][0]
    page = opened(watched, f"{VIEW}&play=attr_del")
    page.wait_for_function("() => window.certcore?.map?.()?.frame != null", timeout=60_000)
    last = drawn(page)
    assert last["frame"] == 5
    for name in ("sites", "lostNodes", "margin", "lines"):
        assert last["panels"][0][name] == alone[name], f"the last frame has other {name} than the map"
    back = page.get_by_role("button", name="One step back")
    for value in range(4, -1, -1):
        back.click()
        seen = drawn(page)
        now = certify(instance, ThreatModel(attr_del=value))
        assert seen["frame"] == value
        assert len(seen["panels"][0]["lostNodes"]) <= int(now.bound)
        assert sum(site["flips"] for site in seen["panels"][0]["sites"]) <= value
        told = page.locator(".told").inner_text()
        assert told.startswith(
            f"{value} attribute deletion{'' if value == 1 else 's'}: {now.certified} of {N} certified"
        )
    page.locator(".player .play").click()
    page.wait_for_function("() => window.certcore?.map?.()?.frame === 5")
    page.locator(".player input[type=range]").fill("2")
    assert drawn(page)["frame"] == 2
    assert result.attack_found is not None
    assert len(found.ends) > 0


def test_a_film_runs_through_any_range_beside_a_readable_curve(visit: Visit, tmp_path: Path) -> None:
    instance = grid_instance()
    frames = [film.Frame(value, certify(instance, ThreatModel(attr_del=value))) for value in range(3, 9)]
    page = by_itself(visit(), tmp_path, instance, frames, now=5)
    assert drawn(page)["frame"] == 2, "it begins at the budgets of the map"
    chart = page.locator(".player canvas")
    seen = page.evaluate("window.certcore.mapView.player.seen")
    certified = frames[2].result.certified
    assert seen["value"] == str(certified)
    assert seen["ticks"] == ["0", str(N // 2), str(N), "3", "4", "5", "6", "7", "8"]
    left, top, right, bottom = seen["box"]
    assert abs(seen["at"][0] - (left + (right - left) * 2 / 5)) < 0.1
    assert abs(seen["at"][1] - (bottom - (bottom - top) * certified / N)) < 0.1
    assert chart.bounding_box()["height"] >= 150
    assert "over attribute deletions, from 3 to 8" in chart.get_attribute("aria-label")
    steps = page.evaluate("window.certcore.mapView.player.steps(2)")
    for before, after in pairwise(frames[:3]):
        assert [before.value, after.result.certified] in steps["proven"], "certified at more is certified at less"
        assert [after.value, N - before.result.attack_found] in steps["attacked"], "what an attack takes more can take"


def test_a_link_to_a_film_shows_it(visit: Visit) -> None:
    watched = visit(1440, 1200)
    page = opened(watched, f"{VIEW}&play=attr_del&play_from=3&play_to=8")
    page.wait_for_function("() => window.certcore?.map?.()?.frame != null", timeout=60_000)
    assert page.evaluate("() => window.certcore.mapView.player.frames.map((frame) => frame.value)") == [
        3,
        4,
        5,
        6,
        7,
        8,
    ]
    assert drawn(page)["frame"] == 2, "it begins at the budgets of the map"


def test_less_motion_steps_instead_of_playing(visit: Visit) -> None:
    watched = visit(1440, 1200)
    watched.page.emulate_media(reduced_motion="reduce")
    page = opened(watched, f"{VIEW}&play=attr_del")
    page.wait_for_function("() => window.certcore?.map?.()?.frame != null", timeout=60_000)
    page.locator(".player .play").click()
    assert drawn(page)["frame"] == 0
    page.wait_for_timeout(1500)
    assert drawn(page)["frame"] == 0, "nothing moves by itself"
    page.locator(".player .play").click()
    assert drawn(page)["frame"] == 1


def test_the_film_as_a_page_of_its_own(visit: Visit, tmp_path: Path) -> None:
    instance, result, found = engine(ThreatModel(attr_del=3))
    frames = [film.Frame(value, certify(instance, ThreatModel(attr_del=value))) for value in (0, 1)]
    page = by_itself(visit(), tmp_path, instance, [*frames, film.Frame(3, result)])
    seen = drawn(page)
    assert seen["frame"] == 2
    assert sorted(seen["panels"][0]["lostNodes"]) == found.targets[found.lost].tolist()
