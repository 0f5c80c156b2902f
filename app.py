"""The dashboard: `python app.py --server.port 8501`. `streamlit run app.py` works as well, its first page is slower."""

from __future__ import annotations

import streamlit as st
from streamlit import runtime

if runtime.exists():
    from pages.frame.frame import MENU

    st.navigation([st.Page(entry.file, default=entry is MENU[0]) for entry in MENU], position="hidden").run()
elif __name__ == "__main__":
    from pages.server.serve import main

    main(__file__)
