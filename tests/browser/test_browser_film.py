"""Budget as time: the player of the workbench and the film as a page of its own, against the engine."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from certcore import ThreatModel, certify
from certcore.cli import main
from certcore.instance.instance import save_instance
from certcore.result.attack_effects import reach
from pages.canvas import film
from tests.browser.workbench import VIEW, Visit, by_itself, drawn, engine, opened, read
from tests.pages.toys import N, grid_instance


def test_the_player_runs_through_solved_attacks_and_a_link_says_which(visit: Visit) -> None:
    instance = grid_instance()
    page = opened(visit(), f"{VIEW}&play=attr_del&play_from=3&play_to=8")
    page.wait_for_function("() => window.certcore.bench().frames.length === 6", timeout=60_000)
    now = read(page)
    assert now["frames"] == [3, 4, 5, 6, 7, 8]
    assert now["values"]["attr_del"] == 5, "it begins at the budgets of the page"
    reach = page.locator(".player input[type=range]")
    assert reach.get_attribute("max") == "8"
    for value in (8, 6, 3):
        page.evaluate("(value) => window.certcore.benchView.move({ attr_del: value }, false)", value)
        seen, panel = read(page), drawn(page)["panels"][0]
        real = certify(instance, ThreatModel(attr_del=value))
        assert seen["attack"] == value
        assert seen["proven"] <= real.verified_certified
        assert len(panel["lostNodes"]) <= int(real.bound)
        assert sum(site["flips"] for site in panel["sites"]) <= value
        assert page.locator(".told").inner_text().startswith(f"{value} attribute deletions")
    page.locator(".play").click()
    page.wait_for_function("() => window.certcore.bench().at.attr_del === 8", timeout=60_000)


def test_less_motion_steps_instead_of_playing(visit: Visit) -> None:
    watched = visit()
    watched.page.emulate_media(reduced_motion="reduce")
    page = opened(watched)
    page.wait_for_function("() => window.certcore.benchView.frameValues().length > 1", timeout=60_000)
    page.locator(".play").click()
    page.wait_for_function("() => window.certcore.bench().at.attr_del === 6", timeout=60_000)
    page.wait_for_timeout(800)
    assert read(page)["values"]["attr_del"] == 6, "nothing moves by itself"


def test_the_film_as_a_page_of_its_own(visit: Visit, tmp_path: Path) -> None:
    instance, result, found = engine(ThreatModel(attr_del=3))
    frames = [film.Frame(value, certify(instance, ThreatModel(attr_del=value))) for value in (0, 1)]
    page = by_itself(visit(), tmp_path, instance, [*frames, film.Frame(3, result)])
    assert sorted(drawn(page)["panels"][0]["lostNodes"]) == found.targets[found.lost].tolist()
    box = page.locator(".play").bounding_box()
    assert box["y"] + box["height"] < 900, "it can be played without scrolling"
    page.evaluate("() => window.certcore.benchView.move({ attr_del: 2 }, false)")
    assert read(page)["attack"] == 1, "the attack of the last smaller budget"
    page.locator(".play").click()
    page.wait_for_function("() => window.certcore.bench().values.attr_del === 3")


def test_the_workbench_as_a_page_and_as_a_widget_works_without_a_server(visit: Visit, tmp_path: Path) -> None:
    instance = grid_instance()
    save_instance(tmp_path / "ring.npz", instance)
    asked = ["draw", "workbench", str(tmp_path / "ring.npz"), "--attr-del", "5", "-o", str(tmp_path / "page.html")]
    assert main(asked) == 0
    watched = visit()
    page = watched.page
    page.goto((tmp_path / "page.html").as_uri())
    result = certify(instance, ThreatModel(attr_del=5))
    for _ in range(2):
        page.wait_for_function("() => window.certcore?.bench?.()?.dot")
        now = read(page)
        assert now["proven"] == now["dot"]["proven"] == now["cross"]["proven"] == result.verified_certified
        assert sum(now["parts"].values()) == now["asked"] == N
        page.evaluate("() => window.certcore.benchView.move({ attr_del: 3 }, true)")
        less = certify(instance, ThreatModel(attr_del=3))
        assert read(page)["proven"] <= less.verified_certified
        assert len(drawn(page)["panels"][0]["sites"]) == len(reach(instance, less).ends), "the attack of that budget"
        if find_spec("anywidget") is None:
            break
        # The same in a notebook, from the text that the widget sends.
        page.goto("about:blank")
        widget = result.show()
        page.set_content("<div id='cell'></div>")
        page.evaluate(
            """async ([esm, css, content]) => {
              const style = document.createElement("style"); style.textContent = css; document.head.append(style);
              const module = URL.createObjectURL(new Blob([esm], { type: "text/javascript" }));
              const el = document.getElementById("cell");
              (await import(module)).default.render({ model: { get: () => content }, el }); }""",
            [str(widget._esm), str(widget._css), widget.content],
        )
    watched.requests[:] = [url for url in watched.requests if not url.startswith(("file:", "blob:"))]
