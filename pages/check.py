"""Check a claim: a proof and its instance, verified again without any solver."""

from __future__ import annotations

import streamlit as st

from certcore.errors import InputError
from certcore.instance import Instance, load_instance
from certcore.threat import ThreatModel
from certcore.verify.proof import read_proof, verify_proof
from pages.shared import work
from pages.shared.frame import frame_without_instance, stop
from pages.shared.jobs import Job
from pages.shared.text import count, markdown, percent
from pages.shared.words import confidence, threat_words

view = frame_without_instance(
    "pages/check.py",
    "Check a claim",
    "Drop a proof and the instance it speaks about. The bound is recomputed in exact integers, without a solver.",
)
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
if proof_file is None:
    st.info(
        "Nothing to check yet. A proof can be downloaded from the **Verified** badge on the overview, or written with "
        "`python -m certcore certify INSTANCE --attr-del 10 --proof proof.json`.",
        icon=":material/upload_file:",
    )
    stop()
here = None if view is None else view.instance
if instance_file is None and here is None:
    st.info("Add the instance the proof speaks about.", icon=":material/upload_file:")
    stop()


def read_instance(rule: str) -> Instance:
    """The dropped instance, or the one in the sidebar."""
    if instance_file is None and here is not None:
        return here
    return load_instance(instance_file.getvalue(), name=instance_file.name, base_rule=rule)


try:
    proof = read_proof(proof_file.getvalue())
    instance = read_instance(proof.get("base_rule", "binary"))
except InputError as error:
    st.error(f"**Unreadable.** {markdown(error, 400)}", icon=":material/broken_image:")
    stop()


def run(job: Job) -> object:
    return verify_proof(proof, instance)


task = work.ask(
    "check", ("verify", proof.get("digest"), proof_file.file_id, instance.digest), run, "Recomputing the bound"
)
work.line(task)
if not task.fresh:
    stop()
verdict = task.result
if not verdict.accepted:
    st.error(f"**Rejected.** {markdown(verdict.reason, 500)}", icon=":material/gpp_bad:")
    st.caption("A rejected proof shows nothing: neither that the claim is right nor that it is wrong.")
    stop()
threat = ThreatModel.from_json(proof["threat"])
st.success(
    f"**Accepted.** Whatever an attacker does with {threat_words(threat)}: at least **{count(verdict.certified)} of "
    f"{count(verdict.targets)}** labels ({percent(verdict.certified / max(verdict.targets, 1))}) stay as they are"
    f"{confidence(instance)}.",
    icon=":material/verified:",
)
st.caption(
    "What was checked: the program was derived again from the instance, and the multipliers in the proof were "
    "evaluated in exact integers. What the proof rests on: this clean graph, its receptive fields, and its base "
    "certificate."
)
