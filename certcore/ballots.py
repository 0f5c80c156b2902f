"""Instances whose base certificate is ballots, from any class scores per node."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from certcore.base.ballots import UNIT, BallotsBase, whole_ballots
from certcore.common.errors import InputError
from certcore.common.reading import whole_numbers
from certcore.data.anything import as_dataset
from certcore.data.dataset import Dataset, ImportOptions, numbered_classes
from certcore.domain.edge_field import EdgeField
from certcore.domain.graph import Graph
from certcore.domain.split import chosen_nodes
from certcore.instance.instance import Instance

#: What scores are: ballots as they are, probabilities, or logits.
CONVERSIONS = ("whole", "shares", "softmax")
#: Rows of shares must sum to 1 up to this.
NEAR = 1e-3
#: `ALONE`: the largest number of rows on which a model is evaluated separately. `UNITS`: how much a ballot made from
#: floats may differ where the number of rows does, on which float kernels depend; other ballots must be equal.
ALONE, UNITS = 1000, 2
#: How many rows are replaced one at a time.
SINGLE = 24


def ballots(
    scores: Callable[[Any], Any] | object,
    data: object,
    *,
    conversion: str | None = None,
    weight: int = 1,
    weights_read_edges: bool = True,
    targets: str | Sequence[int] | np.ndarray | None = None,
    name: str = "",
    **options: Unpack[ImportOptions],
) -> Instance:
    """Give every node a ballot, sum ballots over neighbours, and return the instance to certify.

    `scores` is an array with one row per node and one column per class, or a model that is called as `model(x)` with
    the attributes alone. `conversion` says what they are: "whole", ballots from 0 to 2²⁰ as they are (integers need not
    say so); "shares", rows of probabilities, multiplied by 2²⁰ and rounded; "softmax", logits. `weight` is the factor
    of a node's own ballot in its sum; the class with the largest sum is its label. With `weights_read_edges=False` you
    declare that no edge was read when the scores were made: then graphs that were changed before training are covered
    as well. `data` is as for `smooth`.

    The certificate holds provided that every ballot is made from its node's own attributes alone. An array is taken as
    given. A model is checked and refused if a ballot differs (those from floats by more than two units of 2²⁰ where the
    number of rows differs too): when all rows are evaluated again; when a row is evaluated alone, every row or 1,000
    if there are more (500 evenly spaced ones with the first and the last, the others at random); and for every row when
    others are replaced by rows of other nodes, random bits, their complements and zeros, in halves such that each pair
    of rows is separated by one of them; when a single other row is replaced by random bits or has one bit changed (24
    rows); and when random rows are added. A module is copied before each evaluation with other rows, so values that it
    stored are not used again. The certificate is about the ballots of the first evaluation; where another one differs
    by a unit or two, no label may depend on that.
    """
    dataset, labelled = as_dataset(data, name, **options)
    checked = None
    if callable(scores):
        shown, how, apart = _of_model(scores, dataset, conversion)
        checked = min(len(shown), ALONE)
    else:
        (shown, how), apart = _whole(_array(scores), conversion), None
    if len(shown) != dataset.graph.n_nodes:
        raise InputError(
            f"the scores have {len(shown):,} rows; expected one for each of {dataset.graph.n_nodes:,} nodes"
        )
    base = BallotsBase(shown, weight, weights_read_edges, checked).for_graph(dataset.graph)
    if apart is not None:
        _need_clear_labels(base, dataset.graph, apart)
    names = dataset.class_names if labelled else ()
    meta = {"dataset": name or dataset.name, "source": dataset.source, "ballots": how}
    instance = Instance(
        graph=dataset.graph, base=base, layers=1, edge_field=EdgeField.MESSAGES,
        targets=chosen_nodes(None if isinstance(targets, str) else targets, dataset.graph.n_nodes, dataset.split),
        labels=dataset.labels if labelled else None,
        class_names=(*names, *numbered_classes(np.array([base.n_classes - 1]))[len(names) :]),
        node_names=dataset.node_names, split=dataset.split, meta=meta,
    )  # fmt: skip
    return replace(instance, targets=instance.select_targets(targets)) if isinstance(targets, str) else instance


def _array(scores: object) -> np.ndarray:
    """Scores as a numpy array; tensors are moved to the CPU."""
    for step in ("detach", "cpu", "numpy"):
        scores = getattr(scores, step)() if hasattr(scores, step) else scores
    return np.asarray(scores)


def _of_model(
    model: Callable[[Any], Any], dataset: Dataset, conversion: str | None
) -> tuple[np.ndarray, str, np.ndarray]:
    """The ballots of a model that passes the check, how they were made, and by how many units each row differed."""
    import torch

    if isinstance(model, torch.nn.Module) and any(part.training for part in model.modules()):
        raise InputError(
            "the model or a part of it is in training mode, so its answers depend on chance or on other rows; call "
            "model.eval() first"
        )
    clean = dataset.graph.attributes.toarray().astype(np.float32)
    together = _answer(_copied(model), clean)
    shown, how = _whole(together, conversion)
    most = UNITS if together.dtype.kind == "f" and conversion != "whole" else 0
    apart = np.zeros(len(shown), dtype=np.int64)
    for rows, answers, why, resized in _evaluations(model, clean, together.shape[1]):
        differ = np.abs(_whole(answers, conversion)[0] - shown[rows]).max(axis=1, initial=0)
        apart[rows] = np.maximum(apart[rows], differ)
        units = int(differ.max(initial=0))
        allowed = most if resized else 0
        if units > allowed:
            raise InputError(
                f"the model answers otherwise about the same row {why}: a ballot differs by {units:,} units of 2²⁰ and "
                f"{allowed} are allowed; give a model that reads a node's own attributes only, in double precision if "
                "it does already"
            )
    return shown, how, apart


def _evaluations(
    model: Callable[[Any], Any], clean: np.ndarray, n_classes: int
) -> Iterator[tuple[np.ndarray, np.ndarray, str, bool]]:
    """Rows, their answers in another evaluation (see `ballots`), what a difference means, and if it had other sizes."""
    n, rng = len(clean), np.random.default_rng(0)
    again = "when it is called twice, so it depends on chance or on earlier calls"
    others = "if other rows are absent, changed or added, so it reads other nodes (batch statistics, pooling, edges)"
    used = _copied(model)
    _answer(used, clean, n_classes)
    yield np.arange(n), _answer(used, clean, n_classes), again, False
    alone = np.arange(n)
    if n > ALONE:
        even = np.linspace(0, n - 1, ALONE // 2).astype(int)
        alone = np.concatenate([even, rng.permutation(np.setdiff1d(alone, even))[: ALONE - len(even)]])
    yield alone, np.concatenate([_answer(used, clean[[row]], n_classes) for row in alone]), others, True
    number = rng.permutation(n)
    for bit in range((n - 1).bit_length()):  # two different numbers differ in some bit
        drawn = rng.random(clean.shape, dtype=np.float32) < rng.random((n, 1), dtype=np.float32)
        for values in (clean[rng.permutation(n)], drawn, ~drawn, np.zeros_like(clean)):
            for side in (0, 1):
                stays = (number >> bit) % 2 == side
                answers = _answer(_copied(model), np.where(stays[:, None], clean, values), n_classes)
                yield np.flatnonzero(stays), answers[stays], others, False
    for row in rng.permutation(n)[:SINGLE]:  # as an attack on one node
        bits = np.asarray(rng.random(clean.shape[1]) < rng.random(), dtype=np.float32)
        for values in (bits, np.where(np.arange(len(bits)) == rng.integers(len(bits)), 1 - clean[row], clean[row])):
            changed = clean.copy()
            changed[row] = values
            stays = np.arange(n) != row
            yield np.flatnonzero(stays), _answer(_copied(model), changed, n_classes)[stays], others, False
    added = (rng.random(clean.shape, dtype=np.float32) < rng.random((n, 1))).astype(np.float32)
    yield np.arange(n), _answer(_copied(model), np.concatenate([clean, added]), n_classes)[:n], others, True


def _copied(model: Callable[[Any], Any]) -> Callable[[Any], Any]:
    try:
        return copy.deepcopy(model)  # functions are the same objects afterwards
    except Exception as error:
        raise InputError(
            f"the model cannot be copied ({type(error).__name__}: {error}); expected a torch module, or a function"
        ) from error


def _answer(model: Callable[[Any], Any], rows: np.ndarray, n_classes: int | None = None) -> np.ndarray:
    """The scores of a model for a copy of these rows."""
    import torch

    try:
        with torch.no_grad():
            answers = _array(model(torch.tensor(rows, dtype=torch.float32)))
    except Exception as error:
        text = " ".join(str(error).split())[:200]
        raise InputError(
            f"the model raised {type(error).__name__} for attributes of shape {rows.shape} ({text}); expected scores "
            "for any number of rows, which a model in training mode may not give: call eval() first"
        ) from error
    if answers.ndim != 2 or len(answers) != len(rows) or n_classes not in (None, answers.shape[1]):
        columns = "" if n_classes is None else f" of {n_classes}"
        raise InputError(
            f"the model answered with shape {answers.shape}; expected a row of scores{columns} for each of "
            f"{len(rows):,} nodes"
        )
    return answers


def _whole(scores: np.ndarray, conversion: str | None) -> tuple[np.ndarray, str]:
    """Ballots as integers, each row converted on its own, and a description of how they were computed."""
    if conversion not in (None, *CONVERSIONS):
        raise InputError(f"conversion is {conversion!r}; expected one of {', '.join(CONVERSIONS)}")
    if scores.ndim != 2 or scores.dtype.kind not in "iuf":
        raise InputError(
            f"the scores have shape {scores.shape} and type {scores.dtype}; expected a row of numbers for each node"
        )
    if not np.isfinite(scores).all():
        raise InputError("the scores are not all finite; expected ballots, probabilities or logits")
    if conversion is None and scores.dtype.kind == "f":
        raise InputError(
            'the scores are floating-point numbers, and what they mean is not guessed; give conversion="whole" '
            '(ballots from 0 to 2²⁰), "shares" (rows that sum to one) or "softmax" (logits)'
        )
    if conversion in (None, "whole"):
        if scores.dtype.kind == "f" and ((scores != np.rint(scores)) | (np.abs(scores) > UNIT)).any():
            raise InputError(f"the scores are not all whole; expected whole numbers from 0 to {UNIT:,}")
        given = scores.astype(np.int64) if scores.dtype.kind == "f" else scores
        given = whole_numbers(given, "the scores", 0, UNIT, shape=(None, None))
        return given, f"whole numbers from 0 to {UNIT:,}, as given"
    values = scores.astype(np.float64)
    if conversion == "softmax":
        grown = np.exp(values - values.max(axis=1, keepdims=True))
        shares = grown / grown.sum(axis=1, keepdims=True)
        return whole_ballots(shares), f"softmax of the scores, times {UNIT:,} and rounded"
    wrong = (values.min(axis=1, initial=0) < 0) | (np.abs(values.sum(axis=1) - 1) > NEAR)
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(
            f"the scores are no shares: a row sums to {values[row].sum():.4g} and its least entry is "
            f"{values[row].min(initial=0):.4g}; expected no negative entry and sums of 1 up to {NEAR}, or give "
            'conversion="softmax"'
        )
    return whole_ballots(values), f"shares as given, times {UNIT:,} and rounded"


def _need_clear_labels(base: BallotsBase, graph: Graph, apart: np.ndarray) -> None:
    """Refuse ballots of a model if a label could depend on the units by which its evaluations differ."""
    slack = 2 * (base.weight * apart + graph.adjacency.astype(np.int64) @ apart)  # up for a rival, down for the label
    ordered = np.sort(base.scores, axis=1)
    unclear = int(((slack > 0) & (ordered[:, -1:] - ordered[:, :-1] <= slack[:, None]).any(axis=1)).sum())
    if unclear:
        raise InputError(
            f"ballots of the model differ by {apart.max()} units of 2²⁰ between evaluations, and {unclear:,} labels "
            "may depend on that; give a model in double precision, or whole numbers"
        )
