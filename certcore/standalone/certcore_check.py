"""Check a proof of a collective robustness certificate: `python certcore_check.py PROOF INSTANCE`.

A proof claims: whatever an attacker does to this graph within these budgets, at least C of T labels stay. This file
rebuilds the attacker's linear program from the instance (graph, receptive fields, base certificate). It then evaluates
the dual bound of the proof's dual values in integer arithmetic. It needs Python and numpy, uses no solver, and shares
no code with the engine that writes proofs. The format and the program are described in docs/reference/proof-files.md.
Ballots, Gaussian noise and the strong relaxation have files of their own beside this one (_ballots, _real, _strong).
Exit code 0: accepted, 1: rejected (with the reason), 2: unreadable.
"""

from __future__ import annotations

import gzip
import hashlib
import heapq
import importlib
import json
import math
import re
import sys
import zipfile
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, cmp_to_key
from itertools import accumulate, pairwise
from statistics import NormalDist
from typing import Any

import numpy as np

TYPES = ("attr_add", "attr_del", "adj_add", "adj_del")
LABELS = ("attribute additions", "attribute deletions", "edge additions", "edge deletions")
ATTR_ADD, ATTR_DEL, ADJ_ADD, ADJ_DEL = range(4)
UNLIMITED = 2**40  # larger than any number of flips
# Parts of a threat model that earlier versions knew.
DROPPED = {"node_costs": "costs of flips", "edge_costs": "costs of flips", "attr_l2_sum": "sums of norms"}
UNIT_GONE = (
    "the file has field_unit, but fields with weights are no longer supported; write the fields as a 0/1 pattern, or "
    "use certcore 0.3, which knows them"
)
SCALE_BITS = 40  # dual values are integers over 2**40, with weights over less (see scale_bits)
MAX_WEIGHTS = 10**12  # largest sum of weights
MAX_AXIS = 1024  # budgets with more flips of one type count as uncertified by votes (unless such flips have no effect)
MAX_BUDGET = 10**9
MAX_BYTES = 2**28
PRECISION = 120
ONE = 1 << PRECISION  # probabilities are integers over this
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")
Cell = tuple[int, ...]  # a budget: flips of each type
Front = tuple[Cell, ...]
Sites = tuple[int, ...]  # nodes or edges
Entries = list[tuple[int, int]]  # (column, coefficient) pairs of a row


def need(holds: Any, text: str) -> None:
    """Raise an exception unless a condition holds: the file is unreadable, or the proof is rejected."""
    if not holds:
        raise ValueError(text)


# Reading. Nothing is unpickled. Ranges are checked before conversion. true, 3.0 and "3" are not integers.
def read_proof(path: str) -> dict[str, Any]:
    def each_name_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        need(len(dict(pairs)) == len(pairs), "a name is twice in one object")
        return dict(pairs)

    with open(path, "rb") as handle:
        packed = handle.read(2) == b"\x1f\x8b"
    with gzip.open(path) if packed else open(path, "rb") as stream:
        data = stream.read(MAX_BYTES + 1)
    need(len(data) <= MAX_BYTES, "the file is too large")
    proof: dict[str, Any] = json.loads(data.decode("utf-8"), object_pairs_hook=each_name_once)
    keys = "format instance_digest threat targets target_nodes base_rule relaxation bound certified multipliers digest"
    need(isinstance(proof, dict), "an entry is missing or unknown")
    rows = proof.get("format")
    if rows == "certcore-proof-6":  # weights of targets, with the rows of another format
        keys, rows = keys.replace("certified", "of weights kept"), proof.get("of")
    keys += " needs" if rows == "certcore-proof-3" else ""
    need(set(proof) == set(keys.split()), "an entry is missing or unknown")
    known = rows in [f"certcore-proof-{number}" for number in range(1, 6)]
    need(known and proof["base_rule"] in ("binary", "multiclass"), "the format or the base rule is unknown")
    return proof


def is_whole(value: Any, low: int, high: int) -> bool:
    return type(value) is int and low <= value <= high


def scale_bits(weights: list[int]) -> int:
    """Dual values are integers over two to this power; with weights it leaves their sum below 2**52."""
    return min(SCALE_BITS, 52 - sum(weights).bit_length()) if max(weights, default=1) > 1 else SCALE_BITS


def whole_list(value: Any, low: int, high: int, what: str, *, rising: bool = False) -> list[int]:
    good = isinstance(value, list) and all(is_whole(v, low, high) for v in value)
    need(good and (not rising or all(a < b for a, b in pairwise(value))), f"{what}: no such list of whole numbers")
    return list(value)


class Arrays(dict[str, np.ndarray]):
    """The arrays of an instance file, each validated when it is accessed."""

    @classmethod
    def read(cls, path: str) -> Arrays:
        with zipfile.ZipFile(path) as archive:
            members = [m for m in archive.infolist() if m.filename.endswith(".npy")]
            need(len({m.filename for m in members}) == len(members), "an array is there twice")
            need(sum(m.file_size for m in members) <= 4 * MAX_BYTES, "the file is too large")
            arrays = cls()
            for member in members:
                with archive.open(member) as stream:
                    array = np.lib.format.read_array(stream, allow_pickle=False)
                    stream.read()  # read to the end, where the checksum is verified
                need(array.dtype.kind in "biufU", f"{member.filename} holds neither numbers nor text")
                arrays[member.filename.removesuffix(".npy")] = array
        return arrays

    def numbers(self, key: str, low: int, high: int, length: int | None = None) -> np.ndarray:
        array = np.atleast_1d(self[key])
        fits = array.size == 0 or (array.dtype.kind in "iu" and low <= int(array.min()) <= int(array.max()) <= high)
        need(fits and length in (None, len(array)), f"{key}: expected whole numbers from {low} to {high}")
        return array.astype(np.int64)

    def number(self, key: str, low: int, high: int) -> int:
        need(self[key].size == 1, f"{key} is not one number")
        return int(self.numbers(key, low, high).reshape(-1)[0])

    def flag(self, key: str) -> bool:
        value = self.get(key, np.array(False))
        need(value.size == 1 and value.dtype.kind in "biu" and value.reshape(-1)[0] in (0, 1), f"{key} is no flag")
        return bool(value.reshape(-1)[0])

    def csr(self, name: str, n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
        """A CSR pattern with sorted rows and no duplicate entries."""
        starts = self.numbers(f"{name}_indptr", 0, 2**62, n_rows + 1)
        entries = self.numbers(f"{name}_indices", 0, n_columns - 1)
        need(starts.ndim == entries.ndim == 1, f"{name}: not flat")
        need(starts[0] == 0 and starts[-1] == len(entries) and (starts[1:] >= starts[:-1]).all(), f"{name}_indptr")
        keys = np.unique(np.repeat(np.arange(n_rows), np.diff(starts)) * n_columns + entries)
        need(len(keys) == len(entries), f"{name}: an entry is there twice")
        return starts, keys % max(n_columns, 1)

    def probabilities(self, key: str) -> list[Fraction]:
        """Decimals or fractions as written; floats by their shortest decimal form."""
        texts = [str(value).strip() for value in self[key].reshape(-1)]
        form = re.compile(r"\+?[0-9]*\.?[0-9]*([eE][-+]?[0-9]{1,2})?|[0-9]+/[0-9]+")
        need(all(len(text) <= 80 and form.fullmatch(text) for text in texts), f"{key} is no decimal")
        result = [Fraction(text) for text in texts]
        need(all(p <= 1 and p.denominator <= 10**30 for p in result), f"{key} is no probability")
        return result


def decimal_text(number: Fraction) -> str:
    """The shortest exact decimal, or a fraction if no decimal with at most 30 places is exact."""
    for places in range(31):
        if 10**places % number.denominator == 0:
            whole, rest = divmod(int(number * 10**places), 10**places)
            return f"{whole}.{rest:0{places}d}" if places else str(whole)
    return str(number)


# Base certificates. Each class gives the front of a node: its minimal uncertified budgets within limits, sorted.
class Grid:
    def __init__(self, arrays: Arrays, n_nodes: int) -> None:
        grid, names = arrays["base_grid"], arrays["base_axes"].tolist()
        self.told = "a grid, as far as it holds"
        need(set(names) <= set(TYPES) and len(set(names)) == len(names), "base_axes names no type, or one twice")
        need(grid.dtype.kind in "biu" and np.isin(grid, (0, 1)).all(), "base_grid holds more than true and false")
        need(grid.ndim == len(names) + 1 and len(grid) == n_nodes and grid.size, "base_grid has another shape")
        self.hashed = {"base_grid": grid.astype(bool), "base_axes": np.array(names, dtype=str)}
        order = sorted(range(len(names)), key=lambda i: TYPES.index(names[i]))
        # A type without an axis has length one: one flip of it is already uncertified.
        self.sides = [grid.shape[1 + names.index(name)] if name in names else 1 for name in TYPES]
        self.grid = grid.astype(bool).transpose(0, *(i + 1 for i in order)).reshape(n_nodes, *self.sides)
        for axis in range(1, 5):
            easier, harder = np.delete(self.grid, -1, axis), np.delete(self.grid, 0, axis)
            need(not (harder & ~easier).any(), "base_grid is not monotone")
        self.local: list[int] | None = None
        if "base_local" in arrays:
            local = arrays.numbers("base_local", -1, UNLIMITED)
            need(local.shape == (4,) or (local.shape == (1,) and local[0] >= 0), "base_local has another form")
            self.hashed["base_local"], self.local = local.reshape((4,) if len(local) == 4 else ()), local.tolist()
        if "prediction" in arrays:
            self.hashed["prediction"] = arrays.numbers("prediction", 0, 10**5 - 1, n_nodes)
        flags = {key: arrays.flag(key) for key in ("base_global_fields", "base_smoothed_edges")}
        self.hashed |= {key: np.array(True) for key, value in flags.items() if value}
        self.global_fields, self.fixed_adjacency = flags["base_global_fields"], not any(flags.values())

    def fronts(self, nodes: np.ndarray, limits: Sequence[int]) -> list[Front]:
        ends = [min(limit, side) for limit, side in zip(limits, self.sides)]
        inside = self.grid[(slice(None), *(slice(0, end + 1) for end in ends))]
        beyond = [(0, end + 1 - side) for end, side in zip(ends, inside.shape[1:])]  # uncertified beyond the grid

        @cache
        def front(certificate: bytes) -> Front:
            certified = np.pad(np.frombuffer(certificate, dtype=bool).reshape(inside.shape[1:]), beyond)
            minimal = ~certified
            for axis, end in enumerate(ends):  # minimal: certified with one flip less of each type
                minimal &= np.take(np.insert(certified, 0, True, axis), range(end + 1), axis)
            return tuple(tuple(point) for point in np.argwhere(minimal).tolist())

        return [front(inside[node].tobytes()) for node in nodes.tolist()]


class Votes:
    """Sparse smoothing: exact integer probability masses and confidence bounds, all rounded to uncertified."""

    def __init__(self, arrays: Arrays, n_nodes: int, rule: str, bits: Sequence[int]) -> None:
        trials = arrays.number("n_samples", 1, 10**9)
        votes = arrays.numbers("votes", 0, trials, n_nodes)
        need(votes.ndim == 2 and (votes.sum(axis=1) == trials).all(), "votes do not sum to n_samples")
        label = arrays.numbers("prediction", 0, votes.shape[1] - 1, n_nodes)
        (alpha,), self.theta = arrays.probabilities("alpha"), arrays.probabilities("theta")
        need(0 < alpha < 1 and "/" not in decimal_text(alpha), "alpha is no decimal between 0 and 1")
        need(arrays["theta"].shape == (4,) and arrays["alpha"].dtype.kind in "Uf", "theta or alpha has another form")
        self.binary, self.bits = rule == "binary", bits
        sure = f"confidence {decimal_text(100 * (1 - alpha))} % for all nodes together (Bonferroni)"
        self.told = f"votes by the {rule} rule, probabilistic: {sure}"
        self.tail = BinomialTail(trials, alpha / (n_nodes * (1 if self.binary else 2)))
        everybody, others = np.arange(n_nodes), votes.copy()
        others[everybody, label] = 0
        # Certification depends on the votes for the label and the votes not for the runner-up. The binary rule, L(p_A)
        # > ½, is the same test with the label's votes used for both.
        mine = votes[everybody, label]
        self.facts = np.stack([mine, mine if self.binary else trials - others.max(axis=1)], axis=1)
        self.hashed: dict[str, Any] = {"votes": votes, "prediction": label, "n_samples": trials}
        self.hashed |= {"alpha": decimal_text(alpha), "theta": [decimal_text(t) for t in self.theta]}
        self.hashed |= {"base_rule": rule} if rule != "binary" else {}
        self.local, self.global_fields = None, self.theta[ADJ_ADD] > 0
        self.fixed_adjacency = self.theta[ADJ_ADD] == self.theta[ADJ_DEL] == 0
        # θ_add + θ_del = 1: the sampled bit is independent of the clean bit, so flips have no effect.
        self.free = [sum(self.theta[k // 2 * 2 : k // 2 * 2 + 2]) == 1 for k in range(4)]

    def fronts(self, nodes: np.ndarray, limits: Sequence[int]) -> list[Front]:
        """Visit budgets in lexicographic order; one that fails while all with one flip less pass is a front point."""
        facts, which = np.unique(self.facts[nodes], axis=0, return_inverse=True)
        ends = [0 if free else min(r, b, MAX_AXIS + 1) for r, b, free in zip(limits, self.bits, self.free)]
        points: list[list[Cell]] = [[] for _ in facts]
        passed: dict[Cell, np.ndarray] = {}
        nobody = np.zeros(len(facts), dtype=bool)
        waiting: list[Cell] = [(0, 0, 0, 0)]
        while waiting:
            cell = heapq.heappop(waiting)
            if cell in passed:
                continue
            below = [passed.get((*cell[:k], cell[k] - 1, *cell[k + 1 :]), nobody) for k in range(4) if cell[k]]
            alive = np.logical_and.reduce([~nobody, *below])
            passed[cell] = good = self.passing(cell, facts, alive) if max(cell) <= MAX_AXIS else nobody
            for i in np.flatnonzero(alive & ~good).tolist():
                points[i].append(cell)
            for k in (k for k in range(4) if good.any() and cell[k] < ends[k]):
                heapq.heappush(waiting, (*cell[:k], cell[k] + 1, *cell[k + 1 :]))
        return [tuple(points[i]) for i in which.reshape(-1).tolist()]

    def passing(self, cell: Cell, facts: np.ndarray, asked: np.ndarray) -> np.ndarray:
        """Which of the vote pairs in `asked` certify the budget: those with L(p_A) + L(1 − p_B) > 1."""
        total, regions = self.regions(cell)
        clean, perturbed = ([0, *accumulate(region[i] << PRECISION for region in regions)] for i in (0, 1))

        def least_mass(p: int) -> int:
            """L(p / ONE), the smallest perturbed mass of a set of clean mass p, over total · ONE, rounded down."""
            i = min(bisect_right(clean, p * total), len(regions)) - 1
            return perturbed[i] + (p * total - clean[i]) * regions[i][1] // regions[i][0]

        def passes(i: int) -> bool:
            label, against = (self.tail.lower_bound(votes) for votes in facts[i].tolist())
            return least_mass(label) + least_mass(max(label, against)) > total << PRECISION

        chosen = np.flatnonzero(asked).tolist()
        # The binary rule is monotone in the votes, so bisection finds the first that passes.
        good = chosen[bisect_right(chosen, False, key=passes) :] if self.binary else [i for i in chosen if passes(i)]
        return np.isin(np.arange(len(facts)), good)

    def regions(self, cell: Cell) -> tuple[int, list[tuple[int, int]]]:
        """Likelihood-ratio regions: (clean, perturbed) masses over a common total, by falling ratio, clean mass > 0."""
        total, joint = 1, [(1, 1)]
        for first in (0, 2):
            (add, rem), (additions, deletions) = self.theta[first : first + 2], cell[first : first + 2]
            if not self.free[first] and additions + deletions:
                scale = math.lcm(add.denominator, rem.denominator)
                a, d = int(add * scale), int(rem * scale)
                # Regions are indexed by the number of changed bits that agree with the clean graph.
                clean = np.convolve(_binomial(additions, scale - a, scale), _binomial(deletions, scale - d, scale))
                perturbed = np.convolve(_binomial(additions, d, scale), _binomial(deletions, a, scale))
                total *= scale ** (additions + deletions)
                joint = [(c * e, p * q) for c, p in joint for e, q in zip(clean, perturbed) if e]
        by_ratio: Any = cmp_to_key(lambda s, t: t[0] * s[1] - s[0] * t[1])
        return total, sorted(joint, key=by_ratio)


def _binomial(count: int, mass: int, scale: int) -> np.ndarray:
    """scale**count · P[Bin(count, mass / scale) = i] for every i, as Python integers."""
    masses = (math.comb(count, i) * mass**i * (scale - mass) ** (count - i) for i in range(count + 1))
    return np.array(list(masses), dtype=object)


class BinomialTail:
    """An upper bound on the binomial tail P[Bin(n, p) ≥ x], to be compared with a level."""

    def __init__(self, trials: int, level: Fraction) -> None:
        self.n, self.level, self.z = trials, level, NormalDist().inv_cdf(float(level))
        self.log_share = cache(lambda p: (Decimal(p) / ONE).ln())
        self.lower_bound = cache(self._lower_bound)

    def log_tail(self, x: int, p: int) -> tuple[float, float]:
        """An upper bound of log(tail / level), and the ratio of the tail to its first term; 0 < p < ONE, x > 0."""
        n, share = self.n, p / ONE
        with localcontext(prec=70):
            first = _log_factorial(n) - _log_factorial(x) - _log_factorial(n - x)
            first += x * self.log_share(p) + (n - x) * self.log_share(ONE - p)
            first += Decimal(self.level.denominator).ln() - Decimal(self.level.numerator).ln()
        k = np.arange(x, min(n, x + int(12 * math.sqrt(n * share * (1 - share))) + 60), dtype=np.float64)
        with np.errstate(all="ignore"):
            ratios = p / (ONE - p) * (n - k) / (k + 1)  # P[Bin = k + 1] / P[Bin = k], decreasing in k
            terms = np.cumprod(ratios)
            total = 1 + float(terms.sum())
            if x + len(k) < n:  # a geometric series bounds the omitted terms
                total += float(terms[-1] * ratios[-1] / (1 - ratios[-1])) if ratios[-1] < 1 else math.inf
        # Rounding error: at most six roundings per factor of a term, and one per term of the sum.
        slack = 8 * (len(k) + 2) * 2.0**-53 + 1e-14 * (1 + abs(float(first)))
        return float(first) + math.log(total) + slack, total

    def _lower_bound(self, x: int) -> int:
        """A p over ONE with P[Bin(n, p) ≥ x] < level, close to the largest: the Clopper–Pearson lower bound."""
        share, best = x / self.n, 0
        guess = max(share / 3, share + self.z * math.sqrt(share * (1 - share) / self.n) - 1 / self.n)
        p = int(min(guess, 0.9 + 0.1 * share) * 2**53) << PRECISION - 53
        for _ in range(100 if x else 0):
            log, total = self.log_tail(x, p)
            best = p if log < 0 else best
            if -(2.0**-40) < log < 0:
                break
            # Newton's step for log p. The slope, x · first term / tail, is decreasing: steps from below do not
            # overshoot.
            p += int(p * Fraction(math.expm1(max(-(log + 2.0**-42) * total / x, -50.0))))
        return best


@cache
def _log_factorial(n: int) -> Decimal:
    """log n! to 70 digits; from 1000 on by Stirling's series, with an error below its first omitted term, 10**-35."""
    with localcontext(prec=70):
        x, series = Decimal(n), ((12, 1), (-360, 3), (1260, 5), (-1680, 7), (1188, 9))
        if n < 1000:
            return Decimal(math.factorial(n)).ln()
        return x * x.ln() - x + (2 * PI * x).ln() / 2 + sum(1 / (c * x**power) for c, power in series)


def read_attributes(arrays: Arrays, n: int, n_attrs: int) -> dict[str, Any]:
    """The part of the attributes that the digest covers: bits, or real numbers, which certcore_check_real.py reads."""
    if {"attr_values", "attr_dense", "attr_digest"} & set(arrays):
        return dict(importlib.import_module("certcore_check_real").attributes(arrays, n, n_attrs))
    return dict(zip(("attr_indptr", "attr_indices"), arrays.csr("attr", n, n_attrs)))


class Instance:
    def __init__(self, arrays: Arrays, base_rule: str) -> None:
        self.n = n = arrays.number("n_nodes", 1, 5_000_000)
        self.n_attrs, self.directed = arrays.number("n_attrs", 0, 50_000_000), arrays.flag("directed")
        (starts, columns), attributes = arrays.csr("adj", n, n), read_attributes(arrays, n, self.n_attrs)
        self.real = attributes.keys() != {"attr_indptr", "attr_indices"}  # real-valued: no attribute is flipped
        rows = np.repeat(np.arange(n), np.diff(starts))
        symmetric = self.directed or np.array_equal(rows * n + columns, np.sort(columns * n + rows))
        need(symmetric and (rows != columns).all(), "the adjacency is not symmetric, or has a self loop")
        once = (rows < columns) | self.directed
        self.edges = list(zip(rows[once].tolist(), columns[once].tolist()))  # (receiver, sender) if directed
        self.neighbours = [columns[a:b].tolist() for a, b in pairwise(starts)]
        self.ones = np.diff(attributes.get("attr_indptr", np.zeros(n + 1, dtype=np.int64))).tolist()
        hashed: dict[str, Any] = {"n_nodes": n, "n_attrs": self.n_attrs, "directed": self.directed}
        hashed |= {"adj_indptr": starts, "adj_indices": columns} | attributes
        slots, ones, edges = n * (n - 1) // (1 if self.directed else 2), sum(self.ones), len(self.edges)
        bits = (n * self.n_attrs - ones, ones, slots - edges, edges)
        need(len({"base_grid", "votes", "ballots"} & set(arrays)) == 1, "expected one base certificate")
        if "ballots" in arrays:  # handled by certcore_check_ballots.py
            self.base: Any = importlib.import_module("certcore_check_ballots").Ballots(arrays, self.neighbours)
        elif "attr_std" in arrays:  # Gaussian noise, handled by certcore_check_real.py
            self.base = importlib.import_module("certcore_check_real").Gaussian(arrays, n, base_rule, attributes)
        else:
            self.base = Grid(arrays, n) if "base_grid" in arrays else Votes(arrays, n, base_rule, bits)
        hashed |= self.read_fields(arrays)
        self.targets = arrays.numbers("targets", 0, n - 1) if "targets" in arrays else np.arange(n)
        need(len(np.unique(self.targets)) == len(self.targets), "a target is named twice")
        digest = hashlib.sha256(b"certcore-instance-1")
        for key, value in sorted((hashed | self.base.hashed | {"targets": self.targets}).items()):
            array = np.asarray(value)
            if array.dtype.kind in "iu":
                array = array.astype("<i8")
            elif array.dtype.kind == "f":
                array = array.astype("<f8")
            elif array.dtype.kind == "U":
                array = np.frombuffer("\0".join(array.reshape(-1).tolist()).encode(), dtype=np.uint8)
            digest.update(f"{key}|{array.dtype.str}|{array.shape}|".encode() + np.ascontiguousarray(array).tobytes())
        self.digest = digest.hexdigest()

    def read_fields(self, arrays: Arrays) -> dict[str, Any]:
        """The receptive fields as stored or derived; returns the part that the digest covers."""
        self.explicit: list[list[int]] | None = None
        need("field_unit" not in arrays, UNIT_GONE)
        if "field_indptr" in arrays or "field_indices" in arrays:
            need("layers" not in arrays, "the file has both layers and explicit fields")
            need(self.base.fixed_adjacency, "explicit fields hold only while the adjacency is fixed")
            starts, columns = arrays.csr("field", self.n, self.n)
            self.explicit = [columns[a:b].tolist() for a, b in pairwise(starts)]
            hashed: dict[str, Any] = {"field_indptr": starts, "field_indices": columns}
            self.told = "fields as given in the file"
        else:
            rule = str(arrays.get("edge_field", np.array("degrees")).reshape(()))
            need(rule in ("degrees", "messages"), "edge_field is unknown")
            self.layers, self.messages = arrays.number("layers", 0, 20), rule == "messages"
            self.told = f"fields: {self.layers} layers with the edge rule {rule}"
            hashed = {"layers": self.layers, "edge_field": rule}
            self.edges_at: list[list[int]] = [[] for _ in range(self.n)]
            for e, (receiver, sender) in enumerate(self.edges):
                self.edges_at[receiver].append(e)
                if not (self.messages and self.directed):  # there the rule is about the receiving end
                    self.edges_at[sender].append(e)
        return hashed

    def field(self, target: int) -> tuple[Sites, Sites]:
        """The nodes and the edges in the receptive field of a node, sorted."""
        if self.explicit is not None:
            return tuple(self.explicit[target]), ()
        inner, reach, fresh = set[int](), {target}, {target}
        for _ in range(self.layers):  # from receiver to sender
            fresh = set[int]().union(*(self.neighbours[m] for m in fresh)) - reach
            inner, reach = reach, reach | fresh
        edges = set[int]().union(*(self.edges_at[m] for m in (inner if self.messages else reach)))
        return tuple(sorted(reach)), tuple(sorted(edges))


class Threat:
    def __init__(self, given: Any, instance: Instance) -> None:
        wanted, form = {*TYPES, "local", "sigma"}, "the threat model has other entries"
        need(isinstance(given, dict), form)
        for name in sorted(given.keys() & DROPPED.keys()):
            advice = f"are no longer supported; leave {name} out, or use certcore 0.3, which knows them"
            need(False, f"the threat model has {name}, but {DROPPED[name]} {advice}")
        need(wanted <= set(given) <= wanted | {"protected"}, form)
        n, edges = instance.n, instance.edges
        self.budgets = whole_list([given[name] for name in TYPES], 0, MAX_BUDGET, "budgets")
        self.sigma: int | None = given["sigma"]
        need(self.sigma is None or is_whole(self.sigma, 0, MAX_BUDGET), "sigma is no number")
        self.types = [k for k in range(4) if self.budgets[k]]
        self.whole_graph = self.budgets[ADJ_ADD] > 0 or instance.base.global_fields
        need(instance.explicit is None or not any(self.budgets[2:]), "explicit fields hold for attribute budgets only")
        need(not (instance.real and any(self.budgets[:2])), "attributes that are numbers cannot be flipped")
        protected = set(whole_list(given.get("protected", []), 0, n - 1, "protected", rising=True))
        need(protected or "protected" not in given, "protected: an empty list")
        self.free = [m not in protected for m in range(n)]
        self.free_edges = [self.free[i] and self.free[j] for i, j in edges]
        incident = Counter(m for edge in edges for m in edge)
        has = [instance.ones, instance.ones, *[[incident[m] for m in range(n)]] * 2]
        self.limited, self.limits = [False] * 4, [[UNLIMITED] * n for _ in TYPES]
        local = given["local"] or {"mode": "absolute", **dict.fromkeys(TYPES)}
        need(set(local) == {"mode", *TYPES} and local["mode"] in ("absolute", "relative"), "local has another form")
        for k, value in ((k, local[name]) for k, name in enumerate(TYPES) if local[name] is not None):
            self.limited[k], per_node = True, isinstance(value, list)
            values = value if per_node else [value] * n
            need(len(values) == n, "local has another length")
            if local["mode"] == "relative":  # fractions of what a node has, as text in lowest terms
                need(all(re.fullmatch(r"[0-9]{1,29}/[0-9]{1,29}", text) for text in values), "local holds no share")
                shares = [Fraction(text) for text in values]
                exact = all(f"{s.numerator}/{s.denominator}" == text for s, text in zip(shares, values))
                need(exact and max(shares) <= MAX_BUDGET, "local holds no share in lowest terms")
                self.limits[k] = [min(math.floor(share * c), UNLIMITED) for share, c in zip(shares, has[k])]
            else:
                self.limits[k] = whole_list(values, 0, UNLIMITED if per_node else MAX_BUDGET, "local")
        need(given["local"] is None or any(self.limited), "local sets no budget")
        # A base certificate may assume local budgets: a limit per type, or one for all attribute flips at a node.
        most, holds = [[min(m, b) for m in row] for row, b in zip(self.limits, self.budgets)], instance.base.local or []
        parts = most if len(holds) == 4 else [[a + d for a, d in zip(*most[:2])]]
        allowed = all(most_there < 0 or max(part) <= most_there for most_there, part in zip(holds, parts))
        need(allowed, "the base certificate holds for smaller local budgets only")
        # Capacity of each node: its local budget, at most the bits that exist there, 0 if it is protected.
        standing = Counter(m for edge, free in zip(edges, self.free_edges) if free for m in edge)
        others = (2 if instance.directed else 1) * (sum(self.free) - 1)
        exists = [[instance.n_attrs - c, c, others - standing[m], standing[m]] for m, c in enumerate(instance.ones)]
        caps = [[min(limit, here[k]) for limit, here in zip(self.limits[k], exists)] for k in range(4)]
        self.capacity = [[cap if free else 0 for cap, free in zip(row, self.free)] for row in caps]
        self.idle = not any(self.totals())  # nothing can be changed

    def totals(self) -> list[int]:
        """The most flips of each type that any admissible graph contains."""
        result = []
        for k, budget in enumerate(self.budgets):
            caps = sorted(self.capacity[k], reverse=True)
            # A flipped edge counts in the capacity of both ends; with sigma perhaps only one end is an attacker.
            total = min(sum(caps[: self.sigma]), sum(caps) // 2 if k in (ADJ_ADD, ADJ_DEL) else sum(caps))
            result.append(min(total, budget))
        return result


# The attacker's linear program: maximise worth · x subject to rows · x ≤ rhs and 0 ≤ x ≤ upper.
class Program:
    def __init__(
        self, instance: Instance, threat: Threat, targets: np.ndarray, relaxation: str, weights: list[int] | None = None
    ) -> None:
        self.instance, self.threat, self.paper = instance, threat, relaxation == "paper"
        weights = [1] * len(targets) if weights is None else weights
        self.bits = scale_bits(weights)
        self.sigma, self.deletions = threat.sigma is not None, ADJ_DEL in threat.types
        self.columns: list[list[int]] = []  # upper bound, objective coefficient, and the sum yᵀ rows so far
        self.constant = self.fixed = self.count = 0  # targets uncertified anyway, yᵀ rhs, number of rows
        # Targets with the same front points within the budgets and the same field form one group.
        members: dict[tuple[Front, Sites, Sites], int] = defaultdict(int)
        for target, front, weight in zip(targets.tolist(), instance.base.fronts(targets, threat.budgets), weights):
            if any(not any(point) for point in front):
                self.constant += weight  # uncertified without any attack
            elif front:
                nodes, edges = instance.field(target)
                at_nodes = any(k not in (ADJ_ADD, ADJ_DEL) for k in threat.types)
                members[front, nodes if at_nodes else (), edges if self.deletions else ()] += weight
        self.fronts, kinds = [front for front, *_ in members], range(len(threat.budgets))
        fields = ({ADJ_ADD: (), ADJ_DEL: edges, -1: nodes} for _, nodes, edges in members)
        self.field = [{k: field.get(k, field[-1]) for k in kinds} for field in fields]
        self._flips()
        able = {m for k, site, *_ in self.flips for m in (instance.edges[site] if k == ADJ_DEL else (site,))}
        self.attacker = {m: self.column(1) for m in sorted(able)} if self.sigma else {}
        self.points = []
        for front, field, weight in zip(self.fronts, self.field, members.values()):
            supply = [self._supply(k, field[k]) for k in kinds]
            reachable = [self.paper or all(p <= s for p, s in zip(point, supply)) for point in front]
            self.points.append([self.column(int(open_), 0 if self.paper else weight) for open_ in reachable])
        self.indicator = [self.column(1, weight) for weight in members.values()] if self.paper else []

    def column(self, upper: int, worth: int = 0) -> int:
        self.columns.append([upper, worth, 0])
        return len(self.columns) - 1

    def add(self, rhs: int, entries: Iterable[tuple[int, int]], y: int | None = None) -> None:
        """Add a row times its dual value y: the given one, or the one stored under the row's number."""
        if y is None:
            y, self.count = self.duals.get(self.count, 0), self.count + 1
        if y:
            self.fixed += y * rhs
            for column, coefficient in entries:
                self.columns[column][2] += y * coefficient

    def _flips(self) -> None:
        threat, edges = self.threat, self.instance.edges
        self.flips: list[tuple[int, int, int]] = []  # type, site, payer, in the order of the columns
        self.at: dict[int, dict[int, list[int]]] = {k: defaultdict(list) for k in threat.types}  # columns by site
        self.cap: dict[int, dict[int, int]] = {k: {} for k in threat.types}  # capacity of each site, if limited
        for k in sorted(threat.types, key=lambda k: k == ADJ_DEL):  # edges last
            inside = set[int]().union(*(field[k] for field in self.field))
            free = threat.free_edges if k == ADJ_DEL else threat.free
            sites = sorted(site for site in inside if free[site])
            if k == ADJ_DEL:
                self.cap[k] = dict.fromkeys(sites, 1)
            elif self.sigma or threat.limited[k]:
                self.cap[k] = {m: threat.capacity[k][m] for m in sites if threat.capacity[k][m]}
                sites = list(self.cap[k])
            else:
                sites = undominated(sites, [field[k] for field in self.field])
            payers = [(site, -1) for site in sites]
            if k == ADJ_DEL and self.sigma and not self.instance.directed:
                payers = [(e, edges[e][end]) for end in (0, 1) for e in sites]
            for site, payer in payers:
                budget = threat.budgets[k]
                self.at[k][site].append(self.column(min(self.cap[k].get(site, budget), budget)))
                self.flips.append((k, site, payer))

    def _supply(self, k: int, field: Sites) -> int:
        """Upper bound on the flips of a type inside a field; front points that need more get upper bound 0."""
        capacity, sigma = self.threat.capacity[k], self.threat.sigma  # with sigma, at most that many nodes contribute
        if k != ADJ_DEL:
            gives = sorted((capacity[m] for m in field), reverse=True)
            return sum(gives[:sigma])
        edges = [self.instance.edges[e] for e in field if self.threat.free_edges[e]]
        gives = [min(count, capacity[m]) for m, count in Counter(m for edge in edges for m in edge).items()]
        return min(len(edges), sum(gives) // 2, sum(sorted(gives, reverse=True)[:sigma]))

    def bound(self, given: Any, strong: int) -> Fraction:
        """The dual bound Σ y · rhs + Σ max(0, worth − yᵀ rows) · upper, exactly; `strong` is format 2, 5, or 0."""
        names = "scale_bits rows values cuts_touch cuts_index" + (" sets strong_rows strong_values" if strong else "")
        fits = isinstance(given, dict) and set(given) == set(names.split())
        need(fits and is_whole(given["scale_bits"], self.bits, self.bits), "the multipliers have another form")
        chosen = whole_list(given["rows"], 0, 2**62, "rows", rising=True)
        values = whole_list(given["values"], 1, 2**62, "values")
        self.duals = dict(zip(chosen, values))
        self._rows()
        self._cuts(given["cuts_touch"], given["cuts_index"])
        need(len(chosen) == len(values) and max(chosen, default=-1) < self.count, "rows and values do not fit")
        if strong:
            importlib.import_module("certcore_check_strong").StrongRows(self, given, strong == 5)
        charged = sum(max(0, (worth << self.bits) - price) * upper for upper, worth, price in self.columns)
        return self.constant + Fraction(self.fixed + charged, 1 << self.bits)

    def _rows(self) -> None:
        threat, edges = self.threat, self.instance.edges
        for k in threat.types:  # global budgets
            self.add(threat.budgets[k], ((j, 1) for j, flip in enumerate(self.flips) if flip[0] == k))
        if self.deletions and threat.limited[ADJ_DEL]:  # local budgets: edges at a node, whichever end pays
            standing: dict[int, list[int]] = defaultdict(list)
            for m, e in ((m, site) for site in self.at[ADJ_DEL] for m in edges[site]):
                standing[m].append(e)
            for m, here in sorted(standing.items()):
                if threat.limits[ADJ_DEL][m] < len(here):
                    self.add(threat.limits[ADJ_DEL][m], ((j, 1) for e in here for j in self.at[ADJ_DEL][e]))
        if threat.sigma is not None:
            self.add(threat.sigma, ((a, 1) for a in self.attacker.values()))
            paid: dict[tuple[int, int], list[int]] = defaultdict(list)
            for j, (k, site, payer) in enumerate(self.flips):
                if k != ADJ_DEL or payer >= 0:
                    paid[k, site if k != ADJ_DEL else payer].append(j)
            for (k, m), columns in sorted(paid.items()):  # capacity of an attacker, 0 otherwise
                most = threat.capacity[k][m] if self.paper else min(threat.capacity[k][m], threat.budgets[k])
                self.add(0, [(self.attacker[m], -most), *((j, 1) for j in columns)])
            for e, columns in self.at[ADJ_DEL].items() if self.deletions else ():
                # Directed: at least one end is an attacker. Undirected: an edge is deleted at most once, whichever end
                # pays.
                ends = [(self.attacker[m], -1) for m in edges[e]] if self.instance.directed else []
                self.add(0 if ends else 1, [*((j, 1) for j in columns), *ends])
        for k in threat.types:  # a front point needs its flips inside the field
            for front, field, points in zip(self.fronts, self.field, self.points):
                flips = [(j, -1) for site in field[k] for j in self.at[k].get(site, ())]
                needs = [(column, point[k]) for column, point in zip(points, front)]
                for part in [[entry] for entry in needs if entry[1]] if self.paper else [needs]:
                    self.add(0, part + flips)
        for g, points in enumerate(self.points):  # each group uses at most one front point
            takes = [(self.indicator[g], 1), *((j, -1) for j in points)] if self.paper else [(j, 1) for j in points]
            self.add(0 if self.paper else 1, takes)

    def _cuts(self, touch: Any, index: Any) -> None:
        families, tags = whole_list(touch, 0, 1, "cuts_touch"), whole_list(index, 0, 2**62, "cuts_index")
        allowed = not self.paper and self.sigma and self.threat.types
        need(len(families) == len(tags) and (allowed or not tags), "cuts: there can be none, or lengths differ")
        for family, tag in zip(families, tags):
            if family == 0:  # flip ≤ attacker variable of its payer; sites without a payer (−1) have no such cut
                self.add(0, [(tag, 1), (self.attacker[self.flips[tag][2]], -1)])
            else:  # a broken group needs an attacker whose flips can lie in its field
                ends = (m for e in self.field[tag][ADJ_DEL] for m in self.instance.edges[e])
                near = {*self.field[tag][ATTR_ADD], *ends} & set(self.attacker)
                self.add(0, [*((j, 1) for j in self.points[tag]), *((self.attacker[m], -1) for m in near)])


def undominated(sites: list[int], fields: list[Sites]) -> list[int]:
    """Sites that remain after dropping dominated ones; valid if no site has a cap."""
    # A site is dominated by another one that lies in all fields it lies in: an attacker may flip there instead. The
    # dominating site lies in more fields, or in the same ones and has a smaller index, so every chain of dominations
    # ends at a kept site.
    groups: dict[int, set[int]] = {site: set() for site in sites}
    members = [[site for site in field if site in groups] for field in fields]
    for g, site in ((g, site) for g, field in enumerate(members) for site in field):
        groups[site].add(g)
    kept = []
    for site in sites:
        rank, smallest = (len(groups[site]), -site), min(groups[site], key=lambda g: len(members[g]))
        better = (groups[m] for m in members[smallest] if (len(groups[m]), -m) > rank)
        if not any(groups[site] <= other for other in better):
            kept.append(site)
    return kept


def attacker(given: dict[str, Any]) -> str:
    """The threat model in words, in characters that every terminal can show."""
    told, local = [], given["local"] or {}
    for name, label in (pair for pair in zip(TYPES, LABELS) if given[pair[0]]):
        here = local.get(name)
        most = {"list": "its own limit", "str": f"{here} of what it has"}.get(type(here).__name__, here)
        told.append(f"at most {given[name]} {label}" + (f" (at each node at most {most})" if here is not None else ""))
    edges = local.get("inject", "any number of")
    told += [f"at most {given['inject']} new nodes (each with at most {edges} edges)"] if given.get("inject") else []
    told += importlib.import_module("certcore_check_real").told(given) if "attr_l2" in str(given) else []
    told += [f"control of at most {given['sigma']} nodes"] if given["sigma"] is not None else []
    told += [f"no access to {len(given['protected'])} protected nodes"] if "protected" in given else []
    return ", ".join(told)


def check(proof: dict[str, Any], instance: Instance) -> str:
    """The statement that the proof proves, in one sentence; raises an exception if the proof is not valid."""
    rest = {key: value for key, value in proof.items() if key != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    need(proof["digest"] == hashlib.sha256(text.encode("utf-8")).hexdigest(), "the digest does not match the content")
    need(proof["instance_digest"] == instance.digest, "the proof belongs to another instance")
    need(proof["base_rule"] == "binary" or hasattr(instance.base, "tail"), "a grid knows no multi-class rule")
    own, strong = getattr(instance.base, "format", None), {"certcore-proof-2": 2, "certcore-proof-5": 5}
    kind = proof.get("of", proof["format"])
    need(kind in ([own] if own else ["certcore-proof-1", *strong]), "the format is of another base")
    if "needs" in proof:
        instance.base.state(proof["needs"])
    rows, relaxation = strong.get(kind, 0), proof["relaxation"]
    need(relaxation in (("strong",) if rows else ("paper", "tight")), "the relaxation does not belong to this format")
    targets = instance.targets
    if proof["target_nodes"] is not None:
        targets = np.array(whole_list(proof["target_nodes"], 0, instance.n - 1, "targets"), dtype=np.int64)
        need(len(np.unique(targets)) == len(targets), "a target is named twice")
    count, weighted, weights = len(targets), "weights" in proof, [1] * len(targets)
    need(is_whole(proof["targets"], count, count), f"there are {count} targets, the proof speaks of another number")
    if weighted:
        weights = whole_list(proof["weights"], 1, MAX_WEIGHTS, "weights")
        need(len(weights) == count and max(weights, default=1) > 1, "weights: another number of them, or all are 1")
        count = sum(weights)
        need(count <= MAX_WEIGHTS, "weights: their sum is too large")
    threat = getattr(instance.base, "threat", Threat)(proof["threat"], instance)
    if threat.whole_graph:
        need(proof["multipliers"] is None, "multipliers are given although every field is the whole graph")
        fronts = instance.base.fronts(targets, threat.totals())
        bound = Fraction(sum(weight for front, weight in zip(fronts, weights) if front != ()))
    else:
        program = getattr(instance.base, "program", Program)
        bound = program(instance, threat, targets, relaxation, weights).bound(proof["multipliers"], rows)
    exact = proof["bound"] == [bound.numerator, bound.denominator] and all(type(part) is int for part in proof["bound"])
    need(exact, f"the multipliers prove a bound of {float(bound):.6f}, which is not the one claimed")
    certified, most = max(0, count - bound.numerator // bound.denominator), -(-bound * 10**4 // 1) / 10**4  # rounded up
    claimed, right = (proof["kept"], [certified, count]) if weighted else ([proof["certified"]], [certified])
    exact = claimed == right and all(type(part) is int for part in claimed)
    need(exact, f"the bound certifies {certified}, not what is claimed")
    fields = "fields: the whole graph" if threat.whole_graph else instance.told
    left = f"a weight of at most {most:.4f} is" if weighted else f"at most {most:.4f} are"
    rests = f"({left} left uncertified); {fields}; base certificate: {instance.base.told}"
    if threat.idle:
        whose = f" weight on {len(targets)} target labels has" if weighted else " have"
        return f"no attack, so no guarantee against anybody: {certified} of {count}{whose} a certificate {rests}"
    whose = f"weight stays on {len(targets)} target labels" if weighted else "target labels stay"
    return f"at least {certified} of {count} {whose}, attacker: {attacker(proof['threat'])} {rests}"


def main() -> int:
    given, code = sys.argv[1:], 2
    if len(given) != 2:
        print("usage: certcore-check PROOF INSTANCE (exit 0: accepted, 1: rejected, 2: unreadable)", file=sys.stderr)
        return 0 if given in (["-h"], ["--help"]) else 2
    try:
        proof = read_proof(given[0])
        instance, code = Instance(Arrays.read(given[1]), proof["base_rule"]), 1
        print("accepted:", check(proof, instance))
        return 0
    except Exception as reason:  # broken files fail in many ways
        word, stream = ("rejected", sys.stdout) if code == 1 else ("unreadable", sys.stderr)
        print(f"{word}: {reason or type(reason).__name__}", file=stream)
        return code


if __name__ == "__main__":
    sys.exit(main())
