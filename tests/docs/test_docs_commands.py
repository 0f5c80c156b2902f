"""Every command in the documents exists with its options; those of the tour and the guide are run."""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from certcore.cli import COMMANDS, MOVED, build_parser, main
from experiments import commands as experiments
from tests.docs.documents import DOCUMENTS, PAGES, ROOT, blocks, commands, environment, inline_commands

NAMES = [path.relative_to(ROOT).as_posix() for path in DOCUMENTS]
#: Run for real by the tests, in order, in an empty folder beside a link to precomputed/.
RUN = ["README.md", *(path.relative_to(ROOT).as_posix() for path in PAGES if path.parent.name != "explanation")]
#: This serves: only its options are checked here, other tests run it.
LONG = ("dashboard",)
#: What has been run already.
DONE: set[tuple[str, str]] = set()
#: Words that need no check of ours.
OTHERS = ("cd", "git", "source", ".", "pre-commit", "curl", "apt-get", "sudo", "nohup", "nice", "mkdir", "dask")
OTHERS += ("certcore-check",)
#: What `certcore-check` is.
CHECKER = ROOT / "certcore" / "standalone" / "certcore_check.py"


def parsers() -> dict[str, argparse.ArgumentParser]:
    action = next(a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction))
    return dict(action.choices)


def ours(words: list[str]) -> list[str] | None:
    """The arguments of a `certcore` command, however it is called."""
    if words[0].endswith("certcore") and len(words[0].split("/")) in (1, 3):
        return words[1:]
    if words[0].startswith("python") and words[1:3] == ["-m", "certcore"]:
        return words[3:]
    return None


def before_pipe(words: list[str]) -> list[str]:
    for sign in ("|", ">", "&&", ";"):
        if sign in words:
            words = words[: words.index(sign)]
    return words


def check_python(words: list[str]) -> None:
    if words[1] == "-m":
        assert importlib.util.find_spec(words[2]) is not None, f"there is no module {words[2]}"
        if words[2] == "pip":
            check_pip(words[2:])
        if words[2] == "experiments" and words[3] in experiments.COMMANDS:
            experiments.build_parser().parse_args(before_pipe(words[3:]))
        if words[2] == "pytest":
            for word in words[3:]:
                if "/" in word:
                    assert (ROOT / word.split("::")[0]).exists(), f"there is no {word}"
    elif words[1] != "-c":
        assert (ROOT / words[1]).is_file(), f"there is no {words[1]}"


def check_pip(words: list[str]) -> None:
    assert words[1] in ("install", "download"), words
    for option, name in itertools.pairwise(words):
        if option == "-r":
            assert (ROOT / name).is_file(), f"there is no {name}"
    for word in words[2:]:
        match = re.fullmatch(r"\.\[([\w,]+)\]", word)
        if match:
            extras = (ROOT / "pyproject.toml").read_text().split("[project.optional-dependencies]")[1]
            assert all(re.search(rf"^{name} = ", extras, re.MULTILINE) for name in match[1].split(",")), word


def check_make(words: list[str]) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for word in words[1:]:
        assert "=" in word or word in targets, f"the Makefile has no target {word}"


def check_docker(words: list[str]) -> None:
    assert words[1] in ("build", "run", "compose"), words
    arguments = {
        word.removeprefix("--build-arg=").split("=")[0] for word in words if word.isupper() or "_TORCH=" in word
    }
    known = set(re.findall(r"(?m)^ARG (\w+)", (ROOT / "Dockerfile").read_text()))
    assert arguments <= known, f"the Dockerfile has no build argument {arguments - known}"
    if words[1] == "compose":
        services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
        verb = next(i for i, word in enumerate(words) if word in ("up", "run", "build", "down", "cp", "logs"))
        for number, word in enumerate(words[verb + 1 :], verb + 1):
            if word.startswith("-"):
                continue
            if words[number - 1] == "--scale":
                word = word.split("=")[0]
            assert word in services, f"compose.yaml has no service {word}"
            rest = words[number + 1 :]
            if rest and ours(rest) is not None:
                check_ours(ours(rest) or [])
            elif rest and rest[0] == "python":
                check_python(rest)
            if words[verb] == "run":
                break


def check_ours(arguments: list[str]) -> None:
    if "--help" in arguments or "--version" in arguments:
        assert all(word in COMMANDS or word.startswith("-") for word in arguments)
        return
    build_parser().parse_args(before_pipe(arguments))


@pytest.mark.parametrize("name", NAMES)
def test_commands_exist(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    for block in blocks(text):
        for words in commands(block):
            arguments = ours(words)
            if arguments is not None:
                check_ours(arguments)
            elif words[0].startswith("python"):
                check_python(words)
            elif words[0] == "pip":
                check_pip(words)
            elif words[0] == "make":
                check_make(words)
            elif words[0] == "docker":
                check_docker(words)
            else:
                assert words[0] in OTHERS, f"{name}: what is {' '.join(words)}?"


@pytest.mark.parametrize("name", NAMES)
def test_commands_in_sentences_exist(name: str) -> None:
    known = parsers()
    for span in inline_commands((ROOT / name).read_text(encoding="utf-8")):
        words = span.removeprefix("python -m ").split()
        if name == "CHANGELOG.md" and words[1] not in known:  # it tells of earlier versions
            continue
        assert words[1] in known, f"{name}: there is no command in `{span}`"
        options = set(known[words[1]]._option_string_actions)
        for action in known[words[1]]._actions:
            if isinstance(action, argparse._SubParsersAction):
                for child in action.choices.values():
                    options |= set(child._option_string_actions)
        for word in words[2:]:
            if word.startswith("--"):
                assert word.split("=")[0] in options, f"{name}: `{span}` has no option {word}"


@pytest.mark.parametrize("name", MOVED)
def test_a_command_that_is_gone_says_what_does_its_work(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert name not in parsers()
    assert main([name, "all", "--quick"]) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    instead = re.findall(r"`((?:python -m )?\w+(?: \w+)?)", said)
    assert instead
    for command in instead:
        words = command.removeprefix("python -m ").split()
        assert (ROOT / words[0]).is_dir() if command.startswith("python") else words[1] in parsers(), command


@pytest.mark.parametrize("name", NAMES)
def test_files_named_in_commands_exist_or_are_made_before(name: str) -> None:
    made: set[str] = set()
    for block in blocks((ROOT / name).read_text(encoding="utf-8")):
        for words in commands(block):
            if ours(words) is None and not words[0].startswith("python"):
                continue
            for previous, word in itertools.pairwise(words):
                if not re.fullmatch(r"[\w./-]+\.(npz|json|csv|txt)", word) or word.isupper():
                    continue
                # Options of ours that take a file write it; everything else is read.
                if (
                    previous in ("-o", "--output", "--proof", "--allocation", "--fractional", "--csv", ">")
                    or "certify_grid.py" in previous
                ):
                    made.add(word)
                elif not (ROOT / word).exists() and "bundle" not in words and "import" not in words:
                    assert word in made, f"{name}: {word} is read before anything makes it"
        if block.language == "python":
            made |= set(re.findall(r"\"([\w./-]+\.(?:npz|json|csv|txt))\"", block.text))


def runnable(name: str) -> list[tuple[str, object]]:
    """The commands and programs of a document, in order."""
    found: list[tuple[str, object]] = []
    for block in blocks((ROOT / name).read_text(encoding="utf-8")):
        if block.language == "python":
            found.append(("program", block.text))
        for words in commands(block):
            arguments = ours(words)
            if arguments is not None and arguments and arguments[0] not in LONG:
                found.append(("command", before_pipe(arguments)))
            elif words[0] == "python" and words[1].startswith("docs/examples/"):
                found.append(("example", words[1:]))
            elif words[0] == "certcore-check":
                found.append(("example", [str(CHECKER), *words[1:]]))
    return found


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder that looks like a clone to the commands."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "docs").symlink_to(ROOT / "docs")
    # Bundles one by one, so that what is written beside them stays here.
    (folder / "precomputed").mkdir()
    for path in (ROOT / "precomputed").glob("*.npz"):
        (folder / "precomputed" / path.name).symlink_to(path)
    return folder


@pytest.mark.parametrize("name", RUN)
def test_what_the_document_tells_people_to_type_works(
    name: str, desk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process, which has loaded everything; that the command itself starts is shown by the README's output."""
    monkeypatch.chdir(desk)
    space: dict[str, object] = {"__name__": "__main__"}
    for kind, what in runnable(name):
        if kind == "program":  # later blocks of a page continue earlier ones
            exec(compile(str(what), name, "exec"), space)
            continue
        # Pages repeat each other; once is enough.
        if (kind, str(what)) in DONE:
            continue
        DONE.add((kind, str(what)))
        if kind == "command":
            assert isinstance(what, list)
            assert main(what) == 0, f"{name}: {what}\n{capsys.readouterr().err[-1500:]}"
        else:
            assert isinstance(what, list)
            words = [sys.executable, *what]
            done = subprocess.run(words, cwd=desk, env=environment(), capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, f"{name}: {what}\n{done.stdout[-1500:]}{done.stderr[-1500:]}"


def test_the_output_shown_in_the_readme_is_true(desk: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = next(block.text for block in blocks(text) if block.text.startswith("Whatever an attacker"))
    command = next(ours(w) for block in blocks(text) for w in commands(block) if (ours(w) or [""])[0] == "certify")
    assert command is not None
    done = subprocess.run(
        [sys.executable, "-m", "certcore", *command],
        cwd=desk,
        capture_output=True,
        text=True,
        check=True,
        env=environment(),
    )
    # The attack is found by a heuristic; everything else is the same everywhere.
    for line in shown.splitlines():
        assert line in done.stdout or line.startswith("best attack"), f"the README shows: {line}\n{done.stdout}"
    certified = int(re.findall(r"at\s+least\s+([\d,]+)", shown)[0].replace(",", ""))
    assert f"at least {certified:,} labels stay" in " ".join(text.split())


def test_every_command_has_an_example_that_parses() -> None:
    """`certcore COMMAND --help` ends with an example; what it shows is a valid call."""
    known = parsers()
    for name in COMMANDS:
        if name not in known:
            continue
        help_text = known[name].format_help()
        shown = (known[name].epilog or "") + "\n" + (known[name].description or "")
        examples = re.findall(r"(?:python -m )?certcore (\w[^\n;`]*)", shown)
        assert examples, f"certcore {name} --help shows no example"
        for example in examples:
            assert example.split()[0] in known, f"certcore {name} --help: {example}"
            if example.split()[0] == name and "…" not in example and "..." not in example:
                check_ours(example.split())
        assert "usage: certcore" in help_text
