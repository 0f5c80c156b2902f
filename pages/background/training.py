"""Training and voting in the background: the command `certcore bundle` in a process of its own."""

from __future__ import annotations

import atexit
import importlib.util
import os
import pty
import re
import select
import subprocess
import sys
from pathlib import Path

import streamlit as st

from certcore.common.errors import InputError

from ..files.bundles import ROOT
from .jobs import Job, Pool

HOW_TO_ADD = "Training needs torch, which is not installed here. Add it with `pip install -r requirements-train.txt`."


def available() -> bool:
    """Whether torch can be imported (without importing it)."""
    return importlib.util.find_spec("torch") is not None


@st.cache_resource(show_spinner=False)
def trainers() -> Pool:
    """One training at a time for the whole server; certificates have workers of their own."""
    made = Pool(workers=1)
    atexit.register(made.close)
    return made


def command(dataset: str, model: str, types: str, split: int, samples: int, output: Path) -> list[str]:
    words = [sys.executable, "-m", "certcore", "bundle", dataset, model, types]
    return [*words, "--split", str(split), "--samples", str(samples), "--jobs", "1", "--fresh", "-o", str(output)]


def run(words: list[str], job: Job) -> Path:
    """Run the command; its progress line becomes the job's note. Cancelling keeps what is done, a restart resumes."""
    master, slave = pty.openpty()  # on a terminal the command tells its progress ten times a second
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        ["nice", *words], cwd=ROOT, stdout=slave, stderr=slave, stdin=subprocess.DEVNULL, env=environment
    )
    os.close(slave)
    last = ""
    try:
        while True:
            if job.cancel.is_set():
                process.terminate()
            ready, _, _ = select.select([master], [], [], 0.3)
            try:
                data = os.read(master, 65536) if ready else b""
            except OSError:  # the other end is closed
                break
            if data:
                lines = [line for line in re.split(r"[\r\n]+", _plain(data)) if line.strip()]
                last = lines[-1] if lines else last
                job.report(_share(last), re.sub(r"[█·]{3,}", "", last)[:120])
            elif process.poll() is not None:
                break
        code = process.wait(timeout=20)
    finally:
        if process.poll() is None:
            process.kill()
        os.close(master)
    output = Path(words[-1])
    if job.cancel.is_set():
        raise InputError("the training was cancelled; the same settings resume where it stopped")
    if code or not output.exists():
        raise InputError(f"the training stopped with an error: {last[:200] or f'exit code {code}'}")
    return output


def _plain(data: bytes) -> str:
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", data.decode("utf-8", "replace"))


def _share(line: str) -> float | None:
    match = re.search(r"([\d,]+) of ([\d,]+)", line)
    if not match:
        return None
    done, total = (int(part.replace(",", "")) for part in match.groups())
    return min(done / total, 1.0) if total else None
