"""Paper: every number of the publication next to ours, figure by figure; a figure is drawn when it comes into view."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from certcore.figures.paper import paper_file, read_paper
from certcore.figures.serial import figure_of

from ..parts import charts
from ..state import controls, state
from ..state.state import View

TITLE = "Paper"
LEAD = "What the publication reports, and what this engine finds, number by number."

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
    """Every figure in every form, by the name it has in a link and in `certcore draw paper`."""
    places = [place for section in sections() for place in section["places"]]
    return {name: (place["name"], form) for place in places for form, name in place["forms"].items()}


def _figure(text: str) -> str:
    return state.one_of(*(section["slug"] for section in sections()))(text)


def _verdicts(text: str) -> list[str]:
    return state.words(*stored().get("verdicts", ()))(text)


def _drawn(text: str) -> list[str]:
    """Reads names of figures, separated by commas."""
    names = [name for name in text.split(",") if name]
    if not set(names) <= named().keys():
        raise ValueError("this page has no figure of that name")
    return names


OWN: dict[str, state.Control] = {"figure": ("", _figure), "verdict": ([], _verdicts), "drawn": ([], _drawn)}

HEIGHT = 400
_WATCH = Path(__file__).with_name("watch.js")
_STYLE = Path(__file__).with_name("the_paper.css")


def verdict(row: Part) -> str:
    return str(dict(zip(stored()["headings"], row["cells"]))["verdict"])


def table(found: list[Part]) -> str:
    """Rows as people read them: verdict, the paper's sentence, its number, ours, and what there is to know."""
    lines = []
    for row in found:
        says, paper, ours, ratio, said, splits, votes, remark, where = (_marked(cell) for cell in row["cells"])
        behind = [f"{ratio} of the paper's"] if ratio != "–" else []
        behind += [f"{splits} split" + "s" * (splits != "1")] if splits != "–" else []
        behind += [f"{votes} votes"] if votes != "–" else []
        note = f"<details><summary>Remark</summary>{remark}</details>" if remark != "–" else ""
        lines.append(
            f'<tr><td><span class="verdict {said.replace(" ", "-")}">{said}</span></td>'
            f"<td>{says}<small>{where}</small>{note}</td>"
            f'<td data-label="paper">{paper}</td>'
            f'<td data-label="ours"><b>{ours}</b><small>{" · ".join(behind)}</small></td></tr>'
        )
    head = "<tr><th>Verdict</th><th>What the paper reports</th><th>Paper</th><th>Ours</th></tr>"
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


@st.cache_resource(show_spinner=False)
def _watcher() -> Any:
    script = _WATCH.read_text(encoding="utf-8")
    return st.components.v2.component("certcore_watch", html='<div class="wait"></div>', js=script)


@st.fragment
def when_seen(picture: Part, slug: str) -> None:
    """The figure, as soon as its place comes into view; until then the place is empty and costs nothing."""
    lines = len(picture["figure"].get("lines", ()))
    height = HEIGHT + 26 * max(0, lines - 3)
    key = f"watch_{slug}"
    seen = bool(st.session_state.get(key, {}).get("seen"))
    room = 0 if seen else height + charts.MENU_HEIGHT
    answer = _watcher()(key=key, data={"name": slug, "height": room}, height=room or 1, on_seen_change=lambda: None)
    if seen or answer.get("seen"):
        figure = figure_of(picture["figure"])
        charts.show(figure, key=f"paper_{figure.name}", height=height)


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
        if not part:
            st.html(table(found))
            st.caption(" · ".join(dict.fromkeys(row["command"] for row in found)))
            return
        left, right = st.columns([1.06, 1], gap="medium")
        with left:
            shown, picture = choose(slug, part)
            if picture is None:
                st.info("Not computed.", icon=":material/hourglass_empty:")
                picture = next(iter(shown["pictures"].values()))
            else:
                st.markdown(f"**{picture['title']}**")
                when_seen(picture, slug)
            absent = [form for form in shown["forms"] if form not in shown["pictures"]]
            missing = f" Not computed: {', '.join(absent)}." if absent else ""
            st.caption(f"{picture['caption']}{missing} {picture['command']}")
        with right:
            st.html(table(found) if found else "<p>No row of this figure has the chosen verdict.</p>")


def draw(view: View) -> None:
    paper = stored()
    if not paper:
        st.info(
            "The stored numbers of the paper are not here. In a clone, write them with `python -m experiments table`.",
            icon=":material/inbox:",
        )
        return
    claims, beyond = paper["claims"], paper["beyond"]
    titles = {section["slug"]: section["title"] for section in paper["sections"]}
    st.html(f"<style>{_STYLE.read_text(encoding='utf-8')}</style>")
    counts = {name: sum(verdict(row) == name for row in claims + beyond) for name in paper["verdicts"]}
    left, right = st.columns([2.4, 1], vertical_alignment="bottom")
    verdicts = left.pills(
        "Rows with the verdict",
        [name for name in counts if counts[name]],
        selection_mode="multi",
        default=st.session_state["verdict"],
        format_func=lambda name: f"{counts[name]} {name}",
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
    st.caption(
        "Each number is computed from a file in `docs/results/`, which names its command, seed, split, votes, versions "
        "and the digest of the instance. `docs/REPRODUCTION.md` has the same rows, in two tables: "
        f"{len(claims)} of the paper and {len(beyond)} that go beyond it or correct it; both are counted above."
    )
    chosen = {id(row) for row in claims + beyond if not verdicts or verdict(row) in verdicts}
    for section in paper["sections"]:
        rows = [row for row in claims + beyond if id(row) in chosen and row["section"] == section["slug"]]
        if figure in ("", section["slug"]) and (rows or (section["places"] and (figure or not verdicts))):
            draw_section(section, rows)

    everything = st.expander("All rows in one table, to sort and download", on_change="rerun", key="paper_rows")
    if everything.open:
        with everything:
            whole_table([row for row in claims if id(row) in chosen], "claims")
            st.markdown("Beyond the paper, and corrected")
            whole_table([row for row in beyond if id(row) in chosen], "beyond")
