"""Contours: the certified ratio over two budgets."""

from __future__ import annotations

import streamlit as st

from certcore import figures, words
from certcore.program.relaxation import Relaxation

from ..background import sweeps, work
from ..parts import charts, exports
from ..state import controls, state
from ..state.state import View

TITLE = "Contours"
LEAD = "Two budgets at once, everything else as in the sidebar."
STEPS = {"coarse": 6, "medium": 10, "fine": 18}
SHOW = {
    "ratio": "Certified ratio",
    "naive": "Gain over naive (collective − naive)",
    "paper": "Gain over the paper (tight − paper)",
}
OWN: dict[str, state.Control] = {
    "x": ("", state.short_text),
    "y": ("", state.short_text),
    "x_to": (None, state.whole(1, 20_000)),
    "y_to": (None, state.whole(1, 20_000)),
    "show": ("ratio", state.one_of(*SHOW)),
    "cells": ("coarse", state.one_of(*STEPS)),
    "levels": (["0.5", "0.7"], state.words(*(f"0.{k}" for k in range(1, 10)))),
}


def pick(end: int, number: int) -> list[int]:
    """About `number` values from 0 to the end, denser at the beginning."""
    values = sorted({round(end * (i / number) ** 1.5) for i in range(number + 1)})
    return values


def draw(view: View) -> None:
    choices = {name: label for name, label in sweeps.varied(view.instance).items() if not name.startswith("local_")}
    if st.session_state["x"] not in choices:
        # Where attributes and edges can both be attacked, one of each shows more than two kinds of attributes.
        both = ("attr_del", "adj_del")
        first = both[0] if all(name in choices for name in both) else next(iter(choices))
        state.replace("x", first, "this cannot be varied on this instance")
        if st.session_state["x"] == both[0] and not st.session_state["y"]:
            st.session_state["y"] = both[1]
    if st.session_state["y"] not in choices or st.session_state["y"] == st.session_state["x"]:
        second = next(name for name in choices if name != st.session_state["x"])
        state.replace("y", second, "this cannot be varied on this instance, or is on the other axis")

    bar = st.container(horizontal=True, vertical_alignment="bottom")
    x = controls.selectbox(
        bar, "Horizontal", list(choices), format_func=choices.__getitem__, key="x", width=190, help="Horizontal axis."
    )
    x_default = sweeps.map_end(view.instance, x)
    x_to = controls.number_input(
        bar, "Up to", 1, 20_000, key="x_to", width=100, placeholder=str(x_default), help="End of the horizontal axis."
    )
    others = [name for name in choices if name != x]
    y = controls.selectbox(
        bar, "Vertical", others, format_func=choices.__getitem__, key="y", width=190, help="Vertical axis."
    )
    y_default = sweeps.map_end(view.instance, y)
    y_to = controls.number_input(
        bar, "Up to ", 1, 20_000, key="y_to", width=100, placeholder=str(y_default), help="End of the vertical axis."
    )
    cells = controls.segmented_control(
        bar, "Cells", list(STEPS), format_func=str.capitalize, key="cells", help="How many budgets on each axis."
    )
    second = st.container(horizontal=True, vertical_alignment="bottom")
    shown = [name for name in SHOW if name != "paper" or words.votes_over_groups(view.instance) is None]
    if st.session_state["show"] not in shown:
        state.replace("show", "ratio", "the publication defines no relaxation for votes over groups of edges")
    show = controls.selectbox(
        second, "Show", shown, format_func=SHOW.__getitem__, key="show", width=300, help="What fills the map."
    )
    levels = controls.multiselect(
        second,
        "Contour lines at",
        [f"0.{k}" for k in range(1, 10)],
        key="levels",
        width=320,
        help="Lines of equal certified ratio: ours solid, the reference dotted.",
    )

    xs, ys = pick(int(x_to or x_default), STEPS[cells]), pick(int(y_to or y_default), STEPS[cells])
    relaxation = view.relaxation.relaxed
    tight = relaxation is Relaxation.TIGHT
    task = sweeps.map_over(view, x, xs, y, ys, relaxation, "surface")
    other = (
        sweeps.map_over(view, x, xs, y, ys, Relaxation.PAPER if tight else Relaxation.TIGHT, "surface_paper")
        if show == "paper"
        else None
    )
    better = sweeps.strengthened_map(view, task, "surface_strong")
    strong = task if better is None or better.result is None else better
    ready = task.result is not None and (other is None or (other.result is not None and task.fresh and other.fresh))
    if ready:
        main, reference = strong.result, None
        if other is not None:
            main, reference = (strong.result, other.result) if tight else (other.result, task.result)
        accuracy_of = None if view.counted is None else len(view.counted)
        across, up = sweeps.position(view.threat, x), sweeps.position(view.threat, y)
        figure = figures.contour_figure(
            main,
            x=x,
            y=y,
            show="ratio" if show == "ratio" else "difference",
            reference=reference,
            reference_kind="paper" if show == "paper" else "naive",
            kind="paper" if not tight and show != "paper" else "collective",
            levels=tuple(sorted(float(level) for level in levels)),
            marker=None if across is None or up is None else (across, up),
            accuracy_of=accuracy_of,
            recipe=exports.recipe(
                view,
                "map",
                x=x,
                x_values=xs,
                y=y,
                y_values=ys,
                show=show,
                levels=sorted(float(level) for level in levels),
                accuracy_of=accuracy_of,
            ),
        )
        clicked = charts.show(
            figure,
            key="contour",
            height=560,
            select=True,
            note="A cell holds for all budgets up to its upper right corner; click it to move the sliders there. Solid "
            "lines: this certificate; dotted lines: the reference."
            + ("" if task.result.done.any() else " On a large graph the first cell takes a while."),
        )
        if clicked is not None:
            state.move(**{x: int(clicked[0]), y: int(clicked[1])})
    else:
        st.info("The map appears here as soon as its first cells are computed.", icon=":material/hourglass_top:")
    work.line(task if better is None else better)
    if other is not None:
        work.line(other)
