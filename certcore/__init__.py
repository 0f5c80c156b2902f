"""Collective robustness certificates for graph neural networks.

import certcore as cc

instance = cc.smooth(model, data, attr_add=0.002, attr_del=0.6)  # or load_instance(file)
certificate = cc.certify(instance, attr_del=10)
cc.curve(instance, vary="attr_del", values=range(101)).plot()

The names below are loaded when they are first used: who only checks a proof (`certcore.verify`) loads no solver.
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from certcore.common.display import register_views

__version__ = "0.3.0"

if TYPE_CHECKING:
    from certcore.base.grid import GridBase
    from certcore.base.smoothing import SmoothingBase
    from certcore.cli.dashboard import dashboard
    from certcore.common.errors import InputError
    from certcore.data.dataset import Dataset
    from certcore.data.registry import get_dataset
    from certcore.domain.graph import Graph
    from certcore.domain.perturbations import TYPES
    from certcore.domain.threat import ThreatModel
    from certcore.instance.instance import Instance, load_instance, save_instance
    from certcore.model_attack.stored import ModelAttack
    from certcore.pipeline.attacking import attack
    from certcore.pipeline.ballots import ballots
    from certcore.pipeline.check_field import FieldCheck, check_field
    from certcore.pipeline.smooth import smooth
    from certcore.result.certificate import Certificate
    from certcore.solve.status import Status
    from certcore.sweep.curves import Curve, curve
    from certcore.sweep.radii import radius
    from certcore.sweep.session import Session, certify
    from certcore.sweep.surface_maps import Surface, surface
    from certcore.verify.proof import Verdict, read_proof, verify_proof

#: Where the names are, as above: what most people need; the rest is imported from its module.
_HOME = {
    name: home
    for home, names in {
        "base.grid": "GridBase", "base.smoothing": "SmoothingBase", "cli.dashboard": "dashboard",
        "common.errors": "InputError", "data.dataset": "Dataset", "data.registry": "get_dataset",
        "domain.graph": "Graph", "domain.perturbations": "TYPES", "domain.threat": "ThreatModel",
        "instance.instance": "Instance load_instance save_instance", "model_attack.stored": "ModelAttack",
        "pipeline.attacking": "attack", "pipeline.ballots": "ballots", "pipeline.check_field": "FieldCheck check_field",
        "pipeline.smooth": "smooth", "result.certificate": "Certificate", "solve.status": "Status",
        "sweep.curves": "Curve curve", "sweep.radii": "radius", "sweep.session": "Session certify",
        "sweep.surface_maps": "Surface surface", "verify.proof": "Verdict read_proof verify_proof",
    }.items()
    for name in names.split()
}  # fmt: skip

__all__ = [
    "TYPES", "Certificate", "Curve", "Dataset", "FieldCheck", "Graph", "GridBase", "InputError", "Instance",
    "ModelAttack", "Session", "SmoothingBase", "Status", "Surface", "ThreatModel", "Verdict", "__version__", "attack",
    "ballots", "certify", "check_field", "curve", "dashboard", "get_dataset", "load_instance", "radius", "read_proof",
    "save_instance", "smooth", "surface", "verify_proof",
]  # fmt: skip


def _loaded_when_used(module: str, name: str) -> Callable[..., Any]:
    return lambda *args, **options: getattr(import_module(f"{__name__}.notebook.{module}"), name)(*args, **options)


register_views(
    card=_loaded_when_used("cards", "card"),
    field_text=_loaded_when_used("cards", "field_text"),
    frame=_loaded_when_used("tables", "frame"),
    nodes_frame=_loaded_when_used("tables", "nodes_frame"),
    attacked_graph=_loaded_when_used("networks", "attacked_graph"),
    plot=_loaded_when_used("plots", "plot"),
    widget=_loaded_when_used("widget", "show"),
)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
