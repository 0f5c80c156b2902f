"""Addresses people have kept, with what they must show."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

from certcore.domain.parameters import FORMER
from tests.net import ask


def kept() -> list[tuple[str, dict[str, Any], dict[str, Any] | None]]:
    """Address, what the sidebar must show and, for some, what the page itself must show."""
    found = []
    for line in (ask.FIXTURES / "links.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            address, sidebar, *own = line.split("\t")
            found.append((address, json.loads(sidebar), json.loads(own[0]) if own else None))
    return found


def now_called(shown: dict[str, Any]) -> dict[str, Any]:
    """What the sidebar must show, by the names its controls have now."""
    return {FORMER.get(name, name): value for name, value in shown.items()}


def page_of(address: str) -> str:
    """The slug of the page."""
    return urlsplit(address).path.strip("/") or "overview"
