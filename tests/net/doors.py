"""Every name of the product that the net uses, in one place: when a module moves, only this file follows it.

Numbers are asked through the package's front, `certcore.sweep` and the command line. Training packages are imported
only by those who need them.
"""

from __future__ import annotations

import contextlib
import io
import json
from typing import Any

import certcore
from certcore import Certificate, InputError, Instance, ThreatModel, certify, load_instance, read_proof, verify_proof
from certcore.sweep import Session, curve, defend, radius, surface

__all__ = [
    "Certificate", "InputError", "Instance", "Session", "ThreatModel", "certify", "command", "command_json", "curve",
    "defend", "link_readers", "load_instance", "radius", "read_proof", "surface", "training",
    "verify_proof", "versions",
]  # fmt: skip


def command(*words: str) -> tuple[int, str]:
    """Exit code and standard output of `certcore WORDS`, run in this process."""
    from certcore.cli import main

    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        try:
            code = main(list(words))
        except SystemExit as end:
            code = int(end.code or 0)
    return int(code or 0), said.getvalue()


def command_json(*words: str) -> dict[str, Any]:
    code, said = command(*words, "--json")
    assert code == 0, f"certcore {' '.join(words)} ended with {code}"
    result: dict[str, Any] = json.loads(said)
    return result


class training:
    """Models and votes; needs the training packages."""

    @staticmethod
    def load_model(path: Any) -> Any:
        from experiments.networks.storage import load_model

        return load_model(path)

    @staticmethod
    def load_dataset(path: Any) -> Any:
        from certcore.data import load_dataset_file

        return load_dataset_file(path)

    @staticmethod
    def noise(theta: list[str]) -> Any:
        from certcore.votes import Noise

        return Noise.of(tuple(theta))

    @staticmethod
    def model_voter(model: Any, graph: Any, noise: Any, seed: int, *, fused: bool) -> Any:
        from experiments.networks.voters import make_voter

        return make_voter(model, graph, noise, seed, fused=fused)

    @staticmethod
    def function_voter(graph: Any, noise: Any, seed: int, function: Any, n_classes: int) -> Any:
        from certcore.votes.function import FunctionVoter

        return FunctionVoter(graph, noise, seed, function, n_classes)

    @staticmethod
    def collect_votes(voter: Any, **options: Any) -> Any:
        from certcore.votes.run import collect_votes

        return collect_votes(voter, **options)


def link_readers() -> dict[str, Any]:
    """How each parameter of the sidebar is read from a link: its first value and its reader."""
    from pages.state import state

    return dict(state.SHARED)


def versions() -> dict[str, str]:
    import platform
    from importlib.metadata import version

    names = ("highspy", "numpy", "scipy")
    return {"certcore": certcore.__version__, "python": platform.python_version(), **{n: version(n) for n in names}}
