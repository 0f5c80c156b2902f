"""What people do on the pages: click nodes and points, cancel, upload, download, read on a narrow screen."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from certcore import ThreatModel, certify
from certcore.cli import main
from certcore.result.attack_effects import reach
from certcore.result.states import TargetState
from tests.browser.conftest import Watched
from tests.pages.toys import grid_instance

Visit = Callable[..., Watched]


def test_a_click_in_the_neighbourhood_opens_the_neighbour(visit: Visit) -> None:
    watched = visit(1440, 1300)
    page = watched.open("node?instance=ring-gcn-attr-s0&attr_del=4&node=7", "One node")
    watched.settled()
    page.frame_locator("iframe").locator("canvas").wait_for()
    inner = next(frame for frame in page.frames if frame != page.main_frame)
    inner.wait_for_function("() => network.physics.stabilized", timeout=60_000)  # the nodes have come to rest
    # The marks are those of the map: a disc with what is spent at every site, a square at every lost label.
    instance = grid_instance()
    result = certify(instance, ThreatModel(attr_del=4))
    found, states = reach(instance, result), result.states(instance.base.fronts())
    shapes = {TargetState.ALONE: "diamond", TargetState.BEFORE: "custom"}
    drawn = inner.evaluate("() => nodes.get().map((n) => [n.id, n.mark || '', n.shape])")
    lost = set(found.targets[found.lost].tolist())
    hit = {int(node): f"−{int(flips)}" for (node, _), flips in zip(found.ends.tolist(), found.flips)}
    assert drawn
    for node, flips, shape in drawn:
        assert flips.strip("x") == hit.get(node, "")
        own = "square" if node in lost else shapes.get(states[node], "dot")
        assert shape == ("custom" if node in hit else own)
    assert {"custom", "square"} <= {shape for _, _, shape in drawn}
    at = inner.evaluate("() => network.canvasToDOM(network.getPositions([8])[8])")
    box = page.locator("iframe").bounding_box()
    page.mouse.click(box["x"] + at["x"], box["y"] + at["y"])
    page.wait_for_function("() => new URL(location).searchParams.get('node') === '8'", timeout=60_000)
    page.get_by_role("heading", name="paper 8", exact=True).wait_for()
    assert page.locator(".st-key-attr_del input").input_value() == "4"


def test_good_and_bad_uploads(visit: Visit, example: Path, tmp_path: Path) -> None:
    watched = visit()
    page = watched.open("bring?instance=ring-gcn-attr-s0", "Your data")
    drop = page.locator(".st-key-upload_instance input[type=file]")

    def told(name: str, words: str) -> None:
        drop.set_input_files(str(tmp_path / name))
        page.get_by_text(words, exact=False).first.wait_for(timeout=90_000)

    (tmp_path / "text.npz").write_text("not an archive")
    told("text.npz", "is no .npz file")
    np.savez(tmp_path / "keys.npz", n_nodes=np.array(3))
    told("keys.npz", "problems found")
    np.savez(tmp_path / "pickled.npz", n_nodes=np.array([{"a": 1}], dtype=object))
    told("pickled.npz", "object")
    drop.set_input_files(str(example))
    page.get_by_text("Valid.").wait_for(timeout=90_000)
    page.get_by_role("button", name="Open it").click()
    page.get_by_role("heading", name="Workbench", level=1).wait_for()
    page.wait_for_function("() => new URL(location).searchParams.get('instance')?.startsWith('import-')")
    page.wait_for_function("() => window.certcore?.bench?.()?.fresh && window.certcore.bench().asked === 12")


def test_downloads_and_checking_the_proof(visit: Visit, tmp_path: Path) -> None:
    watched = visit()
    page = watched.open("?instance=ring-votes-s0&attr_del=3", "Workbench")
    page.get_by_role("button", name="Proven", exact=True).click(timeout=90_000)
    button = page.get_by_role("button", name="Download the proof")
    button.wait_for(timeout=90_000)
    with page.expect_download() as waiting:
        button.click()
    proof = tmp_path / "proof.json"
    waiting.value.save_as(proof)
    assert json.loads(proof.read_text())["format"] == "certcore-proof-1"
    page.goto(f"{watched.address}/check?instance=ring-votes-s0&attr_del=3")
    page.get_by_role("heading", name="Check a proof", level=1).wait_for()
    drop = page.locator(".st-key-proof_file input[type=file]")
    drop.set_input_files(str(proof))
    page.get_by_text("Accepted.").wait_for(timeout=90_000)
    forged = json.loads(proof.read_text()) | {"certified": 40}
    (tmp_path / "forged.json").write_text(json.dumps(forged))
    page.reload()
    page.get_by_role("heading", name="Check a proof", level=1).wait_for()
    drop.set_input_files(str(tmp_path / "forged.json"))
    page.get_by_text("Rejected.").wait_for(timeout=90_000)


def test_clicks_in_charts_move_the_sliders(visit: Visit) -> None:
    watched = visit()
    page = watched.open("curves?instance=ring-gcn-attr-s0&attr_del=3&to=12", "Curves")
    watched.settled()
    point = page.locator(".js-plotly-plot .scatterlayer .trace .point").nth(4)  # the band before the lines has none
    box = point.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_function("() => new URL(location).searchParams.get('attr_del') !== '3'", timeout=90_000)
    page.goto(f"{watched.address}/contours?instance=ring-gcn-attr-s0&attr_del=3&x_to=4&y_to=8")
    page.get_by_role("heading", name="Contours", level=1).wait_for()
    watched.settled()
    plot = page.locator(".js-plotly-plot .nsewdrag").first.bounding_box()
    page.mouse.click(plot["x"] + plot["width"] * 0.5, plot["y"] + plot["height"] * 0.5)
    page.wait_for_function("() => new URL(location).searchParams.get('attr_del') !== '3'", timeout=90_000)
    watched.settled()
    assert int(page.locator(".st-key-attr_add input").input_value()) > 0


def test_export_of_a_chart(visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is chosen in the drawer is in the file and remembered; the command that it shows writes the same bytes."""
    watched = visit()
    page = watched.open("curves?instance=ring-gcn-attr-s0&attr_del=3&to=12", "Curves")
    watched.settled()
    page.get_by_role("button", name="Export").first.click()
    page.locator(".st-key-preview img").wait_for(timeout=90_000)
    page.get_by_text("Two columns", exact=True).click()
    watched.settled()
    page.get_by_text("Serif", exact=True).click()
    shown = page.locator("[data-testid=stCode]").filter(has_text="--font serif").filter(has_text="--width 17.5cm")
    shown.wait_for(timeout=90_000)
    watched.settled()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="PDF", exact=True).click()
    words = shlex.split(shown.inner_text())
    monkeypatch.chdir(tmp_path)
    assert main(words[1:]) == 0
    assert (tmp_path / words[words.index("--plot") + 1]).read_bytes() == waiting.value.path().read_bytes()
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Export").last.click()
    remembered = page.locator("[data-testid=stCode]").filter(has_text="--font serif")
    remembered.wait_for(timeout=90_000)


@pytest.mark.parametrize("width", [1440, 420])
def test_compared_models_are_named_where_their_lines_end(visit: Visit, width: int) -> None:
    watched = visit(width, 900)
    several = "with=ring-gcn-attr-s1,ring-votes-s0,evil-s0"
    page = watched.open(f"compare?instance=ring-gcn-attr-s0&attr_del=4&cmp_to=8&{several}", "Compare")
    watched.settled()
    plot = page.locator(".js-plotly-plot").first
    assert not plot.locator(".legend .traces").count()
    names = page.locator(".ends p")
    boxes = [names.nth(k).bounding_box() for k in range(names.count())]
    assert len(boxes) == 4
    tops = sorted(box["y"] for box in boxes)
    assert all(b - a >= 40 for a, b in pairwise(tops)), "none covers another"
    assert all(box["x"] + box["width"] <= width for box in boxes)
    picture = plot.bounding_box()
    if width > 760:
        assert all(box["x"] >= picture["x"] + picture["width"] - 4 for box in boxes), "beside the picture"
        assert max(tops) < picture["y"] + picture["height"]
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= width
