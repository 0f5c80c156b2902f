"""The list of sentences: complete, and rendered alike."""

from __future__ import annotations

import pytest

from certcore.messages import SENTENCES
from certcore.messages.text import message, name, strong


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
