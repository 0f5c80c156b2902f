"""Contours: what stays certified over two budgets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from certcore import figures, messages
from certcore.common.numbers import write_numbers
from certcore.program.relaxation import Relaxation
from certcore.sweep.attack_curve import best_within
from certcore.sweep.counts import Counts
from certcore.sweep.ranges import first_axes, map_end

from ..background import sweeps
from ..background.answers import answer, answers
from ..parts import charts, exports
from ..state import controls, state
from ..state.state import View

TITLE = "Contours"
LEAD = "Two budgets at once, everything else as above."
SHOW = {
    "ratio": "Certified ratio",
    "naive": "Gain over naive (collective − naive)",
    "paper": "Gain over the paper (tight − paper)",
    "bracket": "Width of the bracket (bound − best attack)",
}
OWN: dict[str, state.Control] = {
    **state.own("x", "y", "x_to", "y_to", "show", "levels"),
    # Older links say how many cells. Today every map refines itself; the word is read so that they open.
    "cells": ("coarse", state.one_of("coarse", "medium", "fine")),
}


@dataclass(frozen=True)
class Asked:
    """What the controls say: two axes with their ends, what fills the cells, and where lines are drawn."""

    x: str
    y: str
    ends: tuple[int, int]
    show: str
    levels: tuple[float, ...]


def _asked(view: View) -> Asked:
    choices = {name: label for name, label in sweeps.varied(view.instance).items() if not name.startswith("local_")}
    asked = [st.session_state[name] if st.session_state[name] in choices else "" for name in ("x", "y")]
    x, y = first_axes(view.instance, asked[0], "" if asked[0] == asked[1] else asked[1])
    if asked[0] != x:
        state.replace("x", x, "this cannot be varied on this instance")
    if asked[1] != y:
        state.replace("y", y, "this cannot be varied on this instance, or is on the other axis")

    bar = st.container(horizontal=True, vertical_alignment="bottom")
    x = controls.selectbox(
        bar, "Horizontal", list(choices), format_func=choices.__getitem__, key="x", width=190, help="Horizontal axis."
    )
    x_default = map_end(view.instance, x)
    x_to = controls.number_input(
        bar, "Up to", 1, 20_000, key="x_to", width=100, placeholder=str(x_default), help="End of the horizontal axis."
    )
    others = [name for name in choices if name != x]
    y = controls.selectbox(
        bar, "Vertical", others, format_func=choices.__getitem__, key="y", width=190, help="Vertical axis."
    )
    y_default = map_end(view.instance, y)
    y_to = controls.number_input(
        bar, "Up to ", 1, 20_000, key="y_to", width=100, placeholder=str(y_default), help="End of the vertical axis."
    )
    second = st.container(horizontal=True, vertical_alignment="bottom")
    shown = [name for name in SHOW if name != "paper" or messages.ballots_of(view.instance) is None]
    if st.session_state["show"] not in shown:
        state.replace("show", "ratio", "the publication defines no relaxation for ballots")
    titles = SHOW if view.counted is None else SHOW | {"ratio": "Certified accuracy"}
    show = controls.selectbox(
        second, "Show", shown, format_func=titles.__getitem__, key="show", width=300, help="What fills the map."
    )
    levels = controls.multiselect(
        second,
        "Contour lines at",
        [f"0.{k}" for k in range(1, 10)],
        key="levels",
        width=320,
        help="Lines of equal share: ours solid, the reference dotted.",
    )

    ends = x_to or x_default, y_to or y_default
    return Asked(x, y, ends, show, tuple(sorted(float(level) for level in levels)))


def draw(view: View) -> None:
    asked = _asked(view)
    x, y, ends = asked.x, asked.y, asked.ends
    relaxation = view.relaxation.relaxed
    # A gain is drawn where both of its maps are known: those two are not refined.
    finest = asked.show != "paper"
    place, maps = st.empty(), _Maps()
    for maps.ours in answers(sweeps.cells(view, x, y, ends, relaxation, finest)):
        if finest and asked.show != "bracket":
            with place.container():
                _chart(view, asked, maps, growing=True)
    if not finest:
        against = Relaxation.PAPER if relaxation is Relaxation.TIGHT else Relaxation.TIGHT
        maps.other = answer(sweeps.cells(view, x, y, ends, against, finest))
    for maps.found in answers(sweeps.attacks_in(view, x, y, ends, relaxation)):
        if finest:
            with place.container():
                _chart(view, asked, maps, growing=True)
    if maps.ours is not None and (finest or maps.other is not None):
        with place.container():
            _chart(view, asked, maps)


@dataclass(eq=False)
class _Maps:
    """What is drawn, as far as it is there: our map, the one it is compared with, and attacks at some of its cells."""

    ours: Counts | None = None
    other: Counts | None = None
    found: list[tuple[float, float, int]] = field(default_factory=list)


def _chart(view: View, asked: Asked, maps: _Maps, growing: bool = False) -> None:
    """The map, and what a click on it does; every cell holds a proven bound, solved or not."""
    x, y, show, known = asked.x, asked.y, asked.show, maps.found
    tight = view.relaxation.relaxed is Relaxation.TIGHT
    assert maps.ours is not None
    main, reference = (maps.ours, maps.other) if tight or maps.other is None else (maps.other, maps.ours)
    accuracy_of = None if view.counted is None else len(view.counted)
    across, up = sweeps.position(view.threat, x), sweeps.position(view.threat, y)
    # The attacks found are in the table and under the pointer, not in this picture.
    plain = show == "ratio" and list(asked.levels) == [0.5, 0.7]
    axes: dict[str, Any] = {"x": x, "x_values": write_numbers(main.x_values.tolist())}
    axes |= {"y": y, "y_values": write_numbers(main.y_values.tolist())}
    figure = figures.contour_figure(
        main,
        x=x,
        y=y,
        show={"naive": "difference", "paper": "difference"}.get(show, show),
        gaps=show == "paper",  # what is gained is told only where both are solved
        attacks=best_within(main.x_values, main.y_values, known) if known else None,
        reference=reference,
        reference_kind="paper" if show == "paper" else "naive",
        kind="paper" if not tight and show != "paper" else "collective",
        levels=asked.levels,
        marker=None if across is None or up is None else (across, up),
        accuracy_of=accuracy_of,
        command=exports.made_by(view, "surface", **axes) if plain else "",
    )
    note = (
        "A cell holds for all budgets up to its upper right corner; click it to move the sliders there. The map gets "
        "finer while you look. Solid lines: this certificate; dotted lines: the reference."
    )
    clicked = charts.show(figure, key="contour", height=560, select=True, note=note, growing=growing)
    if clicked is not None:
        state.move(**{x: sweeps.picked(x, clicked[0]), y: sweeps.picked(y, clicked[1])})
