"""Every control explains itself: on every page, in every state that a visitor meets first."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

Open = Callable[..., AppTest]
KINDS = (
    "button",
    "download_button",
    "file_uploader",
    "multiselect",
    "number_input",
    "pills",
    "segmented_control",
    "select_slider",
    "selectbox",
    "text_input",
    "toggle",
)
VIEWS = {
    "overview": {},
    "curves": {"family": "sigma"},
    "contours": {},
    "attack_map": {"protect": "3", "picked": "5"},
    "node": {"node": "3"},
    "base": {},
    "compare": {},
    "bring": {},
    "bring?votes": {"way": "votes"},
    "check": {},
}


@pytest.mark.parametrize("page", VIEWS)
def test_every_control_has_help(open_page: Open, page: str) -> None:
    shared = {"instance": "ring-votes-s0", "attr_del": "4", "local_mode": "absolute", "relaxation": "tight"}
    at = open_page(page.split("?")[0], **shared, **VIEWS[page])
    controls = [element for kind in KINDS for element in at.get(kind)]
    assert len(controls) > 10
    silent = [(element.type, element.proto.label) for element in controls if not element.proto.help]
    assert not silent, silent
