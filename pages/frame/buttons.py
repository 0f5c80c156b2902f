"""Buttons that need no run of the page: skip to the picture, open the menu, the strip or “More”, copy the link."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

_HTML = '<div class="buttons"></div>'
_CSS = """
.buttons { display: flex; gap: 8px; align-items: center; justify-content: inherit; height: 30px;
  font: 600 14px var(--st-font); color: var(--st-text-color); }
button { font: inherit; color: inherit; height: 30px; padding: 0 12px; border-radius: 6px; cursor: pointer;
  border: 1px solid var(--st-border-color); background: var(--st-background-color); white-space: nowrap; }
button:hover { border-color: var(--st-text-color); }
button:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 1px; }
.brand { border: 0; padding: 0; cursor: default; font-weight: 700; font-size: 16px; display: flex; gap: 8px;
  align-items: center; background: none; }
.brand i { width: 16px; height: 16px; border-radius: 50%; background: var(--st-text-color); position: relative; }
.brand i::after { content: ""; position: absolute; left: 5.5px; top: 2.5px; width: 3px; height: 7px; rotate: 45deg;
  border: solid var(--st-background-color); border-width: 0 2px 2px 0; }
.quiet { border: 0; background: none; font-weight: 400; padding: 0 8px; }
.dot::after { content: ""; display: inline-block; width: 7px; height: 7px; border-radius: 50%; margin-left: 7px;
  background: var(--st-primary-color); vertical-align: 1px; }
.skip { position: fixed; left: 0; top: 8px; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
  border: 0; padding: 0; }
.skip:focus { width: auto; height: auto; clip-path: none; padding: 6px 12px; z-index: 9; left: 8px;
  color: var(--st-background-color); background: var(--st-primary-color); }
.menu, .attacker { display: none; }
@media (max-width: 759px) { .menu, .attacker { display: block; min-width: 44px; } .more { display: none; }
  :host-context(html.attacker-open) .more { display: block; } }
"""


@st.cache_resource(show_spinner=False)
def _component() -> Any:
    script = Path(__file__).with_name("buttons.js").read_text(encoding="utf-8")
    return st.components.v2.component("certcore_buttons", html=_HTML, css=_CSS, js=script)


def _draw(key: str, *acts: tuple[str, str, str, str]) -> None:
    made = [{"act": act, "text": text, "title": title, "look": look} for act, text, title, look in acts]
    _component()(key=key, data={"buttons": made}, height=30)


def brand(*, picture: bool) -> None:
    """The left end of the menu; the first stop of the Tab key leads to the picture, where there is one."""
    skip = [("skip", "Skip to the picture", "", "skip")] if picture else []
    menu = ("menu", "☰", "Pages", "menu")
    _draw("brand", *skip, menu, ("", "certcore", "", "brand"))


def link() -> None:
    """The right end of the menu."""
    _draw("copy_link", ("copy", "Copy link", "The address of exactly this view", "quiet copy"))


def more(changed: bool) -> None:
    """The right end of the strip; a dot says that something behind “More” is not at its first value."""
    attacker = ("attacker", "Attacker", "Budgets of the attacker", "attacker")
    _draw(
        "more",
        attacker,
        ("more", "More", "Targets, relaxation, protected nodes (m)", "more dot" if changed else "more"),
    )
