"""Learn: two pages of the documentation, read from `docs/` as they are."""

from __future__ import annotations

import re
from pathlib import Path

import streamlit as st

from ..state import menu
from ..state.state import View

TITLE = "Learn"
LEAD = "What a certificate says and what it does not, and the words used here. Both are pages of the documentation."
NEEDS_INSTANCE = False
PAGES = ("explanation/what-a-certificate-says.md", "reference/words.md")
_HERE = Path(__file__).resolve().parents[2]
#: In a clone and in the image the documents are beside `pages/`; an installed package carries these two inside.
_FOLDERS = (_HERE / "docs", _HERE / "_documents")


def document(name: str) -> str:
    """A page of the documentation, its headings one lower; links to its neighbours become plain text."""
    path = next(folder / name for folder in _FOLDERS if (folder / name).is_file())
    text = re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]*\)", r"\1", path.read_text(encoding="utf-8"))
    return re.sub(r"^#", "##", text, flags=re.MULTILINE)


def draw(view: View | None) -> None:
    if dropped := menu.said_of_address():
        st.info(dropped, icon=":material/link:")
    for name in PAGES:
        st.markdown(document(name))
