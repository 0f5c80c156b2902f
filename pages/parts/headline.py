"""The guarantee in full, how it was proven, its report, and the short form for other pages."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import streamlit as st

from certcore import messages
from certcore.common.rounding import rounded_up, share_down
from certcore.model_attack.stored import FoundAttack
from certcore.result.certificate import Certificate

from ..background import engine
from ..background.answers import answer, answers
from ..files import bundles
from ..messages.text import count, seconds
from ..state import menu
from ..state.state import View


def in_full(view: View, result: Certificate | None, fresh: bool) -> None:
    """The guarantee in its full words, for those who listen and for programs that read the page; older ones say so."""
    if result is None:
        st.markdown("Solving the first certificate.")
        return
    st.markdown(messages.guarantee(view.instance, result, _asked(view, result)).markdown)
    if fresh:
        st.caption(f"{result.relaxation.capitalize()}, answered in {seconds(result.seconds)}")
    remarks(view, result)


def panel(view: View, result: Certificate | None, fresh: bool, model: FoundAttack | None) -> None:
    """How it was proven: the long sentence, the proof, and the report."""
    if result is None:
        st.caption("There is no certificate yet.")
        return
    st.markdown(messages.guarantee(view.instance, result, _asked(view, result)).markdown)
    st.caption(_done(result))
    remarks(view, result)
    st.markdown(messages.not_per_node().markdown)
    if fresh:
        st.markdown(messages.changed_words(model, _asked(view, result)).markdown)
        if (both := messages.jointly(view.instance, model)) is not None:
            st.markdown(both.markdown)
    _checked(result)
    if fresh:
        _proof(view)
    menu.BY_SLUG["check"].link()
    if result.size is not None:
        st.caption(
            f"Program: {count(result.size.rows)} rows, {count(result.size.columns)} columns (the paper's form: "
            f"{count(result.size.paper_rows)} rows, {count(result.size.paper_columns)} columns). "
            f"{result.relaxation.capitalize()}, answered in {seconds(result.seconds)}."
        )
    report(view, fresh)


def _checked(result: Certificate) -> None:
    st.markdown(
        "This count does not rest on the solver: its dual values were turned into integers and the bound was "
        "recomputed **exactly**. Anyone can do that again from the proof file, without a solver."
    )


def _asked(view: View, result: Certificate) -> int | None:
    """Among how many labels the targets are the correct ones; a previous certificate may be about other targets."""
    if view.counted is None or result.threat.targets is None:
        return None
    return len(view.counted) if np.array_equal(result.threat.targets, view.targets) else None


def remarks(view: View, result: Certificate) -> None:
    """What must be said beside the number: certified accuracy, uncovered types, the paper's edge rule."""
    if view.counted is not None and _asked(view, result) is not None:
        told = messages.certified_accuracy(view.instance, result.threat, result.certified, view.counted)
        st.info(told.markdown, icon=":material/target:")
    for remark in messages.remarks(view.instance, result.threat):
        st.warning(remark.markdown, icon=":material/warning:")


def with_attack(view: View) -> Certificate | None:
    """The short form for other pages: one line about the certificate as it grows, which at last has its attack."""
    place, result = st.container(), None
    with place:
        line = st.empty()
    for found in answers(engine.number(view)):
        result = found
        asked = _asked(view, result)
        text = messages.bracket(result)[0]
        line.markdown(
            f"{messages.summary(result, asked).markdown} · "
            f"naive {share_down(result.naive_certified, result.targets if asked is None else asked)} · "
            f"left uncertified: {text} · "
            f"{result.relaxation} relaxation, {seconds(result.seconds)}"
        )
    if result is None:
        return None
    with place:
        if not result.status.is_final:
            st.caption(_done(result))
        remarks(view, result)
    return result if result.attack is not None else None


def _done(result: Certificate) -> str:
    ended = result.status.is_final
    icon = ":material/hourglass_bottom:" if not ended else ":material/check:"
    return f"{icon} {messages.status(result).markdown}"


def report(view: View, ready: bool) -> None:
    """One click: figures, numbers, proof and the guarantee in words, as one file."""
    if st.button(
        "Prepare a report",
        icon=":material/summarize:",
        disabled=not ready,
        help="A page that explains the certificate, its figures for print, their numbers and the proof, in one zip.",
    ):
        st.session_state["_report"] = view.key
    if st.session_state.get("_report") != view.key:
        return
    attacks = bundles.attacks(view.name, view.instance)
    made = answer(engine.report(view, bundles.shown_path(view.name), attacks))
    if made is not None:
        st.download_button(
            "Download the report (zip)",
            made,
            f"report-{view.name}.zip",
            "application/zip",
            on_click="ignore",
            icon=":material/download:",
            type="primary",
            key="download_report",
            help="Open `report.html` in it first.",
        )


def _proof(view: View) -> None:
    proof = answer(engine.proof(view))
    if proof is None:
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
        help="Anyone can check it under “Check a proof”, or with `certcore verify`.",
    )
