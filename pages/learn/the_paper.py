"""Paper: every number of the publication next to ours, a row each; a figure is drawn when it is unfolded."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from certcore.figures.paper import paper_file, read_paper, stored_figure

from ..parts import charts
from ..state import controls, state
from ..state.state import View

TITLE = "Paper"
#: The table takes the whole width.
WIDE = True

#: A row, a picture, a place for pictures and a section as `python -m experiments table` stored them.
Part = dict[str, Any]


@st.cache_resource(max_entries=1, show_spinner="Reading the results …")
def _read(path: Path, stamp: float) -> Part:
    return read_paper(path)


def stored() -> Part:
    """Claims, what goes beyond them, and figures, from one file, read again when it has changed; empty without it."""
    path = paper_file()
    return _read(path, path.stat().st_mtime) if path.exists() else {}


def sections() -> list[Part]:
    found: list[Part] = stored().get("sections", [])
    return found


def named() -> dict[str, tuple[str, str]]:
    """Every figure in every form, by the name it has in a link."""
    places = [place for section in sections() for place in section["places"]]
    return {name: (place["name"], form) for place in places for form, name in place["forms"].items()}


def _figure(text: str) -> str:
    return state.one_of(*(section["slug"] for section in sections()))(text)


def _verdicts(text: str) -> list[str]:
    """Verdicts, or the chips that stand for several of them."""
    return state.words(*dict.fromkeys([*CHIPS, *stored().get("verdicts", ())]))(text)


def _drawn(text: str) -> list[str]:
    """Reads names of figures, separated by commas."""
    names = [name for name in text.split(",") if name]
    if not set(names) <= named().keys():
        raise ValueError("this page has no figure of that name")
    return names


OWN: dict[str, state.Control] = {"figure": ("", _figure), "verdict": ([], _verdicts), "drawn": ([], _drawn)}

HEIGHT = 400
#: Three chips filter the rows; what is not simply reproduced or better stands behind the third.
CHIPS = {
    "reproduced": ("reproduced", ("reproduced",)),
    "better": ("better", ("better",)),
    "differs": ("differ, are corrected or open", ("differs", "corrected", "bracketed", "not run")),
}
_STYLE = Path(__file__).with_name("the_paper.css")


def verdict(row: Part) -> str:
    return str(dict(zip(stored()["headings"], row["cells"]))["verdict"])


def table(found: list[Part]) -> str:
    """One row per claim: the paper's sentence, its number, ours, and the verdict; a remark opens on a click."""
    lines = []
    for row in found:
        says, paper, ours, ratio, said, splits, votes, remark, where = (_marked(cell) for cell in row["cells"])
        behind = [f"{ratio} of the paper's"] if ratio != "–" else []
        behind += [f"{splits} split" + "s" * (splits != "1")] if splits != "–" else []
        behind += [f"{votes} votes"] if votes != "–" else []
        told = f"<summary>{says}</summary>{remark}" if remark != "–" else says
        told = f"<details>{told}</details>" if remark != "–" else told
        lines.append(
            f"<tr><td>{told}</td><td data-label=where>{where}</td><td data-label=paper>{paper}</td>"
            f"<td data-label=here><b>{ours}</b></td><td>{' · '.join(behind)}</td>"
            f'<td><span class="verdict {said.replace(" ", "-")}">{said}</span></td></tr>'
        )
    head = "<tr><th>Claim</th><th>Where</th><th>Paper</th><th>Here</th><th></th><th></th></tr>"
    return f'<table class="claims"><thead>{head}</thead><tbody>{"".join(lines)}</tbody></table>'


def _marked(text: str) -> str:
    """Text as HTML; what stands in `backticks` is code."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text))


def whole_table(found: list[Part], key: str) -> None:
    """The same rows to sort, search and download."""
    frame = pd.DataFrame([row["cells"] for row in found], columns=[name.capitalize() for name in stored()["headings"]])
    widths = {"What the paper reports": 330, "Paper": 105, "Ours": 190, "Ours / paper": 90, "Remark": 420}
    st.dataframe(
        frame,
        hide_index=True,
        key=key,
        height=min(38 + 35 * len(frame), 640),
        row_height=35,
        column_config={name: st.column_config.TextColumn(width=width) for name, width in widths.items()},
    )


def choose(slug: str, part: list[Part]) -> tuple[Part, Part | None]:
    """Which figure of a section is on show, and with which program; told by `drawn`, which is in the address."""
    names = {place["name"]: place for place in part}
    known = named()
    wanted = dict(known[name] for name in st.session_state["drawn"])
    name = next((name for name in wanted if name in names), part[0]["name"])
    shown = names[name]
    form = wanted.get(name, shown["first"])

    def keep(what: str) -> None:
        now = st.session_state[f"{what}_{slug}"]
        picked = names[now] if what == "place" else shown
        which = now if what == "form" else picked["first"]
        others = [other for other in st.session_state["drawn"] if known[other][0] not in names]
        first = picked is part[0] and which == picked["first"]
        st.session_state["drawn"] = others + ([] if first else [picked["forms"][which]])

    bar = st.container(horizontal=True, vertical_alignment="bottom")
    if len(part) > 1:
        st.session_state[f"place_{slug}"] = name
        controls.segmented_control(
            bar,
            "Picture",
            list(names),
            key=f"place_{slug}",
            format_func=lambda key: names[key]["short"],
            help="The same figure on another graph, or what goes beyond it.",
            on_change=keep,
            args=("place",),
        )
    forms = [other for other in shown["forms"] if other in shown["pictures"] or other == form]
    if len(forms) > 1:
        st.session_state[f"form_{slug}"] = form
        controls.segmented_control(
            bar,
            "Program",
            forms,
            key=f"form_{slug}",
            help="The paper's program, ours, and ours with the strong search; never mixed in one line.",
            on_change=keep,
            args=("form",),
        )
    return shown, shown["pictures"].get(form)


def draw_section(section: Part, found: list[Part]) -> None:
    slug, part = section["slug"], section["places"]
    with st.container(key=f"section_{slug}"):
        st.subheader(section["title"], anchor=slug)
        if part:
            asked = {named()[name][0] for name in st.session_state["drawn"]} & {place["name"] for place in part}
            opened = bool(asked) or st.session_state["figure"] == slug
            fold = st.expander("Figure", expanded=opened, on_change="rerun", key=f"fold_{slug}")
            if fold.open:
                with fold:
                    _figures(slug, part)
        else:
            st.caption(" · ".join(dict.fromkeys(row["command"] for row in found)))
        st.html(table(found) if found else "<p>No row of this figure has the chosen verdict.</p>")


def _figures(slug: str, part: list[Part]) -> None:
    """The figure of a section that is chosen, with what was computed for it."""
    shown, picture = choose(slug, part)
    if picture is None:
        st.info("Not computed.", icon=":material/hourglass_empty:")
        picture = next(iter(shown["pictures"].values()))
    else:
        st.markdown(f"**{picture['title']}**")
        figure = stored_figure(picture["figure"])
        lines = len(picture["figure"].get("lines", ()))
        charts.show(figure, key=f"paper_{figure.name}", height=HEIGHT + 26 * max(0, lines - 3))
    absent = [form for form in shown["forms"] if form not in shown["pictures"]]
    missing = f" Not computed: {', '.join(absent)}." if absent else ""
    st.caption(f"{picture['caption']}{missing} {picture['command']}")


def _filters(paper: Part) -> tuple[set[str], str]:
    """Which verdicts and which figure are shown."""
    rows, titles = paper["claims"] + paper["beyond"], {one["slug"]: one["title"] for one in paper["sections"]}
    # A link may ask for one verdict that has no chip of its own: then it has one.
    groups = {name: told for name, (_, told) in CHIPS.items()} | {v: (v,) for v in st.session_state["verdict"]}
    groups |= {name: told for name, (_, told) in CHIPS.items()}
    counts = {name: sum(verdict(row) in told for row in rows) for name, told in groups.items()}
    left, right = st.columns([2.4, 1], vertical_alignment="bottom")
    chosen = left.pills(
        "Rows",
        list(groups),
        selection_mode="multi",
        default=st.session_state["verdict"],
        format_func=lambda name: f"{counts[name]} {CHIPS[name][0] if name in CHIPS else name}",
        key="verdict",
        help="Nothing chosen: all rows.",
    )
    figure = controls.selectbox(
        right,
        "Figure",
        ["", *titles],
        format_func=lambda slug: titles.get(slug, "All figures"),
        key="figure",
        help="One figure of the paper, or all of them.",
    )
    return {told for name in chosen or groups for told in groups[name]}, figure


def draw(view: View) -> None:
    paper = stored()
    if not paper:
        st.info(
            "The stored numbers of the paper are not here. In a clone, write them with `python -m experiments table`.",
            icon=":material/inbox:",
        )
        return
    claims, beyond = paper["claims"], paper["beyond"]
    st.html(f"<style>{_STYLE.read_text(encoding='utf-8')}</style>")
    wanted, figure = _filters(paper)
    all_rows = [row for row in claims + beyond if verdict(row) in wanted]
    for section in paper["sections"]:
        rows = [row for row in all_rows if row["section"] == section["slug"]]
        if figure in ("", section["slug"]) and (rows or figure):
            draw_section(section, rows)
    st.caption(
        "Each number is computed from a file in `docs/results/`, which names its command, seed, split, votes, versions "
        f"and the digest of the instance. The reproduction document has the same rows: {len(claims)} of the paper and "
        f"{len(beyond)} that go beyond it or correct it."
    )
    everything = st.expander("All rows in one table, to sort and download", on_change="rerun", key="paper_rows")
    if everything.open:
        with everything:
            whole_table([row for row in claims if row in all_rows], "claims")
            st.markdown("Beyond the paper, and corrected")
            whole_table([row for row in beyond if row in all_rows], "beyond")
