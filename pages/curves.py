"""The page curves."""

from __future__ import annotations

import streamlit as st

from pages.shared.frame import frame

view = frame("pages/curves.py", "curves")
st.write(view.threat.to_json())
