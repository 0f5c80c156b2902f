"""Every link leads somewhere, and the documents say nothing about anybody's machine."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.browser.screenshots import SHOTS, file_name
from tests.docs.documents import DOCUMENTS, PAGES, ROOT, anchors, environment, links, prose

NAMES = [path.relative_to(ROOT).as_posix() for path in DOCUMENTS]


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("docs/")])
def test_links_from_the_top_lead_somewhere(name: str) -> None:
    """Those of the documentation's own pages are checked when the site is built."""
    document = ROOT / name
    for link in links(document.read_text(encoding="utf-8")):
        if re.match(r"https?://", link):
            assert re.fullmatch(r"https://[\w.-]+\.[a-z]{2,}(/[^\s]*)?", link), f"{name}: {link} is no proper address"
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), f"{name} links to {link}, which does not exist"
        if anchor:
            assert anchor in anchors(target.read_text(encoding="utf-8")), f"{name}: no heading for {link}"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly: a broken link or anchor, or a page that the menu does not have, fails."""
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-W", "ignore", "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(words, cwd=ROOT, env=environment("ignore"), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def test_the_site_has_every_page_and_the_generated_ones(site: Path) -> None:
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    for path in PAGES:
        assert path.relative_to(ROOT / "docs").with_suffix(".html").as_posix() in pages
    commands = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    python = (site / "reference" / "python.html").read_text(encoding="utf-8")
    assert "--attr-del" in commands
    assert "--local-mode" in commands
    assert 'id="certcore.domain.threat.ThreatModel"' in python
    assert "971.36" in (site / "explanation" / "reproduction.html").read_text(encoding="utf-8")
    assert "1,190 of 1,870" not in (site / "index.html").read_text(encoding="utf-8"), "no number is typed twice"


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    loaded = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)=\"?((?:https?:)?//[^\s\">]+)")
    for path in [*site.rglob("*.html"), *site.rglob("*.css")]:
        text = path.read_text(encoding="utf-8")
        assert not loaded.findall(text), path.name
        assert not re.findall(r"(?:@import|url\()\s*[\"']?(?:https?:)?//[^)\s]+", text), path.name


def test_lists_and_tables_are_drawn_as_such(site: Path) -> None:
    """A list without an empty line before it becomes part of the paragraph above."""
    broken = re.compile(r"<p>(?:(?!</p>).)*\n(?:- |\|)", re.DOTALL)
    assert [path.name for path in site.rglob("*.html") if broken.search(path.read_text(encoding="utf-8"))] == []


def test_the_readme_fits_on_two_screens() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 100


@pytest.mark.parametrize("name", [*NAMES, "Dockerfile", "compose.yaml", "CITATION.cff"])
def test_no_machine_is_named(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    for pattern in (r"/(?:home|Users|tmp|work)/", r"/root\b", r"\bTODO\b", r"\bFIXME\b", r"pypi\.org/simple"):
        assert not re.search(pattern, text), f"{name} contains {pattern}"


FILES = [path for path in ROOT.rglob("*.*") if not {".venv", ".git", "runs", "site"} & set(path.parts[:-1])]
#: Texts of other times may name what is gone.
PAST = ("CHANGELOG.md", "docs/explanation/decisions.md")


def named_files(text: str) -> list[str]:
    """Files and folders of the repository that a document names in code, also without their folder."""
    words = re.findall(r"[\w./*-]+", " ".join(re.findall(r"`([^`\n]+)`", prose(text))))
    top = tuple(f"{path.name}/" for path in ROOT.iterdir() if path.is_dir() and path.name not in ("runs", "site"))
    ours = [word for word in words if word.startswith(top) or re.fullmatch(r"[\w/]+\.(?:py|js|css|toml)", word)]
    return [word for word in ours if not re.search(r"[A-Z]{4}|\*", word)]  # NAME and * stand for any name


def is_there(word: str) -> bool:
    return (ROOT / word).exists() or any(path.as_posix().endswith(f"/{word}") for path in FILES)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in PAST])
def test_files_that_a_document_names_exist(name: str) -> None:
    gone = [word for word in named_files((ROOT / name).read_text(encoding="utf-8")) if not is_there(word)]
    assert not gone, f"{name} names {', '.join(gone)}"


def test_a_file_that_is_gone_is_seen() -> None:
    named = named_files(
        "In `certcore/cli/base.py`, `lost.py` and `domain/threat.py`; see `certcore/cli/NAME.py`, `x.npz`."
    )
    assert named == ["certcore/cli/base.py", "lost.py", "domain/threat.py"]
    assert [is_there(word) for word in named] == [False, False, True]


def test_every_picture_is_of_something_that_is_there() -> None:
    """Screenshots are taken of pages that exist, drawings are made by a script, and a document shows each of them."""
    taken = {file_name(name) for name in SHOTS}
    drawn = " ".join(
        path.read_text(encoding="utf-8") for path in FILES if path.suffix == ".py" and path.parent.name != "tests"
    )
    shown = {Path(link).name for path in DOCUMENTS for link in links(path.read_text(encoding="utf-8"))}
    for path in (ROOT / "docs" / "images").iterdir():
        assert path.name in taken or (path.suffix == ".svg" and path.name.split("-")[0] in drawn), path.name
        assert path.name in shown, f"no document shows {path.name}"


def test_pictures_are_readable() -> None:
    for path in (ROOT / "docs" / "images").glob("*"):
        if path.suffix == ".svg":
            assert ET.parse(path).getroot().tag.endswith("svg")
        else:
            assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n", path.name
            assert path.stat().st_size < 1_000_000, f"{path.name} is larger than a picture in a README should be"
