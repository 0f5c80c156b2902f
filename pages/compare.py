"""The page compare."""

from __future__ import annotations

import streamlit as st

from pages.shared.frame import frame

view = frame("pages/compare.py", "compare")
st.write(view.threat.to_json())
