"""Names from files are shown as they are and never read as markup."""

from __future__ import annotations

import pytest

from certcore.messages.text import Piece, message, name, strong, text


def test_names_from_files_are_shown_and_not_obeyed() -> None:
    said = message("on ", name("**x** [y](javascript:z)"), " by ", strong("us"))
    assert str(said) == "on **x** [y](javascript:z) by us"
    assert said.markdown == r"on \*\*x\*\* \[y\]\(javascript\:z\) by **us**"


def test_only_our_own_words_have_markup() -> None:
    said = message(text("**1,200 labels** of "), name("**x** `y`"), text(" by `rule`"))
    assert str(said) == "1,200 labels of **x** `y` by rule"
    assert [piece.kind for piece in said.pieces] == ["strong", "own", "name", "own", "code"]
    with pytest.raises(TypeError, match="joined"):  # else a name from a file would be read as ours
        text(f"labels of {name('**x**')}")
    assert isinstance(name("x"), Piece)
