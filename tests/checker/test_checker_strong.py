"""Format 2 under attack: rows on sets, written by hand at random, against the enumeration of all perturbations."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import certcore_check as small
import certcore_check_strong as strong
import numpy as np
import pytest

from certcore import verify_proof
from tests.checker.cases import as_seen, forged, signed
from tests.checker.recorded import Recorded, optimum, recorded
from tests.oracle.plain import Case, random_case, truth

SCALE = 2**small.SCALE_BITS


def local_case(rng: np.random.Generator) -> Case:
    """A random case whose fields are local, with something to flip."""
    while True:
        case = random_case(rng)
        if not case.whole_graph and any(case.budget.values()):
            return case


def sharp_case(rng: np.random.Generator) -> Case:
    """More nodes and thresholds than budget: where the relaxation is far from the truth and rows on sets help."""
    n, types = int(rng.integers(5, 8)), [["attr_del"], ["attr_add", "attr_del"], ["adj_del"]][int(rng.integers(3))]
    edges = [(i, j) for i in range(n) for j in range(i + 1, n) if rng.random() < 0.35][:9]
    sides = [5] if len(types) == 1 else [4, 4]
    limit = rng.integers(1, 4, n) if len(types) == 1 else rng.integers(1, 5, n)
    grid = np.add.outer(-limit, np.indices(sides).sum(axis=0)) < 0
    capped = bool(rng.random() < 0.4)
    return Case(
        n=n, directed=False, edges=edges, attributes=np.tile([1, 1, 0, 0], (n, 1)), layers=1, rule="messages",
        explicit=None, axes=tuple(types), grid=grid, targets=list(range(n)),
        budget=dict.fromkeys(("attr_add", "attr_del", "adj_add", "adj_del"), 0)
        | {name: int(rng.integers(2, 4)) // len(types) + 1 for name in types},
        mode="absolute", local={types[-1]: 1} if capped else {}, sigma=None, protected=[], global_fields=False,
    )  # fmt: skip


def program_of(case: Case) -> tuple[dict[str, Any], small.Instance, Recorded]:
    instance, threat = case.build()
    seen = as_seen(instance)
    described = json.loads(json.dumps(threat.to_json()))
    return described, seen, recorded(seen, described, case.targets, "strong")


class Hand:
    """Writes sets and tags at random, within the conditions of the format."""

    def __init__(self, rng: np.random.Generator, program: Recorded) -> None:
        self.rng, self.program, self.threat = rng, program, program.threat
        self.most = {}
        for k in self.threat.types:
            self.most[k] = self.threat.budgets[k] if any(flip[0] == k for flip in program.flips) else 0
        self.usable = [k for k in self.threat.types if self.most[k] and program.at[k]]
        self.sets = [self._set() for _ in range(int(rng.integers(1, 9)))] if self.usable else []

    def pick(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def some(self, items: Any) -> list[Any]:
        items = list(items)
        chosen = [item for item in items if self.rng.random() < 0.5]
        return chosen or ([items[self.pick(0, len(items) - 1)]] if items else [])

    def fits(self, k: int, sites: list[int]) -> int:
        return min(self.most[k], sum(self.program.cap[k].get(site, 10**9) for site in sites))

    def _set(self) -> list[Any]:
        k = self.usable[self.pick(0, len(self.usable) - 1)]
        sites = sorted(self.some(self.program.at[k]))
        if self.program.field and self.rng.random() < 0.5:  # a field is a set that helps
            field = self.program.field[self.pick(0, len(self.program.field) - 1)][k]
            sites = [site for site in field if site in self.program.at[k]] or sites
        return [k, sites, self.pick(1, self.fits(k, sites))]

    def tag(self) -> list[Any] | None:
        """A tag that fits, or None where the dice ask for one that cannot be."""
        groups = len(self.program.points)
        if not self.sets or not groups:
            return None
        u, g = self.pick(0, len(self.sets) - 1), self.pick(0, groups - 1)
        k, _, last = self.sets[u]
        q = self.pick(1, self.most[k])
        match str(self.rng.choice(["monotone", "least", "most", "in", "conflict", "cover", "shift", "paid"])):
            case "monotone" if last > 1:
                return ["monotone", u, self.pick(1, last - 1)]
            case "least" | "most" as name:
                return [name, u]
            case "in":
                return ["in", u, g, q, self.pick(1, q)]
            case "conflict" if self.most[k] - q < last:
                return ["conflict", u, g, q, self.pick(self.most[k] - q + 1, last)]
            case "cover":
                return self._cover(k, g)
            case "shift":
                return self._shift(g)
            case "paid":
                return self._paid(k, g)
        return None

    def _cover(self, k: int, g: int) -> list[Any] | None:
        blocks: list[Any] = []
        taken = 0
        if self.program.cap[k]:
            for site in self.some(self.program.at[k])[:2]:
                blocks.append([[site]])
                taken += self.program.cap[k][site]
        if k == 3 and self.threat.limited[3] and self.rng.random() < 0.7:
            node = self.pick(0, self.program.instance.n - 1)
            star = [e for e in self.program.at[3] if node in self.program.instance.edges[e]]
            if star:
                blocks.append([node, sorted(self.some(star))])
                taken += self.threat.limits[3][node]
        if taken >= self.most[k]:
            blocks, taken = [], 0
        return ["cover", k, g, self.pick(taken + 1, self.most[k]), blocks]

    def _shift(self, g: int) -> list[Any] | None:
        points = self.program.fronts[g]
        chosen = sorted(self.some(range(len(points))))
        w = [self.pick(0, 3) if k in self.threat.types else 0 for k in range(4)]
        shifts = [[u, self.pick(0, 2)] for u in self.some(range(len(self.sets))) if w[self.sets[u][0]]]
        conceded = [sum(kappa for u, kappa in shifts if self.sets[u][0] == k) for k in range(4)]
        mass = min(sum(w[k] * max(points[i][k] - conceded[k], 0) for k in range(4)) for i in chosen)
        return ["shift", g, chosen, shifts, w] if mass else None

    def _paid(self, k: int, g: int) -> list[Any] | None:
        pays: dict[int, int] = {}
        for j in (j for site in self.program.field[g][k] for j in self.program.at[k].get(site, ())):
            _, site, payer = self.program.flips[j]
            who = payer if k == small.ADJ_DEL else site
            pays[who] = pays.get(who, 0) + self.program.columns[j][0]
        if not self.program.sigma or not pays or -1 in pays:
            return None
        part = {m: self.pick(0, 3) for m in sorted(pays)}
        spared, counted = ([m for m in part if part[m] == which] for which in (0, 1))
        taken = sum(min(pays[m], self.threat.capacity[k][m], self.most[k]) for m in spared)
        return ["paid", k, g, self.pick(taken + 1, self.most[k]), spared, counted] if taken < self.most[k] else None

    def tags(self, count: int) -> list[list[Any]]:
        return [tag for tag in (self.tag() for _ in range(count)) if tag is not None]


def perturbations(program: Recorded) -> list[tuple[int, ...]]:
    """All whole numbers of flips within the caps, the global and local budgets, and one payer per edge."""
    threat, flips = program.threat, program.flips
    capacity = [program.columns[j][0] for j in range(len(flips))]
    found = []
    for amounts in itertools.product(*(range(top + 1) for top in capacity)):
        spent, at_node, at_edge = [0] * 4, [0] * program.instance.n, [0] * len(program.instance.edges)
        for amount, (k, site, _) in zip(amounts, flips):
            spent[k] += amount
            if k == small.ADJ_DEL:
                at_edge[site] += amount
                for m in program.instance.edges[site]:
                    at_node[m] += amount
        within = all(s <= b for s, b in zip(spent, threat.budgets)) and max(at_edge, default=0) <= 1
        if within and all(a <= limit for a, limit in zip(at_node, threat.limits[small.ADJ_DEL])):
            found.append(amounts)
    return found


def holds(program: Recorded, sets: list[Any], levels: list[list[int]], row: Any, amounts: tuple[int, ...]) -> bool:
    """Whether a row holds for one perturbation, whatever reached point each group takes."""
    rhs, entries = row
    value = sum(entries.get(j, 0) * amount for j, amount in enumerate(amounts))
    used = [flip for amount, flip in zip(amounts, program.flips) if amount]
    paying = {payer if k == small.ADJ_DEL else site for k, site, payer in used} if program.sigma else set()
    value += sum(entries.get(program.attacker[m], 0) for m in paying - {-1})  # those who pay are attackers
    for (k, sites, _), columns in zip(sets, levels):
        inside = sum(a for a, (kind, site, *_) in zip(amounts, program.flips) if kind == k and site in sites)
        value += sum(entries.get(column, 0) for t, column in enumerate(columns, 1) if inside >= t)
    for front, field, points in zip(program.fronts, program.field, program.points):
        given = [sum(a for a, f in zip(amounts, program.flips) if f[0] == k and f[1] in field[k]) for k in range(4)]
        reached = [entries.get(j, 0) for j, p in zip(points, front) if all(x >= y for x, y in zip(given, p))]
        value += max(0, *reached) if reached else 0
    return bool(value <= rhs)


def every_row_holds(seed: int, spoil: Any = None) -> tuple[int, int]:
    """Rows checked against all perturbations of one random case: how many (row, perturbation), how many fail."""
    rng = np.random.default_rng(seed)
    _, _, program = program_of(local_case(rng))
    sizes = [program.columns[j][0] + 1 for j in range(len(program.flips))]
    hand = Hand(rng, program)
    tags = hand.tags(12)
    if not tags or np.prod(sizes, dtype=float) > 3000:
        return 0, 0
    before = len(program.kept)
    given = {"sets": hand.sets, "strong_rows": tags, "strong_values": [1] * len(tags)}
    levels = strong.StrongRows(program, given, True).columns
    rows = program.kept[before:]
    if spoil is not None:
        rows = [spoil(rng, row) for row in rows]
    tried = [(row, amounts) for row in rows for amounts in perturbations(program)]
    return len(tried), sum(not holds(program, hand.sets, levels, row, amounts) for row, amounts in tried)


def test_every_row_holds_for_every_perturbation() -> None:
    tried = [every_row_holds(seed) for seed in range(150)]
    assert sum(count for count, _ in tried) > 7_000
    assert sum(wrong for _, wrong in tried) == 0


def test_a_coefficient_moved_by_one_is_caught() -> None:
    """The enumeration above can fail: it sees rows whose right-hand side or whose points are off by one."""

    def tighter(rng: np.random.Generator, row: Any) -> Any:
        return row[0] - 1, row[1]

    assert sum(every_row_holds(seed, tighter)[1] for seed in range(40)) > 100


def strong_proof(seed: int) -> tuple[Case, small.Instance, dict[str, Any] | None]:
    """A proof of format 2 with the best dual values for rows written at random; None if there is nothing to prove."""
    rng = np.random.default_rng(seed)
    case = local_case(rng) if seed % 2 else sharp_case(rng)
    described, seen, program = program_of(case)
    hand = Hand(rng, program)
    tags = hand.tags(int(rng.integers(50, 200)))
    numbered = len(program.kept)
    given: dict[str, Any] = {"sets": hand.sets, "strong_rows": tags, "strong_values": [1] * len(tags)}
    strong.StrongRows(program, given, True)
    _, marginals = optimum(program)
    y = np.rint(np.clip(marginals, 0, None) * SCALE).astype(np.int64).tolist()
    touch, index = [], []
    if program.sigma and program.threat.types:
        links = [j for j, flip in enumerate(program.flips) if flip[2] >= 0]
        touch = [0] * len(links) + [1] * len(program.points)
        index = links + list(range(len(program.points)))
    kept = [i for i in range(numbered) if y[i]]
    # Rows that do not help stay with the least dual value: they are read all the same.
    values = [max(1, y[numbered + i]) for i in range(len(tags))]
    given = {
        "scale_bits": 40, "rows": kept, "values": [y[i] for i in kept], "cuts_touch": touch, "cuts_index": index,
        "sets": hand.sets, "strong_rows": tags, "strong_values": values,
    }  # fmt: skip
    proof = {
        "format": "certcore-proof-5", "instance_digest": seen.digest, "threat": described, "targets": len(case.targets),
        "target_nodes": case.targets, "base_rule": "binary", "relaxation": "strong", "multipliers": given,
    }  # fmt: skip
    return case, seen, claimed(proof, seen)


def claimed(proof: dict[str, Any], seen: small.Instance) -> dict[str, Any] | None:
    """The proof with the very bound that its dual values prove; None if they are refused."""
    targets = np.array(proof["target_nodes"], dtype=np.int64)
    try:
        program = small.Program(seen, small.Threat(proof["threat"], seen), targets, "strong")
        bound = program.bound(proof["multipliers"], 5)
    except Exception:
        return None
    certified = max(0, len(targets) - bound.numerator // bound.denominator)
    return signed(proof | {"bound": [bound.numerator, bound.denominator], "certified": certified})


def test_no_bound_is_below_the_truth() -> None:
    """The best dual values for random rows: what they prove is never less than what an attack does."""
    better = 0
    for seed in range(80):
        case, seen, proof = strong_proof(seed)
        assert proof is not None
        small.check(proof, seen)
        assert len(case.targets) - proof["certified"] >= truth(case)
        tight, _ = optimum(recorded(seen, proof["threat"], case.targets, "tight"))
        better += proof["bound"][0] / proof["bound"][1] < tight - 1e-3
    assert better > 3  # rows on sets do help


def test_forged_rows_prove_nothing_false() -> None:
    """Tags, sets, levels, blocks and dual values changed: what is not refused still does not claim too much."""
    refused = kept = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        case, seen, proof = strong_proof(seed)
        assert proof is not None
        most = truth(case)
        for _ in range(12):
            changed = claimed(forged(rng, proof, "multipliers"), seen)
            if changed is None:
                refused += 1
            else:
                kept += 1
                assert len(case.targets) - changed["certified"] >= most, seed
    assert min(refused, kept) > 30


def test_conditions_that_are_broken_are_refused() -> None:
    """Each condition of the format, broken once."""
    rng = np.random.default_rng(4)
    case = sharp_case(np.random.default_rng(0))
    while case.axes != ("adj_del",) or not case.local:
        case = sharp_case(rng)
    described, seen, program = program_of(case)
    site = min(program.at[3])
    good = {
        "scale_bits": 40, "rows": [], "values": [], "cuts_touch": [], "cuts_index": [], "sets": [[3, [site], 1]],
        "strong_rows": [["least", 0]], "strong_values": [1],
    }  # fmt: skip
    proof = {"threat": described, "target_nodes": case.targets, "multipliers": good}
    assert claimed(proof, seen) is not None
    most, node = described["adj_del"], seen.edges[site][0]
    far = next(m for m in range(case.n) if m not in seen.edges[site])
    wrong_sets = [
        [3, [site], 2],
        [3, [site], 0],
        [3, [], 1],
        [3, [site, site], 1],
        [0, [0], 1],
        [3, [99], 1],
        [True, [site], 1],
    ]
    wrong_rows: list[Any] = [
        ["least", 1], ["least", -1], ["least", True], ["most"], ["monotone", 0, 1], ["in", 0, 0, most + 1, 1],
        ["in", 0, 0, 1, 2], ["in", 0, 0, 1, 0], ["in", 0, 99, 1, 1], ["conflict", 0, 0, most, 2],
        ["conflict", 0, 0, 0, 1], ["conflict", 0, 0, 1, 0], ["cover", 3, 0, 1, [[[site]]]], ["cover", 0, 0, 1, []],
        ["cover", 3, 0, 0, []], ["cover", 3, 0, most + 1, []], ["cover", 3, 0, 2, [[far, [site]]]],
        ["cover", 3, 0, 2, [[site]]], ["shift", 0, [], [], [0, 0, 0, 1]], ["shift", 0, [0], [], [0, 0, 0, 0]],
        ["shift", 0, [0], [], [1, 0, 0, 0]], ["shift", 0, [0], [[0, 9]], [0, 0, 0, 1]],
        ["shift", 0, [0], [[0, 0], [0, 0]], [0, 0, 0, 1]], ["shift", 0, [0], [[0, -1]], [0, 0, 0, 1]],
        ["shift", 0, [0], [], [0, 0, 0, 1.0]], ["joint", 0], [], "least",
    ]  # fmt: skip
    for changed in [{"sets": [s]} for s in wrong_sets] + [{"strong_rows": [r]} for r in wrong_rows]:
        assert claimed(proof | {"multipliers": good | changed}, seen) is None, changed
    for row in (["cover", 3, 0, 2, [[[site]]]], ["cover", 3, 0, 2, [[node, [site]]]], ["conflict", 0, 0, most, 1]):
        assert claimed(proof | {"multipliers": good | {"strong_rows": [row]}}, seen) is not None, row


def test_rows_on_payers_need_payers_and_their_format() -> None:
    """Format 2, σ, directed edges, and who may be in which list; the engine agrees about the format."""
    tried = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        case = replace(sharp_case(rng), sigma=2)
        described, seen, program = program_of(case)
        tag = next((tag for tag in Hand(rng, program).tags(60) if tag[0] == "paid" and tag[4] and tag[5]), None)
        if tag is None:
            continue
        tried += 1
        name, k, g, q, spared, counted = tag
        given = {"sets": [], "strong_rows": [tag], "strong_values": [1]}
        strong.StrongRows(program, given, True)
        far = next((m for m in range(case.n) if m not in program.field[g][k]), case.n)
        wrong: list[Any] = [
            [name, k, g, q, spared, [*counted, spared[0]]], [name, k, g, q, spared, counted * 2],
            [name, k, g, q, spared],
            [name, k, g, 0, spared, counted], [name, k, g, 99, spared, counted], [name, k, 99, q, spared, counted],
            [name, 2, g, q, spared, counted], [name, k, g, q, sorted([*program.attacker]) * 2, []],
            [name, k, g, q, [True], counted], [name, k, g, q, spared, None], [name, k, g, 1, spared, counted],
            *([[name, k, g, q, spared, [far]]] if k != small.ADJ_DEL else []),
        ]  # fmt: skip
        for row, payers in [*((row, True) for row in wrong), (tag, False)]:
            with pytest.raises((ValueError, TypeError)):
                strong.StrongRows(program, given | {"strong_rows": [row]}, payers)
        without = recorded(seen, described | {"sigma": None}, case.targets, "strong")
        with pytest.raises(ValueError, match="no payers"):
            strong.StrongRows(without, given, True)
        if tried == 12:
            return
    raise AssertionError("hardly any rows on payers")


def test_rows_of_a_family_that_is_gone_are_refused_by_both() -> None:
    """`pack` was in the format and no search ever wrote it: a proof with such a row is refused in one sentence."""
    for seed in range(0, 40, 2):
        case, seen, proof = strong_proof(seed)
        assert proof is not None
        program = recorded(seen, proof["threat"], case.targets, "strong")
        pairs = [(g, k, site) for g, field in enumerate(program.field) for k in program.at for site in program.at[k]
                 if site not in field[k]]  # fmt: skip
        if not pairs:
            continue
        g, k, site = pairs[0]
        former = {"sets": [[k, [site], 1]], "strong_rows": [["pack", k, g, [[0, 1]]]], "strong_values": [1]}
        claim = signed(proof | {"multipliers": proof["multipliers"] | former})
        with pytest.raises(ValueError, match=r"unknown tag or another form: \['pack'"):
            small.check(claim, seen)
        verdict = verify_proof(claim, case.build()[0])
        assert not verdict.accepted
        assert "'pack' is no family of rows" in verdict.reason
        return
    raise AssertionError("no case has a site outside a field")
