"""Sweeps: many certificates of one instance in the time of a few.

from certcore.sweep import Session, curve, surface, radius, defend

session = Session(instance)                       # keeps programs, bases and dual values for the next request
session.certify(ThreatModel(attr_del=50))         # like certcore.certify, from the nearest known basis
session.preview(ThreatModel(attr_del=51))         # a sound bound within milliseconds
curve(session, ThreatModel(), "attr_del", range(201))
"""

from certcore.common.statistics import average_radius
from certcore.sweep.counts import Counts
from certcore.sweep.defences import Defence, defend
from certcore.sweep.parallel import SplitCurve, SweepTask, over_splits, run_many
from certcore.sweep.radii import Radius, radius
from certcore.sweep.session import Preview, Session
from certcore.sweep.sweep import Sweep, curve, surface

__all__ = [
    "Counts",
    "Defence",
    "Preview",
    "Radius",
    "Session",
    "SplitCurve",
    "Sweep",
    "SweepTask",
    "average_radius",
    "curve",
    "defend",
    "over_splits",
    "radius",
    "run_many",
    "surface",
]
