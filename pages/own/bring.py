"""Bring your own: upload an instance or votes, or train and vote in the background."""

from __future__ import annotations

import streamlit as st

from certcore.common.errors import InputError
from certcore.domain.perturbations import LABELS, TYPES
from certcore.instance.instance import instance_to_arrays

from ..files import bundles, examples, validation
from ..state import controls, menu, state
from ..state.state import View
from ..words.text import count, listing, markdown

TITLE = "Bring your own"
LEAD = "Everything stays on this machine. Files are read as plain arrays; nothing in them is executed."
NEEDS_INSTANCE = False
OWN: dict[str, state.Control] = {"way": ("instance", state.one_of("instance", "votes", "train"))}
WAYS = {"instance": "Upload an instance", "votes": "Upload votes and a graph", "train": "Train and vote here"}
MOST_MB = 100


def take(parts: list[tuple[str, bytes]]) -> None:
    """Validate what was uploaded, name every problem, or offer to open it."""
    try:
        arrays = validation.read(parts)
    except InputError as error:
        st.error(f"**Not readable.** {markdown(error, 300)}", icon=":material/broken_image:")
        return
    wrong = validation.problems(arrays)
    if wrong:
        st.error(
            f"**{len(wrong)} problem{'s' if len(wrong) > 1 else ''} found.** Nothing was imported.\n\n"
            + "\n".join(f"- {markdown(problem, 400)}" for problem in wrong),
            icon=":material/rule:",
        )
        return
    instance = validation.build(arrays)
    data = parts[0][1] if len(parts) == 1 else bundles.packed(instance_to_arrays(instance))
    try:
        name, instance = bundles.keep(data, parts[0][0])
    except InputError as error:
        st.error(f"**Valid, but it could not be kept.** {markdown(error, 400)}", icon=":material/hard_drive:")
        return
    facts, covered = instance.facts(), listing([LABELS[name] for name in instance.base.axes])
    st.success(
        f"**Valid.** {count(facts['nodes'])} nodes, {count(facts['edges'])} edges, {count(facts['attributes'])} "
        f"attributes; the base certificate covers {covered}. It is in the list of instances now.",
        icon=":material/check_circle:",
    )
    if st.button(
        "Open it", type="primary", icon=":material/open_in_new:", key="open_import", help="What is guaranteed for it."
    ):
        budget = dict.fromkeys(TYPES, 0)
        st.session_state["_view"] |= {"instance": name, "targets": "file", "protect": "", **budget, "_start": True}
        menu.go("overview")


def draw(view: View | None) -> None:
    way = controls.segmented_control(
        st, "What do you have?", list(WAYS), format_func=WAYS.__getitem__, key="way", help="Three ways in."
    )
    if way == "instance":
        file = st.file_uploader(
            "Instance file (.npz)", type=["npz"], max_upload_size=MOST_MB, key="upload_instance",
            help=f"One .npz file with graph, fields and base certificate; at most {MOST_MB} MB.",
        )  # fmt: skip
        if file is not None:
            take([(file.name, file.getvalue())])
        st.download_button(
            "Example instance",
            examples.instance(),
            "example-instance.npz",
            on_click="ignore",
            icon=":material/download:",
            help="A ring of twelve nodes: a small valid file to try, or to start from.",
        )
    elif way == "votes":
        left, right = st.columns(2, gap="large")
        graph = left.file_uploader(
            "Graph (.npz)", type=["npz"], max_upload_size=MOST_MB, key="upload_graph",
            help="n_nodes, n_attrs, adj_indptr, adj_indices, attr_indptr, attr_indices, layers, edge_field.",
        )  # fmt: skip
        votes = right.file_uploader(
            "Votes (.npz)", type=["npz"], max_upload_size=MOST_MB, key="upload_votes",
            help="votes (nodes × classes), prediction, n_samples, alpha, theta (four decimals).",
        )  # fmt: skip
        if graph is not None and votes is not None:
            take([(graph.name, graph.getvalue()), (votes.name, votes.getvalue())])
        else:
            st.caption("Both files are needed; they are checked together.")
        with st.container(horizontal=True):
            st.download_button(
                "Example graph",
                examples.graph(),
                "example-graph.npz",
                on_click="ignore",
                icon=":material/download:",
                help="The graph of the example; goes with the example votes.",
            )
            st.download_button(
                "Example votes",
                examples.votes(),
                "example-votes.npz",
                on_click="ignore",
                icon=":material/download:",
                help="Votes on the example graph.",
            )
    else:
        from ..parts.train_form import form

        form(take)

    with st.expander("Make an instance in Python", icon=":material/code:"):
        st.code(examples.SNIPPET, language="python")
        st.caption("The table of all keys of an instance file is in the documentation; unknown keys are ignored.")
