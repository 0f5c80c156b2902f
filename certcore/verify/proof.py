"""Proofs: JSON files with dual values from which a certified count can be recomputed without a solver."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from certcore import __version__
from certcore.base.gaussian import GaussianBase
from certcore.common.errors import InputError, SoundnessError
from certcore.common.reading import read_json, whole_numbers
from certcore.domain.base_rule import BaseRule
from certcore.domain.threat import ThreatModel
from certcore.domain.weights import MAX_TOTAL, Weights
from certcore.instance.instance import Instance
from certcore.program.build import build_structure
from certcore.program.cuts import Cuts
from certcore.program.levels import LevelSet, Tag
from certcore.program.problem import Problem, whole_graph_totals
from certcore.program.program import Program
from certcore.program.relaxation import Relaxation
from certcore.verify.bound import exact_bound
from certcore.verify.strong import StrongDuals, strong_bound

FORMAT = "certcore-proof-1"
#: Format of proofs of the strong form, which also contain sets, tags of rows and their dual values.
STRONG_FORMAT = "certcore-proof-2"
#: Format of proofs against Gaussian noise, which also state the needs; the checker verifies them.
REAL_FORMAT = "certcore-proof-3"
#: Format of proofs against ballots, whose program has other rows.
BALLOTS_FORMAT = "certcore-proof-4"
#: Format of proofs of the strong form with rows on payers (`paid`); otherwise that of `STRONG_FORMAT`.
PAID_FORMAT = "certcore-proof-5"
#: Format of proofs about weighted targets; the entry `of` names the format whose rows it has.
WEIGHTED_FORMAT = "certcore-proof-6"
MAX_BYTES = 256 * 2**20
FORMATS = (FORMAT, STRONG_FORMAT, REAL_FORMAT, BALLOTS_FORMAT, PAID_FORMAT, WEIGHTED_FORMAT)
_KEYS = {
    "format", "instance_digest", "threat", "targets", "target_nodes", "base_rule", "relaxation", "bound", "certified",
    "multipliers", "digest",
}  # fmt: skip


#: The last family of cuts (`program/cuts.py`) in this format; a new family needs a new format.
LAST_FAMILY = 1
_DUALS = {"scale_bits", "rows", "values", "cuts_touch", "cuts_index"}
_STRONG = {"sets", "strong_rows", "strong_values"}


@dataclass(frozen=True)
class Verdict:
    """Whether a proof is valid, why not, and what it proves; `check` names the check that failed."""

    accepted: bool
    reason: str
    certified: int = 0
    targets: int = 0
    """With weights, this and the count before are sums of weights."""
    bound: Fraction = Fraction(0)
    check: str = ""
    threat: ThreatModel = field(default_factory=ThreatModel)
    """The threat model of an accepted proof, with its targets and weights."""


def digest_of(proof: dict[str, Any]) -> str:
    """SHA-256 of everything but the digest, as canonical JSON."""
    rest = {key: value for key, value in proof.items() if key != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def certified_count(targets: int, bound: Fraction) -> int:
    """|T| − floor(bound), never negative; with weights |T| is their sum."""
    return max(0, targets - bound.numerator // bound.denominator)


def make_proof(
    problem: Problem,
    relaxation: Relaxation,
    bound: Fraction,
    y: np.ndarray | None,
    cuts: Cuts,
    strong: StrongDuals | None = None,
) -> dict[str, Any]:
    """A proof of the bound; without dual values y if every field is the whole graph, where totals suffice.

    With `strong` the proof has format 2 or 5, and `y` and `cuts` belong to its tight program.
    """
    own = problem.threat.targets
    duals: dict[str, Any] | None = None
    if y is not None:
        rows = np.flatnonzero(y)
        duals = {
            "scale_bits": problem.scale_bits,
            "rows": rows.tolist(),
            "values": y[rows].tolist(),
            "cuts_touch": cuts.family.tolist(),
            "cuts_index": cuts.index.tolist(),
        }
        if strong is not None:
            duals |= {
                "sets": [[new.kind, new.sites.tolist(), new.levels] for new in strong.sets],
                "strong_rows": [list(tag) for tag in strong.tags],
                "strong_values": strong.values.tolist(),
            }
    proof: dict[str, Any] = {
        "format": _format(problem, None if strong is None else strong.tags),
        "instance_digest": problem.instance.digest,
        "threat": _threat_in_proof(problem),
        "targets": len(problem.targets),
        "target_nodes": None if own is None else np.asarray(own).tolist(),
        "base_rule": str(problem.instance.base_rule),
        "relaxation": relaxation,
        "bound": [bound.numerator, bound.denominator],
        "certified": certified_count(problem.total, bound),
        "multipliers": duals,
    }
    base = problem.instance.base
    if isinstance(base, GaussianBase):
        proof["needs"] = base.stated(problem.targets, problem.threat.adj_del)
    if problem.is_weighted:
        kept = [proof.pop("certified"), problem.total]
        proof |= {"format": WEIGHTED_FORMAT, "of": proof["format"], "weights": problem.weights.tolist(), "kept": kept}
    proof["digest"] = digest_of(proof)
    return proof


def count_in(proof: dict[str, Any]) -> int:
    """The certified count that a proof claims, or the sum of weights that stays."""
    return int(proof["kept"][0] if "kept" in proof else proof["certified"])


def _threat_in_proof(problem: Problem) -> dict[str, Any]:
    """The threat model in its canonical form, without local budgets that mean nothing for the base certificate."""
    strange = {"local_inject": problem.by_ballots, "local_attr_l2": isinstance(problem.instance.base, GaussianBase)}
    return problem.threat.replace(**{name: None for name, known in strange.items() if not known}).to_json()


def _format(problem: Problem, tags: Sequence[Tag] | None) -> str:
    """The format for a base certificate and the tags of strong rows, if there are any."""
    if problem.by_ballots:
        return BALLOTS_FORMAT
    if isinstance(problem.instance.base, GaussianBase):
        return REAL_FORMAT
    if tags is None:
        return FORMAT
    return PAID_FORMAT if any(tag[0] == "paid" for tag in tags) else STRONG_FORMAT


def read_proof(source: str | os.PathLike[str] | bytes) -> dict[str, Any]:
    """Read a proof file; refuses anything else with a one-sentence error."""
    try:
        if isinstance(source, bytes):
            data = source
        else:
            with open(source, "rb") as handle:
                data = handle.read(MAX_BYTES + 1)  # a device may report size 0 and never end
        if len(data) > MAX_BYTES:
            raise InputError(
                f"the proof is larger than {MAX_BYTES:,} bytes; expected a file written by certify --proof"
            )
        if data[:2] == b"\x1f\x8b":
            data = _unpacked(data)
        proof = read_json(data.decode("utf-8"), "the proof")
    except OSError as error:
        raise InputError(f"cannot read the proof: {error.strerror or error}; give the path of a proof file") from error
    except ValueError as error:
        raise InputError("the proof is no UTF-8 text; expected a file written by certify --proof") from error
    if not isinstance(proof, dict) or proof.get("format") not in FORMATS:
        raise InputError(
            f"this is no proof of format {', '.join(FORMATS[:-1])} or {FORMATS[-1]}; expected a file written by "
            "certify --proof"
        )
    keys, rows = _KEYS, proof["format"]
    if rows == WEIGHTED_FORMAT:
        keys, rows = _KEYS - {"certified"} | {"of", "weights", "kept"}, proof.get("of")
        if rows not in FORMATS[:-1]:
            raise InputError(f"the proof is of format {rows!r} with weights; expected one of {', '.join(FORMATS[:-1])}")
    keys = keys | ({"needs"} if rows == REAL_FORMAT else set())
    missing, strange = sorted(keys - set(proof)), sorted(set(proof) - keys)
    if missing or strange:
        what = f"lacks {missing[0]!r}" if missing else f"has an unknown entry {strange[0]!r}"
        raise InputError(f"the proof {what}; expected exactly the entries that certify --proof writes")
    for key in ("digest", "instance_digest"):
        if not isinstance(proof[key], str):
            raise InputError(f"the entry {key!r} of the proof is no text; expected a file written by certify --proof")
    if proof["base_rule"] not in list(BaseRule):
        raise InputError("the proof names an unknown base rule; expected binary or multiclass")
    return proof


def proof_bytes(proof: dict[str, Any], *, packed: bool) -> bytes:
    """The content of a proof file; gzip is written without a time stamp, so that equal proofs give equal files."""
    text = json.dumps(proof, allow_nan=False).encode("utf-8")
    return gzip.compress(text, mtime=0) if packed else text


def _unpacked(data: bytes) -> bytes:
    """Unpack gzip up to the largest size of a proof, because a small file may unpack to a huge one."""
    reader = zlib.decompressobj(wbits=31)
    try:
        text = reader.decompress(data, MAX_BYTES + 1)
    except zlib.error as error:
        raise InputError("the compressed proof is damaged; expected a file written by certify --proof") from error
    if len(text) > MAX_BYTES or not reader.eof or reader.unused_data:
        raise InputError("the compressed proof is too large, cut off or has something behind its end")
    return text


def verify_proof(proof: dict[str, Any], instance: Instance) -> Verdict:
    """Recompute everything the proof claims, without a solver; load the instance with the proof's base rule."""
    try:
        digest = digest_of(proof)
    except (ValueError, RecursionError):
        return Verdict(
            False,
            "the proof holds text or nesting that canonical JSON cannot hold: the file was changed",
            check="digest",
        )
    if proof["digest"] != digest:
        return Verdict(False, "the digest does not match the content: the file was changed", check="digest")
    if proof["instance_digest"] != instance.digest:
        return Verdict(False, "the proof belongs to another instance (the instance digest differs)", check="instance")
    if proof["base_rule"] != instance.base_rule:
        return Verdict(False, "the proof and the loaded instance use different base rules", check="base rule")
    try:
        targets = proof["target_nodes"]
        nodes = None if targets is None else _integers(targets, instance.graph.n_nodes - 1)
        threat = ThreatModel.from_json(proof["threat"], nodes)
        weighted = proof["format"] == WEIGHTED_FORMAT
        if weighted:
            threat = threat.replace(weights=_weights(proof["weights"], instance, threat))
        rows = proof["of"] if weighted else proof["format"]
        if isinstance(instance.base, GaussianBase) and rows == REAL_FORMAT:
            instance = replace(instance, base=instance.base.as_stated(proof["needs"]))
        problem = Problem(instance, threat)
        bound = _recompute(problem, rows, proof["relaxation"], proof["multipliers"])
    except (InputError, ValueError, TypeError, OverflowError, KeyError) as error:
        return Verdict(
            False, str(InputError(f"the claim cannot be rebuilt from the instance: {error}")), check="program"
        )
    if _threat_in_proof(problem) != proof["threat"]:
        return Verdict(False, "the threat model is not written in its canonical form", check="threat")
    if type(proof["targets"]) is not int or proof["targets"] != len(problem.targets):
        return Verdict(
            False,
            f"the instance gives {len(problem.targets)} targets, the proof speaks of another number",
            check="targets",
        )
    whole = isinstance(proof["bound"], list) and all(type(part) is int for part in proof["bound"])
    if not whole or proof["bound"] != [bound.numerator, bound.denominator]:
        return Verdict(
            False, f"the multipliers prove a bound of {float(bound):.6f}, which is not the one claimed", check="bound"
        )
    count = certified_count(problem.total, bound)
    claimed, right = (proof["kept"], [count, problem.total]) if weighted else ([proof["certified"]], [count])
    if claimed != right or any(type(part) is not int for part in claimed):
        what = f"keeps {count} of a weight of {problem.total}" if weighted else f"certifies {count} targets"
        return Verdict(False, f"the bound {what}, the proof claims another number", check="certified")
    return Verdict(True, "accepted", count, problem.total, bound, threat=problem.threat)


def _weights(given: object, instance: Instance, threat: ThreatModel) -> Weights:
    """The weights of the targets as those of all nodes; refused in any form but the one that `make_proof` writes."""
    targets = np.asarray(instance.targets if threat.targets is None else threat.targets)
    own = _integers(given, MAX_TOTAL)
    if len(own) != len(targets) or own.min(initial=1) < 1 or own.max(initial=1) < 2:
        raise InputError("the weights are not one whole number of at least 1 per target, of which one is larger")
    values = np.zeros(instance.graph.n_nodes, dtype=np.int64)
    values[targets] = own
    return Weights(values)


def require_accepted(proof: dict[str, Any], instance: Instance) -> None:
    """Raise an error unless a proof that this program made is accepted, so that no other one is handed out."""
    verdict = verify_proof(proof, instance)
    if not verdict.accepted:
        raise SoundnessError(
            f"internal error: the proof of {count_in(proof)} of {proof['targets']} targets is rejected by the "
            f"verifier ({verdict.reason}). It was not written: do not use this count. Please send us this message and "
            f"the instance file: certcore {__version__}, instance {instance.digest}, {proof['relaxation']}, against "
            f"{json.dumps(proof['threat'])[:400]}"
        )


def _recompute(problem: Problem, format_: Any, relaxation: Any, duals: Any) -> Fraction:
    strong = format_ in (STRONG_FORMAT, PAID_FORMAT)
    if _format(problem, () if strong else None) != (STRONG_FORMAT if strong else format_):
        raise InputError("the format of the proof is that of another base certificate")
    expected = (Relaxation.STRONG,) if strong else (Relaxation.PAPER, Relaxation.TIGHT)
    if relaxation not in expected:
        raise InputError(f"the relaxation is {relaxation!r}; expected {' or '.join(map(repr, expected))}")
    if problem.whole_graph:
        if duals is not None:
            raise InputError("multipliers are given although the fields are the whole graph")
        return Fraction(whole_graph_attacked(problem))
    if strong and not problem.has_strong_rows:
        raise InputError("strong rows apply neither to ballots nor to real amounts and fields with weights")
    if not isinstance(duals, dict) or set(duals) != _DUALS | (_STRONG if strong else set()):
        raise InputError("the multipliers are not in the form that certify --proof writes")
    if type(duals["scale_bits"]) is not int or duals["scale_bits"] != problem.scale_bits:
        raise InputError(f"the multipliers have scale 2^{duals['scale_bits']}; expected 2^{problem.scale_bits}")
    structure = build_structure(problem, Relaxation.TIGHT if strong else Relaxation(relaxation))
    family = _integers(duals["cuts_touch"], LAST_FAMILY)
    index = _integers(duals["cuts_index"], max(len(structure.groups), len(structure.flips), 1) - 1)
    cuts = Cuts(family, index)
    if len(family) != len(index) or not cuts.fit(structure):
        raise InputError("the cuts do not fit the program")
    n_rows = structure.matrix.shape[0] + len(cuts)
    rows = _integers(duals["rows"], n_rows - 1)
    values = _integers(duals["values"], 2**62)
    if len(rows) != len(values) or (np.diff(rows) <= 0).any() or (values == 0).any():
        raise InputError("rows and values of the multipliers do not fit together")
    y = np.zeros(n_rows, dtype=np.int64)
    y[rows] = values
    program = Program(structure, problem.threat.budgets, problem.threat.sigma, cuts)
    if strong:
        by = _strong(duals, y, cuts)
        if format_ == STRONG_FORMAT and any(tag[:1] == ["paid"] for tag in by.tags):
            raise InputError(f"rows on payers belong to the format {PAID_FORMAT}")
        return strong_bound(problem, replace(program, cuts=Cuts.none()), by)
    return structure.constant + exact_bound(program, y, structure.scale_bits)


def _strong(duals: dict[str, Any], y: np.ndarray, cuts: Cuts) -> StrongDuals:
    """Read the entries of format 2 or 5; sets and tags are validated when rows are built from them."""
    sets = []
    for entry in _list(duals["sets"]):
        if len(_list(entry)) != 3 or type(entry[0]) is not int or type(entry[2]) is not int:
            raise InputError("a set of the proof is not in the form type, sites, levels")
        sets.append(LevelSet(entry[0], _integers(entry[1], 2**62), entry[2]))
    values = _integers(duals["strong_values"], 2**62)
    tags = [_list(tag) for tag in _list(duals["strong_rows"])]
    if len(tags) != len(values) or (values == 0).any():
        raise InputError("strong rows and their multipliers do not fit together")
    return StrongDuals(y, cuts, tuple(sets), tuple(tags), values)


def whole_graph_attacked(problem: Problem) -> int:
    """Targets (or their weights) left uncertified if the perturbation of every type is as large as possible."""
    certified = problem.fronts.certified(whole_graph_totals(problem).tolist())
    return problem.weigh(~certified[problem.targets])


def _integers(values: object, largest: int) -> np.ndarray:
    if not isinstance(values, list):
        raise InputError(f"expected a list of whole numbers from 0 to {largest}")
    return whole_numbers(values, "a list of the proof", 0, largest)


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise InputError("expected a list")
    return value
