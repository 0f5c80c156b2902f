"""The page contours."""

from __future__ import annotations

import streamlit as st

from pages.shared.frame import frame

view = frame("pages/contours.py", "contours")
st.write(view.threat.to_json())
