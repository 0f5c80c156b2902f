"""The example package of docs/examples/plugin adds a dataset and a model, without an edit here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.documents import ROOT, blocks, environment

PLUGIN = ROOT / "docs" / "examples" / "plugin"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The package installed into a folder of its own, and surroundings in which Python finds it."""
    folder = tmp_path_factory.mktemp("plugin")
    source = folder / "source"
    for path in PLUGIN.rglob("*"):
        if path.suffix in (".py", ".toml"):
            target = source / path.relative_to(PLUGIN)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(folder / "site")]
    words = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", *options, str(source)]
    subprocess.run(words, check=True, capture_output=True, text=True, timeout=120)
    around = environment("default")
    return around | {"PYTHONPATH": f"{folder / 'site'}:{ROOT}", "CERTCORE_CACHE": str(folder / "cache")}


def certcore(around: dict[str, str], *words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "certcore", *words], cwd=folder, env=around, capture_output=True, text=True, timeout=150
    )


def test_a_package_adds_a_dataset(installed: dict[str, str], tmp_path: Path) -> None:
    listed = json.loads(certcore(installed, "data", "list", "--json", folder=tmp_path).stdout)["datasets"]
    found = {entry["name"]: entry["source"] for entry in listed}
    assert found["triangles"] == "package certcore-triangle"
    assert "citeseer" in found
    got = json.loads(certcore(installed, "data", "get", "triangles", "--json", folder=tmp_path).stdout)
    assert got["nodes"] == 180


def test_a_package_adds_a_model_that_is_trained_and_certified(installed: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("torch_geometric")
    words = ["bundle", "triangles", "one_hop", "attr", "--samples", "200", "--selection", "50", "--epochs", "5"]
    made = certcore(installed, *words, "--jobs", "1", "-o", "mine.npz", folder=tmp_path)
    assert made.returncode == 0, made.stderr[-1500:]
    told = json.loads(certcore(installed, "certify", "mine.npz", "--attr-del", "2", "--json", folder=tmp_path).stdout)
    assert 0 <= told["certified"] <= told["targets"]


def test_a_package_adds_a_base_certificate(installed: dict[str, str], tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "extend.md").read_text(encoding="utf-8")
    shown = next(block.text for block in blocks(page) if "base_certificate(" in block.text)
    words = [sys.executable, "-c", "import certcore, certcore.base\n" + shown]
    done = subprocess.run(words, cwd=tmp_path, env=installed, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr[-1500:]
    told = json.loads(
        certcore(installed, "certify", "triangles.npz", "--attr-del", "3", "--json", folder=tmp_path).stdout
    )
    assert 0 < told["certified"] < told["targets"] == 180
    wrong = [sys.executable, "-c", "import certcore.base; certcore.base.base_certificate('by_degre')"]
    said = subprocess.run(wrong, cwd=tmp_path, env=installed, capture_output=True, text=True, timeout=100)
    assert "did you mean" in said.stderr


def test_a_broken_package_is_named_in_one_sentence(installed: dict[str, str], tmp_path: Path) -> None:
    broken = tmp_path / "site" / "broken-1.0.dist-info"
    broken.mkdir(parents=True)
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (broken / "entry_points.txt").write_text("[certcore.datasets]\nlost = no_such_module:load\n")
    around = installed | {"PYTHONPATH": f"{tmp_path / 'site'}:{ROOT}"}
    assert "lost" in certcore(around, "data", "list", folder=tmp_path).stdout
    said = certcore(around, "data", "get", "lost", folder=tmp_path)
    assert said.returncode == 2
    assert "package broken" in said.stderr
    assert len(said.stderr.strip().splitlines()) == 1
