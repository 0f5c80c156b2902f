"""Gaussian noise for certcore_check.py, which calls this file when real-valued attributes were smoothed with it.

For each pair of votes the proof states how far the label's probability is from one half after d = 0, 1, … deleted
edges, as normal quantiles z in units of 2⁻³². This file does not compute them: it *tests* each with the normal
distribution function Φ in integer arithmetic. From them it derives for all nodes the squared distance that an attacker
needs. Lengths in the threat model become integer units of squared distance, a fifth type (4) beside the four types of
flips. Rows and dual values are those of certcore_check.py. It needs Python and numpy and shares no code with the
engine. The format is described in docs/reference/proof-files.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from certcore_check import (
    ADJ_ADD,
    ADJ_DEL,
    MAX_AXIS,
    MAX_BUDGET,
    ONE,
    PI,
    TYPES,
    UNLIMITED,
    Arrays,
    BinomialTail,
    Cell,
    Front,
    Instance,
    Program,
    Threat,
    Votes,
    decimal_text,
    is_whole,
    need,
)

MOVE = 4  # type index of attribute moves
GRID = 2**32
FINE = 2**20
BITS = 160
SCALE = 1 << BITS


class Gaussian(Votes):
    """Votes under Gaussian attribute noise, optionally with random edge deletions."""

    format = "certcore-proof-3"

    def __init__(self, arrays: Arrays, n_nodes: int, rule: str, attributes: dict[str, Any]) -> None:
        super().__init__(arrays, n_nodes, rule, (0, 0, 0, 0))
        need(not any(self.theta[:ADJ_DEL]), "beside Gaussian noise only edges may be deleted")
        self.std, self.attributes = _length(_text(arrays, "attr_std")), attributes
        need(self.std > 0 and "/" not in decimal_text(self.std), "attr_std is no decimal above 0")
        match = re.fullmatch(r"2\^(-?[0-9]{1,3})", _text(arrays, "attr_lattice"))
        need(match and abs(int(match[1])) <= 100, "attr_lattice is no power of two")
        self.units = arrays.number("units", 2**8, 2**20)
        need(self.units & (self.units - 1) == 0, "units is no power of two")
        self.hashed |= {"attr_std": decimal_text(self.std), "attr_lattice": _text(arrays, "attr_lattice")}
        self.hashed |= {"units": self.units}
        self.offsets, self.factor = [0] * n_nodes, FINE
        need(
            ("attr_offsets" in arrays) == ("attr_factor" in arrays), "attr_offsets without attr_factor, or the reverse"
        )
        need("attr_indptr" not in attributes or "attr_values" in attributes, "the attributes are bits, not numbers")
        if "attr_offsets" in arrays:  # noise after the first map: rounding offsets, squared norm bound of the map
            offsets = arrays.numbers("attr_offsets", 0, 2**40, n_nodes)
            need(offsets.ndim == 1, "attr_offsets is not flat")
            self.offsets, self.factor = offsets.tolist(), arrays.number("attr_factor", 1, 2**40)
            self.hashed |= {"attr_offsets": offsets, "attr_factor": self.factor}
        elif "attr_values" in attributes:  # on lattice points only, samples follow the stated noise
            assert match is not None
            steps = attributes["attr_values"].astype(np.float64) / 2.0 ** int(match[1])
            need(
                (steps == np.round(steps)).all() and np.abs(steps).max(initial=0) < 2**22,
                "attr_values: not on the lattice",
            )
        # A share of alpha covers the distance of the sampler to ideal noise.
        self.tail = BinomialTail(self.tail.n, self.tail.level * (1 - Fraction(1, 2**20)))
        self.pairs: dict[tuple[int, int], list[list[int]]] = {}

    threat = staticmethod(lambda given, instance: RealThreat(given, instance))
    program = staticmethod(lambda *given: Program(*given))

    def state(self, given: Any) -> None:
        """Test the stated z: P[Bin(n, p) ≥ votes] must be below the level at p = 1 − θᵈ (1 − Φ(z))."""
        need(isinstance(given, list), "needs is no list")
        self.pairs = {}
        known = {tuple(fact) for fact in self.facts.tolist()}
        most = 1 if self.theta[ADJ_DEL] in (0, 1) else MAX_AXIS + 1  # for 0 and 1 there is one z
        for mine, against, pairs in given:
            votes = (mine, against)
            need(
                type(mine) is type(against) is int and votes in known and votes not in self.pairs,
                "needs: no such votes, or twice",
            )
            need(isinstance(pairs, list) and len(pairs) <= most, "needs: no list, or too many deletions")
            stays = Fraction(1)
            for pair in pairs:
                good = (
                    isinstance(pair, list) and len(pair) == 2 and all(is_whole(z, 1 - 2**40, 2**40 - 1) for z in pair)
                )
                need(good, "needs: no pair of whole numbers")
                label, rest = pair
                # p_B ≤ 1 − p_A, so the label's votes also bound the probability of all classes but the rival.
                need(self._holds(mine, label, stays), "a need is larger than the votes allow")
                need(
                    rest == label or self._holds(against, rest, stays) or self._holds(mine, rest, stays), "a rival's is"
                )
                stays *= self.theta[ADJ_DEL]
            self.pairs[votes] = pairs

    def _holds(self, votes: int, z: int, stays: Fraction) -> bool:
        p = ONE - math.floor(stays * Fraction(SCALE - phi(z, up=True), SCALE) * ONE)
        return votes > 0 and 0 < p < ONE and self.tail.log_tail(votes, p)[0] < 0

    def needs(self, node: int) -> list[int]:
        """The squared distance that breaks a node after 0, 1, … deletions, in units, rounded down."""
        mine, against = self.facts[node].tolist()
        left = [max(a + b - self.offsets[node] * (2 * GRID // FINE), 0) for a, b in self.pairs.get((mine, against), [])]
        return [self.units * z * z * FINE // (4 * GRID * GRID * self.factor) for z in left]

    def fronts(self, nodes: np.ndarray, limits: Sequence[int]) -> list[Front]:
        """Front points (deletions, units): the label is safe strictly below. After more deletions than the proof
        states, 0 units suffice.
        """
        result: list[Front] = []
        for node in nodes.tolist():
            needs = self.needs(node) + ([0] if self.theta[ADJ_DEL] != 1 or not self.needs(node) else [])
            points: list[Cell] = []
            least = UNLIMITED
            for deletions, units in enumerate(needs):
                if units < least:
                    points.append((0, 0, 0, deletions, units))
                    least = units
            if (0, 0, 0, 0, 0) not in points:  # attribute flips and edge additions are not covered at all
                points += [tuple(int(i == k) for i in range(5)) for k in range(ADJ_DEL)]
            result.append(tuple(p for p in points if all(a <= b for a, b in zip(p, limits))))
        return result


class RealThreat(Threat):
    """The threat model with lengths in units of squared distance; every rounding is in favour of the attacker."""

    def __init__(self, given: Any, instance: Instance) -> None:
        need(given["local"] is None or (isinstance(given["local"], dict) and given["local"]), "local has another form")
        rest, local = dict(given), dict(given["local"] or {})
        length = rest.pop("attr_l2", None)
        here = local.pop("attr_l2", None)
        others = any(value is not None for key, value in local.items() if key != "mode")
        rest["local"] = local if others else None
        whole = set(local) == {"mode", *TYPES} and local["mode"] in ("absolute", "relative")
        need(not local or (whole and (others or here is not None)), "local has another form")
        super().__init__(rest, instance)
        self.base, n = instance.base, instance.n
        squares = None if here is None else self._squares(here, local["mode"], n)
        budget = 0
        if length is not None:
            need(_length(length) > 0, "attr_l2 is 0")
            budget = self._units(_length(length) ** 2)
        need(budget <= MAX_BUDGET, "attr_l2 is too large")
        self.budgets.append(budget)
        self.limited.append(squares is not None)
        caps = [UNLIMITED] * n if squares is None else [min(self._units(square), UNLIMITED) for square in squares]
        self.limits.append(caps)
        self.capacity.append([cap if free else 0 for cap, free in zip(caps, self.free)])
        self.types = [k for k in range(5) if self.budgets[k]]
        self.idle = self.idle and not (budget and self.sigma != 0 and any(self.capacity[MOVE]))
        self.whole_graph = self.budgets[ADJ_ADD] > 0

    def _units(self, square: Fraction) -> int:
        return math.ceil(self.base.units * square / self.base.std**2)

    def _squares(self, here: Any, mode: str, n: int) -> list[Fraction]:
        """Squares of all local limits, which are lengths, or fractions of the norms of the rows."""
        values = here if isinstance(here, list) else [here] * n
        need(len(values) == n, "local has another length")
        if mode == "absolute":
            return [_length(value) ** 2 for value in values]
        need(all(re.fullmatch(r"[0-9]{1,29}/[0-9]{1,29}", text) for text in values), "local holds no share")
        shares = [Fraction(text) for text in values]
        need(all(f"{s.numerator}/{s.denominator}" == t for s, t in zip(shares, values)), "local: not in lowest terms")
        starts, entries = self.base.attributes["attr_indptr"].tolist(), self.base.attributes["attr_values"].tolist()
        norms = [sum((Fraction(v) ** 2 for v in entries[a:b]), Fraction(0)) for a, b in pairwise(starts)]
        return [share**2 * norm for share, norm in zip(shares, norms)]


def phi(z: int, *, up: bool) -> int:
    """Φ(z / 2³²) times 2¹⁶⁰, rounded up (`up`) or down."""
    if z < 0:
        return SCALE - phi(-z, up=not up)
    if z >= 32 * GRID:
        return SCALE if up else SCALE - 1
    x = Fraction(z, GRID)
    # ½ + Σ x^(2j+1) / (1 · 3 · … · (2j+1)) / (√(2π) e^(x²/2)): positive terms, all rounded in the same direction.
    terms = _sum(x, x * x, lambda j: 2 * j + 1, up=up)
    power = _sum(Fraction(1), x * x / 2, lambda j: j, up=not up)
    pi = Fraction(PI) if up else Fraction(PI) + Fraction(1, 10**79)
    root = math.isqrt(math.floor(2 * pi * SCALE**2)) + (not up)
    value = Fraction(terms * SCALE**2, root * power)
    return min((SCALE >> 1) + (math.ceil(value) if up else math.floor(value)), SCALE)


def _sum(first: Fraction, ratio: Fraction, over: Any, *, up: bool) -> int:
    """first · (1 + ratio / over(1) · (1 + ratio / over(2) · …)), in units of 2⁻¹⁶⁰."""
    turned = (lambda value: -(-value.numerator // value.denominator)) if up else math.floor
    term = total = turned(first * SCALE)
    j = 0
    while term > 1 or 2 * ratio > over(j + 1):
        j += 1
        term = turned(Fraction(term * ratio.numerator, ratio.denominator * over(j)))
        total += term
    return total + term * up  # from here on every term is at most half of the previous one


def told(given: dict[str, Any]) -> list[str]:
    """The distances of the threat model in words."""
    here = (given["local"] or {}).get("attr_l2")
    own = "its own limit" if isinstance(here, list) else f"{here} of its norm" if "/" in str(here) else str(here)
    each = f" (each row by at most {own})" if here is not None else ""
    return (
        [f"changes of attributes whose squares sum to at most {given['attr_l2']}^2{each}"] if "attr_l2" in given else []
    )


def attributes(arrays: Arrays, n: int, n_attrs: int) -> dict[str, Any]:
    """The part of real-valued attributes that the digest covers: sparse, dense, or only a digest of them."""
    forms = {"attr_indptr", "attr_dense", "attr_digest"} & set(arrays)
    need(len(forms) == 1, "expected the attributes in one form")
    if "attr_digest" in arrays:
        text = str(arrays["attr_digest"].reshape(()))
        need(re.fullmatch("[0-9a-f]{64}", text) and "attr_values" not in arrays, "attr_digest is no SHA-256")
        return {"attr_digest": text}
    if "attr_dense" in arrays:
        table = arrays["attr_dense"]
        need(table.shape == (n, n_attrs) and table.dtype.kind == "f", "attr_dense has another shape or type")
        given = table.astype(np.float32)
        rows, columns = np.nonzero(given)
        values = given[rows, columns]
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    else:
        starts, columns = arrays.csr("attr", n, n_attrs)
        if "attr_values" not in arrays:
            return {"attr_indptr": starts, "attr_indices": columns}
        need(arrays["attr_values"].shape == arrays["attr_indices"].shape, "attr_values has another length")
        need(arrays["attr_values"].dtype.kind in "fiub", "attr_values holds no numbers")
        places = np.repeat(np.arange(n), np.diff(starts)) * n_attrs + arrays.numbers("attr_indices", 0, n_attrs - 1)
        values = arrays["attr_values"].astype(np.float32)[np.argsort(places, kind="stable")]
    need(np.isfinite(values).all() and (values != 0).all(), "an attribute is 0, infinite or no number")
    return {"attr_indptr": starts, "attr_indices": columns, "attr_values": values}


def _text(arrays: Arrays, key: str) -> str:
    need(arrays[key].size == 1 and arrays[key].dtype.kind == "U", f"{key} is no text")
    return str(arrays[key].reshape(()))


def _length(text: Any) -> Fraction:
    """Parse a length; only the form that the engine writes is accepted."""
    need(isinstance(text, str) and re.fullmatch(r"[0-9]{1,40}(\.[0-9]{1,30}|/[0-9]{1,40})?", text), "no length")
    value = Fraction(text)
    need(value <= 10**9 and decimal_text(value) == text, "a length is not in its shortest form, or too large")
    return value
