"""Method: a guided story in five steps on the live instance, then the details."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import streamlit as st

from certcore.result.attack_effects import reach
from certcore.result.certificate import Certificate

from ..background import engine, work
from ..messages.text import count
from ..parts import charts, method_text
from ..parts.pictures import bars
from ..state.state import View
from . import pictures

TITLE = "How it works"
LEAD = "How many labels can one attacker break at once? Five steps, on the live instance."


def draw(view: View) -> None:
    _what()
    task = engine.story(view)
    steps = task.result or []
    names = [title for title, _ in method_text.STEPS]
    if steps:
        values = np.array([certified for certified, *_ in steps])
        targets = steps[0][1]
        shares = (values / max(targets, 1)).tolist()
        texts = [f"{name}: {count(value)} of {count(targets)} certified" for name, value in zip(names, values.tolist())]
        screen = bars(names[: len(values)], shares, "certified ratio", texts, dark=charts.is_dark())
        charts.draw(screen, f"{'; '.join(texts)}.", key="story", height=300)
    work.line(task, f"{count(steps[0][1])} targets; budgets as above." if steps else "")

    limits = engine.story_limits(view)
    for number, (title, text) in enumerate(method_text.STEPS):
        with st.container(border=True, key=f"step_{number + 1}"):
            words, picture = st.columns([2.4, 1], gap="large", vertical_alignment="center")
            step = steps[number] if number < len(steps) else None
            words.markdown(f"**{number + 1} · {title}**" + ("" if step is None else f" — {count(step[0])} certified"))
            words.markdown(text.format(**limits))
            if step is not None:
                with picture:
                    _picture(view, number, *step)

    for title, icon, text in method_text.DETAILS:
        with st.expander(title, icon=icon):
            st.markdown(text)


def _picture(view: View, number: int, certified: int, targets: int, result: Certificate | None) -> None:
    """What the step changes, on the live instance."""
    dark = charts.is_dark()
    if result is None:
        drawn = pictures.shares(certified, targets, shared=bool(number), dark=dark)
        told = f"{count(certified)} of {count(targets)} labels certified " + (
            "when all meet one attacker who reaches them all." if number else "when each meets an attacker of its own."
        )
    else:
        drawn = pictures.where(view.instance, result, dark=dark)
        found = reach(view.instance, result)
        lost = 0 if found is None else int(found.lost.sum())
        told = f"Where the attack found spends its flips; {count(lost)} labels lose their certificate."
    st.image(drawn, width=pictures.WIDTH, alt=told)
    st.caption(told)


def _what() -> None:
    """What is being certified, in three sentences and two pictures."""
    text, graph, bars = st.columns([1.25, 1, 1], gap="large", vertical_alignment="center")
    text.markdown(
        "A classifier labels all nodes of **one** graph at once, and an attacker may change that one graph within the "
        "budgets above. A base certificate says for each node alone which changes cannot move its label; counting "
        "those nodes gives the *naive* number. The *collective* certificate asks how many labels one single "
        "changed graph can break at most, and certifies the rest."
    )
    folder = Path(method_text.__file__).parent
    spot = "A small graph with one attacked spot: flips that are spent there cannot be spent elsewhere as well."
    graph.image(str(folder / "picture-graph.svg"), width="stretch", alt=spot)
    few = "Two bars: few labels are certified by the naive certificate, many more under one shared attack."
    bars.image(str(folder / "picture-count.svg"), width="stretch", alt=few)
