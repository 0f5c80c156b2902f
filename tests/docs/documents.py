"""Reading our Markdown: links, anchors, code blocks and the commands in them."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(path for path in (ROOT / "docs").rglob("*.md") if "results" not in path.parts)
DOCUMENTS = sorted([*ROOT.glob("*.md"), *PAGES, *(ROOT / "precomputed").glob("*.md")])
_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^()\s]+)(?:\s+\"[^\"]*\")?\)")
_SOURCE = re.compile(r"<(?:img|a)\b[^>]*?\b(?:src|href)=\"([^\"]+)\"", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block of code."""

    language: str
    text: str


def blocks(text: str) -> list[Block]:
    return [Block(language, body) for language, body in _FENCE.findall(text)]


def prose(text: str) -> str:
    """The document without its fenced blocks."""
    return _FENCE.sub("", text)


def links(text: str) -> list[str]:
    """Every target of a link or picture outside of code."""
    plain = re.sub(r"`[^`\n]+`", "", prose(text))
    return _LINK.findall(plain) + _SOURCE.findall(plain)


def anchors(text: str) -> set[str]:
    """The anchors that Markdown viewers give the headings."""
    found: set[str] = set()
    for heading in re.findall(r"^#{1,6} (.+)$", prose(text), re.MULTILINE):
        kept = "".join(c for c in heading.strip().lower() if c.isalnum() or c in " -_")
        found.add(kept.replace(" ", "-"))
    return found


def commands(block: Block) -> list[list[str]]:
    """The commands of a shell block, split into words: comments dropped, continued lines joined."""
    if block.language not in ("bash", "sh", "console", "shell"):
        return []
    found = []
    for line in block.text.replace("\\\n", " ").splitlines():
        line = line.strip().removeprefix("$ ")
        words = shlex.split(line, comments=True)
        while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
            words = words[1:]
        if words:
            found.append(words)
    return found


def inline_commands(text: str) -> list[str]:
    """Inline code that starts with our command."""
    spans = [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose(text))]
    return [span for span in spans if re.match(r"(python -m )?certcore [a-z]", span)]


def environment(warnings: str = "error") -> dict[str, str]:
    """A plain environment for commands; compiled code and tables come from the same cache as in other tests."""
    names = ("HOME", "XDG_CACHE_HOME", "CERTCORE_CACHE", "NUMBA_CACHE_DIR", "OMP_NUM_THREADS")
    kept = {k: v for k, v in os.environ.items() if k in names}
    return {**kept, "PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "PYTHONWARNINGS": warnings}
