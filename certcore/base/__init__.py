"""Base certificates: per node, the budgets that provably cannot change its label."""

from certcore.base.grid import BaseCertificate, BaseLocal, GridBase
from certcore.base.smoothing import SmoothingBase
from certcore.base.thresholds import ThresholdTable, grown_thresholds, threshold_table

__all__ = [
    "BaseCertificate", "BaseLocal", "GridBase", "SmoothingBase", "ThresholdTable", "grown_thresholds",
    "threshold_table",
]  # fmt: skip
