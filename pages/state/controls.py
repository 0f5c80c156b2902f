"""Widgets that are drawn with their present value as the default.

Values come from the link or from memory and are set by code. Streamlit tells the browser of such a value only once, and
drops messages that were not sent yet when a rerun begins; a widget drawn with a fixed default would then show, and
later send back, that default.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st


def selectbox(place: Any, label: str, options: Sequence[Any], *, key: str, **more: Any) -> Any:
    values = list(options)
    now = st.session_state.get(key)
    return place.selectbox(label, values, index=values.index(now) if now in values else 0, key=key, **more)


def segmented_control(place: Any, label: str, options: Sequence[Any], *, key: str, **more: Any) -> Any:
    return place.segmented_control(label, options, default=st.session_state.get(key), key=key, required=True, **more)


def multiselect(place: Any, label: str, options: Sequence[Any], *, key: str, **more: Any) -> Any:
    return place.multiselect(label, options, default=st.session_state.get(key), key=key, **more)


def number_input(place: Any, label: str, low: Any, high: Any, *, key: str, **more: Any) -> Any:
    return place.number_input(label, low, high, st.session_state.get(key), key=key, **more)


def text_input(place: Any, label: str, *, key: str, **more: Any) -> str:
    return place.text_input(label, st.session_state.get(key) or "", key=key, **more) or ""


def toggle(place: Any, label: str, *, key: str, **more: Any) -> bool:
    return bool(place.toggle(label, bool(st.session_state.get(key)), key=key, **more))
