"""Graphs with real-valued attributes: nearest-neighbour links, and scikit-learn's digits."""

from __future__ import annotations

import gzip
from typing import Any

import numpy as np

from certcore.data.dataset import Dataset, build_dataset
from experiments.datasets.wheels import SCIKIT_LEARN, fetch_wheel, read_member

#: Rows per block in the computation of distances.
_BLOCK = 1024


def nearest_points(values: np.ndarray, count: int) -> np.ndarray:
    """Pairs of points of which one is among the `count` nearest of the other (Euclidean), each pair once."""
    points = np.asarray(values, dtype=np.float64)
    squares = (points**2).sum(axis=1)
    pairs = []
    for start in range(0, len(points), _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, len(points)))
        distances = squares[rows, None] + squares[None, :] - 2 * points[rows] @ points.T
        distances[np.arange(len(rows)), rows] = np.inf
        near = np.argsort(distances, axis=1, kind="stable")[:, : min(count, len(points) - 1)]
        pairs.append(np.stack([np.repeat(rows, near.shape[1]), near.ravel()], axis=1))
    return np.unique(np.sort(np.concatenate(pairs), axis=1), axis=0)


def built_from(count: int) -> dict[str, Any]:
    """The provenance entry of a graph that was made from its features."""
    return {"graph": f"{count} nearest neighbours by Euclidean distance, made once from the clean features"}


def digits() -> Dataset:
    """1,797 images of 8 × 8 pixels (values 0 to 1 in sixteenths) and their 5-nearest-neighbour graph."""
    table = read_member(fetch_wheel(SCIKIT_LEARN), "sklearn/datasets/data/digits.csv.gz")
    rows = np.array([line.split(",") for line in gzip.decompress(table).decode().split()], dtype=np.float64)
    pixels, labels = rows[:, :-1], rows[:, -1].astype(np.int64)
    source = {
        "wheel": SCIKIT_LEARN.filename,
        "sha256": SCIKIT_LEARN.sha256,
        "licence": "CC BY 4.0",
        "data": "Optical Recognition of Handwritten Digits, E. Alpaydin and C. Kaynak, UCI Machine Learning Repository",
    }
    return build_dataset(
        "digits", nearest_points(pixels, 5), pixels / 16, labels, tuple(map(str, range(10))), both_ways=True,
        source=source | built_from(5), keep_values=True,
    )  # fmt: skip
