"""Pages read like tables of contents: no function is longer than a screen."""

from __future__ import annotations

import ast
from pathlib import Path

MOST_LINES = 60


def test_no_function_of_the_pages_is_longer_than_a_screen() -> None:
    root = Path(__file__).resolve().parents[2]
    long = [
        f"{path.relative_to(root)}: {node.name}"
        for folder in ("pages", "certcore/workbench")
        for path in sorted((root / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno + 1 > MOST_LINES
    ]
    assert not long
