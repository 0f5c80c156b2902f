"""The command of the terminal that asks the same question, quoted for a shell."""

from __future__ import annotations

import re
import shlex
from fractions import Fraction
from typing import Any

from certcore.common.numbers import write_nodes
from certcore.domain.local_mode import LocalMode
from certcore.domain.perturbations import TYPES, entry_of
from certcore.domain.threat import ThreatModel
from certcore.domain.weights import DEGREE


def command(
    name: str,
    file: str,
    threat: ThreatModel,
    *,
    targets: str | None = None,
    relaxation: str = "tight",
    base_rule: str = "binary",
    **options: Any,
) -> str | None:
    """`certcore NAME FILE …` with a threat model and further options; None if options cannot say it.

    `targets` are named as for `Instance.select_targets`; those of the threat model are not written out.
    """
    said = threat_options(threat)
    if said is None:
        return None
    said |= {"targets": targets, "relaxation": relaxation if relaxation != "tight" else None}
    said |= {"base_rule": base_rule if base_rule != "binary" else None, **options}
    words = [word for key, value in said.items() if value is not None for word in (_option(key), str(value))]
    return shlex.join(["certcore", name, file, *words])


def current_spelling(command: str) -> str:
    """A recorded command as it is given today: `certcore bundle` made the shipped bundles."""
    return re.sub(r"(^|&& )certcore bundle ", r"\1python -m experiments bundle ", command)


def threat_options(threat: ThreatModel) -> dict[str, Any] | None:
    """Budgets, local budgets, σ and protected nodes as options; None if local budgets differ from node to
    node, or weights were given.
    """
    stored = threat.to_json()
    local = dict(stored["local"] or {})
    relative = local.pop("mode", None) == LocalMode.RELATIVE
    said: dict[str, Any] = {name: stored[name] for name in TYPES if stored.get(name, 0) not in (0, "0")}
    for name, value in local.items():
        if isinstance(value, list):
            return None
        if value is not None:
            shares = entry_of(name).lengths or (relative and not entry_of(name).brings_nodes)
            said[entry_of(name).local_name or f"local_{name}"] = _decimal(value) if shares else value
    if relative:
        said["local_mode"] = LocalMode.RELATIVE
    if threat.weights is not None:
        if getattr(threat.weights, "source", threat.weights) != DEGREE:
            return None
        said["weights"] = DEGREE
    said["sigma"] = threat.sigma
    said["protect"] = write_nodes(threat.protected) if len(threat.protected) else None
    return said


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _decimal(value: Any) -> str:
    """A share as a decimal: 1/2 is 0.5; 1/3 stays a quotient."""
    exact = Fraction(value)
    short = f"{float(exact):.6f}".rstrip("0").rstrip(".")
    return short if Fraction(short) == exact else str(value)
