"""Strengthening in place: the tight number first, a better one after it, on the workbench, the curves and the map."""

from __future__ import annotations

import re
from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from certcore import ThreatModel, certify, load_instance
from pages.files import bundles
from stress.tab import GUARANTEE
from tests.pages.conftest import drawer, sent, settle

Open = Callable[..., AppTest]


def promised(at: AppTest) -> int:
    text = next(block.value for block in at.markdown if GUARANTEE.search(block.value))
    found = re.search(r"at least \*\*([\d,]+) of", text)
    assert found is not None, text
    return int(found[1].replace(",", ""))


def test_the_number_on_the_workbench_is_the_strong_one(open_page: Open) -> None:
    at = open_page(instance="ring-all-s0", attr_del="3", strengthen="1", time_limit="5")
    instance = load_instance(bundles.path_of("ring-all-s0"))
    strong = certify(instance, ThreatModel(attr_del=3), relaxation="strong", time_limit=5.0)
    tight = certify(instance, ThreatModel(attr_del=3))
    assert strong.closed
    assert promised(at) == strong.certified >= tight.certified
    assert sent(at)["parts"]["open"] == 0, "the bar moves with the number"
    axis = sent(at, "shelf", "curve")
    assert axis["certified"][axis["values"].index(3)] == strong.certified, "and the curve"
    assert any("Optimal, proven" in block.value for block in drawer(at, "proven").caption)
    at.session_state["_drawer"] = None
    settle(at.toggle(key="strengthen").set_value(False))
    assert promised(at) == tight.certified
    assert "strengthen" not in at.query_params


def test_cancelling_leaves_what_was_reached() -> None:
    """The number shown last stays, and it is said that it was cancelled."""

    def page() -> None:
        import streamlit as st

        from pages.background import work

        def run(job: work.Job) -> None:
            job.partial = "1,611 so far"
            job.cancel.wait(20)

        found = work.ask("strong", "a question", run, "Strengthening", patience=0.3)
        st.markdown(f"{found.result}, cancelled: {found.cancelled}")
        st.button("Cancel", key="stop", on_click=work.cancel, args=("strong",))

    at = AppTest.from_function(page).run()
    assert at.markdown[0].value == "1,611 so far, cancelled: False"
    at.button(key="stop").click().run()
    assert at.markdown[0].value == "1,611 so far, cancelled: True"
