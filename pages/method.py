"""The page method."""

from __future__ import annotations

import streamlit as st

from pages.shared.frame import frame

view = frame("pages/method.py", "method")
st.write(view.threat.to_json())
