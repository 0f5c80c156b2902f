"""Files under bad conditions: killed writers, full disks, forbidden folders."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from certcore import GridBase, InputError, Instance, load_instance, save_instance
from certcore.common.files import atomic_write
from tests.support import random_graph, random_grid

ROOT = Path(__file__).resolve().parents[2]

WRITER = """
import itertools, sys
import numpy as np
from certcore import GridBase, Instance, save_instance
from tests.support import random_graph, random_grid
rng = np.random.default_rng(0)
graph = random_graph(rng, 120, 40, 0.1)
print("ready", flush=True)
for number in itertools.count():
    grid = random_grid(np.random.default_rng(number % 7), 120, (6, 9))
    save_instance(sys.argv[1], Instance(graph, GridBase(grid, ("attr_add", "attr_del")), 2, meta={"number": number}))
"""


def test_a_killed_writer_leaves_the_old_or_the_new_file(tmp_path: Path) -> None:
    path = tmp_path / "instance.npz"
    rng = random.Random(0)
    for _ in range(8):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], env={"PYTHONPATH": str(ROOT), "PATH": ""}, stdout=subprocess.PIPE
        )
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(rng.uniform(0.02, 0.25))
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        if path.exists():
            assert load_instance(path).graph.n_nodes == 120
    assert path.exists()


def instance() -> Instance:
    rng = np.random.default_rng(0)
    return Instance(random_graph(rng, 50, 60, 0.3), GridBase(random_grid(rng, 50, (3, 4)), ("attr_add", "attr_del")), 2)


def test_a_full_disk_is_told_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "instance.npz"
    save_instance(path, instance())
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, hard))
        with pytest.raises(InputError, match="cannot write"):
            save_instance(path, instance())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, old)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["instance.npz"]


def test_a_folder_that_cannot_be_written_is_told() -> None:
    with pytest.raises(InputError, match=r"cannot write .*choose a folder"):
        save_instance("/proc/nowhere/instance.npz", instance())


def test_an_error_while_writing_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    path.write_text("old")

    def write_half() -> None:
        with atomic_write(path, "w") as handle:
            handle.write("half of the n")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_half()
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["note.txt"]


def test_what_killed_writers_left_is_cleared_away(tmp_path: Path) -> None:
    old, fresh, other = (tmp_path / name for name in (".a[1].npz.x.part", ".a[1].npz.y.part", ".b.npz.z.part"))
    for path in (old, fresh, other):
        path.write_bytes(b"half")
    for path in (old, other):
        os.utime(path, (time.time() - 4000, time.time() - 4000))
    with atomic_write(tmp_path / "a[1].npz") as handle:
        handle.write(b"whole")
    assert not old.exists()
    assert fresh.exists()  # another process may be writing it
    assert other.exists()
