"""Collective robustness certificates for graph neural networks.

from certcore import ThreatModel, certify, load_instance

instance = load_instance("precomputed/citeseer-gcn-attr-s0.npz")
certificate = certify(instance, ThreatModel(attr_del=50))
print(certificate.certified, "of", certificate.targets)
"""

__version__ = "0.1.0"

from certcore.allocation import Allocation, inadmissible, replay
from certcore.base.grid import BaseCertificate, BaseLocal, GridBase
from certcore.certificate import Certificate
from certcore.certify import certify
from certcore.errors import InputError
from certcore.fronts import Fronts, flood_fill, fronts_from_grid
from certcore.graph import Graph
from certcore.instance import Instance, load_instance, save_instance
from certcore.perturbations import TYPES
from certcore.solve.status import Status
from certcore.threat import ThreatModel
from certcore.verify.proof import Verdict, read_proof, verify_proof

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
