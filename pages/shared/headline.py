"""The guarantee above the fold: one sentence, four numbers, and how the solve stands."""

from __future__ import annotations

import json

import streamlit as st

from certcore.certificate import Certificate
from certcore.solve.status import Status
from pages.shared import engine, work
from pages.shared.frame import MENU, link_parameters
from pages.shared.state import View
from pages.shared.text import count, percent, seconds
from pages.shared.words import NOT_PER_NODE, bracket, fields_note, guarantee, ratio_delta


def draw(view: View) -> tuple[Certificate | None, bool]:
    """Draw the guarantee; returns the certificate on show and whether it is the one for the sliders' position."""
    task = engine.certificate(view)
    result: Certificate | None = task.result
    with st.container(border=True, key="guarantee"):
        if result is None:
            st.markdown("Computing the first certificate of this instance …" if task.running else "No certificate yet.")
        else:
            st.markdown(guarantee(result, view.instance))
    work.line(task, "" if result is None else _done(result), engine.preview(view) if task.running else "")
    if result is not None:
        _numbers(result, task.fresh)
        note = fields_note(view.instance)
        if note:
            st.warning(note, icon=":material/warning:")
    return result, task.fresh


def status_line(view: View) -> tuple[Certificate | None, bool]:
    """The short form for other pages: one line about the certificate at the sliders' position."""
    task = engine.certificate(view)
    result: Certificate | None = task.result
    if result is not None:
        st.markdown(
            f"**{count(result.certified)} of {count(result.targets)}** labels certified ({percent(result.ratio)}) · "
            f"node by node {percent(result.naive_certified / max(result.targets, 1))} · attacked: {bracket(result)[0]}"
        )
    work.line(task, "" if result is None else _done(result), engine.preview(view) if task.running else "")
    return result, task.fresh


def _done(result: Certificate) -> str:
    about = f"{result.relaxation} relaxation · {seconds(result.seconds)}"
    if result.status is not Status.OPTIMAL:
        about += f" · {result.status.sentence}"
    return f":material/check: {about}"


def _numbers(result: Certificate, fresh: bool) -> None:
    older = "" if fresh else " (previous)"
    columns = st.columns([1.15, 1, 1.15, 1])
    columns[0].metric(
        f"Certified together{older}",
        percent(result.ratio),
        ratio_delta(result),
        delta_color="off",
        delta_arrow="off",
        help=f"{count(result.certified)} of {count(result.targets)} targets. {NOT_PER_NODE}",
    )
    columns[1].metric(
        f"Node by node{older}",
        percent(result.naive_certified / max(result.targets, 1)),
        f"{count(result.naive_certified)} targets",
        delta_color="off",
        delta_arrow="off",
        help="The naive count: every target meets its own worst attack with the whole budget.",
    )
    text, meaning = bracket(result)
    columns[2].metric(
        f"Attacked: found … at most{older}",
        text,
        "targets, best attack … proof",
        delta_color="off",
        delta_arrow="off",
        help=meaning,
    )
    with columns[3]:
        _badge(result)


def _badge(result: Certificate) -> None:
    """The badge that opens the proof."""
    label, icon = ("Verified", ":material/verified:") if result.verified else ("Solver's word", ":material/info:")
    st.caption(f"Solved in {seconds(result.seconds)}")
    with st.popover(label, icon=icon, type="primary" if result.verified else "secondary"):
        if result.verified:
            st.markdown(
                "This count does not rest on the solver: its multipliers were turned into integers and the bound was "
                "recomputed **exactly**. Anyone can do that again from the proof file, without a solver."
            )
        else:
            st.markdown(
                f"The integer program's bound is the solver's word. Proven in exact arithmetic: "
                f"**{count(result.verified_certified)}** of {count(result.targets)}."
            )
        proof = result.proof
        if proof is not None:
            numerator, denominator = proof["bound"]
            st.markdown(
                f"- attacked targets ≤ {numerator / denominator:,.3f}, so {count(proof['certified'])} of "
                f"{count(proof['targets'])} are certified\n- relaxation: {proof['relaxation']}\n"
                f"- instance `{proof['instance_digest'][:16]}…`\n- proof `{proof['digest'][:16]}…`"
            )
            st.download_button(
                "Download the proof (JSON)",
                lambda: json.dumps(proof, sort_keys=True, separators=(",", ":")),
                "proof.json",
                "application/json",
                on_click="ignore",
                icon=":material/download:",
                key="download_proof",
            )
        check = next(entry for entry in MENU if entry.slug == "check")
        st.page_link(check.file, label="Check a claim", icon=check.icon, query_params=link_parameters(check))
        if result.size is not None:
            st.caption(
                f"Program: {count(result.size.rows)} rows, {count(result.size.columns)} columns (the paper's form: "
                f"{count(result.size.paper_rows)} rows, {count(result.size.paper_columns)} columns)."
            )
