"""The frame around every page: settings, menu, sidebar, heading, and what to do when there is no instance."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

import streamlit as st

from certcore.common.errors import SoundnessError

from ..background import work
from ..files import bundles
from ..messages.text import markdown
from ..state import menu, state
from . import buttons, sidebar

#: Of our own: icons by name would be fetched from a font server, and a file is gone when a run overtakes its request.
ICON = "data:image/png;base64," + b64encode(Path(__file__).with_name("icon.png").read_bytes()).decode("ascii")

CSS = Path(__file__).with_name("frame.css").read_text(encoding="utf-8")


def run() -> None:
    """Draw the page that was asked for: what `app.py` does on every run."""
    st.html(f"<style>{CSS}</style>")
    entry, page = menu.chosen(lambda: _draw(entry, view))
    st.set_page_config(
        page_title=f"{entry.label} · Collective certificates",
        page_icon=ICON,
        layout="wide",
        initial_sidebar_state="collapsed",
    )
    work.start()
    module = entry.module()
    with st.container(key="top", horizontal=True, vertical_alignment="center", wrap=False):
        buttons.brand(picture=getattr(module, "PICTURE", False))
        place = st.container(key="menu", horizontal=True, wrap=False)
        buttons.link()
    strip = st.container(key="strip", horizontal=True, vertical_alignment="bottom", wrap=False)
    with st.sidebar:
        view = sidebar.draw(entry.slug, getattr(module, "OWN", {}), strip)
    with place:
        menu.draw(entry)  # when everything is set that its links carry
    page.run()
    # Not before: a run that a newer one overtakes may not have told the browser yet, which then sends the old values.
    st.session_state.pop("_moves", None)


def _draw(entry: menu.Entry, view: state.View | sidebar.Absence) -> None:
    """A page below its heading; pages that need an instance are drawn only with one that can be certified."""
    module = entry.module()
    picture = getattr(module, "PICTURE", False) and isinstance(view, state.View) and not view.problem
    # The workbench is its own heading: the title is there for those who listen.
    wide = "_wide" if getattr(module, "WIDE", False) else ""
    with st.container(key="title" if picture else f"heading{wide}"):
        st.title(module.TITLE, anchor=False)
    with st.container(key="bench" if picture else f"body{wide}"):
        if (entry.behind or entry.slug) in menu.TABS:
            menu.tabs(entry)
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
        work.watch()


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
