"""The page attack_map."""

from __future__ import annotations

import streamlit as st

from pages.shared.frame import frame

view = frame("pages/attack_map.py", "attack_map")
st.write(view.threat.to_json())
