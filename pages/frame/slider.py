"""A slider of our own: it moves numbers and pictures while it is dragged, and runs the page when it is let go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from certcore.workbench.parts import part

_HTML = (
    '<div class="range"><label></label><div class="row"><button type="button" class="play" hidden></button>'
    '<input type="range" min="0" step="1"></div></div>'
)
_CSS = """
.range { display: flex; flex-direction: column; gap: 3px; font-family: var(--st-font); color: var(--st-text-color); }
.range label { font-size: 13px; line-height: 16px; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.range [hidden] { display: none; }
.range { position: relative; } .row { display: flex; align-items: center; gap: 10px; }
.play { flex: none; width: 28px; height: 28px; border: 0; border-radius: 50%; padding: 0; font-size: 11px;
  background: var(--st-text-color); color: var(--st-background-color); cursor: pointer; }
.range:not(.main) .play { position: absolute; right: 0; top: -1px; width: 18px; height: 18px; font-size: 8px;
  opacity: 0; }
.range:is(:hover, :focus-within) .play { opacity: 1; }
.play:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 1px; }
.range input { -webkit-appearance: none; appearance: none; width: 100%; height: 30px; margin: 0; background: none;
  cursor: pointer; touch-action: pan-y; }
.range input:disabled { opacity: 0.4; cursor: default; }
.range input::-webkit-slider-runnable-track { height: 4px; border-radius: 2px; background: linear-gradient(to right,
  var(--st-text-color) var(--at, 0%), var(--st-border-color) var(--at, 0%)); }
.range input::-webkit-slider-thumb { -webkit-appearance: none; width: 16px; height: 16px; border-radius: 50%;
  margin-top: -6px; background: var(--st-background-color); border: 3px solid var(--st-text-color); }
.range input::-moz-range-track { height: 4px; border-radius: 2px; background: var(--st-border-color); }
.range input::-moz-range-progress { height: 4px; border-radius: 2px; background: var(--st-text-color); }
.range input::-moz-range-thumb { width: 11px; height: 11px; border-radius: 50%;
  background: var(--st-background-color); border: 3px solid var(--st-text-color); }
.range input:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: -4px; border-radius: 6px; }
"""


@st.cache_resource(show_spinner=False)
def _component() -> Any:
    script = part("bus") + Path(__file__).with_name("slider.js").read_text(encoding="utf-8")
    return st.components.v2.component("certcore_slider", html=_HTML, css=_CSS, js=script)


def draw(
    key: str,
    options: Sequence[Any],
    value: Any,
    moved: Callable[[Any], None],
    *,
    label: str,
    name: str,
    help: str,
    none: str | None = None,
    disabled: bool = False,
) -> None:
    """Draw it; `moved` is called with one of the options before the run that follows a release."""
    known = [None if option == none and none is not None else option for option in options]

    def released() -> None:
        said = st.session_state.get(f"slider_{key}") or {}
        chosen = (said.get("moved") or {}).get("value")
        if chosen in known:
            moved(chosen)

    data = {
        "name": key,
        "label": label,
        "name_text": name,
        "options": known,
        "value": value,
        "none": none or "",
        "help": help,
        "disabled": disabled,
    }
    _component()(key=f"slider_{key}", data=data, on_moved_change=released)
