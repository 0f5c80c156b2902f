"""Uploads: example files are valid, and a broken file is told everything that is wrong with it."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from streamlit import config
from streamlit.testing.v1 import AppTest

from certcore.instance.instance import load_instance
from certcore.server.shelf import SHELF
from pages.files import bundles, examples, validation
from tests.pages.conftest import sent, settle
from tests.pages.opening import ROOT, at_page

SHIPPED = sorted((ROOT / "precomputed").glob("*.npz"))


def arrays() -> dict[str, np.ndarray]:
    return validation.read([("example.npz", examples.instance())])


def test_examples_are_valid() -> None:
    assert validation.problems(arrays()) == []
    both = validation.read([("graph.npz", examples.graph()), ("votes.npz", examples.votes())])
    assert validation.problems(both) == []
    assert validation.build(both).base.axes == ("attr_add", "attr_del")
    assert load_instance(examples.instance()).graph.n_nodes == examples.N


@pytest.mark.parametrize(
    ("name", "reader"),
    [
        ("model.pt", "torch.load('model.pt', weights_only=True)"),
        ("nodes.csv", "pandas.read_csv('nodes.csv')"),
        ("karate.GraphML", "networkx.read_graphml('karate.GraphML')"),
        ("edges.txt", "networkx.read_edgelist('edges.txt')"),
        ("proof.json", "Check a proof"),
        ("notes.docx", "no `.npz` file"),
    ],
)
def test_another_file_is_told_what_to_do_with_it(
    open_page: Callable[..., AppTest], name: str, reader: str, tmp_path: Path
) -> None:
    page = open_page("bring")
    page.file_uploader(key="upload_instance").upload(name, b"anything").run()
    assert not page.exception
    assert not page.error
    (told,) = [box.value for box in page.info]
    assert name in told.replace("\\", "")
    assert told.count(". ") == 0, "one sentence"
    assert reader in f"{told} {' '.join(block.value for block in page.code)}"
    assert not list((tmp_path / "imported").glob("**/*")), "nothing of it is kept"


def test_the_five_lines_are_those_of_the_readme(open_page: Callable[..., AppTest]) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = [line for line in examples.FIVE_LINES.splitlines() if line]
    assert len(lines) == 6, "the import, and five lines"
    assert all(line in readme for line in lines)
    page = open_page("bring")
    assert page.code[0].value == examples.FIVE_LINES.rstrip("\n")
    assert any("make train" in caption.value for caption in page.caption)


def test_who_asks_about_added_edges_is_told_about_ballots(open_page: Callable[..., AppTest]) -> None:
    """Smoothing speaks about deleted edges at most."""
    for stem, told in (("citeseer-gcn-adj-s0", True), ("cora-decoupled-ballots-s0", False)):
        path = next(path for path in SHIPPED if path.stem == stem)
        page = open_page("bring")
        page.file_uploader(key="upload_instance").upload(path.name, path.read_bytes()).run()
        assert any("Added edges and new nodes are certified by ballots" in box.value for box in page.info) == told


def test_every_missing_key_is_named() -> None:
    kept = arrays()
    for key in ("n_nodes", "adj_indptr", "layers", "base_grid"):
        del kept[key]
    problems = validation.problems(kept)
    assert len(problems) == 4
    assert any("'n_nodes'" in problem for problem in problems)
    assert any("receptive fields" in problem for problem in problems)


def test_several_problems_are_named_at_once() -> None:
    broken = arrays()
    broken["base_grid"] = broken["base_grid"].copy()
    broken["base_grid"][3] = False
    broken["base_grid"][3, 1, 1] = True
    broken["layout"] = np.zeros((3, 2))
    broken["labels"] = broken["labels"][:5]
    broken["targets"] = np.array([0, 99])
    problems = "\n".join(validation.problems(broken))
    for word in ("monotone", "layout", "labels", "99"):
        assert word in problems, problems


def test_a_broken_graph_does_not_hide_a_broken_base() -> None:
    broken = arrays()
    broken["adj_indices"] = broken["adj_indices"][::-1].copy()
    broken["base_axes"] = np.array(["attr_add", "colour"])
    problems = "\n".join(validation.problems(broken))
    assert "symmetric" in problems or "adj" in problems
    assert "colour" in problems


def test_packed_arrays_can_be_read_again() -> None:
    from pages.files.bundles import packed

    assert load_instance(packed(arrays())).digest == load_instance(examples.instance()).digest
    assert isinstance(io.BytesIO(packed(arrays())).read(2), bytes)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_bundle_can_be_uploaded(path: Path) -> None:
    found = validation.read([(path.name, path.read_bytes())])
    assert validation.problems(found) == []
    assert validation.build(found).digest == load_instance(path).digest


def test_what_is_wrong_with_ballots_is_named_beside_the_rest() -> None:
    """A bundle of ballots is checked part by part as the others are."""
    path = next(path for path in SHIPPED if "ballots" in path.stem)
    broken = validation.read([(path.name, path.read_bytes())])
    del broken["ballots_weight"]
    broken["layout"] = np.zeros((3, 2))
    problems = "\n".join(validation.problems(broken))
    assert "ballots_weight" in problems
    assert "layout" in problems
    old = {key: value for key, value in broken.items() if not key.startswith("ballots")}
    (told,) = validation.problems(old | {"division_votes": np.zeros((3, 4), np.int8)})
    assert "replaced by ballots" in told


def test_the_page_takes_a_shipped_bundle_of_ballots(open_page: Callable[..., AppTest]) -> None:
    path = next(path for path in SHIPPED if "ballots" in path.stem)
    page = open_page("bring")
    page.file_uploader(key="upload_instance").upload(path.name, path.read_bytes()).run()
    assert not page.exception
    assert not page.error, [error.value for error in page.error]
    assert "Valid." in page.success[0].value


@pytest.fixture
def bound() -> Iterator[Callable[[str | None], None]]:
    """Set the address that the server is bound to."""
    before = config.get_option("server.address")
    yield lambda address: config.set_option("server.address", address)
    config.set_option("server.address", before)


def _bring(open_page: Callable[..., AppTest]) -> AppTest:
    page = open_page("bring")
    return page.file_uploader(key="upload_instance").upload("mine.npz", examples.instance()).run()


def _kept(page: AppTest) -> list[str]:
    return [one.label for one in page.button if one.label.startswith("Delete")]


@pytest.mark.parametrize("address", ["0.0.0.0", None, "192.0.2.7", "::"])
def test_an_upload_belongs_to_its_visitor(
    address: str | None, open_page: Callable[..., AppTest], bound: Callable[[str | None], None], tmp_path: Path
) -> None:
    bound(address)
    one = _bring(open_page)
    (path,) = (tmp_path / "imported").glob("**/import-*.npz")
    assert len(_kept(one.run())) == 1
    other = open_page("bring")
    assert not _kept(other), "another visitor sees nothing of it"
    linked = open_page("overview", instance=path.stem)
    assert "There is no instance" in linked.error[0].value, "nor does its name in a link open it"
    for name in (f"{path.parent.name}/{path.stem}", f"../imported/{path.parent.name}/{path.stem}"):
        assert "There is no instance" in open_page("overview", instance=name).error[0].value
    compared = open_page("compare", instance="ring-gcn-attr-s0", **{"with": path.stem})
    assert not [name for name in compared.multiselect(key="with").options if "imported" in name]
    twice = _bring(open_page).file_uploader(key="upload_instance").clear().run()
    next(button for button in twice.button if button.label.startswith("Delete")).click().run()
    assert not _kept(twice)
    assert len(_kept(one.run())) == 1, "the same file of another visitor stays"


def test_on_loopback_without_a_password_all_uploads_of_the_machine_are_listed(
    open_page: Callable[..., AppTest], bound: Callable[[str | None], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for address in ("127.0.0.1", "localhost", "::1", "127.0.0.2"):
        bound(address)
        assert bundles.at_home()
    _bring(open_page)
    assert len(_kept(open_page("bring"))) == 1
    monkeypatch.setenv("CERTCORE_PASSWORD", "x")
    assert not bundles.at_home()


def test_uploads_of_visitors_are_deleted_after_a_day(
    open_page: Callable[..., AppTest], bound: Callable[[str | None], None], tmp_path: Path
) -> None:
    bound("0.0.0.0")
    one = _bring(open_page)
    left = tmp_path / "imported" / "visitor-of-another-server"
    left.mkdir()
    bundles.forget_old()
    assert left.exists(), "another server may still need it"
    os.utime(left, (1, 1))
    bundles.forget_old()
    assert not left.exists()
    assert len(_kept(one.run())) == 1


def test_many_uploads_of_one_visitor_push_out_no_other(
    open_page: Callable[..., AppTest], bound: Callable[[str | None], None], tmp_path: Path
) -> None:
    bound("0.0.0.0")
    one = _bring(open_page)
    for k in range(bundles.MAX_IMPORTED):
        path = tmp_path / "imported" / "visitor-busy" / f"import-{k}.npz"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"")
    bundles._forget_oldest()
    assert len(list((tmp_path / "imported").glob("**/import-*.npz"))) == bundles.MAX_IMPORTED
    assert len(_kept(one.run())) == 1


def test_the_browser_asks_about_a_visitors_upload_by_its_id(
    bundle_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The API knows no name of a visitor's own file: numbers and suggestions are asked for by what was lent."""
    monkeypatch.setenv("CERTCORE_PASSWORD", "x")
    own = tmp_path / "imported" / "visitor-1"
    own.mkdir(parents=True)
    (own / "import-0123456789abcdef-mine.npz").write_bytes((bundle_folder / "ring-gcn-attr-s0.npz").read_bytes())
    at = at_page("overview", {"instance": "import-0123456789abcdef-mine", "attr_del": "4"})
    at.session_state["_visitor"] = "visitor-1"
    name = sent(settle(at))["api"]["name"]
    assert name.startswith("up-")
    assert SHELF.held(name).instance.graph.n_nodes
