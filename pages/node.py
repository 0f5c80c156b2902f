"""The page node."""

from __future__ import annotations

import streamlit as st

from pages.shared.frame import frame

view = frame("pages/node.py", "node")
st.write(view.threat.to_json())
