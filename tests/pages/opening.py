"""A page of the dashboard as a link opens it, without a browser."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

ROOT = Path(__file__).resolve().parents[2]

# Streamlit reads what every installed package says of itself each time a page is opened. Once per process will do.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)


def at_page(slug: str = "overview", parameters: dict[str, str] | None = None) -> AppTest:
    """The page at an address, not run yet."""
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    for key, value in (parameters or {}).items():
        at.query_params[key] = value
    if slug != "overview":
        at._page_hash = calc_hash(slug)  # `switch_page` knows only pages that are files
    return at
