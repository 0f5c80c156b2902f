"""Uploads: example files are valid, and a broken file is told everything that is wrong with it."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from certcore.instance.instance import load_instance
from pages.files import examples, validation
from tests.pages.opening import ROOT

SHIPPED = sorted((ROOT / "precomputed").glob("*.npz"))


def arrays() -> dict[str, np.ndarray]:
    return validation.read([("example.npz", examples.instance())])


def test_examples_are_valid() -> None:
    assert validation.problems(arrays()) == []
    both = validation.read([("graph.npz", examples.graph()), ("votes.npz", examples.votes())])
    assert validation.problems(both) == []
    assert validation.build(both).base.axes == ("attr_add", "attr_del")
    assert load_instance(examples.instance()).graph.n_nodes == examples.N


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
