"""Inputs of the reference implementation give the instance they describe; pickles and half descriptions are refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import certcore as cc
from certcore.common.errors import InputError
from certcore.instance.reference import from_reference

N = 6
PATH = sp.diags_array([1, 1], offsets=[-1, 1], shape=(N, N), dtype=int)
BITS = np.ones((N, 4), dtype=int)


def grid(sides: int = 3) -> np.ndarray:
    table = np.zeros((N, sides), dtype=bool)
    table[:, :2] = True
    return table


def test_the_same_instance_by_hand() -> None:
    near = (PATH + sp.eye_array(N)) != 0
    found = from_reference(grid(), ["attr_del"], [near], BITS, PATH)
    by_hand = cc.Instance(found.graph, cc.GridBase(grid(), ("attr_del",)), layers=1, edge_field="messages")
    for budget in range(7):
        assert cc.certify(found, attr_del=budget).certified == cc.certify(by_hand, attr_del=budget).certified
    larger = from_reference(np.ones((N, 2, 2), bool), ["attr_add", "attr_del"], [sp.eye_array(N), near], BITS, PATH)
    assert larger.node_field.nnz == near.nnz, "the union of both fields"


def test_edges_need_layers() -> None:
    with pytest.raises(InputError, match="layers="):
        from_reference(grid(), ["adj_del"], [np.eye(N)], BITS, PATH)
    assert from_reference(grid(), ["adj_del"], (), BITS, PATH, layers=2).edge_field == "degrees"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"grid": grid().astype(int)}, "booleans"),
        ({"grid": "base.pkl"}, "not opened"),
        ({"grid": np.array([[object()]])}, "Python objects"),
        ({"types": ["nodes"]}, "no perturbation type"),
        ({"fields": []}, "one N × N matrix per type"),
        ({"attributes": None}, "attributes and adjacency"),
    ],
)
def test_what_is_missing_is_said(change: dict, why: str) -> None:
    given = {"grid": grid(), "types": ["attr_del"], "fields": [np.eye(N)], "attributes": BITS, "adjacency": PATH}
    with pytest.raises(InputError, match=why):
        from_reference(**(given | change))
