"""What an uploaded instance is called, and what happens when two uploaded files disagree."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from certcore import words
from certcore.common.errors import InputError
from pages.files import bundles, examples, validation


def without_meta() -> bytes:
    with np.load(io.BytesIO(examples.instance())) as file:
        return bundles.packed({key: file[key] for key in file.files if key != "meta"})


def test_an_upload_without_a_name_is_called_by_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CERTCORE_IMPORTS", str(tmp_path))
    key, _ = bundles.keep(without_meta(), "My graph.npz")
    assert "my-graph according to its file" in str(words.subject(bundles.load(key)))
    named, _ = bundles.keep(examples.instance(), "other.npz")
    assert "ring of twelve according to its file" in str(words.subject(bundles.load(named)))


def test_files_that_disagree_are_not_believed() -> None:
    votes = validation.read([("votes.npz", examples.votes())])
    other = bundles.packed(votes | {"n_nodes": np.array(11)})
    with pytest.raises(InputError, match="n_nodes"):
        validation.read([("graph.npz", examples.graph()), ("votes.npz", other)])
    both = bundles.packed(votes | {"n_nodes": np.array(examples.N)})
    assert validation.problems(validation.read([("graph.npz", examples.graph()), ("votes.npz", both)])) == []
