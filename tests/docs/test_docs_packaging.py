"""`pip install .` gives the certcore command; version, citation and changelog speak of the same thing."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from certcore import __version__
from certcore.export.citation import bibtex
from tests.docs.documents import ROOT


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


def test_the_citation_file_is_complete_and_agrees_with_the_export(citation: dict[str, Any]) -> None:
    assert citation["cff-version"] == "1.2.0"
    for key in ("message", "title", "authors", "license"):
        assert citation[key], key
    paper = citation["preferred-citation"]
    exported = bibtex()
    assert paper["title"] in exported
    assert str(paper["year"]) in exported
    assert paper["url"] in exported
    for author in paper["authors"]:
        name = f"{author['family-names']}, {author['given-names']}"
        assert name.replace("ü", '{\\"u}') in exported


def test_the_readme_cites_what_the_citation_file_cites(citation: dict[str, Any]) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert citation["preferred-citation"]["title"] in readme
    assert citation["preferred-citation"]["url"] in readme
    assert "CITATION.cff" in readme


def test_the_wheel_gives_the_command_in_a_fresh_environment(tmp_path: Path) -> None:
    """Without network: the build tools and the dependencies are those of this environment."""
    source = tmp_path / "source"
    source.mkdir()
    files = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "certcore", "*.toml", "README.md", "LICENSE"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    ).stdout.split()  # fmt: skip
    if not files:
        pytest.skip("this is no clone with git, so it is not known which files belong to the package")
    for name in files:
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    here = sysconfig.get_path("purelib")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    build = [
        *pip,
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "-w",
        str(tmp_path),
        str(source),
    ]
    subprocess.run(build, check=True, capture_output=True, text=True, timeout=120)
    wheel = next(tmp_path.glob("certcore-*.whl"))
    names = zipfile.ZipFile(wheel).namelist()
    assert "certcore/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    missing = [name for name in files if name.startswith("certcore/") and name.endswith(".py") and name not in names]
    assert not missing, "these modules are in the repository but not in the wheel"
    assert not [name for name in names if name.startswith(("tests/", "pages/", "docs/", "benchmarks/"))]
    fresh = tmp_path / "fresh"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(fresh)], check=True, timeout=60)
    install = [
        *pip,
        "--python",
        str(fresh / "bin" / "python"),
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        str(wheel),
    ]
    subprocess.run(install, check=True, capture_output=True, text=True, timeout=60)
    environment = {"PYTHONPATH": here, "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    for arguments, expected in ((["--version"], f"certcore {__version__}\n"), (["certify", "--help"], "example:")):
        done = subprocess.run(
            [str(fresh / "bin" / "certcore"), *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert expected in done.stdout
