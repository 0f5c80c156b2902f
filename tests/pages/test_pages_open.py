"""Every page of the menu opens on every kind of instance, without an exception and with its heading."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from pages.state import state
from pages.state.menu import BY_SLUG, MENU

INSTANCES = ["ring-gcn-attr-s0", "ring-edges-s0", "ring-votes-s0", "ring-ballots-s0"]
#: What a page without need of an instance shows does not depend on it.
CASES = [
    (entry.slug, instance)
    for entry in MENU
    for instance in (INSTANCES if getattr(entry.module(), "NEEDS_INSTANCE", True) else INSTANCES[:1])
]


@pytest.mark.parametrize(("page", "instance"), CASES)
def test_page_opens(open_page: Callable[..., AppTest], page: str, instance: str) -> None:
    at = open_page(page, instance=instance)
    assert not at.exception
    assert not at.error, [error.value for error in at.error]
    assert at.title[0].value == BY_SLUG[page].module().TITLE
    assert at.selectbox(key="instance").value == instance
    # What a page fills in by itself is in no address: it would be one more step back for the visitor.
    assert set(at.query_params) <= state.SHARED.keys()
