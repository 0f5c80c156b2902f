"""What the small checker and the engine say and read alike: the verdict on a proof, fields, and spellings of θ."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import certcore_check as small
import numpy as np
import pytest

from certcore import Graph, InputError, Instance, ThreatModel, certify, messages
from certcore.base.smoothing import SmoothingBase
from certcore.common.exact import read_probability
from certcore.domain.perturbations import LABELS, TYPES
from certcore.instance.instance import instance_from_arrays, instance_to_arrays
from certcore.messages.attacker import attacks_nothing
from pages.files import validation
from tests.checker.cases import as_seen, ballots_case, votes_case
from tests.oracle.plain import random_case


def verdicts(instance: Instance, threat: ThreatModel) -> tuple[str, str]:
    """The same proof, as `certcore verify` and as `certcore-check` put it."""
    proof = json.loads(json.dumps(certify(instance, threat, attack=False).proof))
    mine = str(messages.accepted(instance, threat, proof["certified"], proof["targets"]))
    return mine, small.check(proof, as_seen(instance, proof["base_rule"]))


def rests_on(instance: Instance, threat: ThreatModel) -> str:
    """Fields and base certificate, as both have to put them."""
    arrays = instance.base.arrays()
    if (threat.adj_add and "ballots" not in arrays) or instance.base.global_fields:
        fields = "fields: the whole graph"
    elif instance.node_field is not None:
        fields = "fields as given in the file"
    else:
        fields = f"fields: {instance.layers} layers with the edge rule {instance.edge_field}"
    if "votes" in arrays:
        sure = float(100 - 100 * Fraction(str(arrays["alpha"])))
        held = f"confidence {sure:g} % for all nodes together (Bonferroni)"
        base = f"votes by the {instance.base_rule} rule, probabilistic: {held}"
    elif "base_grid" in arrays:
        base = "a grid, as far as it holds"
    else:
        known, n = arrays.get("ballots_checked"), len(arrays["ballots"])
        how = "taken as given" if known is None else f"checked on a model on {known} of {n} rows, according to the file"
        assumed = f"provided that every ballot is made from its node's own attributes alone ({how})"
        base = f"ballots, deterministic: summed here again without sampling, {assumed}"
    return f"{fields}; base certificate: {base}"


def limits(threat: ThreatModel) -> dict[str, tuple[str, str]]:
    """What the attacker may do: in the engine's words, which leave out what changes nothing, and in the checker's."""
    found: dict[str, tuple[str, str]] = {}
    given = threat.to_json()
    for name, budget in zip(TYPES, threat.budgets):
        label, here = LABELS[name].removesuffix("s"), (given["local"] or {}).get(name)
        if budget:
            found[name] = f"{budget} {label}", f"at most {budget} {label}"
        if budget and isinstance(here, list):
            news = given["local"]["mode"] == "relative" or min(here) < budget
            found[f"{name} each"] = "up to the limit given for it" * news, "(at each node at most its own limit)"
        elif budget and isinstance(here, str):
            found[f"{name} share"] = "at any one node of at most", f"(at each node at most {here} of what it has)"
        elif budget and here is not None and name == "inject":
            found["edges of new nodes"] = f"{here} edge", f"(each with at most {here} edges)"
        elif budget and here is not None:
            told = f"no more than {here} {label}" if here < budget else ""
            found[f"{name} local"] = told, f"(at each node at most {here})"
    if threat.sigma is not None:
        found["sigma"] = (f"control of at most {threat.sigma} node",) * 2
    if "protected" in given:
        found["protected"] = (f"no access to {len(given['protected'])} protected node",) * 2
    return found


@pytest.mark.parametrize("kind", ["grid", "votes", "ballots"])
def test_both_verdicts_name_the_same_attacker_and_what_the_proof_rests_on(kind: str) -> None:
    make = {"grid": lambda rng: random_case(rng).build(), "votes": votes_case, "ballots": ballots_case}[kind]
    seen: Counter[str] = Counter()
    for seed in range(60):
        instance, threat = make(np.random.default_rng(seed))
        engine, checker = verdicts(instance, threat)
        assert checker.isascii(), "a terminal that cannot show a sign would make a rejected proof of an accepted one"
        assert checker.endswith(f"; {rests_on(instance, threat)}"), seed
        assert f"{rests_on(instance, threat)}." in engine, seed
        nothing, idle = "no attack, so no guarantee against anybody" in checker, attacks_nothing(threat, instance)
        assert nothing or (any(threat.budgets) and (threat.sigma != 0 or threat.inject))
        assert idle or not nothing, "the small checker sees fewer attackers who can change nothing, never more"
        assert (", attacker: at most " in checker) == (not nothing)
        assert ("without any attack" in engine.lower()) == idle
        for what, (mine, theirs) in {} if idle else limits(threat).items():
            # Of ballots the engine tells what nodes may show instead of attributes, and σ only where it limits them.
            if kind != "ballots" or not what.startswith(("attr", "sigma")):
                assert mine in engine, (seed, what, engine)
            assert theirs in checker, (seed, what, checker)
            seen[what] += 1
        seen["nothing"] += nothing
    assert len(seen) >= {"grid": 12, "votes": 6, "ballots": 8}[kind], seen


def test_a_proof_about_no_attack_at_a_low_confidence_says_both() -> None:
    """α = 0.99 and no budget: ten labels "stay" only in the sense that nothing happens, and only perhaps."""
    votes = np.full((10, 2), [1000, 0])
    graph = Graph.from_edges(10, np.array([[0, 1], [1, 2]]), np.ones((10, 2), dtype=np.int8))
    base = SmoothingBase(votes, np.zeros(10, dtype=int), 1000, "0.99", ("0.1", "0.4", "0", "0"), "binary", graph)
    for threat in (ThreatModel(), ThreatModel(attr_del=3, sigma=0)):
        engine, checker = verdicts(Instance(graph, base, 1), threat)
        assert checker.startswith("no attack, so no guarantee against anybody: 10 of 10 have a certificate ")
        assert engine.startswith("Without any attack: 10 of 10 labels")
        for said in (engine, checker):
            assert "confidence 1 % for all nodes together" in said
            assert " stay" not in said


def explicit_case() -> Instance:
    for seed in range(200):
        instance, _ = votes_case(np.random.default_rng(seed))
        if instance.node_field is not None and instance.graph.n_nodes > 2:
            return instance
    raise AssertionError("no case with explicit fields")


def test_layers_beside_explicit_fields_are_refused_everywhere() -> None:
    arrays = instance_to_arrays(explicit_case())
    assert validation.problems(arrays) == []
    both = arrays | {"layers": np.array(2)}
    (told,) = validation.problems(both)
    assert "both layers and explicit fields" in told
    with pytest.raises(InputError, match="both layers and explicit fields"):
        instance_from_arrays(both)
    with pytest.raises(ValueError, match="both layers and explicit fields"):
        small.Instance(small.Arrays(both), "binary")
    for key in ("field_indptr", "field_indices"):  # half a declaration beside another one is no better
        half = {name: array for name, array in both.items() if name != key}
        assert any("both layers" in problem for problem in validation.problems(half))


def test_every_guarantee_on_explicit_fields_says_whose_they_are() -> None:
    instance = explicit_case()
    given = "fields as given in the file"
    hops = replace(instance, node_field=None, layers=1)
    for threat in (ThreatModel(), ThreatModel(attr_del=1)):
        found = certify(instance, threat)
        for said in (messages.guarantee(instance, found), messages.statement(instance, found)):
            assert given in str(said)
        assert given not in str(messages.guarantee(hops, certify(hops, threat)))
        assert all(given in said for said in verdicts(instance, threat))


SPELLINGS = (
    "0.1", " 0.1", "0.1 ", "\t0.1\n", "\xa00.1", "+0.1", "-0.1", "-0", "-0.0", "1e-3", "1E-3", "+1e-3",
    "1e-03", "1e-030", "1e+0", "1.e-1", ".5", "1.", "5.", "00.1", "1/10", " 1/10", "1 /10", "1/ 10", "+1/10",
    "-0/1", "0/1", "1/0", "1/-10", "1/3", "1/10.0", "1.0/10", "1_0", "1_0e-2", "0.1_0", "1_0/100", "٠",
    "٠.١", "１/２", "１e-1", "0.1e-٣", "½", "²", "−0.1", "", "+", ".", "e-1", "0.1e", "nan", "inf", "0x1",
    "True", "0,1", "--1", "1e-30", "1e-31", "1e-99", "0e-99", "0e-999", "1024e-33", "1e0", "10e-1", "1e1",
    "2", "0." + "1" * 30, "0." + "1" * 31, "0." + "0" * 90, "1/" + "9" * 31, "1" * 90,
)  # fmt: skip
NUMBERS = (np.float64(0.1), np.float32(0.002), np.float64(-0.0), np.float64("nan"), np.float64(1e-40), np.int64(1))


def spelt(read: Any) -> Fraction | None:
    try:
        return Fraction(read())
    except (InputError, ValueError, ZeroDivisionError):
        return None


def test_both_read_the_same_spellings_of_a_probability() -> None:
    accepted = 0
    for value in (*map(np.str_, SPELLINGS), *NUMBERS):
        mine = spelt(lambda value=value: read_probability(value, "theta"))
        theirs = spelt(lambda value=value: small.Arrays(theta=np.array([value])).probabilities("theta")[0])
        assert mine == theirs, value
        accepted += mine is not None
    assert accepted > 25
    for odd in ("1_0e-2", "٠.١", "-0", "+1/10"):
        with pytest.raises(InputError, match=re.escape("expected a decimal number from 0 to 1")):
            read_probability(odd, "theta")
