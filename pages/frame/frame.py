"""The frame around every page: page settings, our own menu, the sidebar, and what to do when there is no instance."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import streamlit as st

from pages.files import bundles
from pages.frame import sidebar
from pages.parts.text import markdown
from pages.server.gate import gate
from pages.state import state
from pages.state.state import Control, View


@dataclass(frozen=True)
class Entry:
    """One line of the menu."""

    file: str
    label: str
    icon: str

    @property
    def slug(self) -> str:
        return Path(self.file).stem


#: A file of our own: icons by name would be fetched from a font server.
ICON = Path(__file__).with_name("icon.png")

MENU = (
    Entry("pages/explore/overview.py", "Overview", ":material/verified_user:"),
    Entry("pages/explore/curves.py", "Curves", ":material/show_chart:"),
    Entry("pages/explore/contours.py", "Contours", ":material/contrast_square:"),
    Entry("pages/inspect/attack_map.py", "Attack map", ":material/hub:"),
    Entry("pages/inspect/node.py", "Node", ":material/center_focus_strong:"),
    Entry("pages/inspect/base.py", "Base certificate", ":material/bar_chart:"),
    Entry("pages/explore/compare.py", "Compare", ":material/compare_arrows:"),
    Entry("pages/own/bring.py", "Bring your own", ":material/upload_file:"),
    Entry("pages/own/check.py", "Check a claim", ":material/fact_check:"),
    Entry("pages/learn/method.py", "Method", ":material/school:"),
    Entry("pages/learn/the_paper.py", "Paper", ":material/article:"),
)

CSS = """
<style>
.block-container {padding-top: 2.6rem; padding-bottom: 3rem; max-width: 1280px;}
section[data-testid="stSidebar"] .stPageLink a {padding: 0.1rem 0.25rem; gap: 0.35rem; min-height: 1.7rem;}
section[data-testid="stSidebar"] .stPageLink p {font-size: 0.86rem; white-space: nowrap;}
section[data-testid="stSidebar"] [data-testid="stVerticalBlock"] {gap: 0.55rem;}
section[data-testid="stSidebar"] [data-testid="stSidebarUserContent"] {padding-left: 0.6rem; padding-right: 0.6rem;}
.st-key-menu [data-testid="stVerticalBlock"], .st-key-menu {gap: 0.1rem !important;}
[data-testid="stSidebarContent"] [data-testid="stNumberInputContainer"] input {padding: 0 0.3rem 0 0.5rem;}
[data-testid="stSidebarHeader"] {height: 2.2rem; padding-bottom: 0; margin-bottom: 0;}
[class*="st-key-work_"] {min-height: 2.5rem; justify-content: center;}
.stPageLink a:focus-visible {outline: 2px solid #0072B2; outline-offset: -1px; border-radius: 0.4rem;}
[data-testid="stMetricLabel"] p {white-space: normal;}
@media (max-width: 640px) {.st-key-numbers [data-testid="stColumn"] {min-width: calc(50% - 1rem); flex: 1 1 40%;}}
@media (max-width: 640px) {.block-container {padding-left: 0.9rem; padding-right: 0.9rem;}}
</style>
"""


def frame(slug: str, title: str, lead: str = "", own: dict[str, Control] | None = None) -> View:
    """Draw everything that surrounds a page and return the view; ends the page if there is nothing to show."""
    view = frame_without_instance(slug, title, lead, own)
    if view is None:
        stop()
    if view.problem:
        st.warning(markdown(view.problem, 400), icon=":material/edit:")
        stop()
    return view


def frame_without_instance(slug: str, title: str, lead: str = "", own: dict[str, Control] | None = None) -> View | None:
    """The same for pages that make sense before there is any instance."""
    entry = next(entry for entry in MENU if entry.slug == slug)
    st.set_page_config(
        page_title=f"{entry.label} · Collective certificates",
        page_icon=str(ICON),
        layout="wide",
        initial_sidebar_state=352,
    )
    st.html(CSS)
    gate()
    st.session_state.setdefault("_own", {})[entry.slug] = own or {}
    with st.sidebar:
        place = st.container(key="menu")
        view = sidebar.draw(entry.slug, own or {})
    with place:
        _draw_menu()
    st.title(title, anchor=False)
    if lead:
        st.caption(lead)
    _ignored()
    if isinstance(view, sidebar.Absence):
        _absent(view)
        return None
    return view


def _draw_menu() -> None:
    half = (len(MENU) + 1) // 2
    columns = st.columns([1, 0.94], gap="small")
    for i, entry in enumerate(MENU):
        columns[i >= half].page_link(
            entry.file, label=entry.label, icon=entry.icon, query_params=link_parameters(entry), width="stretch"
        )


def link_parameters(entry: Entry) -> dict[str, str]:
    """What the link to a page carries: the shared controls, and what was last set on that page itself."""
    return state.parameters(st.session_state["_own"].get(entry.slug))


def go_to_node(node: int) -> NoReturn:
    """Open the page of one node, keeping the view."""
    st.switch_page("pages/inspect/node.py", query_params=state.parameters(node=node))
    raise AssertionError("switching pages ends the run")


def stop() -> NoReturn:
    """End the page here."""
    st.stop()
    raise AssertionError("stopping ends the run")


def _ignored() -> None:
    """What a link asked for and did not get; it is no longer in the address."""
    notes = state.ignored()
    if notes:
        said = [f"- {markdown(note, 400)}" for note in notes[:8]]
        said += [f"- and {len(notes) - 8} more"] if len(notes) > 8 else []
        st.warning(
            "Not all of this link counts. This was taken out of the address:\n\n" + "\n".join(said),
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
