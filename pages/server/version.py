"""The dashboard works around a race in parts of Streamlit that are not public, so it runs with known versions only."""

from __future__ import annotations

import re

import streamlit as st
from streamlit import runtime

#: Versions whose private parts `background/delivery.py` was written for: from the first, below the second.
KNOWN = ((1, 67), (1, 68))


def complaint(version: str) -> str:
    """What to tell the user about a version of Streamlit; empty if it is one of those that work."""
    found = tuple(map(int, re.findall(r"\d+", version)[:2]))
    if KNOWN[0] <= found < KNOWN[1]:
        return ""
    first, last = (".".join(map(str, bound)) for bound in KNOWN)
    return (
        f"Streamlit {version} is installed, the dashboard needs a version from {first} and below {last}; "
        f"run `pip install 'streamlit>={first},<{last}'`. The command line works as it is."
    )


def require_streamlit() -> None:
    """Stop with one sentence where the installed version would give a broken page."""
    said = complaint(st.__version__)
    if said and runtime.exists():
        st.error(said)
        st.stop()
    if said:
        raise SystemExit(said)
