"""Forgeries with a right checksum: every kind exists for every kind of instance, and the arithmetic rejects it."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

from certcore import Instance, ThreatModel, certify, load_instance, verify_proof
from certcore.verify.proof import digest_of, read_proof
from pages.files import examples
from pages.files.forgeries import CHECKS, KINDS, as_zip, forge
from tests.pages.toys import grid_instance, votes_instance


def example(name: str) -> tuple[Instance, ThreatModel]:
    if name == "votes":
        return votes_instance(), ThreatModel(attr_add=1, attr_del=4)
    if name == "edges":
        return grid_instance(("adj_del",)), ThreatModel(adj_del=3)
    if name == "local":
        return grid_instance(), ThreatModel(attr_add=1, attr_del=5, local_attr_del=1, sigma=3)
    return grid_instance(), ThreatModel(attr_del=4, targets=np.arange(5, 35))


@pytest.mark.parametrize("name", ["grid", "votes", "edges", "local"])
def test_every_forgery_is_signed_and_fails_in_the_arithmetic(name: str) -> None:
    instance, threat = example(name)
    proof = certify(instance, threat).proof
    assert proof is not None
    before = digest_of(proof)
    made = {forgery.what: forgery for forgery in forge(proof, instance)}
    assert set(made) == set(KINDS)
    assert digest_of(proof) == before, "the true proof is left as it is"
    assert verify_proof(proof, instance).accepted
    for what, forgery in made.items():
        assert forgery.signed
        assert forgery.proof["digest"] == digest_of(forgery.proof) != before
        assert forgery.proof["instance_digest"] == forgery.instance.digest
        assert not forgery.verdict.accepted
        assert forgery.verdict.check == KINDS[what][0]
        assert forgery.verdict.check in CHECKS
    assert made["edge"].instance.graph.n_edges == instance.graph.n_edges + 1


def test_an_unsigned_change_is_the_checksums_business() -> None:
    instance, threat = example("grid")
    proof = certify(instance, threat).proof
    assert proof is not None
    assert verify_proof(proof | {"certified": 40}, instance).check == "digest"
    assert verify_proof(proof, grid_instance(seed=1)).check == "instance"


def test_true_claims_are_no_forgeries() -> None:
    """Where nothing is left to break, a larger budget is no false claim; where all is certified, none can be added."""
    instance = load_instance(examples.instance())
    nothing = certify(instance, ThreatModel(attr_del=24)).proof
    assert nothing is not None
    for forgery in forge(nothing, instance):
        assert not forgery.verdict.accepted
        assert forgery.what != "budget"


def test_the_forged_files_can_be_tried_elsewhere() -> None:
    instance, threat = example("votes")
    proof = certify(instance, threat).proof
    assert proof is not None
    made = list(forge(proof, instance))
    with zipfile.ZipFile(io.BytesIO(as_zip(made, instance))) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    for forgery in made:
        own = files.get(f"forged-{forgery.what}.npz", files["instance.npz"])
        verdict = verify_proof(read_proof(files[f"forged-{forgery.what}.json"]), load_instance(own))
        assert verdict.check == forgery.verdict.check
