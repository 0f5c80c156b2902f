"""Budget as time: the player of the workbench and the film as a page of its own, against the engine."""

from __future__ import annotations

from pathlib import Path

from certcore import ThreatModel, certify
from pages.canvas import film
from tests.browser.workbench import VIEW, Visit, by_itself, drawn, engine, opened, read
from tests.pages.toys import N, grid_instance

#: In front of the slider over which the charts run.
PLAY = ".st-key-slider_attr_del .play"


def test_the_player_runs_through_solved_attacks_and_a_link_says_which(visit: Visit) -> None:
    instance = grid_instance()
    page = opened(visit(), f"{VIEW}&play=attr_del&play_from=3&play_to=8")
    page.wait_for_function("() => window.certcore.bench().frames.length === 6", timeout=60_000)
    now = read(page)
    assert now["frames"] == [3, 4, 5, 6, 7, 8]
    assert now["values"]["attr_del"] == 5, "it begins at the budgets of the page"
    for value in (8, 6, 3):
        page.evaluate("(value) => window.certcore.benchView.move({ attr_del: value }, false)", value)
        seen, panel = read(page), drawn(page)["panels"][0]
        real = certify(instance, ThreatModel(attr_del=value))
        assert seen["attack"] == value
        assert seen["proven"] <= real.certified
        assert len(panel["lostNodes"]) <= int(real.bound)
        assert sum(site["flips"] for site in panel["sites"]) <= value
        assert page.locator(".st-key-attr_del input").input_value() == str(value), "the slider of the strip runs"
    page.locator(PLAY).click()
    page.wait_for_function("() => window.certcore.bench().at.attr_del === 8", timeout=60_000)


def test_less_motion_steps_instead_of_playing(visit: Visit) -> None:
    watched = visit()
    watched.page.emulate_media(reduced_motion="reduce")
    page = opened(watched)
    page.wait_for_function("() => window.certcore.benchView.frameValues().length > 1", timeout=60_000)
    page.locator(PLAY).click()
    page.wait_for_function("() => window.certcore.bench().at.attr_del === 6", timeout=60_000)
    page.wait_for_timeout(800)
    assert read(page)["values"]["attr_del"] == 6, "nothing moves by itself"


def test_the_film_as_a_page_of_its_own(visit: Visit, tmp_path: Path) -> None:
    instance, result, found = engine(ThreatModel(attr_del=3))
    frames = [film.Frame(value, certify(instance, ThreatModel(attr_del=value))) for value in (0, 1)]
    page = by_itself(visit(), tmp_path, instance, [*frames, film.Frame(3, result)])
    assert sorted(drawn(page)["panels"][0]["lostNodes"]) == found.targets[found.lost].tolist()
    box = page.locator(".player .play").bounding_box()
    assert box["y"] + box["height"] < 900, "it can be played without scrolling"
    page.evaluate("() => window.certcore.benchView.move({ attr_del: 2 }, false)")
    assert read(page)["attack"] == 1, "the attack of the last smaller budget"
    page.locator(".player .play").click()
    page.wait_for_function("() => window.certcore.bench().values.attr_del === 3")


def test_the_workbench_of_a_notebook_works_without_a_server(visit: Visit, tmp_path: Path) -> None:
    instance = grid_instance()
    result = certify(instance, ThreatModel(attr_del=5))
    (tmp_path / "page.html").write_text(f"<!doctype html>{result.show()._repr_html_()}")
    watched = visit()
    watched.page.goto((tmp_path / "page.html").as_uri())
    frame = watched.page.frames[-1]
    frame.wait_for_function("() => window.certcore?.bench?.()?.dot")
    now = frame.evaluate("() => window.certcore.bench()")
    assert now["proven"] == now["dot"]["proven"] == now["cross"]["proven"] == result.certified
    assert sum(now["parts"].values()) == now["asked"] == N
    frame.evaluate("() => window.certcore.benchView.move({ attr_del: 3 }, true)")
    less = certify(instance, ThreatModel(attr_del=3))
    assert frame.evaluate("() => window.certcore.bench().proven") <= less.certified
    watched.requests[:] = [url for url in watched.requests if not url.startswith(("file:", "blob:", "about:"))]
