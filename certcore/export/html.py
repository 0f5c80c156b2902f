"""Self-contained HTML pages, which load nothing from a network."""

from __future__ import annotations

import json
from functools import lru_cache

from certcore import __version__
from certcore.common.plain import to_plain
from certcore.export.notes import note_below
from certcore.figures.escape import for_html
from certcore.figures.figure import Figure
from certcore.figures.screen import PLOTLY_CONFIG, plotly
from certcore.figures.table import Table

#: Content security policy: even if escaping failed, the page could not load anything. Plotly needs eval for WebGL.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:; "
    "worker-src blob:; base-uri 'none'; form-action 'none'"
)

STYLE = """
:root { color-scheme: light; --ink: #1f2328; --paper: #ffffff; --line: #d9dce0; --soft: #f5f6f8; --blue: #0072b2; }
:root.dark { color-scheme: dark; --ink: #e6e6e6; --paper: #0e1117; --line: #31353d; --soft: #171b22; --blue: #56b4e9; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1.5rem 1rem 4rem; color: var(--ink); background: var(--paper);
  font: 16px/1.55 "Source Sans 3", "Segoe UI", "DejaVu Sans", Helvetica, Arial, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; } h2 { font-size: 1.25rem; margin-top: 2.4rem; }
a { color: var(--blue); }
figure { margin: 1rem 0; } figure > img { max-width: 100%; height: auto; background: #fff; }
figcaption { font-size: 0.9rem; opacity: 0.85; }
.chart { width: 100%; height: 480px; } .chart.tall { height: 720px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.92rem; } th { text-align: left; }
.scroll td, .scroll th { white-space: nowrap; }
th, td { padding: 0.25rem 0.75rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
pre { background: var(--soft); padding: 0.8rem 1rem; overflow-x: auto; font-size: 0.85rem; border-radius: 4px; }
code { overflow-wrap: anywhere; }
.guarantee { border-left: 5px solid var(--blue); background: var(--soft); padding: 1rem 1.2rem; font-size: 1.1rem; }
details { margin: 1rem 0; } summary { cursor: pointer; }
@media print { details { display: none; } body { max-width: none; } h2 { break-after: avoid; } }
"""


def figure_page(figure: Figure, *, dark: bool = False) -> str:
    """One interactive figure as a page of its own, with its table and provenance."""
    title = for_html(figure.title or figure.name)
    short = figure.summary()
    parts = [f"<h1>{title}</h1>", chart(figure, "chart", dark=dark)]
    if short is not None:
        parts.append(f'<div class="scroll">{short.html(limit=60)}</div>')
    if figure.facts:
        parts.append(f"<details><summary>What stands behind it</summary>{facts_table(figure.facts)}</details>")
    return page(title, "\n".join(parts), dark=dark, plotly_script=True)


def page(title: str, body: str, *, dark: bool = False, plotly_script: bool = False) -> str:
    """A whole page; `title` and `body` must be HTML already."""
    script = f"<script>{_plotly_source()}</script>" if plotly_script else ""
    shade = ' class="dark"' if dark else ""
    return (
        f'<!DOCTYPE html>\n<html lang="en"{shade}>\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="generator" content="certcore {__version__}">\n'
        # An empty icon, because a browser would otherwise request one from the server.
        '<link rel="icon" href="data:,">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n{script}\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def chart(figure: Figure, identifier: str, *, dark: bool = False) -> str:
    """An interactive chart for a page that includes Plotly's script."""
    drawn = plotly(figure, dark=dark, transparent=True)
    data = _for_script(drawn.to_json())
    config = _for_script(json.dumps(PLOTLY_CONFIG))
    alt = for_html(figure.description())
    tall = " tall" if figure.TALL else ""
    note = note_below(figure)
    below = f"<figcaption>{for_html(note)}</figcaption>" if note else ""
    return (
        f'<figure><div id="{for_html(identifier)}" class="chart{tall}" role="img" aria-label="{alt}"></div>{below}'
        "</figure>\n"
        f"<script>(function () {{ var f = {data}; "
        f"Plotly.newPlot({json.dumps(identifier)}, f.data, f.layout, {config}); }})();</script>"
    )


def _for_script(text: str) -> str:
    """JSON for a script element, escaped so that it can neither end the element nor start a comment."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def facts_table(facts: object) -> str:
    """Nested facts as a table of names and values."""
    rows: list[tuple[str, str]] = []

    def walk(prefix: str, value: object) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                walk(f"{prefix} · {key}" if prefix else str(key), item)
        elif isinstance(value, list):
            rows.append((prefix, ", ".join(str(item) for item in value[:40]) + (" …" if len(value) > 40 else "")))
        elif value is not None:
            whole = isinstance(value, int) and not isinstance(value, bool)
            rows.append((prefix, f"{value:,}" if whole else str(value)))

    walk("", to_plain(facts))
    return f'<div class="scroll">{Table(("what", "value"), tuple(rows)).html()}</div>'


@lru_cache(maxsize=1)
def _plotly_source() -> str:
    from plotly.offline import get_plotlyjs

    # The script is trusted, but it must not contain the end tag of its own element.
    return str(get_plotlyjs()).replace("</script", "<\\/script")
