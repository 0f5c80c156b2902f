"""The export drawer of a chart: a preview, width and font, the files, and the command that makes the same file."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from certcore.common.numbers import write_nodes
from certcore.domain.commands import command
from certcore.domain.threat import ThreatModel
from certcore.figures.escape import for_file_name
from certcore.figures.figure import Figure
from certcore.figures.save import file_bytes

from ..files import bundles
from ..state.state import View

#: What was chosen for print stays for the next figure, on every page.
_FIRST = {"width": "8.5cm", "font": "sans"}
_WIDTHS = {"8.5cm": "One column", "17.5cm": "Two columns"}
_FONTS = {"sans": "Sans", "serif": "Serif"}
#: The files, with their media types.
_FILES = {
    ".pdf": "application/pdf",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".csv": "text/csv",
    ".tex": "application/x-tex",
}
GROWING = "Still being computed: this is the figure as of now. Close the drawer and open it again later for the rest."
NO_COMMAND = "No command makes this figure by itself; its numbers are in the CSV file."


def menu(figure: Figure, key: str) -> None:
    """A button that opens the export drawer of a figure."""
    if st.button(
        "Export",
        icon=":material/download:",
        type="tertiary",
        key=f"export_{key}",
        wrap=False,
        help="This chart as PDF, SVG, PNG, its numbers, and the command that makes it.",
    ):
        st.session_state["_export"] = key
    if st.session_state.get("_export") != key:
        return

    @st.dialog("Export the figure", width="medium", position="right", on_dismiss=_closed)
    def drawer() -> None:
        choices(figure, key)

    drawer()


def _closed() -> None:
    st.session_state.pop("_export", None)


def choices(figure: Figure, key: str, *, growing: bool = False) -> None:
    """A preview, width and font, a download for each format, and the command.

    `growing`: work on the figure is under way, so it has what was computed by now.
    """
    above = st.container(key="preview")
    with st.container(horizontal=True):
        width = _chosen("width", "Width", _WIDTHS, help="8.5 or 17.5 cm, as columns of a paper are.")
        font = _chosen("font", "Font", _FONTS)
    with above:
        picture = file_bytes(figure, ".png", width=width, font=font, dpi=150)
        st.image(picture, width="stretch" if width != _FIRST["width"] else 400, alt=figure.description())
        if growing:
            st.caption(f":material/hourglass_top: {GROWING}")
    name = for_file_name(figure.name)
    with st.container(horizontal=True):
        for suffix, mime in _FILES.items():

            def make(suffix: str = suffix) -> bytes:
                return file_bytes(figure, suffix, width=width, font=font)

            label = {".tex": "LaTeX table"}.get(suffix, suffix[1:].upper())
            download(label, make, f"{name}{suffix}", mime, key=f"{key}_{suffix[1:]}")
    again = figure.command
    if not again:
        st.caption(NO_COMMAND)
    else:
        look = "".join(f" --{name} {value}" for name, value in _kept().items() if value != _FIRST[name])
        st.caption("The command that makes it; where it draws attacks, it looks for them again:")
        st.code(f"{again} --plot {shlex.quote(name)}.pdf{look}", language="bash", wrap_lines=True)


def _kept() -> dict[str, str]:
    kept: dict[str, str] = st.session_state.setdefault("_print", dict(_FIRST))
    return kept


def _chosen(name: str, label: str, options: dict[str, str], **more: Any) -> str:
    """One of a few, remembered."""
    kept = _kept()
    found = st.segmented_control(
        label,
        list(options),
        format_func=options.__getitem__,
        default=kept[name],
        key=f"print_{name}",
        required=True,
        **more,
    )
    kept[name] = found or kept[name]
    return kept[name]


def download(label: str, make: Callable[[], bytes], name: str, mime: str, *, key: str) -> None:
    st.download_button(label, make, name, mime, key=f"download_{key}", on_click="ignore", width="content")


def made_by(
    view: View,
    name: str,
    *,
    threat: ThreatModel | None = None,
    splits: Sequence[str] = (),
    **options: Any,
) -> str:
    """The command that makes the figure on show, or nothing; `splits`: further instances of a curve.

    With several splits the chosen targets are given one by one: a name would mean other nodes in each of them.
    """
    chosen = st.session_state.get("targets", "file")
    which = {"all": "all", "test": "test", "class": f"class:{st.session_state.get('class', 0)}"}.get(chosen)
    if chosen == "chosen" or (splits and which not in (None, "all")):
        which = write_nodes(view.targets if view.counted is None else view.counted)
    if view.counted is not None:
        which = "correct" if which is None else f"correct:{which}"
    said = command(
        name,
        bundles.shown_path(view.name),
        view.threat if threat is None else threat,
        targets=which,
        relaxation=view.relaxation,
        base_rule=view.rule,
        **options,
    )
    if said is not None and splits:
        said += f" --splits {shlex.join(map(bundles.shown_path, splits))}"
    return said or ""
