"""The list of sentences: complete, rendered alike, and imported by nothing that computes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from certcore.messages import SENTENCES
from certcore.messages.text import filled, message, name, strong

ROOT = Path(__file__).resolve().parents[2]


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


def test_nothing_that_computes_imports_messages() -> None:
    allowed = {"messages", "export", "notebook", "workbench", "cli"}
    for path in (ROOT / "certcore").rglob("*.py"):
        if path.relative_to(ROOT / "certcore").parts[0] in allowed:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [f"{node.module}.{a.name}" for a in node.names] if isinstance(node, ast.ImportFrom) else []
            names += [a.name for a in node.names] if isinstance(node, ast.Import) else []
            assert not any(found.startswith("certcore.messages") for found in names), path
