"""The container files, without a Docker engine: mistakes that they must not hold, and what they start, run here."""

from __future__ import annotations

import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.browser.server import wait_for_health

ROOT = Path(__file__).resolve().parents[2]
LINES = [
    line
    for line in re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text()).splitlines()
    if line and not line.startswith("#")
]
#: The stage that installs, and the one that is started.
LAST = max(number for number, line in enumerate(LINES) if line.startswith("FROM "))
BUILD, FINAL = LINES[:LAST], LINES[LAST:]
LET_IN = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]


def copied(lines: list[str]) -> list[tuple[str, str]]:
    """What is copied from the build context, and where to."""
    steps = [line.split()[1:] for line in lines if line.startswith("COPY ") and "--from" not in line]
    return [(source, place) for *sources, place in steps for source in sources]


def words_of(start: str) -> list[str]:
    """The words of a command in the form of a JSON array."""
    line = next(line for line in FINAL if line.startswith(start))
    words: list[str] = json.loads(line[line.index("[") :])
    return words


def requirement_lines(name: str) -> list[str]:
    lines = [line.split("#")[0].strip() for line in (ROOT / name).read_text().splitlines()]
    return [line for line in lines if line and not line.startswith("-r ")]


def test_a_linter_has_nothing_to_say() -> None:
    command = [Path(sysconfig.get_path("scripts")) / "hadolint", ROOT / "Dockerfile"]
    said = subprocess.run(command, capture_output=True, text=True)
    assert said.returncode == 0, said.stdout


def test_it_does_not_run_as_root() -> None:
    users = [number for number, line in enumerate(FINAL) if line.startswith("USER ")]
    user = FINAL[users[-1]].split()[1]
    assert user not in ("root", "0")
    assert users[-1] > max(number for number, line in enumerate(FINAL) if line.startswith(("RUN ", "COPY ")))
    assert any(f" {user} " in line for line in FINAL if "useradd" in line)


def test_torch_comes_only_when_asked_for() -> None:
    assert "ARG WITH_TORCH=0" in BUILD
    (with_torch,) = (line for line in BUILD if line.startswith("RUN") and "requirements-train.txt" in line)
    assert with_torch.startswith('RUN if [ "$WITH_TORCH" = 1 ]')
    assert not any(line.startswith("torch") for line in requirement_lines("requirements.txt"))
    assert any(line.startswith("torch==") for line in requirement_lines("requirements-train.txt"))


def test_what_the_package_needs_is_in_the_requirements() -> None:
    """`pip install .` runs with --no-deps, so the requirement file must hold all that pyproject.toml asks for."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pinned = {line.split("==")[0] for line in requirement_lines("requirements.txt")}
    asked = [*project["dependencies"], *project["optional-dependencies"]["dashboard"]]
    assert {re.split(r"[<>=!~ ]", line)[0] for line in asked} <= pinned
    train = {line.split("==")[0] for line in requirement_lines("requirements-train.txt")}
    assert {re.split(r"[<>=!~ ]", line)[0] for line in project["optional-dependencies"]["train"]} <= train


def test_the_image_with_torch_has_what_trains_and_votes() -> None:
    assert "COPY experiments with-torch/experiments" in BUILD
    assert 'RUN if [ "$WITH_TORCH" != 1 ]; then rm -r with-torch/experiments; fi' in BUILD
    assert "COPY --from=build /src/with-torch ./" in FINAL
    for name in ("scheduler", "worker", "certcore"):
        assert compose()["services"][name]["environment"]["PYTHONPATH"] == "/app"


def test_what_is_copied_exists_and_is_all_that_the_builder_is_sent() -> None:
    wanted = {source for source, _ in copied(LINES)}
    assert [source for source in wanted if not (ROOT / source).exists()] == []
    assert (ROOT / ".dockerignore").read_text().splitlines()[1] == "*", "everything is left out, then let in by name"
    assert set(LET_IN) == wanted


def test_only_the_container_listens_on_all_addresses() -> None:
    assert "--server.address=0.0.0.0" in words_of("CMD")
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
    (kept,) = (line.split()[1] for line in FINAL if line.startswith("VOLUME "))
    assert all(volume.split(":")[1] == kept for s in services.values() for volume in s["volumes"])


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
    """The working folder of the last stage with what is copied there, and the package beside it, as if installed."""
    folder = tmp_path_factory.mktemp("image")
    for source, place in [*copied(FINAL), ("certcore", "../installed/certcore")]:
        to = folder / "app" / place
        if place == "./":
            to = to / source
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, to, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / source, to)
    return folder / "app"


def environment(image: Path) -> dict[str, str]:
    """The installed package comes before the one in this repository."""
    path = f"{image.parent / 'installed'}:{sysconfig.get_path('purelib')}"
    return {"PATH": os.environ["PATH"], "HOME": str(image.parent), "PYTHONPATH": path}


def test_the_page_learn_finds_its_documents(image: Path) -> None:
    assert not (image / "certcore").exists(), "the engine is installed, not copied beside the dashboard"
    code = "from pages.learn.learn import PAGES, document; print(*(document(name)[:10].strip() for name in PAGES))"
    command = [sys.executable, "-c", code]
    said = subprocess.run(command, cwd=image, env=environment(image), capture_output=True, text=True)
    assert said.stdout.split() == ["##", "What", "a", "##", "Words"], said.stderr


def test_the_health_check_tells_a_dashboard_from_another_server(image: Path) -> None:
    settings: dict[str, Any] = {"cwd": image, "env": environment(image)}
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as stranger:
        port = str(stranger.server_address[1])
        health = [w.replace("8501", port) for w in words_of("HEALTHCHECK")]
        assert health[0] == "python"
        check = [sys.executable, *health[1:]]
        threading.Thread(target=stranger.serve_forever, daemon=True).start()
        said = subprocess.run(check, timeout=60, capture_output=True, text=True, **settings)
        stranger.shutdown()
        assert said.returncode != 0
    # Loopback and a free port instead of the container's own network.
    words = [w.replace("0.0.0.0", "127.0.0.1").replace("8501", port) for w in words_of("CMD")]
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
