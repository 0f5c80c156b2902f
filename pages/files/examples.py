"""Small example files: what an instance looks like, as a grid and as votes."""

from __future__ import annotations

import io

import numpy as np

N = 12


def npz(arrays: dict[str, np.ndarray]) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def _graph_arrays() -> dict[str, np.ndarray]:
    """A ring of twelve nodes, each with two of six attributes, in two classes."""
    around = np.arange(N)
    pairs = np.concatenate([np.stack([around, (around + 1) % N]), np.stack([(around + 1) % N, around])], axis=1)
    order = np.lexsort((pairs[1], pairs[0]))
    ones = np.sort(np.stack([around % 6, (around + 2) % 6], axis=1), axis=1)
    return {
        "n_nodes": np.array(N),
        "n_attrs": np.array(6),
        "adj_indptr": np.arange(0, 2 * N + 1, 2),
        "adj_indices": pairs[1][order],
        "attr_indptr": np.arange(0, 2 * N + 1, 2),
        "attr_indices": ones.reshape(-1),
        "labels": (around >= N // 2).astype(np.int64),
        "class_names": np.array(["left", "right"]),
        "layers": np.array(2),
        "edge_field": np.array("degrees"),
        "meta": np.array('{"dataset": "ring of twelve", "model": "example"}'),
    }


def instance() -> bytes:
    """A whole instance: the base certificate is a grid over attribute additions and deletions."""
    strength = np.arange(N) % 4
    added, deleted = np.arange(3)[None, :, None], np.arange(5)[None, None, :]
    grid = 2 * added + deleted < strength[:, None, None]
    arrays = _graph_arrays() | {"base_grid": grid, "base_axes": np.array(["attr_add", "attr_del"])}
    return npz(arrays | {"prediction": (np.arange(N) >= N // 2).astype(np.int64)})


def graph() -> bytes:
    return npz(_graph_arrays())


def votes() -> bytes:
    """Votes of a smoothed model on the same graph: 10,000 samples, two classes."""
    wins = 10_000 - 150 * np.arange(N)
    label = (np.arange(N) >= N // 2).astype(np.int64)
    counts = np.zeros((N, 2), dtype=np.int64)
    counts[np.arange(N), label] = wins
    counts[np.arange(N), 1 - label] = 10_000 - wins
    return npz(
        {
            "votes": counts,
            "prediction": label,
            "n_samples": np.array(10_000),
            "alpha": np.array("0.01"),
            "theta": np.array(["0.01", "0.6", "0", "0"]),
        }
    )


#: From a model to a file: the five lines of the README.
FIVE_LINES = """import certcore as cc

instance = cc.smooth(model, data, attr_add=0.01, attr_del=0.6, samples=1_000)  # 100_000 in earnest
certificate = cc.certify(instance, attr_del=10)
print(certificate.certified, "of", certificate.targets, "labels stay; naive:", certificate.naive_certified)
cc.curve(instance, vary="attr_del", values=range(21)).plot()  # a figure; in a notebook it shows itself
cc.save_instance("mine.npz", instance)  # certcore dashboard mine.npz opens it in the browser
"""
