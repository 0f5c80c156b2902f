"""Base certificates that hold for few flips per node only: every page works, and every sentence says so."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from certcore import ThreatModel, certify, messages
from certcore.messages.text import markdown
from pages.files import bundles
from pages.state import state
from tests.pages.conftest import settle
from tests.pages.toys import N, grid_instance, limited_instance

Open = Callable[..., AppTest]
LIMITED = "ring-gcn-convex-s0"


def words_of(at: AppTest) -> str:
    return next(block.value for block in at.markdown if "** labels" in block.value)


def test_a_budget_above_the_limit_is_certified_under_that_limit(open_page: Open) -> None:
    at = open_page(instance=LIMITED, attr_add="5")
    threat = ThreatModel(attr_add=5, local_attr_add=2)
    expected = certify(limited_instance(), threat)
    assert f"**{expected.certified} of {N}**" in words_of(at)
    assert messages.threat_words(threat) in words_of(at)
    sure = messages.confidence(limited_instance())
    assert "(a convex relaxation, deterministic, according to the file)" in str(sure), "without samples"
    assert sure.markdown in words_of(at)
    assert any(messages.budget_words((2, 0, 0, 0)) in caption.value for caption in at.caption)


def test_a_limit_that_the_budget_keeps_anyway_is_not_mentioned(open_page: Open) -> None:
    assert "at any one node" not in words_of(open_page(instance=LIMITED, attr_add="2"))


def test_larger_local_budgets_in_a_link_are_cut(open_page: Open) -> None:
    at = open_page(instance=LIMITED, attr_add="5", local_mode="absolute", local_attr_add="9")
    assert at.number_input(key="local_attr_add").value == 2
    assert messages.threat_words(ThreatModel(attr_add=5, local_attr_add=2)) in words_of(at)
    settle(at.number_input(key="local_attr_add").set_value(1))
    assert messages.threat_words(ThreatModel(attr_add=5, local_attr_add=1)) in words_of(at)


@pytest.mark.parametrize("page", ["curves", "contours", "compare", "attack_map", "node", "base"])
def test_every_page_works_at_every_budget(open_page: Open, page: str) -> None:
    at = open_page(page, instance=LIMITED, attr_add="7", **{"with": "ring-gcn-attr-s0"})
    assert not any("holds for at most" in block.value for block in at.markdown)
    if page in ("curves", "contours", "compare", "base"):
        assert at.get("plotly_chart")
    if page == "method":
        steps = [b.value for b in at.markdown if "certified" in b.value and b.value.startswith(("**3", "**4"))]
        assert len(set(steps)) == 2
        assert any("1 attribute addition per node" in b.value for b in at.markdown), "a smaller limit tells the story"


def test_a_limited_instance_among_the_compared_ones(open_page: Open) -> None:
    both = ["ring-gcn-attr-s0", LIMITED]
    at = open_page("compare", instance=both[0], attr_add="1", **{"with": LIMITED, "cmp_vary": "attr_add"})
    assert len(at.dataframe[0].value) == 2
    title = next(short for name, short in zip(both, bundles.short_titles(both)[1]) if name == LIMITED)
    told = [caption.value for caption in at.caption if "With the local budget" in caption.value]
    assert sum(markdown(title) in one for one in told) == 1, "whose local budget is another one"


def test_lines_are_named_after_what_they_hold_for(open_page: Open) -> None:
    """A line for five flips per node, where the base certificate was made for two, would promise too much."""
    at = open_page("curves", instance=LIMITED, attr_add="7", vary="attr_add", family="local", members="1, 2, 5")
    assert not at.exception
    named = [line["name"] for line in json.loads(at.get("plotly_chart")[0].proto.spec)["data"] if line.get("name")]
    assert any("2 per node" in name for name in named)
    assert not any("5 per node" in name for name in named)


def test_shares_are_told_with_all_their_digits() -> None:
    threat = ThreatModel(attr_del=5, local_attr_del="0.1236", local_mode="relative")
    assert "0.1236 × the ones it has" in messages.threat_words(threat)


def test_within_base() -> None:
    limited, free = limited_instance(), grid_instance()
    threat = ThreatModel(attr_add=5)
    assert state.within_base(threat, free) is threat
    assert state.within_base(threat, limited).local_attr_add == 2
    small = ThreatModel(attr_add=5, local_attr_add=1)
    assert state.within_base(small, limited) is small
    each = np.arange(N)
    assert np.array_equal(
        state.within_base(ThreatModel(attr_add=5, local_attr_add=each), limited).local_attr_add, np.minimum(each, 2)
    )


def test_limits_of_single_nodes_are_not_passed_over_in_silence() -> None:
    assert "up to the limit given for it" in messages.threat_words(ThreatModel(attr_del=5, local_attr_del=np.arange(N)))


def test_comparison_starts_with_what_can_be_compared(bundle_folder: object) -> None:
    others = [name for name in bundles.on_disk() if name != LIMITED]
    first = bundles.most_alike(LIMITED, others)
    assert first.index("ring-edges-s0") == len(first) - 1, "it shares no type"
    alike = bundles.most_alike("ring-gcn-attr-s0", [*others, LIMITED])
    assert not alike[0].startswith("ring-gcn-attr-s"), "another model says more than another split"
    assert alike.index("ring-gcn-attr-s1") < alike.index("ring-edges-s0")
    assert bundles.most_alike("no-such-file", others) == others
