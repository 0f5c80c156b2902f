"""The page check."""

from __future__ import annotations

import streamlit as st

from pages.shared.frame import frame

view = frame("pages/check.py", "check")
st.write(view.threat.to_json())
