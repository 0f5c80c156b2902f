"""Pictures of every page, wide and narrow, light and dark: `python -m tests.browser.screenshots [FOLDER]`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tests.browser.server import browser, dashboard, ready, settled

PAGES = {
    "workbench": ("", "Workbench", ""),
    "curves": ("curves", "Curves", ""),
    "contours": ("contours", "Contours", ""),
    "node": ("node", "One node", "node=5"),
    "base": ("base", "Base certificate", ""),
    "compare": ("compare", "Compare", ""),
    "bring": ("bring", "Your data", ""),
    "check": ("check", "Check a proof", ""),
    "method": ("method", "How it works", ""),
    "paper": ("the_paper", "Paper", ""),
}
SIZES = {
    "light": (1440, 900, "light"),
    "large": (1920, 1080, "light"),
    "dark": (1440, 900, "dark"),
    "narrow": (420, 800, "light"),
    "narrow-dark": (420, 800, "dark"),
}


def take(page: Any, address: str, name: str, query: str, file: Path, whole: bool, patience: float) -> None:
    path, heading, extra = PAGES[name]
    parameters = "&".join(part for part in (query, extra) if part)
    page.goto(f"{address}/{path}?{parameters}")
    ready(page, heading)
    settled(page, patience)
    page.wait_for_timeout(700)
    if whole:
        size = page.viewport_size
        height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
        page.set_viewport_size({"width": size["width"], "height": max(size["height"], min(height, 3200))})
        page.wait_for_timeout(900)
        page.screenshot(path=str(file))
        page.set_viewport_size(size)
    else:
        page.screenshot(path=str(file))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", default="screenshots", type=Path)
    parser.add_argument("--pages", nargs="*", default=list(PAGES), choices=list(PAGES))
    parser.add_argument("--sizes", nargs="*", default=list(SIZES), choices=list(SIZES))
    parser.add_argument("--query", default="attr_del=10", help="the view, as in a link")
    parser.add_argument("--whole", action="store_true", help="whole pages instead of what is above the fold")
    parser.add_argument("--bundles", type=Path)
    parser.add_argument("--patience", type=float, default=180.0)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    with dashboard(args.bundles) as address, browser() as opened:
        for size in args.sizes:
            width, height, scheme = SIZES[size]
            context = opened.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
            page = context.new_page()
            for name in args.pages:
                file = args.folder / f"{name}-{size}.png"
                take(page, address, name, args.query, file, args.whole, args.patience)
                print(file, flush=True)
            context.close()


if __name__ == "__main__":
    main()
