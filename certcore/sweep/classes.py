"""One certificate per predicted class: the attacker uses the whole budget against that class."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from certcore.common.errors import InputError
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.sweep.session import Session, as_session


class ClassCount(NamedTuple):
    """Counts of one class as target set."""

    label: int
    certified: int
    naive: int
    targets: int


def certify_classes(
    source: Instance | Session,
    threat: ThreatModel,
    targets: np.ndarray,
    *,
    relaxation: str = "tight",
    rounds: int | None = None,
    cancel: threading.Event | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[ClassCount]:
    """Counts for each class among the targets; if cancelled, for the classes finished so far."""
    session = as_session(source)
    if session.instance.prediction is None:
        raise InputError("this instance has no predicted labels, so it cannot be split by class")
    labels = np.asarray(session.instance.prediction)[targets]
    classes = np.unique(labels).tolist()
    found: list[ClassCount] = []
    for label in classes:
        if progress is not None:
            progress(len(found), len(classes))
        here = threat.replace(targets=np.asarray(targets)[labels == label])
        result = session.certify(here, relaxation=relaxation, rounds=rounds, attack=False, cancel=cancel)
        if cancel is not None and cancel.is_set():
            break
        found.append(ClassCount(label, result.verified_certified, result.naive_certified, result.targets))
    return found
