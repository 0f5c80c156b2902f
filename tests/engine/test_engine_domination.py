"""Dominated sites: the fast search finds what looking at every pair finds."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from certcore.program import groups
from certcore.program.groups import undominated


@pytest.mark.parametrize("at_a_time", [groups.MARKS, 1, 13])
def test_every_pair(at_a_time: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "MARKS", at_a_time)
    dropped = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        count, sites = int(rng.integers(1, 9)), int(rng.integers(1, 12))
        inside = rng.random((count, sites)) < rng.uniform(0.1, 0.9)
        allowed = (rng.random(sites) < 0.8) & inside.any(axis=0)
        size = inside.sum(axis=0)
        part = (inside[:, :, None] <= inside[:, None, :]).all(axis=0)  # column i within column j
        number = np.arange(sites)
        wins = (size[None] > size[:, None]) | (number[None] < number[:, None])
        dominated = (part & wins & allowed[None] & (number[:, None] != number[None])).any(axis=1)
        expected = allowed & ~dominated
        assert (undominated(sp.csr_array(inside.astype(np.int32)), allowed) == expected).all()
        dropped += int((allowed & dominated).sum())
    assert dropped > 400
