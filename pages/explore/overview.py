"""The dashboard's first page: what is guaranteed at the sliders' position."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from certcore import figures, messages
from certcore.program.relaxation import Relaxation

from ..background import engine, sweeps, work
from ..messages.names import class_name
from ..parts import charts, exports, headline
from ..state.state import View

TITLE = "What is guaranteed"
#: The small curve is drawn at every integer if it does not reach further.
MOST_FINE = 200


def draw(view: View) -> None:
    result, fresh = headline.draw(view)
    ready = fresh and headline.number_first()

    left, right = st.columns(2, gap="large")
    with left:
        vary = sweeps.main_axis(view)
        st.subheader(
            "Through the current point",
            anchor=False,
            help="What stays certified as one budget grows; dashed: the sliders' position. More under Curves.",
        )
        figure, beside = None, {}
        if ready:
            values = sweeps.mini_values(view, vary)
            member = sweeps.Member("", view.threat, (view.instance,))
            fine = values[-1] <= MOST_FINE and view.instance.graph.n_nodes <= sweeps.MANY_NODES
            line = sweeps.curves([member], vary, values, False, view.relaxation, "mini", fine=fine)
            curves = sweeps.first_kind(line)
            if curves:
                search = sweeps.attacks(member, vary, values, view.relaxation, "mini_attacks")
                accuracy = None if view.counted is None else len(view.counted)
                beside = figures.controls_beside(view.instance, view.threat, vary, accuracy)
                figure = figures.curve_figure(
                    curves,
                    vary=vary,
                    marker=sweeps.position(view.threat, vary),
                    attacks=sweeps.known_attacks(search, curves[0][0]),
                    accuracy_of=accuracy,
                    controls=beside,
                    recipe=exports.recipe(
                        view,
                        "curve",
                        vary=vary,
                        values=[int(value) for value in curves[0][0].values],
                        accuracy_of=accuracy,
                        **sweeps.told_attacks(search),
                    ),
                )
                if search.running:
                    work.watch(search)
        charts.show_latest(figure, view.instance.full_digest, key="mini", height=330)
        if beside:
            st.caption(messages.why_controls().markdown)
        if view.relaxation is Relaxation.EXACT:
            st.caption("The curve shows what is verified (the tight program); the solver's word is not drawn.")
        if ready:
            work.line(line)
    with right:
        st.subheader(
            "Class by class",
            anchor=False,
            help="Each bar is a certificate of its own: the attacker turns the whole budget against that class. The "
            "bars do not add up to the number above.",
        )
        if view.instance.prediction is None:
            st.info(
                "This instance has no predicted labels, so it cannot be split by class.", icon=":material/category:"
            )
        else:
            bars_figure = None
            if ready:
                task = engine.per_class(view)
                if task.result:
                    labels, certified, naive, sizes = zip(*task.result)
                    names = [class_name(view.instance, label) for label in labels]
                    bars_figure = figures.class_figure(
                        names, certified, naive, sizes, recipe=exports.recipe(view, "classes")
                    )
            charts.show_latest(bars_figure, view.instance.full_digest, key="classes", height=330)
            if ready:
                work.line(task)

    headline.report(view, result is not None and fresh)
    st.subheader("What is being certified", anchor=False)
    text, graph, bars = st.columns([1.25, 1, 1], gap="large", vertical_alignment="center")
    text.markdown(
        "A classifier labels all nodes of **one** graph at once, and an attacker may change that one graph within the "
        "budgets on the left. A base certificate says for each node alone which changes cannot move its label; "
        "counting those nodes gives the *naive* number. The *collective* certificate asks how many labels one single "
        "changed graph can break at most, and certifies the rest."
    )
    pictures = Path(__file__).parents[1] / "parts"
    graph.image(
        str(pictures / "picture-graph.svg"),
        width="stretch",
        alt="A small graph with one attacked spot: flips that are spent there cannot be spent elsewhere as well.",
    )
    bars.image(
        str(pictures / "picture-count.svg"),
        width="stretch",
        alt="Two bars: few labels are certified node by node, many more under one shared attack.",
    )
