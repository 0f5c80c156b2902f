"""The examples run as they stand and say what they promise; generated pages are up to date."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp

import certcore
from certcore import GridBase, Instance, ThreatModel, certify, load_instance
from certcore.common.npz import read_npz
from certcore.instance.instance import instance_from_arrays, instance_to_arrays
from tests.docs.documents import ROOT, blocks, environment

EXAMPLES = ROOT / "docs" / "examples"


def run(name: str, *arguments: object, folder: Path, warnings: str = "error") -> str:
    words = [sys.executable, str(EXAMPLES / name), *map(str, arguments)]
    done = subprocess.run(words, cwd=folder, env=environment(warnings), capture_output=True, text=True, timeout=150)
    assert done.returncode == 0, done.stdout[-1500:] + done.stderr[-1500:]
    return done.stdout


def test_certify_a_grid(tmp_path: Path) -> None:
    shown = run("certify_grid.py", tmp_path / "ring.npz", folder=tmp_path)
    rows = [list(map(int, line.split())) for line in shown.splitlines()[1:] if line.split()[0].isdigit()]
    assert [row[0] for row in rows] == [0, 2, 4, 6, 8, 10]
    for _, naive, together, attack in rows:
        assert naive <= together <= 60 - attack
    assert rows[-1][1] == 0 < rows[-1][2], "the table should show why certifying together pays"
    saved = certify(load_instance(tmp_path / "ring.npz"), ThreatModel(attr_del=4))
    assert saved.certified == rows[2][2]


def test_a_surface_of_two_types(tmp_path: Path) -> None:
    shown = run("surface.py", ROOT / "precomputed" / "citeseer-gcn-attr-s0.npz", folder=tmp_path)
    rows = [re.findall(r"(\d+) \( *(\d+)\)", line) for line in shown.splitlines() if " add " in line]
    table = np.array(rows, dtype=int)
    assert table.shape == (4, 5, 2)
    together, alone = table[..., 0], table[..., 1]
    assert (together >= alone).all()
    assert (np.diff(together, axis=0) <= 0).all()
    assert (np.diff(together, axis=1) <= 0).all()
    assert together[1, 1] > alone[1, 1]
    instance = load_instance(ROOT / "precomputed" / "citeseer-gcn-attr-s0.npz")
    assert certify(instance, ThreatModel(attr_add=2, attr_del=12)).certified == together[2, 2]


def test_smooth_a_pytorch_model(tmp_path: Path) -> None:
    pytest.importorskip("torch_geometric")
    # torch-geometric itself warns on import.
    shown = run("pytorch_model.py", tmp_path / "mine.npz", folder=tmp_path, warnings="default")
    certified, targets = map(int, re.findall(r"(\d+) of (\d+) labels", shown)[0])
    naive = int(re.findall(r"the naive certificate: (\d+)", shown)[0])
    assert targets == 300
    assert naive < certified < targets
    instance = load_instance(tmp_path / "mine.npz")
    assert instance.edge_field == "degrees", "a symmetric GCN reads the degrees of senders"
    assert certify(instance, ThreatModel(attr_del=10)).certified == certified


def test_the_model_of_the_readme_takes_five_lines() -> None:
    block = next(b for b in blocks((ROOT / "README.md").read_text(encoding="utf-8")) if "cc.smooth" in b.text)
    lines = [line for line in block.text.splitlines() if line.strip()]
    start = next(number for number, line in enumerate(lines) if "cc.smooth" in line)
    assert len(lines[start:]) <= 5


def test_the_notebook_runs_and_shows_what_it_promises() -> None:
    pytest.importorskip("torch_geometric")
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    notebook = nbformat.read(EXAMPLES / "from_pyg.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(ROOT)}}).execute()
    shown = [
        output["data"].get("text/html", "")
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "data" in output
    ]
    (card,) = [page for page in shown if 'class="certcore"' in page]
    assert re.search(r"at least <b>\d+ of 200</b>", card)
    assert any("image/png" in output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", []))


def test_verify_a_proof_in_ten_lines(tmp_path: Path) -> None:
    lines = (EXAMPLES / "verify_proof.py").read_text().split('"""')[2].strip().splitlines()
    assert len(lines) <= 12
    assert len([line for line in lines if line]) <= 10
    run("certify_grid.py", tmp_path / "ring.npz", folder=tmp_path)
    certificate = certify(load_instance(tmp_path / "ring.npz"), ThreatModel(attr_del=4))
    proof = tmp_path / "proof.json"
    proof.write_text(json.dumps(certificate.proof))
    shown = run("verify_proof.py", proof, tmp_path / "ring.npz", folder=tmp_path)
    assert f"at least {certificate.certified} of 60" in shown
    forged = json.loads(proof.read_text()) | {"certified": 60}
    proof.write_text(json.dumps(forged))
    with pytest.raises(AssertionError, match="rejected"):
        run("verify_proof.py", proof, tmp_path / "ring.npz", folder=tmp_path)


def load_script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    return module


PARTS = load_script("site_hooks").examples()


def test_every_public_name_has_an_example() -> None:
    names = {name for name in certcore.__all__ if not name.startswith("__")}
    assert set(PARTS) == names | {"setup"}
    for name in names:
        assert re.search(rf"\b{name}\b", PARTS[name]) or name[0].isupper(), f"the example of {name} does not use it"


@pytest.mark.parametrize("name", [name for name in PARTS if name != "setup"])
def test_the_example_of_a_name_prints_what_it_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if "torch" in PARTS[name]:
        pytest.importorskip("torch_geometric")
    monkeypatch.chdir(tmp_path)
    space: dict[str, object] = {}
    exec(PARTS["setup"] + "\n" + PARTS[name], space)
    promised = re.findall(r"print\(.*\)  # (.+)$", PARTS[name], re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == promised


def test_everything_public_is_explained() -> None:
    pytest.importorskip("torch")
    script = load_script("site_hooks")
    bare = []
    for _, module_name, names in script.SECTIONS:
        module = importlib.import_module(module_name)
        for name in names or script.public_names(module):
            value = getattr(module, name)
            if (inspect.isclass(value) or inspect.isfunction(value)) and not inspect.getdoc(value):
                bare.append(f"{module_name}.{name}")
    assert not bare, f"no docstring: {bare}"


def test_the_picture_is_up_to_date_and_names_real_folders() -> None:
    script = load_script("draw_architecture")
    assert script.TARGET.read_text(encoding="utf-8") == script.draw(), "run: python docs/draw_architecture.py"
    for box in script.BOXES:
        for word in box.name.split():
            places = [ROOT / "certcore" / word, ROOT / word]
            assert any(place.exists() for place in places), f"the picture names {word}, which does not exist"


class Watched(dict[str, np.ndarray]):
    """The arrays of a file, and which of them somebody looked for."""

    asked: ClassVar[set[str]] = set()

    def __contains__(self, key: object) -> bool:
        self.asked.add(str(key))
        return super().__contains__(key)

    def __getitem__(self, key: str) -> np.ndarray:
        self.asked.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: object = None) -> object:  # type: ignore[override]
        self.asked.add(key)
        return super().get(key, default)


def test_the_table_of_keys_is_complete() -> None:
    """Every key that is looked for in instance files of all kinds is in the table, and nothing else."""
    page = (ROOT / "docs" / "reference" / "instance-file.md").read_text(encoding="utf-8")
    table = page.split("## Keys")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    documented = {key for row in rows for key in re.findall(r"`(\w+)`", row)}
    bundles = ("citeseer-gcn-attr-s0", "cora-decoupled-ballots-s0", "digits-gcn-l2_joint-s0", "pubmed_tfidf-gcn-adj-s0")
    kinds = [read_npz(ROOT / "precomputed" / f"{name}.npz") for name in bundles]
    grid = GridBase(np.ones((4, 2), dtype=bool), ("attr_del",))
    ring = certcore.Graph.from_edges(4, [(0, 1), (1, 2)], np.eye(4))
    field = sp.csr_array(np.eye(4, dtype=np.int64))
    kinds.append(instance_to_arrays(Instance(ring, grid, node_field=field)))
    for arrays in kinds:
        instance_from_arrays(Watched(arrays))
    read = Watched.asked - {"division_votes", "field_unit"}  # looked at only to say what replaced it
    assert read - documented == set(), "these keys are read but not in the table"
    assert documented - read == set(), "these keys are in the table but nobody reads them"
