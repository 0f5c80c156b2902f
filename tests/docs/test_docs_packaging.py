"""`pip install .` gives the certcore command; version, citation and changelog speak of the same thing."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from certcore import __version__, save_instance
from pages.learn import learn
from tests.docs.documents import ROOT
from tests.export.instances import small_instance


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def citation() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def test_versions_agree(project: dict[str, Any], citation: dict[str, Any]) -> None:
    newest = re.search(r"^## (\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest
    assert {project["version"], __version__, citation["version"], newest[1]} == {__version__}


def test_the_citation_file_is_complete(citation: dict[str, Any]) -> None:
    assert citation["cff-version"] == "1.2.0"
    for key in ("message", "title", "authors", "license"):
        assert citation[key], key


def test_the_readme_cites_what_the_citation_file_cites(citation: dict[str, Any]) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert citation["preferred-citation"]["title"] in readme
    assert citation["preferred-citation"]["url"] in readme
    assert "CITATION.cff" in readme


PARTS = ("certcore", "pages", "docs", ".streamlit", "*.toml", "setup.py", "README.md", "LICENSE")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the files that belong to the repository, built without network by this environment's tools."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *PARTS]
    files = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    if not files:
        pytest.skip("this is no clone with git, so it is not known which files belong to the package")
    for name in files:
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "-w", str(folder), str(source)]
    subprocess.run([*PIP, "wheel", *options], check=True, capture_output=True, text=True, timeout=120)
    return next(folder.glob("certcore-*.whl"))


PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The command in a fresh environment far from the clone, and its surroundings; dependencies are those of here."""
    folder = tmp_path_factory.mktemp("fresh")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True, timeout=60)
    python = str(folder / "venv" / "bin" / "python")
    install = [*PIP, "--python", python, "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(install, check=True, capture_output=True, text=True, timeout=60)
    environment = {"PYTHONPATH": sysconfig.get_path("purelib"), "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    return folder / "venv" / "bin" / "certcore", environment


def test_the_wheel_holds_the_package_and_nothing_beside_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.partition("/")[0] for name in names}
    modules = {f"certcore_check{part}.py" for part in ("", "_ballots", "_real", "_strong")}
    assert tops == {"certcore", *modules, f"certcore-{__version__}.dist-info"}
    assert "certcore/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    kept = {".py", ".css", ".js", ".html", ".svg", ".png"}
    for folder, inside in (("certcore", "certcore"), ("pages", "certcore/_dashboard")):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in kept and not {"__pycache__", "standalone"} & set(path.parts):
                assert f"{inside}/{path.relative_to(ROOT / folder).as_posix()}" in names
    assert "certcore/_streamlit/config.toml" in names
    kept_documents = {f"certcore/_documents/{name}" for name in learn.PAGES}
    assert {name for name in names if "_documents" in name} == kept_documents


def test_the_command_works_far_from_the_clone(installed: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    command, environment = installed
    for arguments, expected in ((["--version"], f"certcore {__version__}\n"), (["certify", "--help"], "example:")):
        done = subprocess.run(
            [str(command), *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        assert expected in done.stdout
    wrong = subprocess.run(
        [str(command), "dashboard", "missing.npz"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert wrong.returncode == 2
    assert "missing.npz" in wrong.stderr


@pytest.mark.browser
def test_the_installed_dashboard_shows_a_number(installed: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    """`certcore dashboard some.npz` without the clone: a page with the guarantee of that file, and Ctrl-C ends it."""
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium here")
    command, environment = installed
    instance = small_instance()
    save_instance(tmp_path / "some.npz", instance)
    words = [str(command), "dashboard", "some.npz", "--no-browser"]
    (tmp_path / "temporary").mkdir()
    environment = environment | {"TMPDIR": str(tmp_path / "temporary")}
    server = subprocess.Popen(
        words,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        # Tests that were started in the background ignore Ctrl-C, and their children would inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert found, line
        with playwright.sync_playwright() as run:
            browser = run.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page()
            page.goto(found[0])
            page.wait_for_selector("h1", timeout=60_000)
            page.wait_for_function(r"/\d+ of \d+/.test(document.body.innerText)", timeout=60_000)
            assert "Traceback" not in page.inner_text("body")
            browser.close()
    finally:
        server.send_signal(signal.SIGINT)
        ended = server.wait(60)  # it closes its sessions first, which takes long on a busy machine
        server.stdout.close()  # type: ignore[union-attr]
    assert ended == 130
    assert not list((tmp_path / "temporary").glob("certcore-dashboard-*/instances/some.npz")), (
        "it leaves nothing behind"
    )
