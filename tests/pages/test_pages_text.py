"""Names from files are shown, never obeyed; guarantees are never rounded up."""

from __future__ import annotations

import numpy as np
import pytest

from certcore.common.errors import InputError
from certcore.sweep.ranges import stops
from pages.messages import text
from pages.state import state

HOSTILE = '<img src=x onerror="alert(1)">\u202e[click](javascript:alert(1)) **b** $x$ :red[y] `c`\n# h'


def test_plain_is_one_line_without_steering_characters() -> None:
    shown = text.plain("a\u202eb\nc\td\x00e\u2066f")
    assert shown == "ab c d ef"
    assert len(text.plain("x" * 1000)) == 60


def test_markdown_escapes_everything_that_means_something() -> None:
    shown = text.markdown(HOSTILE, 200)
    for sign in '<>[]()*$:`#"':
        for position, letter in enumerate(shown):
            if letter == sign:
                assert shown[position - 1] == "\\", (sign, shown)
    assert "\n" not in shown


def test_markup_leaves_no_tag_and_no_quote() -> None:
    shown = text.markup(HOSTILE, 200)
    assert not set('<>"') & set(shown)


@pytest.mark.parametrize(("ratio", "shown"), [(0.9999, "99.9 %"), (1.0, "100.0 %"), (0.58, "58.0 %"), (0.29, "29.0 %")])
def test_percent_rounds_down(ratio: float, shown: str) -> None:
    assert text.percent_down(ratio) == shown


def test_budgets_in_words() -> None:
    assert text.budget_words((1, 0, 0, 2)) == "1 attribute addition and 2 edge deletions"
    assert text.budget_words((0, 0, 0, 0)) == "no flips at all"
    assert text.samples(10**6) == "10⁶"
    assert text.samples(25_000) == "25,000"


@pytest.mark.parametrize("limit", [1, 7, 20, 21, 50, 137, 1000, 2110, 19_717])
def test_slider_stops_rise_from_zero_to_the_limit(limit: int) -> None:
    values = stops(limit)
    assert values[0] == 0
    assert values[-1] == limit
    assert (np.diff(values) > 0).all()
    assert values[: min(limit, 20) + 1] == list(range(min(limit, 20) + 1))
    assert len(values) < 110


@pytest.mark.parametrize("nodes", [[], [3], [1, 2, 3], [0, 5, 6, 9], [0, 2, 4, 6]])
def test_node_lists_survive_the_url(nodes: list[int]) -> None:
    assert state.parse_nodes(state.write_nodes(nodes), 10).tolist() == nodes


def test_node_lists_are_read_as_links_and_commands_write_them() -> None:
    assert state.parse_nodes("1; 3-5 7:9", 10).tolist() == [1, 3, 4, 5, 7, 8, 9]
    assert state.parse_nodes("0:9:4,2–3", 10).tolist() == [0, 2, 3, 4, 8, 9]


@pytest.mark.parametrize("words", ["10", "-1", "5-2", "5:2", "1:2:0", "1-2-3", ":", "a", "1,b", "9999999999", "٣"])
def test_nonsense_nodes_are_named(words: str) -> None:
    with pytest.raises(InputError, match="names no node"):
        state.parse_nodes(words, 10)


@pytest.mark.parametrize(
    ("key", "word"),
    [
        ("attr_add", "-1"),
        ("attr_add", "1e9"),
        ("attr_add", "٣"),
        ("local_mode", "x"),
        ("share_attr_add", "nan"),
        ("time_limit", "0"),
    ],
)
def test_nonsense_in_a_link_is_refused(key: str, word: str) -> None:
    with pytest.raises((InputError, ValueError)):
        state.SHARED[key][1](word)
