"""What the commands say about themselves: help on one screen, what replaces removed commands, and nothing written."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from certcore import save_instance
from certcore.cli import COMMANDS, EXAMPLES, MOVED, build_parser, main
from tests.export.instances import small_instance


def test_help_fits_on_one_screen_with_an_example_of_each_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 100
    assert set(EXAMPLES) == set(COMMANDS)
    for name, (words, _) in EXAMPLES.items():
        assert any(line.strip().startswith(f"certcore {name} ") for line in lines)
        build_parser().parse_args([name, *shlex.split(words)])


@pytest.mark.parametrize("name", ["base", "draw", "verify-attack", "data", "train", "vote", "bundle"])
def test_a_removed_command_says_what_replaces_it(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "x.npz"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"there is no command {name} any more" in said
    assert MOVED[name] in said


@pytest.mark.parametrize("command", ["certify", "curve", "surface", "radius", "defend"])
def test_a_command_that_shows_does_not_write(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    save_instance(tmp_path / "toy.npz", small_instance())
    assert main([command, "toy.npz"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["toy.npz"]


@pytest.mark.parametrize("command", ["curve", "surface", "radius", "defend", "certify", "report"])
def test_a_time_limit_ends_a_command_with_what_is_proven(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    save_instance(tmp_path / "toy.npz", small_instance(n=60))
    assert main([command, "toy.npz", "--time-limit", "0.001"]) == 0
    out, err = capsys.readouterr()
    assert out
    assert "Traceback" not in err
