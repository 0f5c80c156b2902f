"""The frame around every page: settings, menu, password, sidebar, heading, and what to do when there is no instance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from certcore.common.errors import SoundnessError

from ..background import work
from ..files import bundles
from ..messages.text import markdown
from ..server import uploads
from ..server.login import login
from ..state import menu, state
from . import sidebar, skip

#: A file of our own: icons by name would be fetched from a font server.
ICON = Path(__file__).with_name("icon.png")

CSS = """
<style>
.block-container {padding-top: 2.6rem; padding-bottom: 3rem; max-width: 1280px;}
section[data-testid="stSidebar"] .stPageLink a {padding: 0.1rem 0.25rem; gap: 0.35rem; min-height: 1.7rem;}
section[data-testid="stSidebar"] .stPageLink p {font-size: 0.86rem; white-space: nowrap;}
section[data-testid="stSidebar"] [data-testid="stVerticalBlock"] {gap: 0.55rem;}
section[data-testid="stSidebar"] [data-testid="stSidebarUserContent"] {padding-left: 0.6rem; padding-right: 0.6rem;}
.st-key-skip {height: 0;}
.st-key-menu [data-testid="stVerticalBlock"], .st-key-menu {gap: 0.1rem !important;}
.st-key-menu [data-testid="stCaptionContainer"] {margin: 0.15rem 0 0 0.3rem !important;}
.st-key-menu [data-testid="stCaptionContainer"] p {font-size: 0.72rem; margin: 0;}
[data-testid="stSidebarContent"] [data-testid="stNumberInputContainer"] input {padding: 0 0.3rem 0 0.5rem;}
[data-testid="stSidebarHeader"] {height: 2.2rem; padding-bottom: 0; margin-bottom: 0;}
[class*="st-key-work_"] {min-height: 2.5rem; justify-content: center;}
.stPageLink a:focus-visible {outline: 2px solid #0072B2; outline-offset: -1px; border-radius: 0.4rem;}
[data-testid="stMetricLabel"] p {white-space: normal;}
@media (max-width: 640px) {.st-key-numbers [data-testid="stColumn"] {min-width: calc(50% - 1rem); flex: 1 1 40%;}}
[class*="st-key-attack_map_canvas_graph"] {position: absolute; width: 1px !important; overflow: hidden;}
@media (max-width: 760px) {.st-key-map_first {flex-direction: column-reverse;}}
@media (max-width: 640px) {.block-container {padding-left: 0.9rem; padding-right: 0.9rem;}}
</style>
"""


def run() -> None:
    """Draw the page that was asked for: what `app.py` does on every run."""
    st.html(CSS)
    entry, page = menu.chosen(lambda: _draw(entry, view))
    st.set_page_config(
        page_title=f"{entry.label} · Collective certificates",
        page_icon=str(ICON),
        layout="wide",
        initial_sidebar_state=352,
    )
    uploads.guard()
    login()
    with st.sidebar:
        place = st.container(key="menu")
        view = sidebar.draw(entry.slug, getattr(entry.module(), "OWN", {}))
        with place:
            if getattr(entry.module(), "PICTURE", False):
                skip.draw()
            menu.draw()  # when everything is set that its links carry
    page.run()


def _draw(entry: menu.Entry, view: state.View | sidebar.Absence) -> None:
    """A page below its heading; pages that need an instance are drawn only with one that can be certified."""
    module = entry.module()
    st.title(module.TITLE, anchor=False)
    if lead := getattr(module, "LEAD", ""):
        st.caption(lead)
    _ignored()
    if isinstance(view, sidebar.Absence):
        _absent(view)
    if not getattr(module, "NEEDS_INSTANCE", True):
        module.draw(None if isinstance(view, sidebar.Absence) else view)
    elif isinstance(view, state.View):
        if view.problem:
            st.warning(markdown(view.problem, 400), icon=":material/edit:")
        else:
            _draw_held(module, view)


def _draw_held(module: Any, view: state.View) -> None:
    """The page; where a number on it meets an attack that refutes it, once more without that number."""
    try:
        module.draw(view)
    except SoundnessError as error:
        if st.session_state.get("_refuted") != str(error):
            st.session_state["_refuted"] = str(error)
            st.rerun()
        st.error(markdown(str(error), work.LONGEST_MESSAGE), icon=":material/error:")


def _ignored() -> None:
    """What a link asked for and did not get; it is no longer in the address."""
    notes = state.ignored()
    if notes:
        said = [f"- {markdown(note, 400)}" for note in notes[:8]]
        said += [f"- and {len(notes) - 8} more"] if len(notes) > 8 else []
        st.warning(
            "Not all of this link counts. This was left out:\n\n" + "\n".join(said),
            icon=":material/link_off:",
        )


def _absent(absence: sidebar.Absence) -> None:
    """Say why there is nothing to look at, and offer what there is."""
    if not absence.choices:
        st.info(absence.reason, icon=":material/inbox:")
        return
    st.error(absence.reason, icon=":material/search_off:")
    chosen = st.selectbox(
        "Look at another instance",
        absence.choices,
        None,
        bundles.title,
        key="_other",
        placeholder="choose an instance",
        help="Budgets and everything else stay as the link has them.",
    )
    if chosen is not None:
        state.move(instance=chosen)
