"""From a trained torch network and a graph to an instance: noise, votes, and a checked receptive field."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from certcore import __version__
from certcore.base.smoothing import SmoothingBase
from certcore.common.errors import InputError
from certcore.common.exact import Probability
from certcore.common.options import defaults_of, show_options, take
from certcore.common.reading import whole_number
from certcore.data.anything import as_dataset
from certcore.data.dataset import Dataset, ImportOptions, numbered_classes
from certcore.data.split import TEST
from certcore.domain.edge_field import EdgeField
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.domain.perturbations import FLIPS
from certcore.instance.fields import hop_fields
from certcore.instance.instance import Instance
from certcore.models.registry import require_training_packages
from certcore.pipeline.check_field import FieldCheck, declared_field, falsify
from certcore.pipeline.moved import INPUT, Moved, NoiseAt
from certcore.votes.run import Voter, Votes, collect_votes
from certcore.votes.threads import one_thread

if TYPE_CHECKING:
    from certcore.models.called import Called

#: Number of nodes in the short check of the field.
_NODES = 8
#: Number of graphs in the short check of the field.
_GRAPHS = 2


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Number of samples, confidence, seed, checkpoint and parallel workers, as for `collect_votes`."""

    samples: int = 100_000
    selection: int = 1_000
    alpha: Probability = 0.01
    base_rule: str = "binary"
    seed: int = 0
    checkpoint: str | os.PathLike[str] | None = None
    key: str | None = None
    """An identifier of the model, needed for a checkpoint or several processes if the model has no digest."""
    fresh: bool = False
    jobs: int | None = 1
    scheduler: str | None = None
    progress: bool | None = None
    """Whether to show a progress bar; None: on a terminal and in a notebook."""

    def __post_init__(self) -> None:
        whole_number(self.samples, "the number of samples", 1, 10**9)


@dataclass(frozen=True, kw_only=True)
class Field:
    """The declared receptive field, and whether to try to falsify it."""

    layers: int | None = None
    edge_field: str | None = None
    check: bool = True


@dataclass(frozen=True, kw_only=True)
class Calling:
    """How the model is called, and on how many samples at once."""

    wrapper: Callable[..., Any] | None = None
    edges: str = "edge_index"
    batch_size: int | None = None
    device: str = "cpu"


@dataclass(frozen=True, kw_only=True)
class Moving:
    """Where Gaussian noise is drawn, and on which lattice (a power of two such as `2^-9`; by default from s)."""

    noise_at: str = INPUT
    lattice: str | None = None


class SmoothOptions(ImportOptions, total=False):
    """The options of `smooth`: `ImportOptions`, and those of `Sampling`, `Field`, `Calling` and `Moving`."""

    samples: int
    selection: int
    alpha: Probability
    base_rule: str
    seed: int
    checkpoint: str | os.PathLike[str] | None
    key: str | None
    fresh: bool
    jobs: int | None
    scheduler: str | None
    progress: bool | None
    layers: int | None
    edge_field: str | None
    check: bool
    wrapper: Callable[..., Any] | None
    edges: str
    batch_size: int | None
    device: str
    noise_at: str
    lattice: str | None


def smooth(
    model: Callable[..., Any],
    data: object,
    *,
    attr_add: Probability = 0,
    attr_del: Probability = 0,
    adj_add: Probability = 0,
    adj_del: Probability = 0,
    attr_std: Probability | None = None,
    targets: str | Sequence[int] | np.ndarray | None = None,
    name: str = "",
    **options: Unpack[SmoothOptions],
) -> Instance:
    """Smooth a trained network by random noise on the graph, and return the instance to certify.

    `attr_add`, `attr_del`, `adj_add`, `adj_del` are flip *probabilities*. `attr_std` is the standard deviation of
    Gaussian noise on real-valued attributes, alone or with `adj_del`. It is drawn on a lattice at the input (the
    attributes are rounded to it, `meta["rounding"]`), or with `noise_at="first_map"` after the first linear map of a
    recognised network, which needs fewer draws and rounds no attribute. The model is any torch module or function
    called as `model(x, edge_index)` that returns scores; `edges` and `wrapper` are for other calls (see `Called`). The
    data are a torch-geometric `Data`, a networkx graph, or (x, edge_index[, labels]); nothing in them is changed unless
    asked for. Targets are the test nodes if there is a test mask, all nodes otherwise.

    A module is copied, its copy set to evaluation mode, and caches of its layers turned off. Modules called inside a
    function have to be in evaluation mode already. A model that keeps state between calls is copied for every
    call, or refused.

    The receptive field (`layers`, `edge_field`) is derived from the modules where that is certain, and has to be
    declared otherwise; a smaller one is refused. With `check` a short form of `check_field` tries to falsify it.

    Networks whose modules are recognised vote in batches and, where possible, on sparse attributes. This fast path is
    first compared with the model's own scores; where they differ a slower one is used, and `meta["votes_note"]` says
    so. Other models vote one sample at a time, or in batches of `batch_size` after the same comparison. With a
    `checkpoint` file an interrupted run continues; `jobs` processes or the Dask cluster at `scheduler` share the
    samples. Both identify modules by weights and code. Functions, and modules that call functions, need a `key`, which
    must change whenever they change.
    """
    require_training_packages()
    from certcore.votes.state import require_plain_torch, untouched

    require_plain_torch()
    remaining: Any = dict(options)
    sampling, field, calling = take(Sampling, remaining), take(Field, remaining), take(Calling, remaining)
    moving = take(Moving, remaining)
    noise = _noise((attr_add, attr_del, adj_add, adj_del), attr_std, moving)
    if noise.attr_std is not None and not isinstance(data, Dataset | Graph):
        remaining |= {"keep_values": True}  # Gaussian noise needs the real values
    dataset, labelled = as_dataset(data, name, **remaining)
    where, notes = _targets(dataset, targets), list[str]()
    with untouched((model, calling.wrapper)):
        called = prepared(model, calling, dataset, notes)
        n_classes, keeps = first_call(called, dataset)
        found = declared_field(called, dataset.graph, field.layers, field.edge_field)
        checked = _checked(called, dataset, found, noise, field.check, sampling.seed, keeps)
        voter, dataset, moved = _voter(called, dataset, noise, (sampling, calling, moving), n_classes, keeps, notes)
        votes = _counted(voter, sampling)
    base = _base(votes, dataset, noise, moved, found, sampling)
    meta = _meta(model, dataset, labelled, noise, votes, sampling.seed, found, checked, name, notes)
    if moved is not None:
        meta |= moved.facts
        dataset = replace(dataset, graph=moved.graph)
    return _instance(dataset, labelled, base, found, where, n_classes, meta)


show_options(
    smooth,
    defaults_of(Sampling, Field, Calling, Moving) | dict.fromkeys(ImportOptions.__annotations__, False),
    SmoothOptions.__annotations__,
)


def _voter(
    called: Called,
    dataset: Dataset,
    noise: Noise,
    options: tuple[Sampling, Calling, Moving],
    n_classes: int,
    keeps: bool,
    notes: list[str],
) -> tuple[Voter, Dataset, Moved | None]:
    """The voter, its graph (rounded to the lattice of the noise), and where Gaussian noise is drawn."""
    from certcore.votes.module import ModuleVoter

    sampling, calling, moving = options
    moved = None
    if noise.attr_std is not None and moving.noise_at == INPUT:
        moved = Moved.at_input(dataset.graph, noise)
        dataset = replace(dataset, graph=moved.graph)
    settings: Any = {"batch_size": calling.batch_size, "device": calling.device, "keeps": keeps, "notes": notes}
    if noise.attr_std is not None and moved is None:
        voter, moved = first_map_voter(called, dataset, noise, sampling.seed, n_classes, **settings)
    else:
        voter = make_module_voter(called, dataset, noise, sampling.seed, n_classes, **settings)
    if isinstance(voter, ModuleVoter):
        voter = replace(voter, key=sampling.key)
    if moved is not None:
        moved.require_exact(sampling.samples, sampling.alpha)
    return voter, dataset, moved


def _base(
    votes: Votes,
    dataset: Dataset,
    noise: Noise,
    moved: Moved | None,
    found: tuple[int, EdgeField, bool],
    sampling: Sampling,
) -> SmoothingBase:
    if moved is None:
        return SmoothingBase(
            votes.estimation, votes.prediction, votes.n_samples, str(sampling.alpha), noise.theta,
            rule=sampling.base_rule, graph=dataset.graph,
        )  # fmt: skip
    everybody = np.arange(dataset.graph.n_nodes)
    fields = hop_fields(dataset.graph, everybody, *found[:2], need_edges=False).nodes
    return moved.base(votes, sampling.alpha, sampling.base_rule, fields)


def _checked(
    called: Called,
    dataset: Dataset,
    found: tuple[int, EdgeField, bool],
    noise: Noise,
    wanted: bool,
    seed: int,
    keeps: bool,
) -> FieldCheck | None:
    """The short check of the field, which raises if it is falsified; None if only randomness and state were tested.

    If noise adds edges, every receptive field is the whole graph.
    """
    flips = bool(wanted and noise.fractions[2] == 0)
    checked = falsify(
        called, dataset.graph, *found[:2], noise, derived=found[2], nodes=_NODES,
        graphs=_GRAPHS if flips else 0, seed=seed, keeps=keeps,
    )  # fmt: skip
    checked.require()
    return checked if flips else None


def _counted(voter: Voter, sampling: Sampling) -> Votes:
    """The votes; refused if the model's scores for the first sample are different after voting."""
    first = _first_answer(voter)
    votes = collect_votes(
        voter, selection=sampling.selection, estimation=sampling.samples, checkpoint=sampling.checkpoint,
        fresh=sampling.fresh, jobs=sampling.jobs, scheduler=sampling.scheduler,
        progress=_shown() if sampling.progress is None else sampling.progress,
    )  # fmt: skip
    _require_same_answer(voter, first)
    return votes


def _instance(
    dataset: Dataset,
    labelled: bool,
    base: SmoothingBase,
    found: tuple[int, EdgeField, bool],
    targets: np.ndarray | None,
    n_classes: int,
    meta: dict[str, Any],
) -> Instance:
    names = dataset.class_names if labelled else ()
    return Instance(
        graph=dataset.graph, base=base, layers=found[0], edge_field=found[1], targets=targets,
        labels=dataset.labels if labelled else None,
        class_names=(*names, *numbered_classes(np.array([n_classes - 1]))[len(names) :]),
        node_names=dataset.node_names, split=dataset.split, meta=meta,
    )  # fmt: skip


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
    """The fastest voter with the same scores as the model itself, see `smooth`; `notes` lists those that differed.

    A model that `keeps` values between calls is copied for every call.
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
    """Scores of a network for the first sample, before it votes; None for voters that hold plain arrays."""
    import torch

    from certcore.votes.module import ModuleVoter
    from certcore.votes.purposes import SELECTION

    if not isinstance(voter, ModuleVoter):
        return None
    with torch.no_grad(), one_thread():
        return voter.scores(SELECTION, 0)


def _require_same_answer(voter: Voter, first: Any) -> None:
    """Refuse votes of a model whose scores for the same sample are different after voting."""
    if first is not None and not bool((_first_answer(voter) == first).all()):
        raise InputError(
            "the model says something else about the same graph after it has voted than before, so its votes are not "
            "those of one model; take out what counts calls, or changes with time or chance"
        )


def first_map_voter(
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
) -> tuple[Voter, Moved]:
    """The voter with noise after the first linear maps, if the modules show them; an error otherwise."""
    from certcore.models.reading import Unreadable, read_module
    from certcore.votes.agree import behind_agrees
    from certcore.votes.module import ModuleVoter, clean_input, fitting_batch
    from certcore.votes.recognise import fused_voter
    from certcore.votes.split import split_first

    graph = dataset.graph
    try:
        reading = read_module(copy.deepcopy(called).cpu(), *clean_input(graph))
        split = split_first(called, *clean_input(graph), reading)
    except Unreadable:
        split = None
    if split is None or keeps or device != "cpu":
        raise InputError(
            "the first linear maps of this model cannot be told from its modules (or it does not run on the CPU), so "
            "noise cannot be drawn behind them; leave noise_at out"
        )
    moved = Moved.behind(graph, split.weights, noise)
    assert moved.cut is not None
    batch = batch_size or fitting_batch(graph.n_nodes, split.width)
    voter = ModuleVoter(graph, moved.noise, seed, called, n_classes, batch, True, behind=True)
    fused = fused_voter(reading, graph, moved.noise, seed) if batch_size is None else None
    if fused is not None:
        behind = replace(fused, graph=moved.drawn, weights1=moved.cut.rest)
        if behind_agrees(behind, moved.cut, called):
            return behind, moved
        if notes is not None:
            notes.append("the fused kernel gave other scores than the model, so it was not used")
    if not behind_agrees(voter, moved.cut, called):
        raise InputError("the network behind its first map gives other scores than the model; leave noise_at out")
    return voter, moved


def _noise(given: tuple[Probability, ...], attr_std: Probability | None, moving: Moving) -> Noise:
    NoiseAt.parse(moving.noise_at, "noise_at")
    for kind, value in zip(FLIPS, given):
        counts = isinstance(value, int | np.integer) and not isinstance(value, bool) and value != 0
        if counts or (isinstance(value, float) and value > 1):
            raise InputError(
                f"smooth(…, {kind}={value}) is no flip probability; expected a number from 0 to 1 such as 0.6 (1.0 if "
                f"you mean one). How many flips an attacker has is for certify(instance, {kind}={value})"
            )
    std = None if attr_std is None else str(attr_std)
    if std is None and moving != Moving():
        raise InputError("noise_at and lattice are about Gaussian noise; give attr_std as well, or leave them out")
    noise = Noise(tuple(map(str, given)), std, moving.lattice)  # type: ignore[arg-type]
    noise.check_drawable()
    if std is not None and noise.fractions[2]:
        raise InputError("beside attr_std edges are only deleted by noise; set adj_add to 0")
    if not (noise.attributes or noise.adjacency):
        raise InputError(
            "nothing is smoothed: all four flip probabilities are 0; give some, for example attr_add=0.002, "
            "attr_del=0.6, or attr_std=0.1 for attributes that are numbers"
        )
    return noise


def prepared(model: Callable[..., Any], calling: Calling, dataset: Dataset, notes: list[str]) -> Called:
    """A copy in evaluation mode and without caches: training the original further does not affect the votes.

    A function is not copied: the modules that it refers to have to be in evaluation mode already.
    """
    from torch import nn

    from certcore.models.called import Called
    from certcore.votes.state import require_evaluation, without_caches

    called = Called(model, calling.wrapper, calling.edges)
    try:
        called = copy.deepcopy(called)
    except Exception as error:
        raise InputError(
            f"the model cannot be copied ({type(error).__name__}: {error}); expected a torch module, or a function"
        ) from error
    if isinstance(called.model, nn.Module):
        called.model.eval()  # the module inside, if there is one
    called.eval()
    require_evaluation(called)
    before = copy.deepcopy(called)
    layers = without_caches(called)
    if layers:
        _require_same_without_caches(before, called, dataset)
        notes.append(f"cached=True of {', '.join(layers)} was turned off, for samples have other edges than the graph")
    try:
        return called.to(calling.device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"the device {calling.device!r} cannot be used ({reason})") from error


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


def first_call(called: Called, dataset: Dataset) -> tuple[int, bool]:
    """The number of classes, and whether the model keeps values between calls."""
    import torch

    from certcore.votes.module import clean_input
    from certcore.votes.state import call_twice, require_nothing_kept

    x, index = clean_input(dataset.graph)
    device = next((p.device for p in called.parameters()), torch.device("cpu"))
    try:
        scores, keeps, beyond = call_twice(called, x.to(device), index.to(device))
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
    """Whether to show a progress bar: on a terminal and in a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules
