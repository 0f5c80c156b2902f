"""What an uploaded instance is called, what happens when two files disagree, and that names stay names."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from certcore import messages
from certcore.common.errors import InputError
from certcore.instance.instance import save_instance
from pages.files import bundles, examples, validation
from tests.pages.toys import N, grid_instance


def without_meta() -> bytes:
    with np.load(io.BytesIO(examples.instance())) as file:
        return bundles.packed({key: file[key] for key in file.files if key != "meta"})


def test_an_upload_without_a_name_is_called_by_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CERTCORE_IMPORTS", str(tmp_path))
    key, _ = bundles.keep(without_meta(), "My graph.npz")
    assert "my-graph according to its file" in str(messages.subject(bundles.load(key)))
    named, _ = bundles.keep(examples.instance(), "other.npz")
    assert "ring of twelve according to its file" in str(messages.subject(bundles.load(named)))


def test_files_that_disagree_are_not_believed() -> None:
    votes = validation.read([("votes.npz", examples.votes())])
    other = bundles.packed(votes | {"n_nodes": np.array(11)})
    with pytest.raises(InputError, match="n_nodes"):
        validation.read([("graph.npz", examples.graph()), ("votes.npz", other)])
    both = bundles.packed(votes | {"n_nodes": np.array(examples.N)})
    assert validation.problems(validation.read([("graph.npz", examples.graph()), ("votes.npz", both)])) == []


#: A picture from elsewhere tells its owner who looks at the page, and a link leads away from it.
EVIL = "![x](//e.vil/a.png)[y](//e.vil)<b>"


@pytest.mark.parametrize(
    ("page", "given"), [("attack_map", {"picked": "3"}), ("node", {"node": "3"}), ("overview", {}), ("compare", {})]
)
def test_no_name_of_a_file_is_read_as_markdown_or_html(
    page: str, given: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_page: Callable[..., AppTest]
) -> None:
    names: dict[str, Any] = {"node_names": (EVIL,) * N, "class_names": (EVIL,) * 3}
    meta = {"dataset": EVIL, "model": EVIL, "split": EVIL, "controls": {EVIL: 0.5}}
    save_instance(tmp_path / "evil-gcn-attr-s0.npz", grid_instance(meta=meta, **names))
    monkeypatch.setenv("CERTCORE_BUNDLES", str(tmp_path))
    shown = open_page(page, attr_del="6", **given)
    said = 0
    for element in (*shown.main, *shown.sidebar):
        # Choices of menus are drawn as plain text; pictures and tables have tests of their own.
        proto = getattr(element, "proto", None)
        texts = [getattr(proto, kind, "") for kind in ("label", "body", "help")]
        for text in [text for text in texts if isinstance(text, str)]:
            said += "vil" in text
            assert "![x]" not in text, (element.type, text)
            assert "](//e" not in text, (element.type, text)
            assert not getattr(proto, "allow_html", False) or "<b>" not in text, (element.type, text)
    if page in ("attack_map", "node"):
        assert said
