"""Collective robustness certificates for graph neural networks.

import certcore as cc

instance = cc.smooth(model, data, attr_add=0.002, attr_del=0.6)  # or load_instance(file)
certificate = cc.certify(instance, attr_del=10)
cc.curve(instance, vary="attr_del", values=range(101)).plot()

The names below are loaded when they are first used: who only checks a proof (`certcore.verify`) loads no solver.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.3.0"

if TYPE_CHECKING:
    from certcore.attack import attack
    from certcore.ballots import ballots
    from certcore.base.grid import GridBase
    from certcore.base.smoothing import SmoothingBase
    from certcore.check_field import FieldCheck, check_field
    from certcore.cli.dashboard import dashboard
    from certcore.common.errors import InputError
    from certcore.data.dataset import Dataset
    from certcore.domain.graph import Graph
    from certcore.domain.perturbations import TYPES
    from certcore.domain.threat import ThreatModel
    from certcore.instance.instance import Instance, load_instance, save_instance
    from certcore.model_attack.stored import ModelAttack
    from certcore.result.certificate import Certificate
    from certcore.smooth import smooth
    from certcore.solve.status import Status
    from certcore.sweep.counts import Counts
    from certcore.sweep.radii import radius
    from certcore.sweep.session import Session, certify
    from certcore.sweep.sweep import Sweep, curve, surface
    from certcore.verify.proof import Verdict, read_proof, verify_proof

#: Where the names are, as above: what most people need; the rest is imported from its module.
_HOME = {
    name: home
    for home, names in {
        "base.grid": "GridBase", "base.smoothing": "SmoothingBase", "cli.dashboard": "dashboard",
        "common.errors": "InputError", "data.dataset": "Dataset",
        "domain.graph": "Graph", "domain.perturbations": "TYPES", "domain.threat": "ThreatModel",
        "instance.instance": "Instance load_instance save_instance", "model_attack.stored": "ModelAttack",
        "attack": "attack", "ballots": "ballots", "check_field": "FieldCheck check_field",
        "smooth": "smooth", "result.certificate": "Certificate", "solve.status": "Status",
        "sweep.counts": "Counts", "sweep.radii": "radius", "sweep.session": "Session certify",
        "sweep.sweep": "Sweep curve surface", "verify.proof": "Verdict read_proof verify_proof",
    }.items()
    for name in names.split()
}  # fmt: skip

__all__ = [
    "TYPES", "Certificate", "Counts", "Dataset", "FieldCheck", "Graph", "GridBase", "InputError", "Instance",
    "ModelAttack", "Session", "SmoothingBase", "Status", "Sweep", "ThreatModel", "Verdict", "__version__", "attack",
    "ballots", "certify", "check_field", "curve", "dashboard", "load_instance", "radius", "read_proof",
    "save_instance", "smooth", "surface", "verify_proof",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "get_dataset":
        from certcore.common.errors import InputError

        raise InputError(
            "certcore.get_dataset is gone; give certcore.smooth your graph as it is, or use `python -m experiments "
            "data get NAME` in the repository"
        )
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    except ModuleNotFoundError:
        from certcore.common.packages import require_training_packages

        require_training_packages()  # one sentence, if it is one of these
        raise
    globals()[name] = value
    return value


class _Names(ModuleType):
    """Keeps `certcore.smooth` the function: importing the module of this name would put the module in its place."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Names


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
