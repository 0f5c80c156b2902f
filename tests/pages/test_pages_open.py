"""Every page opens on every kind of instance, without an exception and with its heading."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

PAGES = {
    "overview": "What is guaranteed",
    "curves": "Curves",
    "contours": "Contours",
    "attack_map": "Attack map",
    "node": "One node",
    "base": "Base certificate",
    "compare": "Compare",
    "bring": "Bring your own",
    "check": "Check a claim",
    "method": "Method",
}


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("instance", ["ring-gcn-attr-s0", "ring-edges-s0", "ring-votes-s0", "ring-division-s0"])
def test_page_opens(open_page: Callable[..., AppTest], page: str, instance: str) -> None:
    at = open_page(page, instance=instance)
    assert not at.exception
    assert not at.error, [error.value for error in at.error]
    assert at.title[0].value == PAGES[page]
    assert at.selectbox(key="instance").value == instance
