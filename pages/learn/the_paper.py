"""Paper: every number of the publication next to ours, and its figures from our results."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from certcore.reproduce.claims import CLAIMS, EXTENSIONS, Row, rows
from certcore.reproduce.pictures import pictures
from certcore.reproduce.source import RESULTS
from certcore.reproduce.store import Results
from certcore.reproduce.table import HEADINGS, VERDICTS, cells

from ..parts import charts
from ..state.state import View

TITLE = "Paper"
LEAD = "What the publication reports, and what this engine finds, number by number."


@st.cache_resource(max_entries=1, show_spinner="Reading the results …")
def stored(stamp: float) -> Results:
    """The results on disk; `stamp` changes when they do."""
    return Results()


def newest() -> float:
    return max((path.stat().st_mtime for path in RESULTS.glob("*/*.json")), default=0.0)


def show(found: list[Row], key: str) -> None:
    """The table, one line per claim."""
    table = pd.DataFrame([cells(row) for row in found], columns=[heading.capitalize() for heading in HEADINGS])
    widths = {"What the paper reports": 330, "Paper": 105, "Ours": 190, "Ours / paper": 90, "Remark": 420}
    st.dataframe(
        table,
        hide_index=True,
        key=key,
        height=min(38 + 35 * len(table), 640),
        row_height=35,
        column_config={name: st.column_config.TextColumn(width=width) for name, width in widths.items()},
    )


def draw(view: View) -> None:
    results = stored(newest())
    if not len(results):
        st.info("There are no results yet. Compute them with `certcore reproduce all`.", icon=":material/inbox:")
        return

    claims = rows(CLAIMS, results)
    with st.container(key="numbers"):
        columns = st.columns(len(VERDICTS))
    for column, verdict in zip(columns, VERDICTS):
        column.metric(verdict.capitalize(), sum(row.verdict == verdict for row in claims))
    st.caption(
        "Each number is computed from a file in `docs/results/`, which names its command, seed, split, votes, versions "
        "and the digest of the instance. The same table is in `docs/REPRODUCTION.md`."
    )
    chosen = st.pills("Show", VERDICTS, selection_mode="multi", key="paper_show", help="Nothing chosen: all rows.")
    show([row for row in claims if not chosen or row.verdict in chosen], "claims")
    st.subheader("Beyond the paper, and corrected", anchor=False)
    show(rows(EXTENSIONS, results), "beyond")

    st.subheader("The figures", anchor=False)
    drawn = pictures(results)
    for first in range(0, len(drawn), 2):
        for column, picture in zip(st.columns(2, gap="large"), drawn[first : first + 2]):
            with column:
                st.markdown(f"**{picture.title}**")
                lines = len(getattr(picture.figure, "lines", ()))
                charts.show(picture.figure, key=f"paper_{picture.figure.name}", height=360 + 24 * max(0, lines - 3))
                st.caption(f"{picture.label} · {picture.caption} `certcore reproduce {picture.experiment}`")
