"""Finding a node by what people type."""

from __future__ import annotations

import streamlit as st


@st.cache_data(max_entries=4, show_spinner=False)
def search(names: tuple[str, ...] | None, n_nodes: int, text: str) -> list[int]:
    """Nodes whose index or name matches, best first."""
    text = text.strip().lower()
    if not text:
        return []
    # Nodes without a name are called "node 12" everywhere, so that is what people type.
    index = text.removeprefix("node").strip() if names is None else text
    found = [int(index)] if index.isascii() and index.isdigit() and int(index) < n_nodes else []
    if names is not None:
        starts = [i for i, name in enumerate(names) if name.lower().startswith(text)]
        inner = [i for i, name in enumerate(names) if text in name.lower()[1:]]
        found += [i for i in starts + inner if i not in found][:50]
    return list(dict.fromkeys(found))[:50]
