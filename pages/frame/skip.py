"""The first stop of the Tab key in the sidebar, on pages with a picture: past the menu and the sliders, to it.

Streamlit's own link leads to the beginning of the page only.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

_HTML = '<button type="button" class="skip">Skip to the picture</button>'
_CSS = """
.skip { position: fixed; left: 0; top: 8px; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
  white-space: nowrap; border: 0; padding: 0; }
.skip:focus { width: auto; height: auto; clip-path: none; padding: 6px 12px; border-radius: 0.4rem; z-index: 9;
  font: inherit; color: var(--st-background-color); background: var(--st-primary-color);
  outline: 2px solid var(--st-text-color); outline-offset: 1px; }
"""
#: The picture stands in a shadow tree, where no address with # leads. A sidebar that is folded away stands outside
#: the screen: what has the focus is seen all the same.
_JS = """
export default function ({ parentElement }) {
  const button = parentElement.querySelector(".skip");
  button.onfocus = () => {
    button.style.left = "0";
    button.style.left = `${Math.max(0, 8 - button.getBoundingClientRect().left)}px`;
  };
  button.onclick = () => {
    const picture = window.certcore?.mapView?.panels?.[0]?.canvas;
    picture?.focus({ preventScroll: true });
    picture?.scrollIntoView({ block: "center" });
  };
}
"""


@st.cache_resource(show_spinner=False)
def _component() -> Any:
    return st.components.v2.component("certcore_skip", html=_HTML, css=_CSS, js=_JS)


def draw() -> None:
    """A button that is seen when the keyboard stands on it."""
    _component()(key="skip", height=1)
