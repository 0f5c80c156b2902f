"""The browser's modules without a browser: `node --test`, where node is there."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def test_the_modules_do_what_they_say() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node here")
    files = sorted(str(path) for path in (HERE / "modules").glob("*.test.js"))
    command = [node, "--experimental-default-type=module", "--test", *files]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    passed = re.search(r"^# pass (\d+)$|^ℹ pass (\d+)$", done.stdout, re.MULTILINE)
    assert passed
    assert int(passed[1] or passed[2]) >= 15
