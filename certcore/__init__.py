"""Collective robustness certificates for graph neural networks.

from certcore import ThreatModel, certify, load_instance

instance = load_instance("precomputed/citeseer-gcn-attr-s0.npz")
certificate = certify(instance, ThreatModel(attr_del=50))
print(certificate.certified, "of", certificate.targets)

The names below are loaded when they are first used: who only checks a proof (`certcore.verify`) loads no solver.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from certcore.base.grid import BaseCertificate, BaseLocal, GridBase
    from certcore.common.errors import InputError
    from certcore.domain.fronts import Fronts, flood_fill, fronts_from_grid
    from certcore.domain.graph import Graph
    from certcore.domain.perturbations import TYPES
    from certcore.domain.threat import ThreatModel
    from certcore.instance.instance import Instance, load_instance, save_instance
    from certcore.result.allocation import Allocation, inadmissible, replay
    from certcore.result.certificate import Certificate
    from certcore.solve.status import Status
    from certcore.sweep.session import certify
    from certcore.verify.proof import Verdict, read_proof, verify_proof

#: Where the names are, as above.
_HOME = {
    name: home
    for home, names in (
        ("result.allocation", "Allocation inadmissible replay"),
        ("base.grid", "BaseCertificate BaseLocal GridBase"),
        ("result.certificate", "Certificate"),
        ("common.errors", "InputError"),
        ("domain.fronts", "Fronts flood_fill fronts_from_grid"),
        ("domain.graph", "Graph"),
        ("instance.instance", "Instance load_instance save_instance"),
        ("domain.perturbations", "TYPES"),
        ("solve.status", "Status"),
        ("sweep.session", "certify"),
        ("domain.threat", "ThreatModel"),
        ("verify.proof", "Verdict read_proof verify_proof"),
    )
    for name in names.split()
}

__all__ = [
    "TYPES",
    "Allocation",
    "BaseCertificate",
    "BaseLocal",
    "Certificate",
    "Fronts",
    "Graph",
    "GridBase",
    "InputError",
    "Instance",
    "Status",
    "ThreatModel",
    "Verdict",
    "__version__",
    "certify",
    "flood_fill",
    "fronts_from_grid",
    "inadmissible",
    "load_instance",
    "read_proof",
    "replay",
    "save_instance",
    "verify_proof",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
