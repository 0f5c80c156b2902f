"""Random certificates: every sentence says what the fields of the certificate say, and never more."""

from __future__ import annotations

import dataclasses
import re
import threading
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from certcore import Certificate, Graph, Instance, Status, ThreatModel, certify, messages
from certcore.base.ballots import UNIT, BallotsBase
from certcore.domain.perturbations import FLIPS, LABELS, TYPES
from certcore.messages import attack
from certcore.messages.attacker import rewritten
from certcore.messages.guarantee import between
from certcore.model_attack.counting import Count, count_changed
from certcore.model_attack.stored import FoundAttack
from certcore.result.attack_effects import NEVER, influence, reach
from certcore.result.partition import partition_of
from certcore.result.states import TargetState
from certcore.sweep import Session
from tests.pages.toys import grid_instance, votes_instance
from tests.support import random_instance, random_threat

VOTES, GRID = votes_instance(), grid_instance()
NO_TARGETS = "There are no targets: no label is counted, so nothing is guaranteed."
#: How the guarantee begins where it promises nothing.
OPENINGS = {
    "no targets": NO_TARGETS,
    "clean": "Without any attack: ",
    "clean, nothing": "Nothing is guaranteed, even without any attack: ",
    "nothing": "Nothing is guaranteed at these budgets: ",
}


def shown(rng: np.random.Generator) -> Instance:
    """Ballots."""
    n = int(rng.integers(3, 9))
    edges = rng.integers(0, n, size=(2 * n, 2))
    ballots = rng.integers(0, 2, (n, 2)) * UNIT
    base = BallotsBase(ballots, int(rng.integers(1, 3)), weights_read_edges=bool(rng.random() < 0.5))
    attributes = np.tile(np.array([[0, 0, 0, 0, 1, 1, 1, 1]], np.int8), (n, 1))
    graph = Graph.from_edges(n, edges[edges[:, 0] != edges[:, 1]], attributes)
    return Instance(graph=graph, base=base, layers=1, edge_field="messages")


def idle(rng: np.random.Generator, instance: Instance, threat: ThreatModel) -> ThreatModel:
    """Sometimes an attacker with budgets and nothing to spend them on, or only at some nodes."""
    n = instance.graph.n_nodes
    if rng.random() < 0.06:
        return threat.replace(protected=np.arange(n - int(rng.integers(2))))
    if rng.random() < 0.06:
        limits = [0, rng.integers(0, 2, n) * (rng.random() < 0.5)][int(rng.integers(2))]
        return threat.replace(**{f"local_{kind}": limits for kind in FLIPS}, local_mode="absolute")
    if threat.inject and rng.random() < 0.2:
        return threat.replace(inject_edges=0, attr_add=0, attr_del=0)
    return threat


def drawn(seed: int) -> tuple[Instance, Certificate]:
    """Any relaxation, status, target set, local budget, σ, protection, coverage and solver's claim."""
    rng = np.random.default_rng(seed)
    instance = VOTES if rng.random() < 0.1 else random_instance(rng)
    if rng.random() < 0.2:
        instance = shown(rng)
    meta: dict[str, Any] = {
        "dataset": str(rng.choice(["citeseer", "a*b_`c`", ""])),
        "types": str(rng.choice(["attr", "convex"])),
    }
    instance = dataclasses.replace(instance, meta=meta)
    threat = random_threat(rng, instance, additions=bool(rng.random() < 0.15))
    if rng.random() < 0.3:  # a type that the base certificate does not cover
        kind = str(rng.choice(FLIPS))
        threat = threat.replace(**{kind: int(rng.integers(1, 4))})
    if isinstance(instance.base, BallotsBase) and rng.random() < 0.5:
        new = {"inject": int(rng.integers(1, 4)), "inject_edges": int(rng.integers(1, 3))}
        threat = threat.replace(**new, adj_add=0, adj_del=0)
    if rng.random() < 0.15:
        threat = threat.replace(**dict.fromkeys(TYPES, 0))
    threat = idle(rng, instance, threat)
    if rng.random() < 0.1:
        threat = threat.replace(targets=np.zeros(0, dtype=np.int64))
    if rng.random() < 0.2:
        threat = threat.replace(
            **(dict.fromkeys((f"local_{t}" for t in TYPES), None) | {"local_attr_del": "0.29"}), local_mode="relative"
        )
    relaxation = str(rng.choice(["tight", "paper", "exact"]))
    if relaxation == "paper" and isinstance(instance.base, BallotsBase):
        relaxation = "tight"
    cancel = threading.Event()
    if rng.random() < 0.15:
        cancel.set()
        certificate = Session(instance).certify(threat, relaxation=relaxation, cancel=cancel)
    else:
        certificate = certify(instance, threat, relaxation=relaxation, attack=bool(rng.random() < 0.8), time_limit=20)
    return instance, certificate


def attackable(instance: Instance, threat: ThreatModel) -> bool:
    """Whether one flip or one new node with an edge is possible, tried one by one."""
    graph, limits = instance.graph, threat.local_limits(instance.graph)
    free = [node for node in range(graph.n_nodes) if node not in threat.protected]
    if threat.inject and threat.inject_edges != 0 and free:
        return True
    bits, links = graph.attributes.toarray(), {tuple(edge) for edge in graph.edges.tolist()}
    flips = [(k, (n,)) for n in free for k in (0, 1) if (bits[n] == k).any()]
    flips += [(3, tuple(edge)) for edge in graph.edges.tolist() if set(edge) <= set(free)]
    pairs = ((i, j) for i in free for j in free if i != j and (graph.directed or i < j))
    flips += [(2, pair) for pair in pairs if pair not in links]
    possible = (threat.budgets[k] and all(limits[k, end] for end in ends) for k, ends in flips)
    return threat.sigma != 0 and any(possible)


def head_of(instance: Instance, c: Certificate) -> str:
    """The sentence that the fields ask for, written down a second time."""
    if not c.targets:
        return "no targets"
    if not attackable(instance, c.threat):
        return "clean" if c.certified else "clean, nothing"
    if not c.certified:
        return "nothing"
    return "proven"


def head_said(text: str) -> str:
    """The sentence that was given, by its words."""
    for head, opening in OPENINGS.items():
        if text.startswith(opening):
            return head
    assert text.startswith("Whatever ")
    return "proven"


#: The headlines, written down a second time: one form, with or without the right ones among the labels.
HEADLINES = {
    "stays": r"At least [\d,]+ of [\d,]+ labels stay · [\d.]+ %",
    "right": r"At least [\d,]+ of [\d,]+ labels are right and stay · [\d.]+ %",
}
#: What the short remarks say, and the long ones.
REMARKS = {
    "this file does not cover": "The base certificate says nothing about",
    "before training are not covered": "before training is not covered",
    "before training too": "changed in this way before training",
    "mean and attention aggregation only": "edge rule messages",
}


def plainly(markdown: str) -> str:
    return re.sub(r"\\(.)", r"\1", re.sub(r"(?<!\\)(\*\*|`)", "", markdown))


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=250, deadline=None)
def test_sentences_agree_with_the_certificate(seed: int) -> None:
    instance, c = drawn(seed)
    said = messages.guarantee(instance, c)
    text = str(said)
    assert plainly(said.markdown) == text
    assert head_said(text) == head_of(instance, c)
    if c.targets:
        part, whole = re.findall(r"([\d,]+) of ([\d,]+)", text)[0]
        assert (int(part.replace(",", "")), int(whole.replace(",", ""))) == (c.certified, c.targets)
    if c.certified and c.targets:
        share = Fraction(re.findall(r"\(([\d.]+) %\)", text)[0])
        assert 0 <= Fraction(100 * c.certified, c.targets) - share < Fraction(1, 10)
    promised = bool(c.certified and c.targets)
    assert text.startswith("Whatever ") == (attackable(instance, c.threat) and promised)
    assert text.startswith("Without any attack: ") == (not attackable(instance, c.threat) and promised)
    assert ("This holds for " in text) == promised, "where nothing is promised, nothing holds"
    votes = isinstance(instance.base, BallotsBase)
    how = "summed" if votes else "(confidence " if "votes" in instance.base.arrays() else "as far as the base"
    for words in ("summed", "(confidence ", "as far as the base"):
        assert (words in text) == (words == how and promised)
    assert ("deterministic, according to the file" in text) == (
        promised and how == "as far as the base" and instance.meta["types"] == "convex"
    ), "deterministic only according to the file"
    if attackable(instance, c.threat) and c.targets:
        shown = rewritten(instance, c.threat) if promised else None
        assert (f"up to {shown} node" in text) == (shown is not None and shown > 0)
        assert (f"up to {c.threat.inject} new node" in text) == (c.threat.inject > 0)
        for kind, budget in zip(TYPES, c.threat.budgets):
            if kind == "inject" or (shown is not None and kind in ("attr_add", "attr_del")):
                continue
            told = re.search(rf"([\d,]+) {LABELS[kind].removesuffix('s')}s?( and|,| in the whole graph)", text)
            assert (told is not None) == (budget > 0)
            assert told is None or int(told[1].replace(",", "")) == budget
        # Where nothing else is limited by σ, it is how many nodes show what they like.
        told_so = promised and (shown is not None or c.threat.inject) and not any(c.threat.budgets[2:4])
        flips = c.threat.attr_add + c.threat.attr_del > 0 and shown is None
        assert ("control of" in text) == (c.threat.sigma is not None and (flips or not told_so))
        assert ("protected node" in text) == (len(c.threat.protected) > 0)

    remarks = " ".join(str(remark) for remark in messages.remarks(instance, c.threat))
    missing = [kind for kind, budget in zip(TYPES, c.threat.budgets) if budget and kind not in instance.base.axes]
    assert ("The base certificate says nothing about" in remarks) == bool(missing)
    fields = instance.edge_field == "messages" and not c.threat.adj_add and not instance.base.global_fields
    assert ("edge rule messages" in remarks) == (fields and c.threat.adj_del > 0 and not votes)
    edges = votes and c.threat.adj_add + c.threat.adj_del + c.threat.inject > 0
    blind = votes and not instance.base.facts["weights_read_edges"]
    assert ("changed in this way before training" in remarks) == (edges and blind), (
        "only weights that never read an edge"
    )
    assert ("before training is not covered" in remarks) == (edges and not blind)
    assert ("sums the ballots" in text) == (votes and c.targets > 0)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None)
def test_nothing_unverified_is_called_proven(seed: int) -> None:
    _, c = drawn(seed)
    status, limit = str(messages.status(c)), str(messages.limit_words(c))
    first = limit.split()[2]
    assert int(first.split(".")[0].replace(",", "")) == c.targets - c.certified, "what is proven comes first"
    assert limit.count("proven") == 1
    assert "claim" not in status + limit
    short, meaning = messages.bracket(c)
    low, high = short.split(" … ")
    assert int(high.replace(",", "")) == c.targets - c.certified
    assert low == ("?" if c.attack_found is None else f"{c.attack_found:,}")
    proven = c.targets - c.certified
    assert meaning == between(c.attack_found, proven)
    assert str(messages.summary(c)).startswith(f"{c.certified:,} of {c.targets:,}")


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=250, deadline=None)
def test_nothing_shorter_claims_more(seed: int) -> None:
    instance, c = drawn(seed)
    wrong = seed % 3
    asked = c.targets + wrong if wrong else None
    head = messages.short_head(c.certified, c.targets, asked)
    sub = messages.short_sub(instance, c.threat, c.certified, c.targets)
    whole = c.targets + wrong
    assert re.fullmatch(HEADLINES["stays" if asked is None else "right"], str(head)), "always the same form"
    told = [int(number.replace(",", "")) for number in re.findall(r"([\d,]+) of ([\d,]+)", str(head))[0]]
    assert told == [c.certified, whole], "the verified count, of all labels asked about"
    share = Fraction(re.findall(r"([\d.]+) %", str(head))[0])
    assert 0 <= Fraction(100 * c.certified, max(whole, 1)) - share < Fraction(1, 10)
    promised = bool(attackable(instance, c.threat) and c.certified)
    assert ("Proven" in str(sub)) == promised
    assert ("othing is" in str(sub) or "nothing is" in str(sub)) == (not promised), (
        "where nothing is promised it is said"
    )
    if "Proven" in str(sub):
        limits = messages.threat_words(c.threat, directed=instance.graph.directed).removeprefix("at most ")
        limits = limits.replace(" in the whole graph", "")
        assert limits in str(sub), "whatever restrains the attacker is told"
        assert messages.short_sure(instance) in str(sub)
        assert ("% confidence" in str(sub)) == ("votes" in instance.base.arrays() and "alpha" in instance.base.facts)

    long = " ".join(str(one) for one in messages.remarks(instance, c.threat))
    told = " ".join(str(one) for one in messages.short_remarks(instance, c.threat))
    for short_form, long_form in REMARKS.items():
        assert (short_form in told) == (long_form in long), "no remark is lost"

    before = int((c.states(instance.base.fronts()) == TargetState.BEFORE).sum())
    parts = partition_of(c, before, asked)
    assert min(dataclasses.astuple(parts)) >= 0
    assert parts.asked == whole, "the parts of the bar add up"
    assert parts.proven == c.certified
    assert parts.naive <= c.naive_certified
    if c.attack is not None:
        assert parts.lost + parts.none == c.attack_found
    said = str(messages.short_open(c, parts))
    most = c.targets - c.certified - before
    assert ("Settled" in said) == (c.attack is not None and c.attack_found == c.targets - c.certified)
    assert "Settled" in said or f"more than {most:,}." in said


@given(st.none() | st.decimals("0.0001", 1, places=4))
@settings(deadline=None)
def test_certificate_and_attack_hold_together_with_what_both_leave(alpha: Decimal | None) -> None:
    nobody: Any = np.zeros(0, dtype=np.int64)
    found = FoundAttack(None, None, Count(nobody, nobody, nobody, None, alpha and str(alpha)), nobody)
    for instance in (VOTES, GRID):
        own, said = instance.base.facts.get("alpha"), messages.jointly(instance, found)
        if own is None or not alpha:
            assert said is None, "one confidence holds by itself"
            continue
        told = Fraction(re.findall(r"([\d.]+) %", str(said))[0]) / 100
        assert told == max(0, 1 - Fraction(str(own)) - Fraction(alpha)), "by the union bound"


@given(st.decimals("0.0001", "0.9999", places=4), st.decimals("0.0001", "0.9999", places=4))
@settings(deadline=None, max_examples=30)
def test_labels_that_change_in_fact_were_the_labels_before(attack: Decimal, own: Decimal) -> None:
    """The sentence alone, as in a terminal: what it calls changed rests on the test and on the clean votes."""
    base: Any = dataclasses.replace(VOTES.base, alpha=str(own))
    instance = dataclasses.replace(VOTES, base=base)
    votes = np.zeros_like(base.votes)
    for plain in (False, True):
        count = count_changed(instance, np.arange(3), votes, str(attack), plain=plain)
        file = SimpleNamespace(samples=10_000, distance=lambda level: 0.0)
        spent = SimpleNamespace(totals=(1, 0, 0, 0), injected=np.zeros((0, 2), dtype=np.int64))
        found = FoundAttack(file, None, count, spent)  # type: ignore[arg-type]
        for said in (messages.changed_words(found), messages.short_changed(found)):
            told = re.findall(r"([\d.]+) % (?:for all|confidence)", str(said))
            assert [Fraction(one) / 100 for one in told] == ([] if plain else [max(0, 1 - Fraction(own + attack))])


def test_several_certificates_hold_together_with_what_all_leave() -> None:
    def of(alpha: str) -> Instance:
        base: Any = dataclasses.replace(VOTES.base, alpha=alpha)
        return dataclasses.replace(VOTES, base=base)

    def told(*instances: Instance) -> str:
        return "".join(re.findall(r"all (\d+) .*at least ([\d.]+ %)", str(messages.joint_confidence(instances)))[0])

    assert told(of("0.01"), of("0.002"), of("0.05")) == "393.8 %"
    assert told(of("0.01"), GRID) == "299 %", "a grid adds nothing"
    assert told(of("0.6"), of("0.7")) == "20 %", "never below nothing"
    assert messages.joint_confidence([of("0.01")]) is None
    assert messages.joint_confidence([of("0.01"), of("0.01")]) is None, "the same votes err together"
    assert messages.joint_confidence([GRID, GRID]) is None


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 40)), min_size=1, max_size=5))
def test_most_is_said_of_the_largest_proven_share_alone(counts: list[tuple[int, int]]) -> None:
    proven = {f"M{k}": (min(certified, of), of) for k, (certified, of) in enumerate(counts)}
    said = messages.short_most(proven, "10 deletions")
    shares = {one: Fraction(certified, of) if of else Fraction(0) for one, (certified, of) in proven.items()}
    best = {one for one, share in shares.items() if share == max(shares.values())}
    if not max(shares.values()):
        assert str(said) == "Nothing is proven for any of them at 10 deletions"
        return
    assert set(re.findall(r"M\d", str(said))) == best, "and of all who share it"
    assert str(said).startswith("Most is proven" if len(best) == 1 else "As much is proven")
    at_end = messages.short_most(proven, "50 deletions", below=True)
    assert set(re.findall(r"M\d", str(at_end))) == best
    assert re.findall(r"[\d.]+ %", str(at_end)) == re.findall(r"[\d.]+ %", str(said))
    told = Fraction(re.findall(r"([\d.]+) %", str(said))[0])
    assert 0 <= 100 * max(shares.values()) - told < Fraction(1, 10), "never rounded up"


@given(st.integers(0, 2**32 - 1))
@example(120000)  # new nodes are joined
@settings(max_examples=150, deadline=None)
def test_nodes_are_told_what_the_attack_does(seed: int) -> None:
    instance, c = drawn(seed)
    fronts = instance.base.fronts()
    states = c.states(fronts)
    if c.attack_found is not None:
        assert np.isin(states, [TargetState.LOST, TargetState.BEFORE]).sum() == c.attack_found
    assert (states == TargetState.NOT_A_TARGET).sum() == instance.graph.n_nodes - c.targets
    table = c.node_columns(fronts, instance.graph.edges)
    inside = np.stack([table[f"inside_{kind}"] for kind in TYPES], axis=1)
    targets = np.isin(np.arange(instance.graph.n_nodes), c.target_nodes)
    assert all(value is None for value in inside[~targets].ravel()), "nobody looked at the fields of other nodes"
    for node in range(min(instance.graph.n_nodes, 6)):
        found = influence(instance, c, node)
        assert (found is None) == (c.attack is None)
        received = None if found is None else found.received
        told = messages.state_words(instance, c, node, received)
        ballots = isinstance(instance.base, BallotsBase)
        changed = ballots and states[node] == TargetState.LOST
        opening = {
            TargetState.NOT_A_TARGET: "Not a target: ",
            TargetState.BEFORE: "Uncertified before the attack: ",
            TargetState.ALONE: "Certified on its own: ",
            TargetState.LOST: "Its label changes " if changed else "Loses its certificate ",
            TargetState.UNDECIDED: "May lose" if received is None else "Keeps its certificate in this attack; another",
        }
        assert str(told).startswith(opening[TargetState(states[node])])
        assert ("does not prove that its label changes" in str(told)) == (states[node] == TargetState.LOST) * (
            not changed
        )
        if found is None:
            continue
        spent = np.array([table[f"spent_{kind}"][node] for kind in TYPES], dtype=float)
        assert found.spent == tuple(spent)
        assert found.hit == bool(table["hit"][node])
        if targets[node]:
            assert found.received == tuple(inside[node].astype(float))
        at_nodes = np.sum([amounts for _, amounts in found.at_nodes], axis=0) if found.at_nodes else np.zeros(4)
        assert np.array_equal(at_nodes[:2], found.received[:2])
        assert len(found.at_edges) == found.received[2] + found.received[3] + found.received[TYPES.index("inject")]
        assert all(states[other] == TargetState.LOST for other in found.helps_to_break)
        lines = [str(one) for one in messages.node_words(found, str)]
        assert lines[0].startswith("Hit: " if found.hit else "Not hit: ")
        assert ("no flips at all" in lines[1]) == (not any(found.received))
        helps = [line for line in lines if line.startswith("Helps to break ")]
        assert len(helps) == found.hit
        assert any("in whose field" in line for line in helps) == bool(found.helps_to_break)
        counted = states[node] in (TargetState.LOST, TargetState.UNDECIDED, TargetState.ALONE)
        more = [line for line in lines if line.startswith(("One more flip", "A further distance"))]
        assert bool(more) == (counted and found.margin != NEVER)
        if counted:
            told_by_all = reach(instance, c)
            assert told_by_all is not None
            assert found.margin == told_by_all.margin[told_by_all.targets == node][0], "which is enumerated elsewhere"
            # Against ballots labels are computed again: one that an attack could change may stay.
            assert found.margin == 0 or states[node] != TargetState.LOST
            assert ballots or found.margin > 0 or found.margin == NEVER or states[node] == TargetState.LOST


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_above_the_map_stands_what_is_lost_what_is_proven_and_what_is_close(seed: int) -> None:
    instance, c = drawn(seed)
    found = reach(instance, c)
    if found is None:
        return
    said = messages.attack_words(found, str, c.targets - c.certified)
    states = c.states(instance.base.fronts())
    lost, before = (int((states == state).sum()) for state in (TargetState.LOST, TargetState.BEFORE))
    most = c.targets - c.certified - before
    assert lost <= most
    told = str(attack.others(lost, most))
    assert told in str(said)
    assert ("not ruled out" in told) == (lost < most)
    if lost < most:
        assert f"more than {most:,} certificate" in told
        assert f"more than {lost:,} is not ruled out" in told
    ahead = [margin for margin, state in zip(found.margin, states[found.targets]) if margin > 0]
    assert ("away from losing" in str(said)) == bool(ahead)
    if ahead:
        number = ahead.count(min(ahead))
        left = any(budget > spent for budget, spent in zip(c.threat.budgets, found.amounts.sum(axis=0)))
        near = attack.nearest(number, min(ahead), not left)
        assert str(said).endswith(str(near)), "a flip that the attack did not use is within the limits"


def test_why_the_bound_is_larger_is_told_in_true_numbers() -> None:
    fractions = 0
    for seed in range(12):
        instance = random_instance(np.random.default_rng(seed), max_nodes=8, axes=("attr_add", "attr_del"))
        c = certify(instance, ThreatModel(attr_add=2, attr_del=3))
        found, relaxed = reach(instance, c), reach(instance, c, relaxed=True)
        if found is None or relaxed is None or c.fractional is None:
            continue
        if not len(relaxed.ends):
            assert messages.why_larger(found, relaxed) == attack.relaxed_nothing()
            continue
        said = str(messages.why_larger(found, relaxed))
        before = instance.base.fronts().clean[relaxed.targets] == 0
        shares = c.fractional.attacked[~before]
        assert f"the attack takes {(c.attack_found or 0) - before.sum()}. " in said
        assert abs(float(said.split("counts ")[1].split(", ")[0]) - shares.sum()) < 0.0011
        parts = (shares > 1e-6) & (shares < 1 - 1e-6)
        assert (" in part" in said) == bool(parts.any())
        if parts.any():
            fractions += 1
            assert f"{parts.sum()} label{' counts' if parts.sum() == 1 else 's count'} in part" in said
        short = 0
        for target, share, got in zip(relaxed.targets[~before], shares, c.fractional.inside[~before]):
            front = instance.base.fronts().of_node(int(target))
            short += share > 1e-6 and not (front <= got + 1e-6).all(axis=1).any()
        assert (f"{short} of the labels that it counts received too little" in said) == bool(short)
    assert fractions > 1, "the examples have fractions"


def test_optimal_proven_is_said_only_where_nothing_is_left() -> None:
    """A search that ended by itself is not enough: an attack has to break as many targets as the bound allows."""
    rng = np.random.default_rng(4)
    instance = random_instance(rng, axes=("attr_del",))
    done = certify(instance, ThreatModel(attr_del=2), relaxation="strong", rounds=10)
    assert done.closed
    assert done.attack_found
    assert "Optimal, proven" in str(messages.status(done))
    for weaker in (
        dataclasses.replace(done, attack=None),
        dataclasses.replace(done, bound=done.bound + 1, certified=done.certified - 1),
    ):
        assert weaker.status is Status.OPTIMAL
        assert not weaker.closed
        assert "ptimal, proven" not in str(messages.status(weaker))
