"""The menu: every page by section. A new page is a file in its section's folder and a line here."""

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
    icon: str

    @property
    def path(self) -> str:
        return __name__.removesuffix("state.menu") + f"{self.section}.{self.slug}"

    def module(self) -> ModuleType:
        """The page itself, imported when it is first opened: the first page comes sooner."""
        return import_module(self.path)

    def page(self, draw: Callable[[], None]) -> Any:
        """The page as Streamlit knows it; two with one address are the same to it."""
        return st.Page(draw, title=self.label, url_path=self.slug, default=self is MENU[0])

    def link(self) -> None:
        """A link that carries the shared controls, and what was last set on that page itself."""
        own = getattr(sys.modules.get(self.path), "OWN", {})  # a page that nobody has opened has nothing to keep
        st.page_link(
            self.page(_elsewhere),
            label=self.label,
            icon=self.icon,
            query_params=state.parameters(own),
            width="stretch",
        )


SECTIONS = {"explore": "Explore", "inspect": "Inspect", "own": "Your own", "learn": "Learn"}

MENU = (
    Entry("explore", "overview", "Overview", ":material/verified_user:"),
    Entry("explore", "curves", "Curves", ":material/show_chart:"),
    Entry("explore", "contours", "Contours", ":material/contrast_square:"),
    Entry("explore", "compare", "Compare", ":material/compare_arrows:"),
    Entry("inspect", "attack_map", "Attack map", ":material/hub:"),
    Entry("inspect", "node", "Node", ":material/center_focus_strong:"),
    Entry("inspect", "base", "Base certificate", ":material/bar_chart:"),
    Entry("own", "bring", "Bring your own", ":material/upload_file:"),
    Entry("own", "check", "Check a claim", ":material/fact_check:"),
    Entry("learn", "method", "Method", ":material/school:"),
    Entry("learn", "the_paper", "Paper", ":material/article:"),
)

BY_SLUG = {entry.slug: entry for entry in MENU}


def _elsewhere() -> None:
    """Stands for a page that is not being drawn."""


def chosen(draw: Callable[[], None]) -> tuple[Entry, Any]:
    """The entry that was asked for, and Streamlit's page for it, whose `run` calls `draw`."""
    pages = {entry.slug: entry.page(draw) for entry in MENU}
    page = st.navigation(list(pages.values()), position="hidden")
    return next(entry for entry in MENU if pages[entry.slug] is page), page


def draw() -> None:
    """The menu, in two columns.

    Streamlit's own menu leads to bare addresses: another tab would start anew, and the button "back" would find the
    bare address first. These links carry the view.
    """
    columns = st.columns([1, 0.94], gap="small")
    for i, (section, label) in enumerate(SECTIONS.items()):
        with columns[i % 2]:
            st.caption(label)
            for entry in MENU:
                if entry.section == section:
                    entry.link()


def go(slug: str, **changes: Any) -> NoReturn:
    """Open another page, keeping the view but for some changes."""
    st.switch_page(BY_SLUG[slug].page(_elsewhere), query_params=state.parameters(**changes))
    raise AssertionError("switching pages ends the run")
