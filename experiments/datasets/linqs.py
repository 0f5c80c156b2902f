"""The LINQS text format: `.content` (id, 0/1 words, class) and `.cites` (two ids a line)."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from certcore.common.errors import InputError
from certcore.data.dataset import Changes, Dataset, ImportOptions, build_dataset
from experiments.datasets.texts import neighbour_pairs


def _read_content(content: str, name: str) -> tuple[list[str], np.ndarray, np.ndarray, tuple[str, ...]]:
    """Ids, 0/1 word matrix, labels and class names (in alphabetical order) of a `.content` text."""
    rows = [line.split() for line in content.splitlines() if line.strip()]
    if not rows or len(rows[0]) < 3:
        raise InputError(f"the .content of {name} is empty or has no words; expected lines `id word word … class`")
    width = len(rows[0])
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            raise InputError(
                f"line {number} of the .content of {name} has {len(row)} fields; expected {width} as in line 1"
            )
    try:
        words = np.array([row[1:-1] for row in rows], dtype=np.float64)
    except ValueError as error:
        raise InputError(f"a word of the .content of {name} is no number ({error}); expected 0 or 1") from error
    class_names = tuple(sorted({row[-1] for row in rows}))
    labels = np.array([class_names.index(row[-1]) for row in rows])
    return [row[0] for row in rows], words, labels, class_names


def read_linqs(
    name: str,
    content: str,
    cites: str | None = None,
    *,
    source: dict[str, Any] | None = None,
    **options: Unpack[ImportOptions],
) -> Dataset:
    """A dataset from its texts; without `cites`, each node is linked to its three nearest neighbours by words."""
    ids, words, labels, class_names = _read_content(content, name)
    if len(set(ids)) != len(ids):
        raise InputError(f"the .content of {name} names a node twice; expected every id once")
    if cites is None:
        return build_dataset(
            name, neighbour_pairs(words != 0), words, labels, class_names, both_ways=True, node_names=tuple(ids),
            source=source, **options,
        )  # fmt: skip
    position = {node: i for i, node in enumerate(ids)}
    pairs = [line.split() for line in cites.splitlines() if line.strip()]
    if any(len(pair) != 2 for pair in pairs):
        raise InputError(f"a line of the .cites of {name} has not two ids; expected `cited citing`")
    known = [(position[a], position[b]) for a, b in pairs if a in position and b in position]
    changes = Changes(name, options)
    if len(known) < len(pairs):
        # The published files contain citations of papers outside the corpus.
        changes.allow("simplify", f"{len(pairs) - len(known):,} citations of unknown nodes", "they are left out")
    edges = np.array(known, dtype=np.int64).reshape(-1, 2)
    return build_dataset(changes, edges, words, labels, class_names, node_names=tuple(ids), source=source)
