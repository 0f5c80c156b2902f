"""Everything about one certificate in words, numbers and files."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from certcore import __version__
from certcore.base.exact import confidence_text, decimal_text
from certcore.certificate import Certificate, rounded_down
from certcore.errors import InputError
from certcore.figures.data import Meaning
from certcore.figures.table import Table, make_table
from certcore.instance import Instance
from certcore.perturbations import LABELS, TYPES
from certcore.threat import ThreatModel

_PACKAGES = ("numpy", "scipy", "highspy", "matplotlib", "plotly")


def threat_words(threat: ThreatModel) -> str:
    """What the attacker may do, as the end of a sentence."""
    parts = [f"{budget:,} {LABELS[name]}" for name, budget in zip(TYPES, threat.budgets) if budget]
    text = _and(parts) + " in the whole graph" if parts else "nothing at all"
    local = []
    limits: tuple[Any, ...] = threat.local
    for name, budget, limit in zip(TYPES, threat.budgets, limits):
        if limit is None or not budget:
            continue
        if isinstance(limit, np.ndarray):
            local.append(f"a limit per node on {LABELS[name]}")
        elif threat.local_mode == "relative":
            has = "ones" if name.startswith("attr") else "edges"
            local.append(f"{LABELS[name]} of at most {decimal_text(Fraction(limit))} × the {has} a node has")
        else:
            local.append(f"{limit:,} {LABELS[name]} per node")
    if local:
        text += f", at most {_and(local)}"
    if threat.sigma is not None:
        text += f", controlling at most {_nodes(threat.sigma)}"
    if len(threat.protected):
        text += f", without touching {_nodes(len(threat.protected))} that {_is(len(threat.protected))} protected"
    if threat.node_costs is not None or threat.edge_costs is not None:
        text += ", each flip weighed by its cost"
    return text


def guarantee(instance: Instance, certificate: Certificate) -> str:
    """The guarantee in plain words, with its numbers, its confidence and its assumptions."""
    count = f"{certificate.certified:,} of {certificate.targets:,}"
    text = (
        f"Whatever an attacker does within the threat model, at least {count} target labels "
        f"({rounded_down(certificate.certified, certificate.targets)}) stay as they are, all at once. "
        f"The attacker may make {threat_words(certificate.threat)}."
    )
    base = instance.base.facts
    if "alpha" in base and "samples" in base:
        confidence = confidence_text(base["alpha"], 100)
        text += (
            f" This holds for the smoothed classifier on this clean graph, with {confidence} % confidence for all "
            f"nodes together ({int(base['samples']):,} samples)."
        )
    else:
        text += " This holds for the classifier that the base certificate speaks about, on this clean graph."
    if certificate.relaxation == "exact" and not certificate.verified:
        text += (
            f" The count rests on the solver's word; {certificate.verified_certified:,} labels are proven in exact "
            "arithmetic."
        )
    if instance.node_field is None and instance.edge_field == "messages" and certificate.threat.adj_del:
        text += (
            " Fields follow the rule 'messages', which is sound for attention and row-normalised aggregation only: "
            "with symmetric normalisation (GCN) it overstates robustness to edge deletions."
        )
    return text


def provenance(instance: Instance, certificate: Certificate | None = None, source: str = "") -> dict[str, Any]:
    """Instance digest, threat model, seeds, samples, α and versions: what another person needs to trust the result."""
    versions = {"certcore": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    result: dict[str, Any] = {
        "instance": source,
        "instance_digest": instance.digest,
        "facts": instance.facts(),
        "meta": instance.meta,
        "versions": versions,
    }
    if certificate is not None:
        outcome = certificate.to_json()
        outcome.pop("facts", None)
        result["certificate"] = outcome
        result["guarantee"] = guarantee(instance, certificate)
    return result


def proof(certificate: Certificate) -> bytes:
    """The proof as a JSON file, accepted by `certcore verify` on any machine that has the instance."""
    if certificate.proof is None:
        raise InputError(f"there is no proof to write: {certificate.status.sentence}; certify again with proof=True")
    return (json.dumps(certificate.proof, ensure_ascii=False, allow_nan=False) + "\n").encode()


def allocation(instance: Instance, certificate: Certificate, *, integer: bool = True) -> Table:
    """What the replayed attack (or the relaxed adversary) does at and to each node it concerns, most spent first."""
    if (certificate.attack if integer else certificate.fractional) is None:
        what = "attack was looked for" if integer else "relaxed allocation exists"
        raise InputError(f"no {what} for this certificate; certify again with an attack, or export the other one")
    nodes: Mapping[str, np.ndarray] = certificate.nodes(instance.base.fronts(), instance.graph.edges, integer=integer)
    numbers = [key for key in nodes if key not in ("node", "state")]
    touched = np.zeros(instance.graph.n_nodes, dtype=bool)
    for key in numbers:
        touched |= np.asarray(nodes[key], dtype=float) > 1e-9
    used = [key for key in numbers if (np.asarray(nodes[key], dtype=float) > 1e-9).any()]
    columns = ["node"] + (["name"] if instance.node_names is not None else []) + ["state", *used]
    rows = []
    spent = np.sum([nodes[key] for key in numbers if key.startswith("spent")], axis=0)
    order = np.lexsort((np.arange(len(spent)), -np.asarray(nodes["attacked"]), -spent))
    for i in order[touched[order]].tolist():
        name = [] if instance.node_names is None else [instance.node_names[i]]
        rows.append([i, *name, str(nodes["state"][i]), *(_whole(nodes[key][i]) for key in used)])
    meanings = {"node": Meaning.INDEX} | dict.fromkeys(used, Meaning.ATTACKED)
    return make_table(columns, rows, [meanings.get(column, Meaning.PLAIN) for column in columns])


def _whole(value: Any) -> Any:
    number = float(value)
    return int(number) if number.is_integer() else number


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count:,} nodes"


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _and(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]
