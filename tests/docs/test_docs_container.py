"""The container files, without a Docker engine: structure, consistency, and the steps themselves run here."""

from __future__ import annotations

import http.server
import os
import re
import subprocess
import sys
import sysconfig
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.browser.server import wait_for_health
from tests.docs.docker_steps import LOCKED, ROOT, Stage, ignored, lay_out, read_dockerfile, read_ignore

TEXT = (ROOT / "Dockerfile").read_text()
STAGES = read_dockerfile(TEXT)
FINAL = STAGES[-1]
PATTERNS = read_ignore((ROOT / ".dockerignore").read_text())
KNOWN = {"ARG", "ENV", "WORKDIR", "RUN", "COPY", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "CMD"}


def requirement_lines(name: str) -> list[str]:
    lines = [line.split("#")[0].strip() for line in (ROOT / name).read_text().splitlines()]
    return [line for line in lines if line and not line.startswith("-r ")]


def test_every_instruction_is_known_and_every_image_has_a_version() -> None:
    assert {step.word for stage in STAGES for step in stage.steps} <= KNOWN
    for stage in STAGES:
        image, _, tag = stage.image.partition(":")
        assert image == "python"
        assert re.fullmatch(r"3\.\d+-slim-\w+", tag), stage.image
    minimum = re.search(r'requires-python = ">=(3\.\d+)"', (ROOT / "pyproject.toml").read_text())
    assert minimum
    assert all(f":{minimum[1]}-" in stage.image for stage in STAGES)


def test_a_linter_has_nothing_to_say() -> None:
    command = [Path(sysconfig.get_path("scripts")) / "hadolint", ROOT / "Dockerfile"]
    said = subprocess.run(command, capture_output=True, text=True)
    assert said.returncode == 0, said.stdout


def test_it_does_not_run_as_root() -> None:
    words = [step.word for step in FINAL.steps]
    assert FINAL.all("USER")[-1].text not in ("root", "0")
    assert words.index("USER") > max(i for i, word in enumerate(words) if word in ("RUN", "COPY"))
    assert f" {FINAL.all('USER')[-1].text}" in next(s.text for s in FINAL.all("RUN") if "useradd" in s.text)


def test_the_last_stage_installs_nothing_and_keeps_no_pip_cache() -> None:
    assert not any("pip" in step.text or "apt-get" in step.text for step in FINAL.all("RUN"))
    build = STAGES[0]
    assert "PIP_NO_CACHE_DIR=1" in build.all("ENV")[0].text


def test_torch_comes_only_when_asked_for() -> None:
    build = STAGES[0]
    assert [step.text for step in build.all("ARG") if step.text.startswith("WITH_TORCH")] == ["WITH_TORCH=0"]
    with_torch = [step.text for step in build.all("RUN") if "requirements-train.txt" in step.text]
    assert len(with_torch) == 1
    assert with_torch[0].startswith('if [ "$WITH_TORCH" = 1 ]')
    assert not any(line.startswith("torch") for line in requirement_lines("requirements.txt"))
    assert any(line.startswith("torch==") for line in requirement_lines("requirements-train.txt"))


def test_pip_steps_use_the_requirement_files_and_nothing_else() -> None:
    """Versions live in one place: no package is named in the Dockerfile."""
    installs = [re.findall(r"pip install (.*?)(?:;|&&|$)", step.text) for stage in STAGES for step in stage.all("RUN")]
    arguments = [text.split() for found in installs for text in found]
    assert len(arguments) == 3
    for words in arguments:
        rest = [w for w in words if w not in ("$PIP_OPTIONS", "--no-deps")]
        assert rest in (LOCKED.split(), ["-r", "requirements-train.txt"], ["."]), words
    for name in ("requirements.txt", "requirements-train.txt"):
        assert all("==" in line for line in requirement_lines(name)), f"{name} must pin every version"


def test_what_the_package_needs_is_in_the_requirements() -> None:
    """`pip install .` runs with --no-deps, so the requirement file must hold all that pyproject.toml asks for."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pinned = {line.split("==")[0] for line in requirement_lines("requirements.txt")}
    asked = [*project["dependencies"], *project["optional-dependencies"]["dashboard"]]
    assert {re.split(r"[<>=!~ ]", line)[0] for line in asked} <= pinned
    train = {line.split("==")[0] for line in requirement_lines("requirements-train.txt")}
    assert {re.split(r"[<>=!~ ]", line)[0] for line in project["optional-dependencies"]["train"]} <= train


def test_dependencies_are_installed_before_code_is_copied() -> None:
    build = STAGES[0]
    texts = [f"{step.word} {step.text}" for step in build.steps]
    dependencies = max(i for i, text in enumerate(texts) if "requirements" in text and text.startswith("RUN"))
    code = min(i for i, text in enumerate(texts) if text.startswith("COPY certcore"))
    assert dependencies < code


def sources(stage: Stage) -> list[str]:
    return [w for step in stage.all("COPY") if "--from" not in step.text for w in step.text.split()[:-1]]


def test_the_build_context_holds_what_is_copied_and_little_else() -> None:
    wanted = {source for stage in STAGES for source in sources(stage)}
    for source in wanted:
        assert (ROOT / source).exists(), source
        assert not ignored(source, PATTERNS), source
    for name in (".venv/bin/python", ".git/config", "tests/conftest.py", "runs/x.npz", "docs/guide.md", "secret.env"):
        assert ignored(name, PATTERNS), name
    assert ignored("certcore/__pycache__/x.cpython-311.pyc", PATTERNS)
    assert not ignored("certcore/cli/certify.py", PATTERNS)
    assert {pattern[1:] for pattern in PATTERNS if pattern.startswith("!")} == wanted


def test_only_the_container_listens_on_all_addresses() -> None:
    assert FINAL.all("CMD")[0].exec_form is not None
    assert "--server.address=0.0.0.0" in (FINAL.all("CMD")[0].exec_form or [])
    assert 'address = "127.0.0.1"' in (ROOT / ".streamlit" / "config.toml").read_text()
    assert "0.0.0.0" not in (ROOT / "Makefile").read_text()


def compose() -> dict[str, Any]:
    data = yaml.safe_load((ROOT / "compose.yaml").read_text())
    assert isinstance(data, dict)
    return data


def test_compose_publishes_to_this_machine_only_and_builds_two_images() -> None:
    services = compose()["services"]
    assert set(services) == {"dashboard", "scheduler", "worker", "certcore"}
    assert services["dashboard"]["ports"] == ["127.0.0.1:8501:8501"]
    assert all("ports" not in service for name, service in services.items() if name != "dashboard")
    for name in ("scheduler", "worker", "certcore"):
        assert services[name]["build"]["args"] == {"WITH_TORCH": "1"}
        assert services[name]["profiles"] == ["cluster"]
    assert services["dashboard"]["build"] == "."
    declared = set(compose()["volumes"])
    assert all(volume.split(":")[0] in declared for s in services.values() for volume in s["volumes"])
    assert all(
        volume.split(":")[1] == FINAL.all("VOLUME")[0].text for s in services.values() for volume in s["volumes"]
    )


@pytest.mark.parametrize("name", ["scheduler", "worker"])
def test_dask_accepts_the_options_of_compose(name: str) -> None:
    pytest.importorskip("distributed")
    _, kind, *options = compose()["services"][name]["command"]
    shown = subprocess.run(
        [sys.executable, "-m", "dask", kind, "--help"], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert all(option in shown for option in options if option.startswith("--")), options


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay_out(tmp_path_factory.mktemp("image"))


def environment(image: Path) -> dict[str, str]:
    """The installed package comes before the one in this repository."""
    path = f"{image.parent / 'installed'}:{sysconfig.get_path('purelib')}"
    return {"PATH": os.environ["PATH"], "HOME": str(image.parent), "PYTHONPATH": path}


def test_the_paper_page_finds_its_results(image: Path) -> None:
    assert not (image / "certcore").exists(), "the engine is installed, not copied beside the dashboard"
    code = (
        "from certcore.figures.paper import *; print(paper_file().resolve(), len(read_paper(paper_file())['claims']))"
    )
    command = [sys.executable, "-c", code]
    said = subprocess.run(command, cwd=image, env=environment(image), capture_output=True, text=True)
    where, number = said.stdout.split()
    assert Path(where).is_relative_to(image), said.stderr
    assert int(number) > 0


def test_the_health_check_tells_a_dashboard_from_another_server(image: Path) -> None:
    settings: dict[str, Any] = {"cwd": image, "env": environment(image)}
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as stranger:
        port = str(stranger.server_address[1])
        health = [w.replace("8501", port) for w in FINAL.all("HEALTHCHECK")[0].exec_form or []]
        assert health[0] == "python"
        check = [sys.executable, *health[1:]]
        threading.Thread(target=stranger.serve_forever, daemon=True).start()
        said = subprocess.run(check, timeout=60, capture_output=True, text=True, **settings)
        stranger.shutdown()
        assert said.returncode != 0
        assert "ill" in said.stdout, said.stderr
    # Loopback and a free port instead of the container's own network.
    words = [w.replace("0.0.0.0", "127.0.0.1").replace("8501", port) for w in FINAL.all("CMD")[0].exec_form or []]
    assert words[0] == "python"
    log = image.parent / "server.log"
    with log.open("w") as out:
        server = subprocess.Popen([sys.executable, *words[1:]], stdout=out, stderr=out, **settings)
    try:
        wait_for_health(f"http://127.0.0.1:{port}", server)
        said = subprocess.run(check, timeout=60, capture_output=True, text=True, **settings)
        assert said.returncode == 0, said.stdout + log.read_text()[-2000:]
    finally:
        server.terminate()
        server.wait(timeout=20)
