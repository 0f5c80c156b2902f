"""Who loads what: a proof is checked without a solver, and the package's front loads only what is asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest

import certcore

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("highspy", "pandas", "matplotlib", "plotly", "networkx", "torch", "streamlit")


def loaded_by(statement: str) -> set[str]:
    """Names of all modules that a fresh interpreter holds after one statement."""
    code = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    return set(done.stdout.split())


def below(modules: set[str], *packages: str) -> set[str]:
    return {m for m in modules if any(m == p or m.startswith(p + ".") for p in packages)}


def test_the_checker_loads_no_solver() -> None:
    modules = loaded_by("import certcore.verify")
    assert "certcore.verify.proof" in modules
    assert not below(modules, *HEAVY, "certcore.solve", "certcore.sweep", "certcore.result.assemble")


def test_the_front_loads_nothing_before_it_is_asked() -> None:
    assert not below(loaded_by("import certcore"), *HEAVY, "numpy")
    assert not below(loaded_by("from certcore import certify, load_instance"), *set(HEAVY) - {"highspy"})


def test_every_name_of_the_front_is_there() -> None:
    assert set(certcore.__all__) <= set(dir(certcore))
    for name in certcore.__all__:
        assert getattr(certcore, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        certcore.nonsense  # noqa: B018
    with pytest.raises(certcore.InputError, match="smooth your graph as it is"):
        from certcore import get_dataset  # noqa: F401


@pytest.mark.parametrize(
    "absent", ["resource fcntl termios pty", "networkx plotly matplotlib pandas", "torch numba streamlit starlette"]
)
def test_a_certificate_and_its_check_need_neither_posix_nor_figures_nor_torch(absent: str) -> None:
    """The command too: it answers where these cannot be imported."""
    words = ["certify", "precomputed/cora-gcn-attr-s0.npz", "--attr-del", "3", "--json"]
    loaded_by(
        f"import sys\nsys.modules.update(dict.fromkeys({absent.split()}))\n"
        f"import certcore as cc\nfrom certcore.cli import main\nassert main({words}) == 0\n"
        f"instance = cc.load_instance({words[1]!r})\nproof = cc.certify(instance, attr_del=3).proof\n"
        "assert cc.verify_proof(proof, instance).accepted"
    )


def test_certify_is_a_function_whatever_was_imported_before() -> None:
    loaded_by("import certcore.cli, certcore.sweep\nfrom certcore import certify\nassert callable(certify)")


def layers_kept(config: Path) -> subprocess.CompletedProcess[str]:
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo", "--config", config]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=ROOT)


def test_layers_import_downwards_only() -> None:
    """The contracts of pyproject.toml; a new layer has to be given its place there."""
    pytest.importorskip("importlinter")
    done = layers_kept(ROOT / "pyproject.toml")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("right", "wrong", "seen"),
    [
        ('"solve",\n  "verify"', '"verify",\n  "solve"', "certcore.solve.solver -> certcore.verify"),
        ('"background",\n  "files', '"files', "pages.background"),
        (
            '"canvas | parts",\n  "background"',
            '"background",\n  "canvas | parts"',
            "pages.parts.promise -> pages.background",
        ),
    ],
    ids=["engine", "a layer without a place", "dashboard"],
)
def test_a_layer_in_the_wrong_place_is_noticed(right: str, wrong: str, seen: str, tmp_path: Path) -> None:
    pytest.importorskip("importlinter")
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert text.count(right) == 1
    changed = tmp_path / "pyproject.toml"
    changed.write_text(text.replace(right, wrong), encoding="utf-8")
    done = layers_kept(changed)
    assert done.returncode == 1
    assert seen in done.stdout


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Inside a layer too, and also where an import hides in a function."""
    grimp = pytest.importorskip("grimp")
    graph = grimp.build_graph("certcore", "pages", exclude_type_checking_imports=True, cache_dir=None)
    imports = nx.DiGraph(
        (module, other) for module in graph.modules for other in graph.find_modules_directly_imported_by(module)
    )
    assert [sorted(ring) for ring in nx.strongly_connected_components(imports) if len(ring) > 1] == []
