"""The page base."""

from __future__ import annotations

import streamlit as st

from pages.shared.frame import frame

view = frame("pages/base.py", "base")
st.write(view.threat.to_json())
