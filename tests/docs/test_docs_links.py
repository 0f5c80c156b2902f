"""Every link leads somewhere, and the documents say nothing about anybody's machine."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.docs.documents import DOCUMENTS, ROOT, anchors, links

NAMES = [path.relative_to(ROOT).as_posix() for path in DOCUMENTS]


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name: str) -> None:
    document = ROOT / name
    text = document.read_text(encoding="utf-8")
    for link in links(text):
        if re.match(r"https?://", link):
            assert re.fullmatch(r"https://[\w.-]+\.[a-z]{2,}(/[^\s]*)?", link), f"{name}: {link} is no proper address"
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), f"{name} links to {link}, which does not exist"
        assert target.is_relative_to(ROOT), f"{name} links to {link}, outside of the repository"
        if anchor:
            assert anchor in anchors(target.read_text(encoding="utf-8")), f"{name}: no heading for {link}"


def test_pages_of_the_documentation_can_be_found_from_the_readme() -> None:
    seen: set[Path] = set()
    todo = [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page in seen:
            continue
        seen.add(page)
        for link in links(page.read_text(encoding="utf-8")):
            target = (page.parent / link.partition("#")[0]).resolve()
            if target.suffix == ".md" and target.is_file():
                todo.append(target)
    missing = [path.name for path in (ROOT / "docs").glob("*.md") if path.resolve() not in seen]
    assert not missing, f"no page links to {missing}"


@pytest.mark.parametrize("name", [*NAMES, "Dockerfile", "compose.yaml", "CITATION.cff"])
def test_no_machine_is_named(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    for pattern in (
        r"/(?:home|Users|tmp|work)/",
        r"/root\b",
        r"\bTODO\b",
        r"\bFIXME\b",
        r"pypi\.org/simple",
    ):
        assert not re.search(pattern, text), f"{name} contains {pattern}"


def test_the_readme_says_what_a_newcomer_needs() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    headings = {re.sub(r"^#+ ", "", line).lower() for line in text.splitlines() if line.startswith("## ")}
    for topic in ("five-minute tour", "your own model", "does not say", "cit", "help", "licence"):
        assert any(topic in heading for heading in headings), f"no heading about {topic}: {sorted(headings)}"
    assert "make run" in text
    assert "make test" in text
    for dataset in ("Citeseer", "PubMed", "Cora", "Apache-2.0"):
        assert dataset in text
    assert any(link.endswith((".png", ".svg")) for link in links(text)), "the README has no picture"


def test_pictures_are_readable() -> None:
    for path in (ROOT / "docs" / "images").glob("*"):
        if path.suffix == ".svg":
            assert ET.parse(path).getroot().tag.endswith("svg")
        else:
            assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n", path.name
            assert path.stat().st_size < 1_000_000, f"{path.name} is larger than a picture in a README should be"
