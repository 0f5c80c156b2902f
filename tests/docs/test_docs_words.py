"""One name per thing: `docs/reference/words.md` says which names do not appear in texts for people."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAW = ROOT / "docs" / "reference" / "words.md"
#: Folders whose strings are read by people; docstrings and comments are for those who work on the code.
TEXTS = ("certcore", "pages", "app.py")
#: Pages of the documentation; what was decided, changed or measured earlier keeps the words of its time.
PAGES = [
    page
    for page in sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
    if page != LAW and page.name != "decisions.md" and "results" not in page.parts
]


def banned() -> dict[str, str]:
    """The names that do not appear, and the word that each thing has instead."""
    found = {}
    for row in LAW.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        if row.startswith("| ") and len(cells) == 3 and cells[0] not in ("word", "---"):
            found |= {name.strip(): cells[0] for name in cells[1].split(",") if name.strip()}
    return found


def strings(path: Path) -> Iterator[str]:
    """The strings of a Python file without docstrings; parts of one f-string are joined."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else " … " for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and not {id(node)} & (bare | inside):
            yield node.value


def scripts(path: Path) -> Iterator[str]:
    """The strings of a script, and the whole of a page without its comments."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".html":
        yield re.sub(r"<!--.*?-->", "", text, flags=re.S)
    else:
        yield from re.findall(r"\"[^\"\n]*\"|'[^'\n]*'|`[^`]*`", re.sub(r"(?m)(^|\s)//.*$", "", text))


def texts() -> Iterator[tuple[Path, str]]:
    for name in TEXTS:
        for path in sorted([ROOT / name] if name.endswith(".py") else (ROOT / name).rglob("*")):
            read = {".py": strings, ".js": scripts, ".html": scripts}.get(path.suffix)
            yield from ((path, one) for one in read(path)) if read is not None else ()
    for page in PAGES:  # code, commands and names of files are not sentences
        yield page, re.sub(r"`[^`\n]*`|\]\([^)]*\)", "", page.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "docs" / "examples").glob("*.py")):
        yield from ((path, one) for one in strings(path))
    for path in sorted((ROOT / "docs" / "examples").glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            yield path, "".join(cell["source"])


def used(name: str, text: str) -> bool:
    """Whether a text has this name, on one line or broken over two, also with a capital."""
    words = r"\s+".join(re.escape(word) for word in name.split())
    return re.search(rf"(?<![\w-]){words}(?![\w-])", text, re.IGNORECASE) is not None


def test_no_text_for_people_has_a_second_name_for_a_thing() -> None:
    names = banned()
    assert {"clean graph", "node by node", "attack on the model", "controlled nodes"} <= set(names)
    found = [
        f"{path.relative_to(ROOT)}: “{name}” is called “{word}”"
        for path, text in texts()
        for name, word in names.items()
        if used(name, text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("text", ["The clean\ngraph", "Clean graph: x", "on this clean graph."])
def test_a_second_name_is_seen(text: str) -> None:
    assert used("clean graph", text)
    assert not used("clean graphs of", text)
    assert not used("lean graph", text)
