"""The command line towards people: typos, files that are not there, numbers in other forms, and progress."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from certcore import save_instance
from certcore.cli import COMMANDS, main
from tests.sweep.cases import smoothed_like
from tests.waiting import until

NAME = "citeseer-gcn-attr-s0.npz"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with two bundles."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "precomputed").mkdir()
    for name in (NAME, "pubmed-gat-adj-s1.npz"):
        save_instance(tmp_path / "precomputed" / name, smoothed_like(1, n=30))
    return tmp_path


def wrong(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one line that a mistake gets."""
    assert main(list(words)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("certcore: ")
    assert "certcore: " not in err[1:], "the prefix is there twice"
    return err


GOOD = f"precomputed/{NAME}"


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["certify", GOOD, "--attr-dle", "5"], "--attr-del?"),
        (["certify", GOOD, "--attr_del", "5"], "--attr-del?"),
        (["certify", GOOD, "--relaxation", "tigth"], "tight?"),
        (["certfy", GOOD], "certify?"),
        (["radius", GOOD, "--vary", "attr_del", "--at-lest", "0.8"], "--at-least?"),
        (["curve", GOOD, "--vary", "attr_dle", "--values", "0:3"], "attr_del?"),
        (["certify", GOOD, "--targets", "tset"], "test?"),
    ],
)
def test_typos_get_a_suggestion(folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], meant: str) -> None:
    assert f"did you mean {meant}" in wrong(capsys, *words)


@pytest.mark.parametrize("option", ["--attr-d", "--local-attr", "--sig", "--jso"])
def test_no_option_is_taken_for_another_one(folder: Path, capsys: pytest.CaptureFixture[str], option: str) -> None:
    """`--sig 1` used to mean `--sigma 1`, and would mean something else as soon as there is another such option."""
    said = wrong(capsys, "certify", GOOD, option, "1")
    assert f"there is no option {option} (did you mean {option}" in said


def test_every_command_has_the_prefix_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong(capsys, "--frobnicate")
    wrong(capsys, "--attr-del", "5", "certify", GOOD)
    for command in COMMANDS:
        assert f"see certcore {command} --help" in wrong(capsys, command, "--frobnicate")
    wrong(capsys, "certify")
    wrong(capsys, "certify", GOOD, "one too many")


@pytest.mark.parametrize(
    "given", [NAME, "citeseer-gcn-atr-s0", "precompted/" + NAME, "precomputed/citeseer-gcn-attr-s0"]
)
def test_a_missing_file_is_told_with_its_path_and_near_names(
    folder: Path, capsys: pytest.CaptureFixture[str], given: str
) -> None:
    said = wrong(capsys, "certify", given, "--attr-del", "1")
    assert str(folder / given) in said
    assert f"did you mean {GOOD}?" in said


def test_other_missing_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("proof.json", "targets.txt"):
        (folder / name).write_text("1\n")
    for words, missing, meant in (
        (["verify", "prof.json", GOOD], "prof.json", "proof.json"),
        (["verify", "proof.json", "citeseer-gcn-attr-s0"], "citeseer-gcn-attr-s0", GOOD),
        (["certify", GOOD, "--targets", "target.txt"], "target.txt", "targets.txt"),
        (["certify", GOOD, "--protect", "target.txt"], "target.txt", "targets.txt"),
        (["curve", GOOD, "--vary", "attr_del", "--values", "0:1", "--splits", NAME], NAME, GOOD),
    ):
        said = wrong(capsys, *words)
        assert str(folder / missing) in said, words
        assert f"did you mean {meant}?" in said, words


@pytest.mark.parametrize("option", ["--attr-del", "--local-attr-del", "--sigma"])
@pytest.mark.parametrize("number", ["-1", "1e3", "0.6", "1,000", "many", ""])
def test_budgets_in_other_forms_get_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], option: str, number: str
) -> None:
    assert "whole number of at least 0" in wrong(capsys, "certify", GOOD, option, number)


def test_how_to_write_a_number(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "write 1000" in wrong(capsys, "certify", GOOD, "--attr-del", "1e3")
    assert "write 1000000" in wrong(capsys, "attack", GOOD, "--samples", "1e6")


def test_edges_may_be_called_edges(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def threat(*words: str) -> object:
        assert main(["certify", GOOD, *words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)["threat"]

    for kind in ("add", "del"):
        for prefix in ("--", "--local-"):
            assert threat(f"{prefix}adj-{kind}", "2") == threat(f"{prefix}edge-{kind}", "2") != threat()
    for vary in ("edge-del", "edge_del", "adj_del"):
        assert main(["curve", GOOD, "--vary", vary, "--values", "0:1", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["vary"] == "adj_del"


@pytest.mark.parametrize(
    ("text", "share"),
    [("0.8", 0.8), ("80%", 0.8), ("80 %", 0.8), ("80", 0.8), ("1", 1), ("100", 1), ("1%", 0.01), ("0.5%", 0.005),
     ("2", 0.02), ("0", 0), ("99.9%", 0.999)],
)  # fmt: skip
def test_a_share_may_be_a_percentage(folder: Path, capsys: pytest.CaptureFixture[str], text: str, share: float) -> None:
    assert main(["radius", GOOD, "--vary", "attr_del", "--at-least", text, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["at_least"] == share


@pytest.mark.parametrize("text", ["1.5", "101", "101%", "-1", "-5%", "%", "", "8e1%", "nan", "eighty", "0.8.1"])
def test_what_is_no_share_is_explained(folder: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    assert "such as 80%" in wrong(capsys, "radius", GOOD, "--vary", "attr_del", f"--at-least={text}")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


SLOW = (
    ["certify", GOOD, "--attr-del", "3", "--proof", "proof.json"],
    ["verify", "proof.json", GOOD],
    ["radius", GOOD, "--vary", "attr_del", "--at-least", "0.5"],
    ["curve", GOOD, "--vary", "attr_del", "--values", "0:2"],
    ["surface", GOOD, "--x", "attr_del", "--x-values", "0:1", "--y", "attr_add", "--y-values", "0:1"],
    ["defend", GOOD, "--attr-del", "3", "--nodes", "1"],
)


def test_everything_that_may_take_long_says_how_it_goes(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from certcore.cli.status_line import StatusLine

    class Impatient(StatusLine):
        """The line comes at once, and the work waits until it is there."""

        AFTER = 0.0

        def __enter__(self) -> StatusLine:
            super().__enter__()
            until(lambda: not self._live or f"certcore {self.what}:" in terminal.getvalue())
            return self

    for name in ("options", "certify", "verify", "sweeping"):
        monkeypatch.setattr(f"certcore.cli.{name}.StatusLine", Impatient)
    for words in SLOW:
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        assert main(words) == 0
        assert f"certcore {words[0]}:" in terminal.getvalue()
        assert terminal.getvalue().endswith("\r\x1b[2K"), "the line is gone in the end"
        for quiet in (Terminal(), io.StringIO()):
            monkeypatch.setattr(sys, "stderr", quiet)
            assert main([*words, "--json"] if quiet.isatty() else words) == 0
            assert quiet.getvalue() == ""
    capsys.readouterr()


def test_suggestions() -> None:
    from certcore.common.errors import did_you_mean

    assert did_you_mean("x", []) == did_you_mean("zzz", ["abc"]) == ""
    assert (
        did_you_mean("--attr", ["--attr-add", "--attr-del", "--sigma"]) == " (did you mean --attr-add or --attr-del?)"
    )
