"""The guarantee above the fold: one sentence, four numbers, and how the solve stands."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Literal

import numpy as np
import streamlit as st

from certcore import words
from certcore.common.rounding import rounded_up, share_down
from certcore.program.relaxation import Relaxation
from certcore.result.certificate import Certificate

from ..background import engine, work
from ..files import bundles
from ..state import menu
from ..state.state import View
from ..words.text import count, seconds


def draw(view: View) -> tuple[Certificate | None, bool]:
    """Draw the guarantee; returns the certificate on show and whether it is the one for the sliders' position."""
    task = engine.certificate(view)
    result: Certificate | None = task.result
    better = _strengthened(view, result) if result is not None and task.fresh else None
    shown = result if better is None or better.result is None else better.result
    with st.container(border=True, key="guarantee"):
        if shown is None:
            st.markdown("Computing the first certificate of this instance …" if task.running else "No certificate yet.")
        else:
            st.markdown(words.guarantee(view.instance, shown, _asked(view, shown)).markdown)
    done = "" if shown is None else f":gray[{_done(shown)}]"
    if better is not None:
        work.line(better, done)
    else:
        work.line(task, done, engine.preview(view) if task.running else "")
    if result is not None and shown is not None:
        search = engine.attacked(view, result) if task.fresh and shown.attack is None else None
        _numbers(view, shown, task.fresh, search)
        remarks(view, shown)
    return shown, task.fresh


def _asked(view: View, result: Certificate) -> int | None:
    """Among how many labels the targets are the correct ones; a previous certificate may be about other targets."""
    if view.counted is None or result.threat.targets is None:
        return None
    return len(view.counted) if np.array_equal(result.threat.targets, view.targets) else None


def _strengthened(view: View, result: Certificate) -> work.Work | None:
    """The search that improves the number in place, if it is wanted and there is something to improve."""
    if not view.strengthen or result.size is None:
        return None
    return engine.strengthened(view, result)


def remarks(view: View, result: Certificate) -> None:
    """What must be said beside the number: certified accuracy, uncovered types, the paper's edge rule."""
    if view.counted is not None and _asked(view, result) is not None:
        told = words.certified_accuracy(view.instance, result.threat, result.verified_certified, view.counted)
        st.info(told.markdown, icon=":material/target:")
    for remark in words.remarks(view.instance, result.threat):
        st.warning(remark.markdown, icon=":material/warning:")


def number_first() -> bool:
    """Whether it is time for the charts: not in a visitor's first run.

    A browser that has just arrived still loads scripts from this server; sliders and number come before the charts.
    """
    if st.session_state.get("_arrived"):
        return True
    st.session_state["_arrived"] = True
    _then_the_charts()
    return False


@st.fragment(run_every=0.6)
def _then_the_charts() -> None:
    if st.session_state.get("_greeted"):
        st.rerun()
    st.session_state["_greeted"] = True


def with_attack(view: View) -> Certificate | None:
    """The short form for other pages: one line about the certificate, which comes with its attack."""
    task = engine.certificate(view)
    result: Certificate | None = task.result
    if result is not None and task.fresh:
        better = _strengthened(view, result)
        if better is not None and better.fresh and better.result is not None:
            task, result = better, better.result
        elif better is not None and better.running:
            work.watch(better)
    search = engine.attacked(view, result) if result is not None and task.fresh else None
    shown: Certificate | None = search.result if search is not None else result
    if result is None or not task.fresh:
        work.line(task, "", engine.preview(view) if task.running else "")
    else:
        asked = _asked(view, result)
        text = words.bracket(shown if search is not None and search.fresh and shown is not None else result)[0]
        line = (
            f"{words.summary(result, asked).markdown} · "
            f"node by node {share_down(result.naive_certified, result.targets if asked is None else asked)} · "
            f"left uncertified: {text} · "
            + ("integer program" if result.relaxation == Relaxation.EXACT else f"{result.relaxation} relaxation")
            + f", {seconds(result.seconds)}"
        )
        work.line(search if search is not None and not search.fresh else task, line)
        if not result.status.is_final:
            st.caption(_done(result))
        remarks(view, result)
    return shown if shown is not None and shown.attack is not None else None


def _done(result: Certificate) -> str:
    ended = result.status.is_final
    icon = ":material/hourglass_bottom:" if not ended else ":material/info:" if result.unproven else ":material/check:"
    return f"{icon} {words.status(result).markdown}"


def _numbers(view: View, result: Certificate, fresh: bool, search: work.Work | None) -> None:
    older = "" if fresh else " (previous)"
    asked = _asked(view, result)
    whole = result.targets if asked is None else asked  # of correct labels alone a share would look like an accuracy
    kind = "targets" if asked is None else "correct labels"
    with st.container(key="numbers"):
        columns = st.columns([1.15, 1, 1.15, 1])
    columns[0].metric(
        f"{'Certified together' if asked is None else 'Certified accuracy'}{older}",
        share_down(result.verified_certified, whole),
        f"solver's word: {share_down(result.certified, whole)}" if result.unproven else str(words.gain(result)),
        delta_color="off",
        delta_arrow="off",
        help=f"Proven for {count(result.verified_certified)} of {count(result.targets)} {kind}"
        f"{'' if asked is None else f', of {count(whole)} labels asked about'}. "
        f"{words.not_per_node().markdown}",
    )
    columns[1].metric(
        f"Node by node{older}",
        share_down(result.naive_certified, whole),
        f"{count(result.naive_certified)} {kind}",
        delta_color="off",
        delta_arrow="off",
        help="The naive count: every target meets its own worst attack with the whole budget.",
    )
    found: Certificate = search.result if search is not None and search.fresh else _with_its_attack(result)
    text, meaning = words.bracket(replace(result, attack=found.attack))
    columns[2].metric(
        f"Left uncertified{older}",
        text,
        "looking for an attack …" if search is not None and search.running else "best attack … proven bound",
        delta_color="off",
        delta_arrow="off",
        help=meaning.markdown,
    )
    with columns[3]:
        _badge(view, result, fresh)
        if search is not None and search.running:
            work.watch(search)


def _with_its_attack(result: Certificate) -> Certificate:
    """The certificate on show with the attack that was found for it before a new solve began."""
    latest = st.session_state.get("_shown", {}).get("attack")
    known: Certificate | None = None if latest is None else latest[2]
    if known is None or result.attack is not None or not np.array_equal(known.target_nodes, result.target_nodes):
        return result
    alike = known.threat.to_json() == result.threat.to_json() and known.bound == result.bound
    return (
        known
        if alike and all(known.facts.get(k) == result.facts.get(k) for k in ("instance_digest", "base"))
        else result
    )


def _badge(view: View, result: Certificate, fresh: bool) -> None:
    """The badge that opens the proof."""
    label, icon = ("Solver's word", ":material/info:") if result.unproven else ("Verified", ":material/verified:")
    # Short enough for one line: a second one would push everything below down.
    st.caption(f"{result.relaxation.capitalize()}, answered in {seconds(result.seconds)}")
    kind: Literal["primary", "secondary"] = "secondary" if result.unproven else "primary"
    popover = st.popover(
        label, icon=icon, type=kind, key="badge", on_change="rerun", help="Where this number comes from, and its proof."
    )
    if not popover.open:
        return
    with popover:
        if not result.unproven:
            st.markdown(
                "This count does not rest on the solver: its multipliers were turned into integers and the bound was "
                "recomputed **exactly**. Anyone can do that again from the proof file, without a solver."
            )
        else:
            st.markdown(
                f"Proven in exact arithmetic: **{count(result.verified_certified)}** of {count(result.targets)}. The "
                f"integer program says {count(result.certified)}; that is the solver's word and is not verified."
            )
        if fresh:
            _proof(view)
        menu.BY_SLUG["check"].link()
        if result.size is not None:
            st.caption(
                f"Program: {count(result.size.rows)} rows, {count(result.size.columns)} columns (the paper's form: "
                f"{count(result.size.paper_rows)} rows, {count(result.size.paper_columns)} columns)."
            )


def report(view: View, ready: bool) -> None:
    """One click: figures, numbers, proof and the guarantee in words, as one file."""
    if st.button(
        "Prepare a report",
        icon=":material/summarize:",
        disabled=not ready,
        help="All figures for print and screen, their numbers, the proof and a page that explains them, in one zip.",
    ):
        st.session_state["_report"] = view.key
    if st.session_state.get("_report") != view.key:
        return
    task = engine.report(view, bundles.path_of(view.name).name)
    work.line(task)
    if task.fresh:
        st.download_button(
            "Download the report (zip)",
            task.result,
            f"report-{view.name}.zip",
            "application/zip",
            on_click="ignore",
            icon=":material/download:",
            type="primary",
            key="download_report",
            help="Open `report.html` in it first.",
        )


def _proof(view: View) -> None:
    task = engine.proof(view)
    work.line(task)
    proof = task.result
    if not task.fresh or proof is None:
        return
    numerator, denominator = proof["bound"]
    st.markdown(
        f"- left uncertified: at most {rounded_up(Fraction(numerator, denominator))}, so "
        f"{count(proof['certified'])} of {count(proof['targets'])} are certified\n- relaxation: {proof['relaxation']}\n"
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
        help="Anyone can check it under “Check a claim”, or with `certcore verify`.",
    )
