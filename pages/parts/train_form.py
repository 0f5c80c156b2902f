"""The form that starts training and voting, and shows how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import streamlit as st

from certcore.messages import dataset_title
from certcore.models.registry import MODELS

from ..background import training
from ..background.jobs import Job, JobState
from ..background.work import owner
from ..files import bundles
from ..files.bundles import import_folder
from ..messages.text import markdown, seconds

DATASETS = ("citeseer", "cora", "pubmed", "cora_ml")


def _choices() -> tuple[str, str, str, int, int]:
    """Dataset, model, what is smoothed, split and number of samples."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        dataset = st.selectbox(
            "Dataset",
            DATASETS,
            format_func=dataset_title,
            help="Fetched once, then kept; that needs the internet.",
            key="train_dataset",
            width=150,
        )
        model = st.selectbox(
            "Model",
            MODELS,
            format_func=bundles.model_title,
            help="The classifier that is smoothed.",
            key="train_model",
            width=150,
        )
        types = st.selectbox(
            "Smoothing",
            ["attr", "adj", "joint"],
            format_func={"attr": "attributes", "adj": "edges", "joint": "both"}.__getitem__,
            help="What is randomised, and so what can be certified.",
            key="train_types",
            width=150,
        )
        split = st.number_input("Split", 0, 99, 0, help="Number of the data split.", key="train_split", width=110)
        samples = st.select_slider(
            "Samples",
            [1000, 10_000, 100_000, 1_000_000],
            value=10_000,
            format_func=lambda n: f"{n:,}",
            help="More samples, stronger certificates, more time. Never compare results with different numbers.",
            key="train_samples",
        )
    return dataset, model, types, int(split), int(samples)


def form(take: Callable[[list[tuple[str, bytes]]], None]) -> None:
    """Choose what to train; then watch it, cancel it, resume it."""
    if not training.available():
        st.warning(training.HOW_TO_ADD, icon=":material/extension_off:")
    dataset, model, types, split, samples = _choices()
    output = import_folder().parent / "trained" / f"{dataset}-{model}-{types}-s{split}-{samples}.npz"
    key = ("train", str(output))
    words = training.command(dataset, model, types, split, samples, output)
    if st.button(
        "Start or resume",
        type="primary",
        icon=":material/play_arrow:",
        disabled=not training.available(),
        key="train_start",
        help="Counts on where an earlier run with the same choices stopped.",
    ):
        output.parent.mkdir(parents=True, exist_ok=True)
        job = training.trainers().submit(
            owner(), "train", key, lambda job: training.run(words, job), f"{dataset} {model}", keep=True
        )
        st.session_state["_training"] = job
    active: Job | None = st.session_state.get("_training")
    if active is None:
        st.caption("Training a small model takes some seconds, 10,000 samples about a minute, a million about an hour.")
        return
    if not active.finished.is_set():
        _watch()
    elif active.error or active.state is JobState.CANCELLED:
        st.warning(markdown(active.error or "cancelled", 300), icon=":material/info:")
    else:
        path = Path(str(active.result))
        take([(path.name, path.read_bytes())])


@st.fragment(run_every=0.6)
def _watch() -> None:
    job: Job = st.session_state["_training"]
    job.touched = time.monotonic()
    if job.finished.is_set():
        st.rerun()
    st.progress(job.share or 0.0, text=f"{markdown(job.label)} · {seconds(job.seconds)} · {markdown(job.note, 120)}")
    st.button(
        "Cancel the training",
        icon=":material/close:",
        key="train_cancel",
        on_click=lambda: training.trainers().leave(owner(), job),
        help="What is done stays; starting again with the same settings resumes.",
    )
