"""Base certificates: per node, the budgets that provably cannot change its label."""

from certcore.base.convex import ConvexCertificate, convex_certificate
from certcore.base.grid import BaseCertificate, BaseLocal, GridBase
from certcore.base.network import GcnNetwork, normalised_adjacency
from certcore.base.smoothing import SmoothingBase
from certcore.base.thresholds import ThresholdTable, grown_thresholds, threshold_table

__all__ = [
    "BaseCertificate", "BaseLocal", "ConvexCertificate", "GcnNetwork", "GridBase", "SmoothingBase", "ThresholdTable",
    "convex_certificate", "grown_thresholds", "normalised_adjacency",
    "threshold_table",
]  # fmt: skip
