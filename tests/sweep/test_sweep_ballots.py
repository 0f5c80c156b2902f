"""Curves and maps against ballots are those of single certificates, along every axis and over pairs of them."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import certcore as cc
from certcore import ThreatModel
from certcore.sweep import curve, surface
from certcore.verify import verify_proof
from tests.pages.toys import ballots_instance

BUNDLES = Path(__file__).resolve().parents[2] / "precomputed"
VALUES = [0, 1, 2, 5, 8]
INSTANCE = ballots_instance()


@pytest.mark.parametrize("vary", ["adj_add", "adj_del", "attr_del", "inject", "local_inject", "sigma"])
@pytest.mark.parametrize("rest", [{}, {"adj_del": 2}, {"attr_add": 2}, {"inject": 2}, {"attr_add": 3, "sigma": 2}])
def test_curves_are_those_of_single_certificates(vary: str, rest: dict[str, int]) -> None:
    threat = ThreatModel(inject_edges=2).replace(**rest)
    if vary in rest or (vary == "sigma" and not any(threat.budgets)) or (vary == "sigma" and threat.adj_del):
        threat = threat.replace(**{"attr_add": 2, "adj_del": 0, vary: 0})
    if threat.sigma is not None and vary in ("adj_add", "adj_del"):
        threat = threat.replace(inject=0)
    line = curve(INSTANCE, threat, vary=vary, values=VALUES)
    alone = [cc.certify(INSTANCE, threat.replace(**{vary: value})).certified for value in VALUES]
    assert line.certified.tolist() == alone


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ("adj_add", "adj_del"),
        ("inject", "adj_del"),
        ("inject", "inject_edges"),
        ("inject", "sigma"),
        ("attr_add", "adj_add"),
    ],
)
def test_maps_are_those_of_single_certificates(x: str, y: str) -> None:
    threat = ThreatModel(attr_add=2 if y == "sigma" else 0)
    found = surface(INSTANCE, threat, x=x, y=y, x_values=VALUES[:4], y_values=VALUES[:3])
    for (i, a), (j, b) in itertools.product(enumerate(VALUES[:4]), enumerate(VALUES[:3])):
        one = cc.certify(INSTANCE, threat.replace(**{x: a, "local_inject" if y == "inject_edges" else y: b}))
        assert found.certified[i, j] == one.certified


def test_a_weaker_attacker_is_not_certified_less() -> None:
    """A new node joins each target once: counting its edges as if all could go to one target proved far less."""
    instance = cc.load_instance(BUNDLES / "cora-decoupled-ballots-s0.npz")
    weaker = cc.certify(instance, adj_add=17, inject=1, targets="correct", attack=False)
    stronger = cc.certify(instance, adj_add=17, inject=1, attr_add=1, targets="correct", attack=False)
    assert stronger.certified <= weaker.certified
    assert verify_proof(weaker.proof, instance).certified == weaker.certified
