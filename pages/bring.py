"""The page bring."""

from __future__ import annotations

import streamlit as st

from pages.shared.frame import frame

view = frame("pages/bring.py", "bring")
st.write(view.threat.to_json())
