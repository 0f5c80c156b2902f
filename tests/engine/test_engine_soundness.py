"""The engine against enumeration and against the rows of the small checker, over everything a threat model can say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from certcore import Status, certify, verify_proof
from tests.checker.cases import as_seen
from tests.checker.recorded import optimum, recorded
from tests.oracle.plain import random_case, truth

#: What rounding dual values may cost, in targets.
HAIR = 2e-4


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=200)
def test_every_bound_equals_the_second_formulation(seed: int) -> None:
    """The checker's rows with every cut at once have the optimum that rounds of cuts find; nothing is below truth."""
    case = random_case(np.random.default_rng(seed))
    instance, threat = case.build()
    try:
        most = truth(case)
    except ValueError:  # too many perturbations to enumerate
        reject()
    for relaxation in ("tight", "paper"):
        certificate = certify(instance, threat, relaxation=relaxation)
        assert certificate.targets - certificate.certified >= most
        assert certificate.attack_found <= most
        assert certificate.naive_certified <= certificate.certified
        assert certificate.status is Status.OPTIMAL
        assert verify_proof(certificate.proof, instance).accepted
        if not case.whole_graph:
            most_relaxed, _ = optimum(recorded(as_seen(instance), threat.to_json(), case.targets, relaxation))
            assert most_relaxed - 1e-6 <= float(certificate.bound) <= most_relaxed + HAIR
    exact = certify(instance, threat, relaxation="exact", attack=False)
    assert exact.targets - exact.certified >= most
    assert exact.integer_claim in (None, exact.targets - most)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_huge_budgets_are_harmless(seed: int) -> None:
    """A budget of 10⁹ is as good as one that never binds, in floats as well as in exact integers."""
    case = random_case(np.random.default_rng(seed))
    instance, threat = case.build()
    plenty = threat.replace(**{name: 50 for name, amount in case.budget.items() if amount})
    huge = threat.replace(**{name: 10**9 for name, amount in case.budget.items() if amount})
    for relaxation in ("tight", "paper"):
        enough, absurd = (certify(instance, t, relaxation=relaxation, attack=False) for t in (plenty, huge))
        assert absurd.certified == enough.certified
        assert float(absurd.bound) == pytest.approx(float(enough.bound), abs=HAIR)
        assert verify_proof(absurd.proof, instance).accepted
