"""The list of sentences: complete, and rendered alike."""

from __future__ import annotations

import pytest

from certcore.messages import SENTENCES
from certcore.messages.text import filled, message, name, strong


@pytest.mark.parametrize("key", SENTENCES)
def test_every_sentence_has_a_condition_and_says_its_key(key: str) -> None:
    one = SENTENCES[key]
    assert one.condition
    for example in one.examples:
        said = one.message(*example)
        assert said.keys[0] == key
        # Our own words mean the same in plain text and in Markdown: they hold no sign that one of them would read.
        assert not set("*_`[]<>$\\") & {sign for piece in said.pieces if piece.kind == "own" for sign in piece.text}


def test_names_from_files_are_shown_and_not_obeyed() -> None:
    said = message("on ", name("**x** [y](javascript:z)"), " by ", strong("us"))
    assert str(said) == "on **x** [y](javascript:z) by us"
    assert said.markdown == r"on \*\*x\*\* \[y\]\(javascript\:z\) by **us**"


def test_what_is_filled_in_is_never_read_as_markup() -> None:
    said = filled("**{n:label|labels}** of {whose} by `{rule}`", n=1200, whose=name("**x** {n}"), rule="`a` {n} **b**")
    assert str(said) == "1,200 labels of **x** {n} by `a` {n} **b**"
    assert [piece.kind for piece in said.pieces] == ["strong", "own", "name", "own", "code"]
