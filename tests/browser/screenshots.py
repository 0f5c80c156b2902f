"""Pictures of every state of the dashboard, in small files: `python -m tests.browser.screenshots [--only NAME …]`.

They are taken of the real dashboard on the embedded bundles, so numbers on them are those of the engine. Each file also
holds the text that was on the screen; `test_browser_screenshots.py` compares both with the screen of today.
"""

from __future__ import annotations

import argparse
import contextlib
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.browser.server import ROOT, browser, dashboard, settled

CITESEER = "instance=citeseer-gcn-attr-s0&attr_del=10"
#: Colours of a picture: enough for the marks, and a fifth of the size.
COLOURS = 128
#: Key of the text in the metadata of a picture.
TEXT = "Description"


@dataclass(frozen=True)
class Shot:
    """One picture: where it is taken, on which screen, what is done before, and what is waited for."""

    address: str
    act: Callable[[Any], None] = settled
    size: tuple[int, int] = (1440, 900)
    scheme: str = "light"


def _shown(page: Any, ready: str) -> None:
    page.wait_for_function(
        f"() => {{ const now = window.certcore?.bench?.(); return now && ({ready}); }}", timeout=120_000
    )
    page.wait_for_timeout(300)


def _first(page: Any) -> None:
    """The graph is drawn before the first certificate."""
    page.wait_for_function("() => window.certcore?.mapView?.graph && !window.certcore.bench().fresh", timeout=60_000)
    page.wait_for_timeout(500)


def _computing(page: Any) -> None:
    """A budget that is being solved: what is proven so far, and views that say whose they are."""
    _shown(page, "now.fresh && now.line")
    page.evaluate("() => window.certcore.benchView.move({ attr_del: 90, attr_add: 7 }, true)")
    with contextlib.suppress(Exception):
        _shown(page, "!now.fresh && !now.moved")


def _dragging(page: Any) -> None:
    settled(page)
    page.evaluate("() => window.certcore.benchView.move({ attr_del: 27 }, false)")
    page.wait_for_timeout(300)


def _clicked(*names: str) -> Callable[[Any], None]:
    def act(page: Any) -> None:
        settled(page)
        for name in names:
            page.get_by_role("button", name=name).first.click()
            page.wait_for_timeout(2500)

    return act


SHOTS = {
    "light": Shot(f"?{CITESEER}"),
    "dark": Shot(f"?{CITESEER}", scheme="dark"),
    "large": Shot("?instance=citeseer-gcn-joint-s0&attr_del=10", size=(1920, 1080)),
    "phone": Shot(f"?{CITESEER}", size=(420, 800)),
    "zoom": Shot(f"?{CITESEER}", size=(960, 540)),
    "first-load": Shot("?instance=pubmed-gcn-attr-s0&attr_del=100&sigma=10", _first),
    "computing": Shot("?instance=citeseer-gcn-attr-s1&attr_del=10", _computing),
    "dragging": Shot(f"?{CITESEER}", _dragging),
    "site": Shot(f"?{CITESEER}&picked=902"),
    "on-the-model": Shot(f"?{CITESEER}&adversary=model"),
    "accuracy": Shot(f"?{CITESEER}&right=1"),
    "more": Shot(f"?{CITESEER}&strengthen=1&limit=5"),
    "ballots": Shot("?instance=cora-decoupled-ballots-s0"),
    "not-covered": Shot(f"?{CITESEER}", _clicked("More", "not covered")),
    "proven": Shot(f"?{CITESEER}", _clicked("Proven")),
    "bad-link": Shot(f"?{CITESEER}&relaxation=best&sigma=few"),
    "compare": Shot(f"compare?{CITESEER}"),
    "node": Shot(f"node?{CITESEER}", scheme="dark"),
}


#: All text on the screen, also inside of components.
READ = """() => { const said = [document.body.innerText];
  const walk = (root) => { for (const one of root.querySelectorAll("*")) if (one.shadowRoot) {
    said.push(...[...one.shadowRoot.children].filter((part) => part.checkVisibility()).map((part) => part.innerText));
    walk(one.shadowRoot); } };
  walk(document);
  return said.join("\\n"); }"""


def small(png: bytes, text: str) -> bytes:
    """The same picture in few colours, with the text of the page as metadata."""
    from PIL import Image, PngImagePlugin

    info = PngImagePlugin.PngInfo()
    info.add_itxt(TEXT, text, zip=True)
    with Image.open(io.BytesIO(png)) as picture:
        reduced = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        target = io.BytesIO()
        reduced.save(target, "PNG", optimize=True, pnginfo=info)
    return target.getvalue()


def file_name(name: str) -> str:
    return "workbench.png" if name == "light" else f"workbench-{name}.png"


def take(opened: Any, address: str, shot: Shot) -> bytes:
    width, height = shot.size
    context = opened.new_context(viewport={"width": width, "height": height}, color_scheme=shot.scheme)
    page = context.new_page()
    try:
        page.goto(f"{address}/{shot.address}")
        page.locator("[data-testid=stMain]").wait_for()
        page.wait_for_timeout(1500 if shot.act is settled else 0)
        shot.act(page)
        return small(page.screenshot(), page.evaluate(READ))
    finally:
        context.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", default=ROOT / "docs" / "images", type=Path)
    parser.add_argument("--only", nargs="*", default=list(SHOTS), choices=list(SHOTS))
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    with dashboard() as address, browser() as opened:
        for name in args.only:
            data = take(opened, address, SHOTS[name])
            file = args.folder / file_name(name)
            file.write_bytes(data)
            print(f"{file.name}: {len(data) // 1024} kB", flush=True)


if __name__ == "__main__":
    main()
