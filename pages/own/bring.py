"""Your data: from a model to a file in Python, or upload an instance, or votes and a graph."""

from __future__ import annotations

from typing import Any

import streamlit as st

from certcore import messages
from certcore.common.errors import InputError
from certcore.domain.perturbations import LABELS, TYPES
from certcore.instance.instance import instance_to_arrays

from ..files import bundles, examples, validation
from ..files.advice import advice
from ..messages.text import count, listing, markdown
from ..state import controls, menu, state
from ..state.state import View

TITLE = "Your data"
LEAD = "Everything stays on this machine. Files are read as plain arrays; nothing in them is executed."
NEEDS_INSTANCE = False
WAYS = {"instance": "Upload an instance", "votes": "Upload votes and a graph"}


def _way(text: str) -> str:
    """Reads which way in a link asks for."""
    if text == "train":
        raise ValueError("models are not trained here any more; give `certcore.smooth` a trained one, as below")
    return str(state.one_of(*WAYS)(text))


OWN: dict[str, state.Control] = {"way": ("instance", _way)}
TORCH = (
    "`smooth` needs torch and torch-geometric: `make train` adds them to a clone, `pip install '.[train]'` to an "
    "environment of your own. The dashboard needs neither."
)


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
    missing = [name for name in TYPES if name not in instance.covered_types]
    if (ballots := messages.where_ballots(instance, missing)) is not None:
        st.info(ballots.markdown, icon=":material/how_to_vote:")
    if st.button(
        "Open it", type="primary", icon=":material/open_in_new:", key="open_import", help="What is guaranteed for it."
    ):
        _open(name)


def draw(view: View | None) -> None:
    if not bundles.at_home():
        st.caption(
            "Others use this server too: what you upload is listed for you alone, until you close or reload this page."
        )
    st.markdown(
        "From your own model, in Python: `model` is a trained torch-geometric network, `data` its graph. What they "
        "write is uploaded below."
    )
    st.code(examples.FIVE_LINES, language="python")
    st.caption(TORCH)
    way = controls.segmented_control(
        st, "What do you have?", list(WAYS), format_func=WAYS.__getitem__, key="way", help="Two ways in."
    )
    if way == "instance":
        _instance()
    else:
        _votes()
    _kept()


def _upload(place: Any, label: str, key: str, help: str) -> Any:
    """A place for a file; one that is no `.npz` file is answered with what to do with it."""
    file = place.file_uploader(label, key=key, help=help)
    if file is None or file.name.lower().endswith(".npz"):
        return file
    told, line = advice(file.name)
    place.info(f"**{markdown(file.name, 80)}** {told}", icon=":material/lightbulb:")
    if line:
        place.code(line, language="python")
    return None


def _example(label: str, data: bytes, help: str) -> None:
    name = f"{label.lower().replace(' ', '-')}.npz"
    st.download_button(label, data, name, on_click="ignore", icon=":material/download:", help=help)


def _instance() -> None:
    told = "One .npz file with graph, fields and base certificate, as `save_instance` writes it."
    file = _upload(st, "Instance file (.npz)", "upload_instance", told)
    if file is not None:
        take([(file.name, file.getvalue())])
    told = "A ring of twelve nodes: a small valid file to try, or to start from."
    _example("Example instance", examples.instance(), told)


def _votes() -> None:
    left, right = st.columns(2, gap="large")
    told = "n_nodes, n_attrs, adj_indptr, adj_indices, attr_indptr, attr_indices (and attr_values), layers, edge_field."
    graph = _upload(left, "Graph (.npz)", "upload_graph", told)
    told = "votes (nodes × classes), prediction, n_samples, alpha, theta (four decimals)."
    votes = _upload(right, "Votes (.npz)", "upload_votes", told)
    if graph is not None and votes is not None:
        take([(graph.name, graph.getvalue()), (votes.name, votes.getvalue())])
    else:
        st.caption("Both files are needed; they are checked together.")
    with st.container(horizontal=True):
        _example("Example graph", examples.graph(), "The graph of the example; goes with the example votes.")
        _example("Example votes", examples.votes(), "Votes on the example graph.")


def _kept() -> None:
    """Uploads that are kept: to open, and to delete."""
    mine = [name for name in bundles.names() if name.startswith("import-")]
    if not mine:
        return
    with st.expander(f"Kept here: {len(mine)}", icon=":material/folder:"):
        for name in mine:
            title = markdown(bundles.title(name), 60)
            with st.container(horizontal=True):
                if st.button(f"Open {title}", key=f"open_{name}", icon=":material/open_in_new:", help="Look at it."):
                    _open(name)
                with st.popover("Delete …", type="tertiary", key=f"ask_{name}", help="Asks once more."):
                    gone = st.button(f"Delete {title}", key=f"delete_{name}", help="It cannot be brought back.")
                if gone:
                    bundles.path_of(name).unlink(missing_ok=True)
                    st.rerun()


def _open(name: str) -> None:
    budget = dict.fromkeys(TYPES, 0)
    st.session_state["_view"] |= {"instance": name, "targets": "file", "protect": "", **budget, "_start": True}
    menu.go("workbench")
