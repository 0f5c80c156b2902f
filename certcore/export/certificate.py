"""One certificate as text, numbers and files."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from certcore import __version__, messages
from certcore.common.errors import InputError
from certcore.figures.table import Meaning, Table, make_table
from certcore.instance.instance import Instance
from certcore.result.certificate import Certificate
from certcore.result.states import NOTHING

_PACKAGES = ("numpy", "scipy", "highspy", "matplotlib", "plotly")


def guarantee(instance: Instance, certificate: Certificate, of: int | None = None) -> str:
    """The guarantee in plain words, with its numbers, its confidence and all its remarks.

    `of`: the targets are the correct labels among this many, and the share is the certified accuracy.
    """
    return str(messages.statement(instance, certificate, of))


def provenance(
    instance: Instance, certificate: Certificate | None = None, source: str = "", of: int | None = None
) -> dict[str, Any]:
    """Instance digest, threat model, seeds, samples, α and versions: what is needed to reproduce the result.

    `of` as in `guarantee`.
    """
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
        result["guarantee"] = guarantee(instance, certificate, of)
    return result


def proof(certificate: Certificate) -> bytes:
    """The proof as a JSON file, accepted by `certcore verify` on any machine that has the instance."""
    if certificate.proof is None:
        raise InputError("there is no proof to write: the proof was not asked for; certify again with proof=True")
    return (json.dumps(certificate.proof, ensure_ascii=False, allow_nan=False) + "\n").encode()


def allocation(instance: Instance, certificate: Certificate, *, integer: bool = True) -> Table:
    """Flips at each node and in its field, by the replayed attack or the relaxed adversary, most flips first."""
    if (certificate.attack if integer else certificate.fractional) is None:
        what = "attack was looked for" if integer else "relaxed allocation exists"
        raise InputError(f"no {what} for this certificate; certify again with an attack, or export the other one")
    nodes: Mapping[str, np.ndarray] = certificate.node_columns(
        instance.base.fronts(), instance.graph.edges, integer=integer
    )
    # Columns that only apply to targets are None for other nodes.
    numbers = {key: np.asarray(nodes[key], dtype=float) for key in nodes if key not in ("node", "state", "hit")}
    used = [key for key, column in numbers.items() if (column > NOTHING).any()]
    touched = np.any([numbers[key] > NOTHING for key in used], axis=0) if used else nodes["hit"]
    columns = ["node"] + (["name"] if instance.node_names is not None else []) + ["state", "hit", *used]
    rows = []
    spent = np.sum([numbers[key] for key in numbers if key.startswith("spent")], axis=0)
    order = np.lexsort((np.arange(len(spent)), -np.nan_to_num(numbers["lost"]), -spent))
    for i in order[touched[order]].tolist():
        name = [] if instance.node_names is None else [instance.node_names[i]]
        hit = "yes" if nodes["hit"][i] else "no"
        rows.append([i, *name, str(nodes["state"][i]), hit, *(_whole(nodes[key][i]) for key in used)])
    meanings = {"node": Meaning.INDEX} | dict.fromkeys(used, Meaning.ATTACKED)
    return make_table(columns, rows, [meanings.get(column, Meaning.PLAIN) for column in columns])


def _whole(value: Any) -> Any:
    if value is None:
        return None
    number = float(value)
    return int(number) if number.is_integer() else number
