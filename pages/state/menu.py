"""The menu: six entries, and the pages behind them. A new page is a file in its section's folder and a line here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

import streamlit as st

from . import state


@dataclass(frozen=True)
class Entry:
    """One line of the menu: `pages/SECTION/SLUG.py`, found at the address `/SLUG`.

    The file has a `TITLE` and a function `draw(view)`; if it likes a `LEAD` below the title, controls of its OWN that
    are in the address, and `NEEDS_INSTANCE = False` if it makes sense without a view.
    """

    section: str
    slug: str
    label: str
    behind: str = ""
    """The entry of the menu that this page belongs to, if it has none of its own."""

    @property
    def path(self) -> str:
        return __name__.removesuffix("state.menu") + f"{self.section}.{self.slug}"

    def module(self) -> ModuleType:
        """The page itself, imported when it is first opened: the first page comes sooner."""
        return import_module(self.path)

    def page(self, draw: Callable[[], None]) -> Any:
        """The page as Streamlit knows it; two with one address are the same to it."""
        return st.Page(draw, title=self.label, url_path=self.slug, default=self is MENU[0])

    def link(self, label: str = "") -> None:
        """A link that carries the shared controls, and what was last set on that page itself."""
        own = getattr(sys.modules.get(self.path), "OWN", {})  # a page that nobody has opened has nothing to keep
        st.page_link(self.page(_elsewhere), label=label or self.label, query_params=state.parameters(own))


MENU = (
    Entry("explore", "workbench", "Workbench"),
    Entry("explore", "compare", "Compare"),
    Entry("inspect", "node", "One node"),
    Entry("own", "bring", "Your data"),
    Entry("own", "check", "Check a proof"),
    Entry("learn", "learn", "Learn"),
)
#: Pages that another one leads to: those of a menu entry as its further tabs, and charts enlarged.
BEHIND = (
    Entry("explore", "curves", "Curves", behind="workbench"),
    Entry("explore", "contours", "Contours", behind="workbench"),
    Entry("inspect", "base", "All nodes", behind="node"),
)
#: What pages were called before: their addresses open what they meant.
FORMER = {"overview": "workbench", "attack_map": "workbench", "method": "learn", "the_paper": "learn"}
#: What to use instead of a page that is gone.
GONE = {
    "the_paper": "The numbers of the paper beside ours are a page of the documentation now, “The paper, reproduced”; "
    "`python -m experiments table` writes it.",
}
#: Entries of the menu that are several pages, with the name of the first.
TABS = {"node": "One node"}

BY_SLUG = {entry.slug: entry for entry in (*MENU, *BEHIND)}


def _elsewhere() -> None:
    """Stands for a page that is not being drawn."""


def chosen(draw: Callable[[], None]) -> tuple[Entry, Any]:
    """The entry that was asked for, and Streamlit's page for it, whose `run` calls `draw`."""
    pages = {entry.slug: entry.page(draw) for entry in BY_SLUG.values()}
    old = {slug: st.Page(draw, title=BY_SLUG[now].label, url_path=slug) for slug, now in FORMER.items()}
    page = st.navigation([*pages.values(), *old.values()], position="hidden")
    slug = next(slug for slug, one in (pages | old).items() if one is page)
    st.session_state["_address"] = slug
    return BY_SLUG[FORMER.get(slug, slug)], page


def said_of_address() -> str:
    """What to use instead of the page that was asked for; empty if that page is still here."""
    return GONE.get(st.session_state["_address"], "")


def draw(now: Entry) -> None:
    """The menu, in one row.

    Streamlit's own menu leads to bare addresses: another tab would start anew, and the button "back" would find the
    bare address first. These links carry the view.
    """
    for entry in MENU:
        with st.container(key=f"menu_{'now' if entry.slug in (now.slug, now.behind) else entry.slug}", width="content"):
            entry.link()


def tabs(now: Entry) -> None:
    """Where an entry of the menu is several pages: links between them."""
    entry = BY_SLUG[now.behind or now.slug]
    with st.container(horizontal=True, key="tabs"):
        entry.link(TABS[entry.slug])
        for other in BEHIND:
            if other.behind == entry.slug:
                other.link()


def go(slug: str, **changes: Any) -> NoReturn:
    """Open another page, keeping the view but for some changes."""
    st.switch_page(BY_SLUG[slug].page(_elsewhere), query_params=state.parameters(**changes))
    raise AssertionError("switching pages ends the run")
