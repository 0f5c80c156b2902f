"""The dashboard's first page: what is guaranteed at the sliders' position."""

from __future__ import annotations

import streamlit as st

from pages.shared.frame import frame

view = frame("app.py", "What is guaranteed")
st.write(view.threat.to_json())
