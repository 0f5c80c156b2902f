"""Base certificates: per node, the budgets that provably cannot change its label."""

from certcore.base.grid import BaseCertificate, BaseLocal, GridBase

__all__ = ["BaseCertificate", "BaseLocal", "GridBase"]
