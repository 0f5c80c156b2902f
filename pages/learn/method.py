"""Method: a guided story in five steps on the live instance, then the details."""

from __future__ import annotations

import numpy as np
import streamlit as st

from certcore import figures

from ..background import engine, work
from ..parts import charts, method_text
from ..state.state import View
from ..words.text import count

TITLE = "How it works"
LEAD = "How many labels can one attacker break at once? Five steps, on the live instance."


def draw(view: View) -> None:
    task = engine.story(view)
    steps = task.result or []
    names = [title for title, _ in method_text.STEPS]
    if steps:
        values = np.array([certified for certified, _ in steps])
        targets = steps[0][1]
        figure = figures.BarFigure(
            categories=tuple(names[: len(values)]),
            series=(figures.Bars(label="certified", values=values / max(targets, 1), counts=values),),
            sizes=np.full(len(values), targets),
            name="story",
        )
        charts.show(figure, key="story", height=300)
    work.line(task, f"{count(steps[0][1])} targets; budgets as in the sidebar." if steps else "")

    for number, (title, text) in enumerate(method_text.STEPS):
        with st.container(border=True):
            st.markdown(
                f"**{number + 1} · {title}**"
                + (f" — {count(steps[number][0])} certified" if number < len(steps) else "")
            )
            st.markdown(text.format(**engine.story_limits(view)))

    for title, icon, text in method_text.DETAILS:
        with st.expander(title, icon=icon):
            st.markdown(text)
