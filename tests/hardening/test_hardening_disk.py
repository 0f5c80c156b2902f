"""A disk that is really full and a folder that really cannot be written: one sentence each, and nothing is lost.

Both are small file systems in memory, mounted where only the child process sees them; machines that do not allow this
skip these tests (`test_hardening_files` has forms that run everywhere).
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from certcore import save_instance
from tests.hardening.fuzz import example

ROOT = Path(__file__).resolve().parents[2]
BUNDLE = str(ROOT / "precomputed" / "citeseer-gcn-attr-s0.npz")

#: Fills the disk with instances of growing size, then tries to replace the first one by one that does not fit.
FULL = """
import sys
from pathlib import Path
import numpy as np
from certcore import GridBase, InputError, Instance, load_instance, save_instance
from tests.support import random_graph

def instance(number, nodes):
    rng = np.random.default_rng(number)
    grid = np.ones((nodes, 2), dtype=bool)
    return Instance(random_graph(rng, nodes, 60, 0.2), GridBase(grid, ("attr_del",)), 2)

folder = Path(sys.argv[1])
first = instance(0, 50)
save_instance(folder / "0.npz", first)
for number in range(1, 1000):
    try:
        save_instance(folder / f"{number}.npz", instance(number, 200))
    except InputError as error:
        assert "cannot write" in str(error) and "No space left" in str(error), error
        break
else:
    raise SystemExit("the disk was never full")
try:
    save_instance(folder / "0.npz", instance(0, 400))
except InputError as error:
    print(error)
assert load_instance(folder / "0.npz").digest == first.digest
assert not list(folder.glob(".*")), "half written files stay behind"
"""

UPLOAD = """
import os, sys
from pathlib import Path
os.environ["CERTCORE_IMPORTS"] = str(Path(sys.argv[1]) / "imports")
from pages.files import examples
from tests.pages.opening import at_page
at = at_page("bring").run()
at.file_uploader(key="upload_instance").upload("mine.npz", examples.instance(), "application/zip").run()
assert not at.exception, at.exception
assert not at.success
print(at.error[0].icon, at.error[0].value)
"""


def _mounted(tmp_path: Path, options: str, command: list[str], given: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command that sees a small file system at `tmp_path`/disk."""
    disk = tmp_path / "disk"
    disk.mkdir(exist_ok=True)
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not here")
    mount = ["unshare", "-rm", "sh", "-c", f'mount -t tmpfs -o {options} tmpfs "$0" && exec "$@"', str(disk)]
    if subprocess.run([*mount, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody mount")
    environment = os.environ | {"PYTHONPATH": str(ROOT), "CERTCORE_CACHE": str(disk / "cache")}
    del environment["NUMBA_CACHE_DIR"]  # compiled code goes to that disk as well
    return subprocess.run(
        [*mount, sys.executable, "-W", "ignore", *command], cwd=ROOT, env=environment, capture_output=True, text=True,
        input=given, timeout=240, check=False,
    )  # fmt: skip


def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    run = _mounted(tmp_path, "size=200k", ["-c", FULL, str(tmp_path / "disk")])
    assert run.returncode == 0, run.stderr[-2000:]
    assert "0.npz" in run.stdout
    assert os.strerror(errno.ENOSPC) in run.stdout


#: Commands one after the other, each with what it said last.
COMMANDS = """
import contextlib, io, json, sys
from certcore import cli
from experiments import __main__ as experiments
for program, *words in json.load(sys.stdin):
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        code = {"certcore": cli, "experiments": experiments}[program].main(words)
    print(json.dumps([code, said.getvalue()]))
"""


def test_a_folder_that_really_cannot_be_written(tmp_path: Path) -> None:
    small = str(tmp_path / "small-s0.npz")
    save_instance(small, example("votes"))
    commands = [
        f"certcore certify {small} --attr-del 1 --proof DISK/proof.json",
        f"certcore certify {small} --attr-del 1 --allocation DISK/attack.csv",
        f"certcore curve {small} --vary attr_del --values 0:3 -o DISK/curve.csv",
        f"certcore surface {small} --x attr_add --x-values 0:1 --y attr_del --y-values 0:1 --checkpoint DISK/cells.npz",
        f"certcore report {small} --attr-del 1 -o DISK/report.html",
        "experiments bundle citeseer gcn attr --epochs 1 --samples 1000 --work DISK/work -o DISK/bundle.npz",
    ]
    words = [[word.replace("DISK", str(tmp_path / "disk")) for word in command.split()] for command in commands]
    run = _mounted(tmp_path, "ro", ["-c", COMMANDS], json.dumps(words))
    assert run.returncode == 0, run.stderr[-2000:]
    for command, line in zip(commands, run.stdout.splitlines(), strict=True):
        code, said = json.loads(line)
        assert code == 2, (command, said)
        last = said.strip().splitlines()[-1]
        assert last.startswith(f"{command.split()[0]}: "), (command, said)
        assert str(tmp_path / "disk") in last, (command, said)
        assert os.strerror(errno.EROFS) in last, (command, said)


def test_certificates_need_no_place_to_write(tmp_path: Path) -> None:
    """The cache of tables only saves time."""
    bundle = BUNDLE.replace("attr-s0", "joint-s0")
    run = _mounted(tmp_path, "ro", ["-m", "certcore", "certify", bundle, "--attr-del", "1", "--adj-del", "1", "--json"])
    assert run.returncode == 0, run.stderr[-2000:]
    assert json.loads(run.stdout)["certified"] is not None


def test_an_upload_that_cannot_be_kept(tmp_path: Path) -> None:
    run = _mounted(tmp_path, "ro", ["-c", UPLOAD, str(tmp_path / "disk")])
    assert run.returncode == 0, run.stderr[-2000:]
    assert "hard_drive" in run.stdout, "the place to keep it is what is wrong, not the file"
    assert os.strerror(errno.EROFS) in run.stdout.replace("\\", "")
    assert "CERTCORE" in run.stdout
    assert str(tmp_path.name) not in run.stdout.replace("\\", ""), (
        "where the server keeps its files is nobody's business"
    )
