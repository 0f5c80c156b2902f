"""One table of spellings in instance files and proofs: the engine and the small checker accept or refuse the same."""

from __future__ import annotations

import contextlib
import copy
import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import certcore_check as small
import numpy as np
import pytest

from certcore import Graph, GridBase, Instance, ThreatModel, certify, verify_proof
from certcore.base.gaussian import GaussianBase
from certcore.common.errors import InputError
from certcore.instance.instance import instance_from_arrays, instance_to_arrays
from tests.checker.cases import as_seen, signed

#: An entry of an instance file, its spelling, and whether it is read.
INSTANCES: list[tuple[str, Any, bool]] = [
    ("attr_std", "0.06", True), ("attr_std", "1", True), ("attr_std", ["0.06"], True),
    *(("attr_std", text, False) for text in (
        "6e-2", " .06", ".06", "0.060", "00.06", "+0.06", "-0.06", "0,06", "0.06 ", "0_1", "٠.٠٦", "０.０６",
        "1/10", "3/50", "1/3", "inf", "nan", "0", "0.0", "", "1000000001", "0." + "0" * 30 + "1",
    )),
    ("attr_std", 0.06, False), ("attr_std", 1, False), ("attr_std", ["0.06", "0.06"], False),
    ("attr_lattice", "2^-9", True), ("attr_lattice", "2^-8", True), ("attr_lattice", ["2^-9"], True),
    *(("attr_lattice", text, False) for text in ("2^-9 ", "2**-9", "2^ -9", "0.5", "2^-101", "2^-٩", "2^+1", "")),
    ("units", 4096, True), ("units", [4096], True),
    *(("units", value, False) for value in (4095, 128, 2**21, 4096.0, "4096", True, [4096, 4096])),
    ("theta", ["0", "0", "0", ".4"], True), ("theta", ["0", "0", "0", "4e-1"], True),
    ("theta", ["0", "0", "0", " 2/5"], True), ("theta", ["0", "0", "0", "٠.4"], False),
    ("theta", ["0", "0", "0.1", "0.4"], False), ("theta", ["0", "0", "0"], False),
]  # fmt: skip


@cache
def gaussian(theta: str = "0.4") -> Instance:
    pairs = np.array([[0, 1], [1, 2], [2, 3]])
    graph = Graph.from_edges(4, pairs, np.full((4, 1), 0.5), keep_values=True)
    votes = np.array([[9_000, 1_000], [9_900, 100], [9_990, 10], [9_990, 10]])
    base = GaussianBase(
        votes, np.zeros(4, int), 10_000, "0.01", ("0", "0", "0", theta), std="0.06", lattice="2^-9", units=4096
    )
    return Instance(graph, base, layers=1)


@cache
def bits() -> Instance:
    graph = Graph.from_edges(4, np.array([[0, 1], [1, 2], [2, 3]]), np.ones((4, 2), dtype=int))
    return Instance(graph, GridBase(np.ones((4, 2, 2), dtype=bool), ("attr_del", "adj_del")), layers=1)


@pytest.mark.parametrize(("key", "value", "read"), INSTANCES)
def test_both_read_the_same_instances(key: str, value: Any, read: bool) -> None:
    arrays = instance_to_arrays(gaussian()) | {key: np.array(value)}
    digests: list[str | None] = [None, None]
    with contextlib.suppress(InputError):
        digests[0] = instance_from_arrays(arrays).digest
    with contextlib.suppress(Exception):  # as the command itself: whatever goes wrong is a refusal
        digests[1] = small.Instance(small.Arrays(arrays), "binary").digest
    assert [digest is not None for digest in digests] == [read, read]
    assert digests[0] == digests[1]


def local(**parts: Any) -> dict[str, Any]:
    return {"mode": "absolute", "attr_add": None, "attr_del": None, "adj_add": None, "adj_del": None} | parts


#: Local budgets in a proof, and whether they are read: of Gaussian noise, and of bits.
NO_LOCAL: tuple[Any, ...] = (
    0, [], {}, False, "", 0.0, [0], {"mode": "absolute"}, local(), local(mode="relative"), local(inject=None),
    local(attr_l2=None), local(adj_del=[]), local(adj_del=[1, 1, 1]), local(adj_del=True), local(adj_del="1"),
    local(adj_del=1.0), local(mode="relative", adj_del=1), local(mode="relative", adj_del="2/4"),
)  # fmt: skip
LOCALS: list[tuple[Any, bool, bool]] = [
    (None, True, True), *((value, False, False) for value in NO_LOCAL),
    (local(adj_del=1), True, True), (local(adj_del=0), True, True), (local(adj_del=[1, 0, 1, 2]), True, True),
    (local(mode="relative", adj_del="1/2"), True, True), (local(mode="relative", adj_del=["1/2"] * 4), True, True),
    (local(attr_l2="0.01"), True, False), (local(attr_l2="0"), True, False), (local(attr_l2=["0.01"] * 4), True, False),
    (local(attr_l2=[]), False, False), (local(attr_l2=0), False, False), (local(attr_l2=".01"), False, False),
    (local(attr_l2="1e-2"), False, False), (local(attr_l2=0.01), False, False), (local(attr_l2="٠.01"), False, False),
    (local(mode="relative", attr_l2="1/2"), True, False), (local(mode="relative", attr_l2="0.5"), False, False),
    (local(inject=1), False, False),
]  # fmt: skip


def judged(instance: Instance, claim: dict[str, Any]) -> bool:
    """What both say of a claim, which is the same: refused as it is written, or the bound that they compute."""
    claim = signed(json.loads(json.dumps(claim)))
    verdict = verify_proof(claim, instance)
    try:
        small.check(claim, as_seen(instance))
        reason = "accepted"
    except Exception as error:  # as the command itself: whatever goes wrong is a rejection
        reason = str(error)
    computed = re.compile("the multipliers prove a bound of .*, which is not the one claimed|accepted")
    read = [computed.fullmatch(reason), computed.fullmatch(verdict.reason)]
    assert (read[0] is None) == (read[1] is None), (reason, verdict.reason)
    assert read[0] is None or reason == verdict.reason
    return read[0] is not None


@pytest.mark.parametrize(("given", "real", "plain"), LOCALS)
def test_both_read_the_same_local_budgets(given: Any, real: bool, plain: bool) -> None:
    moved, flipped = ThreatModel(attr_l2="0.05", adj_del=1), ThreatModel(adj_del=2)
    for instance, threat, read in ((gaussian(), moved, real), (bits(), flipped, plain)):
        proof = certify(instance, threat, attack=False).proof
        assert proof is not None
        assert judged(instance, proof | {"threat": proof["threat"] | {"local": given}}) is read


def entries(change: Callable[[list[Any]], Any], place: int = 0) -> Callable[[list[Any]], Any]:
    """The needs with one entry changed."""
    return lambda needs: [*needs[:place], change(needs[place]), *needs[place + 1 :]]


def pairs(change: Callable[[list[Any]], Any], place: int = 0) -> Callable[[list[Any]], Any]:
    return entries(lambda entry: [*entry[:2], change(entry[2])], place)


#: Deletion noise θ, stated needs, and whether they are read.
NEEDS: list[tuple[str, Callable[[list[Any]], Any], bool]] = [
    *((theta, lambda needs: needs, True) for theta in ("0", "0.4", "1")),
    *((theta, pairs(lambda z: z + z), False) for theta in ("0", "1")),
    ("0.4", pairs(lambda z: z + z[-1:]), False),  # larger than the votes allow
    *((theta, pairs(lambda z: []), True) for theta in ("0", "0.4", "1")),
    *((theta, pairs(lambda z: z[:1], place), True) for theta in ("0", "0.4", "1") for place in (0, 2)),
    *((theta, lambda needs: [], True) for theta in ("0", "0.4", "1")),
    ("0.4", pairs(lambda z: [[-(2**40) + 1] * 2]), True), ("0.4", pairs(lambda z: [[-5, -5]] * 1026), False),
    ("0.4", pairs(lambda z: [[-(2**40)] * 2]), False), ("0.4", pairs(lambda z: [[2**40] * 2]), False),
    ("0.4", pairs(lambda z: [[0.0, 0.0]]), False), ("0.4", pairs(lambda z: [[False, False]]), False),
    ("0.4", pairs(lambda z: [[0]]), False), ("0.4", pairs(lambda z: [0, 0]), False),
    ("0.4", pairs(lambda z: None), False), ("0.4", lambda needs: None, False), ("0.4", lambda needs: {}, False),
    ("0.4", lambda needs: [*needs, [5, 5, []]], False),  # no node has these votes
    ("0.4", lambda needs: needs + needs[:1], False),
    ("0.4", entries(lambda entry: [float(entry[0]), *entry[1:]]), False),
    ("0.4", entries(lambda entry: entry[:2]), False), ("0.4", entries(lambda entry: [*entry, 0]), False),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(NEEDS)))
def test_both_read_the_same_needs(number: int) -> None:
    theta, change, read = NEEDS[number]
    instance = gaussian(theta)
    proof = certify(instance, ThreatModel(attr_l2="0.05", adj_del=2), attack=False).proof
    assert proof is not None
    claim = proof | {"needs": change(copy.deepcopy(proof["needs"]))}
    judged(instance, claim)
    none = proof["multipliers"] | {"rows": [], "values": []}  # other needs may make another program
    assert judged(instance, claim | {"multipliers": none}) is read


def test_local_budgets_without_a_meaning_are_not_written() -> None:
    """The small checker knows no limit for new nodes or lengths where the base certificate has none."""
    found = certify(bits(), ThreatModel(adj_del=1, inject_edges=3, local_attr_l2="0.1"), attack=False)
    assert found.proof is not None
    assert found.proof["threat"]["local"] is None
    assert judged(bits(), found.proof)
