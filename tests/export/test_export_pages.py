"""HTML pages in a real browser: they draw, and they ask nobody for anything."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from certcore import ThreatModel, export, figures
from tests.export.instances import small_instance
from tests.figures.samples import HOSTILE, all_figures

chromium = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [pytest.mark.browser, pytest.mark.skipif(chromium is None, reason="Debian's chromium is not installed")]
_OPTIONS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
ALL = all_figures()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=_OPTIONS)
        yield started
        started.close()


def open_page(browser: Any, path: Path) -> tuple[Any, list[str], list[str]]:
    """The opened page, the requests it made beyond itself, and what went wrong in it."""
    page = browser.new_page(viewport={"width": 1000, "height": 800})
    requests: list[str] = []
    problems: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: problems.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("dialog", lambda dialog: (problems.append("a dialog opened"), dialog.dismiss()))
    page.goto(path.as_uri())
    page.wait_for_selector(".js-plotly-plot .main-svg", state="attached")
    outside = [url for url in requests if url != path.as_uri() and not url.startswith(("data:", "blob:"))]
    return page, outside, problems


# Every type once; the other samples differ in numbers only.
@pytest.mark.parametrize("name", sorted(set(ALL) - {"curve", "contours-difference", "base"}))
def test_pages_draw_without_any_request(name: str, browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "figure.html"
    path.write_bytes(export.render(ALL[name], "html"))
    page, outside, problems = open_page(browser, path)
    assert outside == []
    assert problems == []
    drawn = page.evaluate("document.querySelector('.js-plotly-plot').data.length")
    assert drawn == len(figures.plotly(ALL[name]).data)
    assert page.get_attribute("[role=img]", "aria-label") == figures.alt_text(ALL[name])
    names = page.eval_on_selector_all(".modebar-btn", "list => list.map(b => b.getAttribute('data-title') || '')")
    assert names
    assert not [text for text in names if any(word in text.lower() for word in ("cloud", "share", "chart studio"))]
    page.close()


def test_hostile_names_do_nothing(browser: Any, tmp_path: Path) -> None:
    line = figures.Line(values=[0, 1, 2], ratio=[1, 0.5, 0.2], name=HOSTILE)
    figure = figures.CurveFigure(lines=(line,), title=HOSTILE, x_label=HOSTILE, facts={HOSTILE: HOSTILE})
    named = dataclasses.replace(ALL["graph"], names=(HOSTILE,) * len(ALL["graph"].positions), title=HOSTILE)
    for k, hostile in enumerate((figure, named)):
        path = tmp_path / f"hostile-{k}.html"
        path.write_bytes(export.render(hostile, "html"))
        page, outside, problems = open_page(browser, path)
        plot = page.locator(".js-plotly-plot")
        shown = "plot.data.findLastIndex((trace) => trace.hoverinfo !== 'skip')"
        plot.evaluate(f"(plot) => Plotly.Fx.hover(plot, [{{ curveNumber: {shown}, pointNumber: 0 }}])")
        page.wait_for_function("() => document.querySelector('.hoverlayer').childElementCount")
        assert (outside, problems) == ([], [])
        assert page.evaluate("document.querySelectorAll('img').length") == 0
        assert "onerror" in page.inner_text("h1"), "the name is shown as it is"
        page.close()


def test_report_pages_draw_without_any_request(browser: Any, tmp_path: Path) -> None:
    report = export.build_report(small_instance(("attr_del",), n=12), ThreatModel(attr_del=2), quick=True)
    path = tmp_path / "report.html"
    path.write_text(export.report_html(report), encoding="utf-8")
    page, outside, problems = open_page(browser, path)
    assert (outside, problems) == ([], [])
    assert page.locator(".js-plotly-plot").count() == 2
    assert page.locator("figure > img").count() == 2
    widths = page.eval_on_selector_all("figure > img", "list => list.map(i => i.naturalWidth)")
    assert min(widths) > 500
    assert f"{report.certificate.certified:,} of {report.certificate.targets:,}" in page.inner_text(".guarantee")
    page.close()
