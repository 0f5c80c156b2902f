"""False claims made of a true proof, each with its digest signed again: what remains to reject them is the arithmetic.

A checksum only tells that somebody changed a file; whoever changes it on purpose signs it again. So these forgeries
carry a right digest (and, where the graph was changed, the digest of the changed graph), and the check has to find out
by recomputing the bound.
"""

from __future__ import annotations

import copy
import io
import itertools
import json
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from certcore.common.rounding import rounded_up
from certcore.domain.perturbations import LABELS, TYPES
from certcore.instance.instance import Instance, instance_from_arrays, instance_to_arrays
from certcore.verify.proof import Verdict, certified_count, digest_of, verify_proof

from .examples import npz

Claim = tuple[str, dict[str, Any], Instance]
#: Variants of one forgery that are tried before it is given up.
MOST_TRIES = 12


@dataclass(frozen=True, eq=False)
class Forgery:
    """A false claim: what was changed in it, the files, and what the check says."""

    what: str
    change: str
    proof: dict[str, Any]
    instance: Instance
    verdict: Verdict

    @property
    def signed(self) -> bool:
        """Whether both digests in the proof are right."""
        right = digest_of(self.proof) == self.proof["digest"]
        return right and self.proof["instance_digest"] == self.instance.digest


def forge(proof: dict[str, Any], instance: Instance) -> Iterator[Forgery]:
    """One forgery of each kind, for a proof that is accepted.

    A change that the dual values still prove is no forgery (a larger budget that breaks nothing more, say): then the
    next variant is tried, and a kind without any false variant is left out.
    """
    for what, (check, variants) in KINDS.items():
        for change, forged, graph in itertools.islice(variants(copy.deepcopy(proof), instance), MOST_TRIES):
            verdict = verify_proof(forged, graph)
            if not verdict.accepted and verdict.check == check:
                yield Forgery(what, change, forged, graph, verdict)
                break


def as_zip(forgeries: list[Forgery], instance: Instance) -> bytes:
    """The forged files, for those who want to try them elsewhere."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for forgery in forgeries:
            archive.writestr(f"forged-{forgery.what}.json", json.dumps(forgery.proof, sort_keys=True))
            if forgery.instance is not instance:
                archive.writestr(f"forged-{forgery.what}.npz", npz(instance_to_arrays(forgery.instance)))
        archive.writestr("instance.npz", npz(instance_to_arrays(instance)))
    return buffer.getvalue()


def _sign(proof: dict[str, Any], **changes: Any) -> dict[str, Any]:
    forged = proof | changes
    return forged | {"digest": digest_of(forged)}


def _count(proof: dict[str, Any], instance: Instance) -> Iterator[Claim]:
    claimed = proof["certified"] + 1
    if claimed <= proof["targets"]:
        yield f"It claims {claimed:,} labels instead of {claimed - 1:,}", _sign(proof, certified=claimed), instance


def _bound(proof: dict[str, Any], instance: Instance) -> Iterator[Claim]:
    above, below = proof["bound"]
    if above > 0:
        least = max(Fraction(above, below) - 1, Fraction(0))
        bound = [least.numerator, least.denominator]
        certified = certified_count(proof["targets"], least)
        change = (
            f"It claims that at most {rounded_up(least)} targets fall instead of {rounded_up(Fraction(above, below))}"
        )
        yield change, _sign(proof, bound=bound, certified=certified), instance


def _dual_value(proof: dict[str, Any], instance: Instance) -> Iterator[Claim]:
    values = (proof["multipliers"] or {}).get("values", [])
    for k in np.argsort([-value for value in values], kind="stable").tolist():
        if values[k] > 1:
            changed = [*values[:k], values[k] // 2, *values[k + 1 :]]
            forged = _sign(proof, multipliers=proof["multipliers"] | {"values": changed})
            yield f"It halves the dual value of row {proof['multipliers']['rows'][k]:,}", forged, instance


def _budget(proof: dict[str, Any], instance: Instance) -> Iterator[Claim]:
    threat = proof["threat"]
    allowed = [name for name in TYPES if threat.get(name)] or [name for name in threat if name in instance.base.axes]
    for factor in (2, 4, 16, 64):
        for name in allowed:
            budget = max(1, threat[name]) * factor
            change = f"It claims the same against {budget:,} {LABELS[name]} instead of {threat[name]:,}"
            yield change, _sign(proof, threat=threat | {name: budget}), instance


def _edge(proof: dict[str, Any], instance: Instance) -> Iterator[Claim]:
    """One more edge between two busy nodes: what reaches one of them now reaches more targets."""
    if instance.node_field is not None:  # such fields do not follow the edges
        return
    graph = instance.graph
    joined = graph.adjacency.tocoo()
    there = set(zip(joined.row.tolist(), joined.col.tolist()))
    busy = np.argsort(-graph.incident, kind="stable")[:40].tolist()
    for j, i in itertools.combinations(busy, 2):
        if (i, j) in there:
            continue
        new = np.array([(i, j)] if graph.directed else [(i, j), (j, i)])
        pairs = np.concatenate([np.column_stack([joined.row, joined.col]), new])
        pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
        arrays = instance_to_arrays(instance) | {
            "adj_indptr": np.searchsorted(pairs[:, 0], np.arange(graph.n_nodes + 1)),
            "adj_indices": pairs[:, 1],
        }
        other = instance_from_arrays(arrays, base_rule=proof["base_rule"])
        change = f"It claims the same for a graph with one more edge, between {j:,} and {i:,}"
        yield change, _sign(proof, instance_digest=other.digest), other


#: Each kind of forgery, the check that has to reject it, and its variants.
KINDS: dict[str, tuple[str, Callable[[dict[str, Any], Instance], Iterator[Claim]]]] = {
    "count": ("certified", _count),
    "bound": ("bound", _bound),
    "multiplier": ("bound", _dual_value),
    "budget": ("bound", _budget),
    "edge": ("bound", _edge),
}
#: What each check does, in words.
CHECKS = {
    "certified": "the bound is turned into a count again",
    "bound": "the dual values are evaluated again, in exact integers",
}
