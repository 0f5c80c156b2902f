"""Paper: every number of the publication next to ours, figure by figure; a figure is drawn when it comes into view."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from certcore.reproduce.claims import CLAIMS, EXTENSIONS, Row, rows
from certcore.reproduce.experiments import BY_NAME, chosen
from certcore.reproduce.pictures import PLACES, SECTIONS, Picture, Shown, section_of, shelf
from certcore.reproduce.source import RESULTS
from certcore.reproduce.store import Results
from certcore.reproduce.table import HEADINGS, VERDICTS, cells

from ..parts import charts
from ..state import controls, state
from ..state.state import View

TITLE = "Paper"
LEAD = "What the publication reports, and what this engine finds, number by number."

Labels = tuple[str, ...]
#: Numbers that belong to no figure.
REST: Labels = ()
TITLES: dict[Labels, str] = SECTIONS | {REST: "Times and sizes"}
SLUGS = {labels: labels[0] if labels else "numbers" for labels in TITLES}
#: Every figure in every form, by the name it has in a link and in `certcore draw paper`.
NAMED = {place.file(form): (place.name, form) for place in PLACES for form in place.forms}


def _drawn(text: str) -> list[str]:
    """Reads names of figures, separated by commas."""
    names = [name for name in text.split(",") if name]
    if not set(names) <= NAMED.keys():
        raise ValueError("this page has no figure of that name")
    return names


OWN: dict[str, state.Control] = {
    "figure": ("", state.one_of(*SLUGS.values())),
    "verdict": ([], state.words(*VERDICTS)),
    "drawn": ([], _drawn),
}

HEIGHT = 400
_WATCH = Path(__file__).with_name("watch.js")
_STYLE = Path(__file__).with_name("the_paper.css")


@st.cache_resource(max_entries=1, show_spinner="Reading the results …")
def stored(stamp: float) -> tuple[list[Row], list[Row], dict[Labels, list[Shown]]]:
    """Claims, what goes beyond them, and figures, from the results on disk; `stamp` changes when they do."""
    results = Results()
    return rows(CLAIMS, results), rows(EXTENSIONS, results), shelf(results) if len(results) else {}


def newest() -> float:
    return max((path.stat().st_mtime for path in RESULTS.glob("*/*.json")), default=0.0)


def section(row: Row) -> Labels:
    """Where a row belongs: the figure it names, or the one of its experiment."""
    experiment = BY_NAME.get((row.claim.how.split() or [""])[0])
    return section_of(row.claim.where) or (section_of(experiment.figure) if experiment else REST)


def table(found: list[Row]) -> str:
    """Rows as people read them: verdict, the paper's sentence, its number, ours, and what there is to know."""
    lines = []
    for row in found:
        says, paper, ours, ratio, verdict, splits, votes, remark, where = (_marked(cell) for cell in cells(row))
        behind = [f"{ratio} of the paper's"] if ratio != "–" else []
        behind += [f"{splits} split" + "s" * (splits != "1")] if splits != "–" else []
        behind += [f"{votes} votes"] if votes != "–" else []
        note = f"<details><summary>Remark</summary>{remark}</details>" if remark != "–" else ""
        lines.append(
            f'<tr><td><span class="verdict {row.verdict.replace(" ", "-")}">{verdict}</span></td>'
            f"<td>{says}<small>{where}</small>{note}</td>"
            f'<td data-label="paper">{paper}</td>'
            f'<td data-label="ours"><b>{ours}</b><small>{" · ".join(behind)}</small></td></tr>'
        )
    head = "<tr><th>Verdict</th><th>What the paper reports</th><th>Paper</th><th>Ours</th></tr>"
    return f'<table class="claims"><thead>{head}</thead><tbody>{"".join(lines)}</tbody></table>'


def _marked(text: str) -> str:
    """Text as HTML; what stands in `backticks` is code."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text))


def whole_table(found: list[Row], key: str) -> None:
    """The same rows to sort, search and download."""
    frame = pd.DataFrame([cells(row) for row in found], columns=[heading.capitalize() for heading in HEADINGS])
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
def when_seen(picture: Picture, slug: str) -> None:
    """The figure, as soon as its place comes into view; until then the place is empty and costs nothing."""
    lines = len(getattr(picture.figure, "lines", ()))
    height = HEIGHT + 26 * max(0, lines - 3)
    key = f"watch_{slug}"
    seen = bool(st.session_state.get(key, {}).get("seen"))
    room = 0 if seen else height + charts.MENU_HEIGHT
    answer = _watcher()(key=key, data={"name": slug, "height": room}, height=room or 1, on_seen_change=lambda: None)
    if seen or answer.get("seen"):
        charts.show(picture.figure, key=f"paper_{picture.figure.name}", height=height)


def choose(slug: str, part: list[Shown]) -> tuple[Shown, Picture | None]:
    """Which figure of a section is on show, and with which program; told by `drawn`, which is in the address."""
    names = {shown.place.name: shown for shown in part}
    wanted = dict(NAMED[name] for name in st.session_state["drawn"])
    name = next((name for name in wanted if name in names), part[0].place.name)
    shown = names[name]
    form = wanted.get(name, shown.first)

    def keep(what: str) -> None:
        now = st.session_state[f"{what}_{slug}"]
        picked = names[now] if what == "place" else shown
        which = now if what == "form" else picked.first
        others = [known for known in st.session_state["drawn"] if NAMED[known][0] not in names]
        first = picked is part[0] and which == picked.first
        st.session_state["drawn"] = others + ([] if first else [picked.place.file(which)])

    bar = st.container(horizontal=True, vertical_alignment="bottom")
    if len(part) > 1:
        st.session_state[f"place_{slug}"] = name
        controls.segmented_control(
            bar,
            "Picture",
            list(names),
            key=f"place_{slug}",
            format_func=lambda key: names[key].place.short,
            help="The same figure on another graph, or what goes beyond it.",
            on_change=keep,
            args=("place",),
        )
    forms = [known for known in shown.place.forms if known in shown.pictures or known == form]
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
    return shown, shown.pictures.get(form)


def command(name: str) -> str:
    """What computes an experiment again; graphs that are not part of the project come from a folder."""
    local = any(source.local for experiment in chosen(name) for source in experiment.sources)
    return f"`certcore reproduce {name}{' --data DIR' if local else ''}`"


def draw_section(labels: Labels, part: list[Shown], found: list[Row]) -> None:
    slug = SLUGS[labels]
    with st.container(key=f"section_{slug}"):
        st.subheader(TITLES[labels], anchor=slug)
        if not part:
            st.html(table(found))
            st.caption(" · ".join(dict.fromkeys(command(row.claim.how) for row in found)))
            return
        left, right = st.columns([1.06, 1], gap="medium")
        with left:
            shown, picture = choose(slug, part)
            if picture is None:
                st.info("Not computed.", icon=":material/hourglass_empty:")
                picture = next(iter(shown.pictures.values()))
            else:
                st.markdown(f"**{picture.title}**")
                when_seen(picture, slug)
            missing = f" Not computed: {', '.join(shown.missing)}." if shown.missing else ""
            st.caption(f"{picture.caption}{missing} {command(picture.experiment)}")
        with right:
            st.html(table(found) if found else "<p>No row of this figure has the chosen verdict.</p>")


def draw(view: View) -> None:
    claims, beyond, figures = stored(newest())
    if not figures:
        st.info("There are no results yet. Compute them with `certcore reproduce all`.", icon=":material/inbox:")
        return
    st.html(f"<style>{_STYLE.read_text(encoding='utf-8')}</style>")
    counts = {verdict: sum(row.verdict == verdict for row in claims + beyond) for verdict in VERDICTS}
    left, right = st.columns([2.4, 1], vertical_alignment="bottom")
    verdicts = left.pills(
        "Rows with the verdict",
        [verdict for verdict in VERDICTS if counts[verdict]],
        selection_mode="multi",
        default=st.session_state["verdict"],
        format_func=lambda verdict: f"{counts[verdict]} {verdict}",
        key="verdict",
        help="Nothing chosen: all rows.",
    )
    figure = controls.selectbox(
        right,
        "Figure",
        ["", *SLUGS.values()],
        format_func=lambda slug: next((TITLES[k] for k, v in SLUGS.items() if v == slug), "All figures"),
        key="figure",
        help="One figure of the paper, or all of them.",
    )
    st.caption(
        "Each number is computed from a file in `docs/results/`, which names its command, seed, split, votes, versions "
        "and the digest of the instance. `docs/REPRODUCTION.md` has the same rows, in two tables: "
        f"{len(claims)} of the paper and {len(beyond)} that go beyond it or correct it; both are counted above."
    )
    rows_of: dict[Labels, list[Row]] = {labels: [] for labels in TITLES}
    for row in claims + beyond:
        if not verdicts or row.verdict in verdicts:
            rows_of[section(row)].append(row)
    for labels, slug in SLUGS.items():
        part = figures.get(labels, [])
        if (not figure or slug == figure) and (rows_of[labels] or (part and (figure or not verdicts))):
            draw_section(labels, part, rows_of[labels])

    everything = st.expander("All rows in one table, to sort and download", on_change="rerun", key="paper_rows")
    if everything.open:
        with everything:
            whole_table([row for row in claims if not verdicts or row.verdict in verdicts], "claims")
            st.markdown("Beyond the paper, and corrected")
            whole_table([row for row in beyond if not verdicts or row.verdict in verdicts], "beyond")
