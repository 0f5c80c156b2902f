"""The export drawer of a chart: a preview, what can be chosen for print, and every format, made when asked for."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from certcore.common.numbers import write_nodes
from certcore.domain.threat import ThreatModel
from certcore.domain.view_spec import ViewSpec
from certcore.figures.figure import Figure
from certcore.figures.kinds.curve import CurveFigure
from certcore.figures.kinds.graph import GraphFigure
from certcore.figures.print_style import PrintStyle

from ..background import work
from ..state.state import View

#: Where the two pictures of one archive stand on the page.
_PARTS = ("left", "right")


#: What was chosen for print stays for the next figure, on every page.
_FIRST = {
    "width": "one-column", "font": "sans", "labels": "auto", "title": False, "marker": True, "table": True,
    "part": "whole",
}  # fmt: skip
_WIDTHS = {"one-column": "One column", "two-column": "Two columns"}
_FONTS = {"sans": "Sans", "serif": "Serif"}
_LABELS = {"auto": "At the lines", "legend": "Legend", "none": "None"}
GROWING = "Still being computed: this is the figure as of now. Close the drawer and open it again later for the rest."
#: Formats for a paper come first; the others are below a fold.
_FOR_PAPER = ("pdf", "svg", "png", "latex")


def menu(figure: Figure, key: str, dark: bool = False, *, growing: bool = False) -> None:
    """A button that opens the export drawer of a figure; it stays open while the page goes on computing."""
    if st.button(
        "Export",
        icon=":material/download:",
        type="tertiary",
        key=f"export_{key}",
        wrap=False,
        help="This chart as PDF, SVG, PNG, LaTeX, numbers and more, with a preview.",
    ):
        st.session_state["_export"] = key
    if st.session_state.get("_export") != key:
        return

    @st.dialog("Export the figure", width="medium", position="right", on_dismiss=_closed)
    def drawer() -> None:
        with work.drawer():
            choices(figure, key, dark, growing=growing)

    drawer()


def _closed() -> None:
    st.session_state.pop("_export", None)


def choices(
    figure: Figure, key: str, dark: bool = False, *, beside: Figure | None = None, growing: bool = False
) -> None:
    """A preview, what can be chosen for print, and a download for each format; two figures come in one archive.

    `growing`: work on the figure is under way, so it has what was computed by now. A paper sets two pictures as it sets
    any two, so that each keeps its own legend and the width of a column.
    """
    # Imported only now: drawing for print is not needed to show a page.
    from certcore.export.scripts import draw_command, has_command
    from certcore.export.vector import preview

    _catch_up(key)
    above = st.container(key="preview")
    style = _style(figure)
    shown = [_part(one) for one in (figure, beside) if one is not None]
    if len(shown) > 1:
        style = replace(style, title=True)
    pictures = [preview(one, style) for one in shown]
    with above:
        for one, found in zip(shown, pictures):
            st.image(found.png, width="stretch" if style.width == "two-column" else 400, alt=one.description())
        size = " × ".join(f"{side:.1f}" for side in pictures[0].size)
        st.caption(f"{size} cm in print")
        if growing:
            st.caption(f":material/hourglass_top: {GROWING}")
    if pictures[0].keyed:
        _labels(figure)
    style = _texts(key, style, pictures[0].labels)
    made = [replace(one, spec=None if one.spec is None else style.within(one.spec)) for one in shown]
    _downloads(made, style, key, dark)
    if len(made) == 1 and made[0].spec is not None and has_command(made[0]):
        st.caption("The command that makes it again:")
        st.code(draw_command(made[0].spec, f"{made[0].name}.pdf"), language="bash", wrap_lines=True)


def _kept() -> dict[str, Any]:
    kept: dict[str, Any] = st.session_state.setdefault("_print", {**_FIRST, "texts": {}})
    return kept


def _catch_up(key: str) -> None:
    """What was just changed in controls below the preview, which is drawn before them."""
    kept, state = _kept(), st.session_state
    kept["labels"] = state.get("print_labels") or kept["labels"]
    start = f"text_{key}_"
    for name in [name for name in state if isinstance(name, str) and name.startswith(start)]:
        label, text = name.removeprefix(start), state[name]
        kept["texts"].pop(label, None)
        if text and text != label:
            kept["texts"][label] = text


def _chosen(name: str, label: str, options: dict[str, str], **more: Any) -> Any:
    """One of a few, remembered."""
    kept = _kept()
    now = kept[name] if kept[name] in options else next(iter(options))
    found = st.segmented_control(
        label, list(options), format_func=options.__getitem__, default=now, key=f"print_{name}", required=True, **more
    )
    kept[name] = found or now
    return kept[name]


def _switch(name: str, label: str, **more: Any) -> bool:
    """A switch, remembered."""
    _kept()[name] = st.toggle(label, _kept()[name], key=f"print_{name}", **more)
    return bool(_kept()[name])


def _style(figure: Figure) -> PrintStyle:
    """What was chosen; what does not apply to this figure is not shown."""
    kept = _kept()
    with st.container(horizontal=True):
        width = _chosen("width", "Width", _WIDTHS, help="8.5 or 17.5 cm, as columns of a paper are.")
        font = _chosen("font", "Font", _FONTS, help="LaTeX sources leave the font to your document.")
    if isinstance(figure, GraphFigure):
        parts = {"whole": "Whole graph", "attack": "Where the attack is"}
        _chosen("part", "Part of the graph", parts, help="In a narrow column what is hit is easier to read magnified.")
    with st.container(horizontal=True):
        title = bool(figure.title) and _switch("title", "Title", help="A paper has a caption instead.")
        marked = getattr(figure, "marker", None) is not None
        marker = not marked or _switch("marker", "Present budget", help="The mark of the budget on the sliders.")
        table = not getattr(figure, "rows", ()) or _switch("table", "Table", help="The table below the lines.")
    return PrintStyle(
        width=width, font=font, labels=kept["labels"], title=title, marker=marker, table=table,
        texts=dict(kept["texts"]),
    )  # fmt: skip


def _labels(figure: Figure) -> None:
    """Where the names of lines and marks stand."""
    lines = isinstance(figure, CurveFigure)
    options = _LABELS if lines else {"auto": "Legend", "none": "None"}
    told = "At the lines where there is room for all of them, otherwise in a legend." if lines else "The legend."
    _chosen("labels", "Labels", options, help=told)


def _texts(key: str, style: PrintStyle, labels: dict[str, str]) -> PrintStyle:
    """Labels that are called otherwise, also on the next figure; only those of this one are part of its view."""
    kept = _kept()["texts"]
    with st.expander("Texts of the labels"):
        for label in labels:
            st.text_input(label, kept.get(label, label), key=f"text_{key}_{label}", help="Empty: as it was.")
    return replace(style, texts={old: new for old, new in kept.items() if old in labels})


def _part(figure: Figure) -> Figure:
    return magnified(figure) if _kept()["part"] == "attack" else figure


def _downloads(shown: list[Figure], style: PrintStyle, key: str, dark: bool) -> None:
    from certcore.export.rendering import file_name, formats

    first, rest = st.container(horizontal=True), st.expander("Numbers, web page and scripts")
    for format in formats(shown[0]):

        def make(kind: str = format.key) -> bytes:
            return packed(shown, kind, style, dark)

        name, mime = file_name(shown[0], format.key), format.mime
        if len(shown) > 1:
            name, mime = f"{name}.zip", "application/zip"
        paper = format.key in _FOR_PAPER
        with first if paper else rest:
            label = format.label.split(" ")[0] if paper else format.label
            download(label, make, name, mime, key=f"{key}_{format.key}", paper=paper, help=format.label)


def magnified(figure: Figure) -> Figure:
    """The part of a graph where the attack is."""
    if not isinstance(figure, GraphFigure):
        return figure
    return replace(figure, zoomed=True, spec=None if figure.spec is None else figure.spec.replace(zoomed=True))


def packed(shown: Sequence[Figure], kind: str, style: PrintStyle, dark: bool) -> bytes:
    """One figure as it is; two in one archive."""
    from certcore.export.rendering import file_name, render

    files = [render(figure, kind, style, dark=dark) for figure in shown]
    if len(files) == 1:
        return files[0]
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for part, figure, data in zip(_PARTS, shown, files):
            target.writestr(f"{part}-{file_name(figure, kind)}", data)
    return archive.getvalue()


def download(
    label: str, make: Callable[[], bytes], name: str, mime: str, *, key: str, paper: bool = False, help: str = ""
) -> None:
    st.download_button(
        label,
        make,
        name,
        mime,
        key=f"download_{key}",
        on_click="ignore",
        help=help,
        width="content" if paper else "stretch",
        type="secondary" if paper else "tertiary",
    )


def spec(
    view: View,
    kind: str,
    *,
    threat: ThreatModel | None = None,
    instances: Sequence[str] = (),
    own_targets: bool = False,
    **settings: Any,
) -> ViewSpec:
    """The view of the figure on show, by which one command makes it again; with `own_targets` each instance has its
    own.

    With several splits the chosen targets are told one by one: a name would mean other nodes in each of them.
    """
    chosen = st.session_state.get("targets", "file")
    which = {"all": "all", "test": "test", "class": f"class:{st.session_state.get('class', 0)}"}.get(chosen)
    if own_targets:
        which = None
    elif chosen == "chosen" or (len(instances) > 1 and which not in (None, "all")):
        which = write_nodes(view.targets if view.counted is None else view.counted)
    if view.counted is not None:
        which = "correct" if which is None else f"correct:{which}"
    return ViewSpec.of(
        kind,
        *(instances or (view.name,)),
        threat=view.threat if threat is None else threat,
        targets=which,
        relaxation=view.relaxation,
        rule=view.rule,
        **({"bracket": "none"} | settings if kind == "curve" else settings),
    )
