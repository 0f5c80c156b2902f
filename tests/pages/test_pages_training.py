"""Training in a process of its own: its progress is read, its failure is told, and it can be cancelled."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

import pytest

from certcore.common.errors import InputError
from pages.background import training
from pages.background.jobs import Job

SCRIPT = """
import sys, time
for k in range(4):
    sys.stderr.write(f"\\r\\x1b[2Kvotes ███··· {k:,} of 4 samples, 3/s")
    sys.stderr.flush()
    time.sleep(float(sys.argv[1]))
open(sys.argv[2], "w").write("done")
"""


def job() -> Job:
    return Job("key", "training", lambda job: None)


def test_progress_and_result(tmp_path: Path) -> None:
    work, output = job(), tmp_path / "out.npz"
    assert training.run([sys.executable, "-c", SCRIPT, "0.1", str(output)], work) == output
    assert work.share is not None
    assert work.share >= 0.25
    assert "of 4 samples" in work.note
    assert "█" not in work.note


def test_failure_is_one_sentence(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "import sys; sys.exit('there is no dataset of that name')", str(tmp_path / "x")]
    with pytest.raises(InputError, match="no dataset of that name"):
        training.run(words, job())


def test_cancel_ends_the_process(tmp_path: Path) -> None:
    work, output = job(), tmp_path / "out.npz"
    threading.Timer(0.5, work.cancel.set).start()
    started = time.monotonic()
    with pytest.raises(InputError, match="cancelled"):
        training.run([sys.executable, "-c", SCRIPT, "30", str(output)], work)
    assert time.monotonic() - started < 20
    assert not output.exists()


def test_the_command_is_the_one_people_would_type(tmp_path: Path) -> None:
    words = training.command("citeseer", "gcn", "attr", 2, 1000, tmp_path / "o.npz")
    assert words[1:7] == ["-m", "certcore", "bundle", "citeseer", "gcn", "attr"]
    assert words[-1] == str(tmp_path / "o.npz")
