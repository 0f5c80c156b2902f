"""The lines of the page about HTTP do what it says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from certcore.server import questions

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "reference" / "http.md").read_text(encoding="utf-8")
COMMANDS = [
    line for block in re.findall(r"```bash\n(.*?)```", TEXT, re.DOTALL) for line in block.splitlines() if "curl" in line
]


def test_every_question_has_a_line_of_its_own() -> None:
    assert len(COMMANDS) >= 12
    for what in questions.QUESTIONS:
        assert any(f"/{what}?" in line for line in COMMANDS), what


@pytest.mark.parametrize("command", COMMANDS)
def test_a_line_of_the_page(command: str, port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("curl") is None:
        pytest.skip("no curl here")
    monkeypatch.setenv("CERTCORE_IMPORTS", str(tmp_path / "kept"))
    (tmp_path / "precomputed").symlink_to(ROOT / "precomputed")
    script = f"API=http://127.0.0.1:{port}/api\n{command}"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True)
    if "-o proof.json" in command:
        assert json.loads((tmp_path / "proof.json").read_text())["certified"] > 0
        return
    told = [json.loads(line) for line in done.stdout.splitlines()]
    if "attr_dell" in command:
        assert "did you mean attr_del?" in told[0]["error"]
    elif "curl -sN" in command:
        assert told[-1]["kind"] == "end"
        assert {line["of"] for line in told} == {told[0]["of"]}
    elif "--data-binary" in command:
        assert told[0]["instance"].startswith("up-")
    else:
        assert "error" not in told[0]


def test_the_lines_in_python(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    exec(compile(code, "http.md", "exec"), {})
    kinds = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert kinds == ["preview", "solved", "end"]
