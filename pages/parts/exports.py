"""The export menu of a chart: every format the engine writes, made only when asked for."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st

from certcore.domain.threat import ThreatModel
from certcore.figures.figure import Figure
from certcore.figures.kinds.graph import GraphFigure
from certcore.figures.recipe import Recipe

from ..files import bundles
from ..state.state import View

#: Where the two pictures of one archive stand on the page.
_PARTS = ("left", "right")


@st.fragment
def menu(figure: Figure, key: str, dark: bool = False, *, beside: Figure | None = None) -> None:
    """A menu with a download for each format; with another figure beside it, both in one archive.

    A paper sets two pictures as it sets any two, so that each keeps its own legend and the width of a column.
    """
    popover = st.popover(
        "Export",
        icon=":material/download:",
        type="tertiary",
        key=f"export_{key}",
        on_change="rerun",
        wrap=False,
        help="This chart as PDF, SVG, PNG, LaTeX, numbers and more.",
    )
    if not popover.open:
        return
    with popover:
        choices(figure, key, dark, beside=beside)


def choices(figure: Figure, key: str, dark: bool = False, *, beside: Figure | None = None) -> None:
    """A download for each format, and what can be chosen for print."""
    # Imported only now: drawing for print is not needed to show a page.
    from certcore.export.rendering import file_name, formats

    width = st.segmented_control(
        "Width for print",
        ["one-column", "two-column"],
        default="two-column",
        key=f"width_{key}",
        required=True,
        help="Column widths of a paper: 8.5 cm or 17.5 cm.",
    )
    zoomed = (
        isinstance(figure, GraphFigure)
        and st.segmented_control(
            "Part of the graph",
            ["whole", "attack"],
            format_func={"whole": "Whole graph", "attack": "Where the attack is"}.__getitem__,
            default="whole",
            key=f"part_{key}",
            required=True,
            help="In a narrow column the places that are hit are easier to read when they fill the picture.",
        )
        == "attack"
    )
    shown = [magnified(one) if zoomed else one for one in (figure, beside) if one is not None]
    for format in formats(figure):

        def make(kind: str = format.key) -> bytes:
            return packed(shown, kind, width or "two-column", dark)

        name, mime = file_name(figure, format.key), format.mime
        if len(shown) > 1:
            name, mime = f"{name}.zip", "application/zip"
        download(format.label, make, name, mime, key=f"{key}_{format.key}")


def magnified(figure: Figure) -> Figure:
    """The part of a graph where the attack is."""
    if not isinstance(figure, GraphFigure):
        return figure
    made = figure.recipe
    if made is not None:
        made = replace(made, options={**made.options, "zoomed": True})
    return replace(figure, zoomed=True, recipe=made)


def packed(shown: Sequence[Figure], kind: str, width: str, dark: bool) -> bytes:
    """One figure as it is; two with their titles, in one archive."""
    from certcore.export.rendering import file_name, render

    files = [render(figure, kind, width=width, dark=dark, title=len(shown) > 1) for figure in shown]
    if len(files) == 1:
        return files[0]
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for part, figure, data in zip(_PARTS, shown, files):
            target.writestr(f"{part}-{file_name(figure, kind)}", data)
    return archive.getvalue()


def download(label: str, make: Callable[[], bytes], name: str, mime: str, *, key: str) -> None:
    st.download_button(
        label, make, name, mime, key=f"download_{key}", on_click="ignore", width="stretch", type="tertiary"
    )


def recipe(
    view: View,
    kind: str,
    *,
    threat: ThreatModel | None = None,
    instances: Sequence[str] = (),
    own_targets: bool = False,
    **options: object,
) -> Recipe:
    """How the figure on show can be made again by one command; with `own_targets` each instance has its own.

    With several splits the chosen targets are told one by one: a name would mean other nodes in each of them.
    """
    chosen = st.session_state.get("targets", "file")
    selection = {"all": "all", "test": "test"}.get(chosen)
    if chosen == "class":
        selection = f"class:{st.session_state.get('class', 0)}"
    if view.counted is not None:
        selection = "correct" if selection is None else f"correct:{selection}"
    nodes = (
        tuple(view.targets.tolist())
        if chosen == "chosen" or (len(instances) > 1 and selection not in (None, "all"))
        else None
    )
    return Recipe(
        kind=kind,
        instances=tuple(_file(name) for name in instances or (view.name,)),
        threat=(view.threat if threat is None else threat).to_json(),
        targets=("correct" if view.counted is not None else None)
        if own_targets
        else None
        if nodes is not None
        else selection,
        nodes=None if own_targets else nodes,
        relaxation=view.relaxation,
        base_rule=view.rule,
        options=options,
    )


def _file(name: str) -> str:
    folder = "runs/imported" if name.startswith("import-") else "precomputed"
    return f"{folder}/{bundles.path_of(name).name}"
