"""Check a proof: a proof and its instance, verified again without any solver."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import streamlit as st

from certcore import messages
from certcore.common.errors import InputError
from certcore.instance.instance import Instance, load_instance
from certcore.verify.proof import Verdict, read_proof, verify_proof

from ..background import engine
from ..background.answers import Asked, answer
from ..messages.text import markdown
from ..state.state import View

TITLE = "Check a proof"
LEAD = "Drop a proof and the instance it speaks about. The bound is recomputed in exact integers, without a solver."
NEEDS_INSTANCE = False


@dataclass(frozen=True)
class CheckedProof:
    """What is checked: a proof, the instance it speaks about, and where the proof comes from."""

    proof: dict[str, Any]
    instance: Instance
    source: str


def draw(view: View | None) -> None:
    left, right = st.columns(2, gap="large")
    proof_file = left.file_uploader(
        "Proof (JSON)",
        type=["json"],
        key="proof_file",
        help="Written by the “Verified” badge or `certcore certify --proof`.",
    )
    instance_file = right.file_uploader(
        "Instance (.npz)",
        type=["npz"],
        key="instance_file",
        help="Leave empty to check against the instance in the sidebar.",
    )
    usable = None if view is None or view.problem else view
    claim = _claim(proof_file, instance_file, usable)
    if claim is not None:
        _check(claim)


def _claim(proof_file: Any, instance_file: Any, view: View | None) -> CheckedProof | None:
    """The files that were dropped; what is missing comes from the present view. None: not everything is there yet."""
    made = _own_proof(view) if proof_file is None else None
    if proof_file is None and made is None:
        return None
    if instance_file is None and view is None:
        st.info("Add the instance the proof speaks about.", icon=":material/upload_file:")
        return None
    try:
        proof = made if made is not None else read_proof(proof_file.getvalue())
        if instance_file is None and view is not None:
            instance = view.instance
        else:
            rule = proof.get("base_rule", "binary")
            instance = load_instance(instance_file.getvalue(), name=instance_file.name, base_rule=rule)
    except InputError as error:
        st.error(f"**Unreadable.** {markdown(error, 400)}", icon=":material/broken_image:")
        return None
    return CheckedProof(proof, instance, "own" if proof_file is None else proof_file.file_id)


def _own_proof(view: View | None) -> dict[str, Any] | None:
    """A proof made here and now, for those who have none at hand."""
    st.info(
        "Nothing to check yet. A proof can be downloaded behind **Proven** on the workbench, or written with "
        "`python -m certcore certify INSTANCE --attr-del 10 --proof proof.json`.",
        icon=":material/upload_file:",
    )
    if view is None:
        return None
    asked = st.button(
        "Check the present view",
        icon=":material/fact_check:",
        help="Writes the proof for the budgets in the sidebar and checks it, as if it had been dropped here.",
    )
    if asked:
        st.session_state["_own_proof"] = view.key
    if st.session_state.get("_own_proof") != view.key:
        return None
    made: dict[str, Any] | None = answer(engine.proof(view))
    return made


def _check(claim: CheckedProof) -> None:
    """Check the claim and say what came out."""
    proof, instance = claim.proof, claim.instance

    def steps(cancel: threading.Event) -> Iterator[Verdict]:
        yield verify_proof(proof, instance)

    key = ("verify", proof.get("digest"), claim.source, instance.full_digest)
    verdict = answer(Asked(key, steps, "Recomputing the bound"))
    if verdict is None:
        return
    if not verdict.accepted:
        st.error(f"**Rejected.** {markdown(verdict.reason, 500)}", icon=":material/gpp_bad:")
        st.caption("A rejected proof shows nothing: neither that the claim is right nor that it is wrong.")
        return
    st.success(
        f"**Accepted.** {messages.accepted(instance, verdict.threat, verdict.certified, verdict.targets).markdown}",
        icon=":material/verified:",
    )
    st.caption(
        "What was checked: the program was derived again from the instance, and the dual values in the proof were "
        "evaluated in exact integers. What the proof rests on: the observed graph, its receptive fields, and its base "
        "certificate."
    )
