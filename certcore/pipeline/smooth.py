"""From a trained torch network and a graph to an instance: noise by name, votes, field, everything checked."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from certcore import __version__
from certcore.base.smoothing import SmoothingBase
from certcore.common.errors import InputError
from certcore.common.exact import Probability
from certcore.common.reading import whole_number
from certcore.data.anything import as_dataset
from certcore.data.dataset import Asked, Dataset, numbered_classes
from certcore.data.split import TEST
from certcore.domain.noise import Noise
from certcore.domain.perturbations import FLIPS
from certcore.instance.instance import Instance
from certcore.models.registry import require_training_packages
from certcore.pipeline.check_field import FieldCheck, declared_field, falsify
from certcore.votes.run import Voter, Votes, collect_votes
from certcore.votes.threads import one_thread

if TYPE_CHECKING:
    from certcore.models.called import Called

#: The short form of the check of the field: nodes looked at, and graphs.
_NODES, _GRAPHS = 8, 2


def smooth(
    model: Callable[..., Any],
    data: object,
    *,
    attr_add: Probability = 0,
    attr_del: Probability = 0,
    adj_add: Probability = 0,
    adj_del: Probability = 0,
    samples: int = 100_000,
    selection: int = 1_000,
    alpha: Probability = 0.01,
    base_rule: str = "binary",
    seed: int = 0,
    layers: int | None = None,
    edge_field: str | None = None,
    check: bool = True,
    targets: str | Sequence[int] | np.ndarray | None = None,
    wrapper: Callable[..., Any] | None = None,
    edges: str = "edge_index",
    batch_size: int | None = None,
    device: str = "cpu",
    jobs: int | None = 1,
    scheduler: str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    fresh: bool = False,
    progress: bool | None = None,
    name: str = "",
    **asked: Unpack[Asked],
) -> Instance:
    """Smooth a trained network by randomly flipping bits of the graph, and return the instance to certify.

    `attr_add`, `attr_del`, `adj_add`, `adj_del` are flip *probabilities*. The model is any torch module (or function)
    that is called as `model(x, edge_index)` and returns scores. `edges` may be `"edge_weight"` (a third argument of
    ones) or `"adjacency"` (a sparse tensor instead of edge_index), and `wrapper(model, x, edge_index)` calls anything
    else. The data are a torch-geometric `Data`, a networkx graph, or (x, edge_index[, labels]); nothing in them is
    changed unless asked for (`binarize`, `undirected`, `directed`, `simplify`, `largest_component`). Targets are the
    test nodes if there is a test mask, all nodes otherwise.

    A module is copied, its copy set to evaluation mode, and caches of its layers turned off. A function cannot be
    copied: modules behind it have to be in evaluation mode already, and are left as they were. Every sample is answered
    by the model as it was handed over: what it keeps from one call to the next is set aside, or it is refused.

    What the model reads (`layers`, `edge_field`) is derived from its modules where that is certain, and asked for
    otherwise; a declared field that is smaller than the derived one is refused. With `check` a short form of
    `check_field` tries to falsify it, and smoothing is refused if it succeeds.

    Networks whose modules are recognised are counted in batches and, where possible, on sparse attributes, after a
    comparison with the model's own answers (where they differ a slower way is taken, and `meta["votes_note"]` says so);
    others one sample at a time, or in batches of `batch_size` after the same comparison. With a `checkpoint` file an
    interrupted run continues; `jobs` processes or the Dask cluster at `scheduler` share the samples.
    """
    require_training_packages()
    from certcore.votes.state import require_plain_torch, untouched

    require_plain_torch()
    noise = _noise((attr_add, attr_del, adj_add, adj_del))
    whole_number(samples, "the number of samples", 1, 10**9)
    dataset, labelled = as_dataset(data, name, **asked)
    where = _targets(dataset, targets)
    notes: list[str] = []
    with untouched((model, wrapper)):
        called = _prepared(model, wrapper, edges, device, dataset, notes)
        n_classes, keeps = _first_call(called, dataset)
        found = declared_field(called, dataset.graph, layers, edge_field)
        # Where noise adds edges every field is the whole graph, and chance and memory are all there is to find.
        looked = bool(check and noise.fractions[2] == 0)
        checked = falsify(
            called, dataset.graph, *found[:2], noise, derived=found[2], nodes=_NODES,
            graphs=_GRAPHS if looked else 0, seed=seed, keeps=keeps,
        )  # fmt: skip
        checked.require()
        voter = make_module_voter(
            called, dataset, noise, seed, n_classes, batch_size=batch_size, device=device, keeps=keeps, notes=notes
        )
        first = _first_answer(voter)
        votes = collect_votes(
            voter,
            selection=selection,
            estimation=samples,
            checkpoint=checkpoint,
            fresh=fresh,
            jobs=jobs,
            scheduler=scheduler,
            progress=_shown() if progress is None else progress,
        )
        _require_same_answer(voter, first)
    base = SmoothingBase(
        votes.estimation, votes.prediction, votes.n_samples, str(alpha), noise.theta, rule=base_rule,
        graph=dataset.graph,
    )  # fmt: skip
    names = dataset.class_names if labelled else ()
    return Instance(
        graph=dataset.graph,
        base=base,
        layers=found[0],
        edge_field=found[1],
        targets=where,
        labels=dataset.labels if labelled else None,
        class_names=(*names, *numbered_classes(np.array([n_classes - 1]))[len(names) :]),
        node_names=dataset.node_names,
        split=dataset.split,
        meta=_meta(model, dataset, labelled, noise, votes, seed, found, checked if looked else None, name, notes),
    )


def make_module_voter(
    called: Called,
    dataset: Dataset,
    noise: Noise,
    seed: int,
    n_classes: int,
    *,
    batch_size: int | None = None,
    device: str = "cpu",
    keeps: bool = False,
    notes: list[str] | None = None,
) -> Voter:
    """The fastest way that answers like the model itself, see `smooth`; `notes` tell which ones did not.

    A model that `keeps` values from one call to the next is copied for every call.
    """
    from certcore.models.reading import Unreadable, read_module
    from certcore.votes.agree import fused_agrees, module_agrees
    from certcore.votes.module import ModuleVoter, clean_input, fitting_batch
    from certcore.votes.recognise import fused_voter
    from certcore.votes.split import split_first

    graph, notes = dataset.graph, [] if notes is None else notes
    if batch_size is not None:
        whole_number(batch_size, "batch_size", 1, 4096)
    plain = ModuleVoter(graph, noise, seed, called, n_classes, 1, False, device, keeps)
    try:
        reading = read_module(copy.deepcopy(called).cpu(), *clean_input(graph))
    except Unreadable:
        batched = replace(plain, batch=batch_size or 1)
        if batched.batch > 1 and not module_agrees(batched):
            raise InputError(
                f"the model says something else about {batched.batch} graphs side by side than about one at a time, so "
                "it reads across them (pooling, normalisation over all nodes, one row per node); leave batch_size out"
            ) from None
        return batched
    if device == "cpu":
        fused = fused_voter(reading, graph, noise, seed) if batch_size is None else None
        if fused is not None:
            if fused_agrees(fused, plain):
                return fused
            notes.append("the fused kernel gave other scores than the model, so it was not used")
        split = split_first(called, *clean_input(graph), reading)
        if split is not None:
            voter = replace(plain, batch=batch_size or fitting_batch(graph.n_nodes, split.width), split=True)
            if module_agrees(voter):
                return voter
            notes.append("the network on sparse attributes gave other scores than the model, so it was not used")
    voter = replace(plain, batch=batch_size or fitting_batch(graph.n_nodes, graph.n_attrs))
    if voter.batch == 1 or module_agrees(voter):
        return voter
    notes.append("samples side by side got other scores than alone (or none), so they were counted one at a time")
    return plain


def _first_answer(voter: Any) -> Any:
    """What a network says about the first sample, before it votes; nothing for voters that hold plain arrays."""
    import torch

    from certcore.votes.module import ModuleVoter
    from certcore.votes.purposes import SELECTION

    if not isinstance(voter, ModuleVoter):
        return None
    with torch.no_grad(), one_thread():
        return voter.scores(SELECTION, 0)


def _require_same_answer(voter: Voter, first: Any) -> None:
    """Refuse votes of a model that answers the same sample otherwise after it has voted."""
    if first is not None and not bool((_first_answer(voter) == first).all()):
        raise InputError(
            "the model says something else about the same graph after it has voted than before, so its votes are not "
            "those of one model; take out what counts calls, or changes with time or chance"
        )


def _noise(given: tuple[Probability, ...]) -> Noise:
    for kind, value in zip(FLIPS, given):
        counts = isinstance(value, int | np.integer) and not isinstance(value, bool) and value != 0
        if counts or (isinstance(value, float) and value > 1):
            raise InputError(
                f"smooth(…, {kind}={value}) is no flip probability; expected a number from 0 to 1 such as 0.6 (1.0 if "
                f"you mean one). How many flips an attacker has is for certify(instance, {kind}={value})"
            )
    noise = Noise.to_draw(given)
    if not (noise.attributes or noise.adjacency):
        raise InputError(
            "nothing is smoothed: all four flip probabilities are 0; give some, for example attr_add=0.002, "
            "attr_del=0.6"
        )
    return noise


def _prepared(
    model: Callable[..., Any],
    wrapper: Callable[..., Any] | None,
    edges: str,
    device: str,
    dataset: Dataset,
    notes: list[str],
) -> Called:
    """A copy in evaluation mode and without caches: training the model further does not change whose votes are counted.

    A function is not copied: what it refers to has to be in evaluation mode already.
    """
    from torch import nn

    from certcore.models.called import Called
    from certcore.votes.state import require_evaluation, without_caches

    called = Called(model, wrapper, edges)
    try:
        called = copy.deepcopy(called)
    except Exception as error:
        raise InputError(
            f"the model cannot be copied ({type(error).__name__}: {error}); expected a torch module, or a function"
        ) from error
    if isinstance(called.model, nn.Module):
        called.model.eval()  # its own, if it has one
    called.eval()
    require_evaluation(called)
    before = copy.deepcopy(called)
    layers = without_caches(called)
    if layers:
        _require_same_without_caches(before, called, dataset)
        notes.append(f"cached=True of {', '.join(layers)} was turned off, for samples have other edges than the graph")
    try:
        return called.to(device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"the device {device!r} cannot be used ({str(error).partition(chr(10))[0]})") from error


def _require_same_without_caches(before: Called, called: Called, dataset: Dataset) -> None:
    import torch

    from certcore.votes.module import clean_input
    from certcore.votes.rounding import same_scores

    with torch.no_grad():
        held, own = (one.run(*clean_input(dataset.graph), "this graph") for one in (before, copy.deepcopy(called)))
    if not same_scores(held, own):
        raise InputError(
            "layers of the model with cached=True hold another graph than this one, so its answers are about that one; "
            "make them with cached=False and load the same weights (load_state_dict)"
        )


def _first_call(called: Called, dataset: Dataset) -> tuple[int, bool]:
    """The number of classes, and whether the model keeps values from one call to the next."""
    import torch

    from certcore.votes.module import clean_input
    from certcore.votes.state import first_call, require_nothing_kept

    x, index = clean_input(dataset.graph)
    device = next((p.device for p in called.parameters()), torch.device("cpu"))
    try:
        scores, keeps, beyond = first_call(called, x.to(device), index.to(device))
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"the model does not run on this graph ({type(error).__name__}: {str(error).partition(chr(10))[0]}); "
            f"expected model(x, edge_index) with {x.shape[1]:,} attributes, or a wrapper that calls it"
        ) from error
    require_nothing_kept(beyond)
    return int(scores.shape[1]), keeps


def _targets(dataset: Dataset, targets: str | Sequence[int] | np.ndarray | None) -> np.ndarray | None:
    test = None if dataset.split is None else np.flatnonzero(dataset.split == TEST)
    if targets is None:
        return test if test is not None and len(test) else None
    if isinstance(targets, str):
        if targets == "all":
            return None
        if targets == "test" and test is not None:
            return test
        raise InputError(
            f"targets are {targets!r}; expected 'all', 'test' (where there is a test mask) or node indices"
        )
    array = np.asarray(targets)
    return np.flatnonzero(array) if array.dtype == bool and array.shape == (dataset.graph.n_nodes,) else array


def _meta(
    model: object,
    dataset: Dataset,
    labelled: bool,
    noise: Noise,
    votes: Votes,
    seed: int,
    found: tuple[int, str, bool],
    checked: FieldCheck | None,
    name: str,
    notes: list[str],
) -> dict[str, Any]:
    meta: dict[str, Any] = {
        "model": type(model).__name__ if not hasattr(model, "__name__") else str(model.__name__),
        "types": noise.types,
        "theta": list(noise.theta),
        "samples": votes.n_samples,
        "selection_samples": int(votes.selection[0].sum()),
        "seed": seed,
        "field": "derived from the modules" if found[2] else "declared",
        "source": dataset.source,
        "versions": {"certcore": __version__},
    }
    if dataset.name != "graph" or name:
        meta["dataset"] = dataset.name
    if checked is not None:
        meta["field_check"] = checked.to_json()
    if notes:
        meta["votes_note"] = "; ".join(notes)
    if votes.fresh_after:
        meta["fresh_after"] = list(votes.fresh_after)
    if labelled:
        right = votes.prediction == dataset.labels
        chosen = right if dataset.split is None else right[dataset.split == TEST]
        if len(chosen):
            meta["accuracy"] = {"smoothed": float(chosen.mean())}
    return meta


def _shown() -> bool:
    """A bar where somebody looks at it: on a terminal and in a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules
