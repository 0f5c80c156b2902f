"""The pictures of the documentation show the screen of today: its words, its numbers and, loosely, where things are."""

from __future__ import annotations

import difflib
import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.browser import server
from tests.browser.screenshots import SHOTS, TEXT, file_name, take

#: Areas of this many pixels are compared by their mean brightness, so that another font or smoothing changes little.
AREA = 20


def content(png: bytes) -> tuple[list[str], np.ndarray]:
    """The lines of text of a picture, and the brightness of its areas from 0 to 1."""
    with Image.open(io.BytesIO(png)) as picture:
        small = picture.convert("L").resize((picture.width // AREA, picture.height // AREA), Image.Resampling.BOX)
        lines = [line.strip() for line in getattr(picture, "text", {}).get(TEXT, "").splitlines()]
    return [line for line in lines if line], np.asarray(small) / 255


def alike(one: bytes, other: bytes) -> tuple[float, float]:
    """The shares of lines and of areas that two pictures have in common."""
    (said, seen), (said_too, seen_too) = content(one), content(other)
    if seen.shape != seen_too.shape or not said:
        return 0.0, 0.0
    return difflib.SequenceMatcher(None, said, said_too).ratio(), float((abs(seen - seen_too) < 0.1).mean())


@pytest.fixture(scope="module")
def bundles(chromium: Any) -> Iterator[str]:
    with server.dashboard() as address:
        yield address


@pytest.mark.parametrize("name", ["light", "phone"])
def test_a_picture_of_the_documentation_is_of_today(bundles: str, chromium: Any, name: str) -> None:
    stored = (server.ROOT / "docs" / "images" / file_name(name)).read_bytes()
    lines, areas = alike(stored, take(chromium, bundles, SHOTS[name]))
    assert lines >= 0.95, f"{lines:.0%} of the text is the same; run: make screenshots"
    assert areas >= 0.95, f"{areas:.0%} of the areas look the same; run: make screenshots"
