"""The choice of a voter for any network: the fastest one whose scores are those of the model's own forward pass."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from certcore.common.errors import InputError
from certcore.common.reading import whole_number
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.models.called import Called
from certcore.models.reading import Unreadable, read_module
from certcore.votes.agree import behind_agrees, fused_agrees, module_agrees
from certcore.votes.identity import SAMPLES
from certcore.votes.module import ModuleVoter, clean_input, fitting_batch
from certcore.votes.moved import Moved
from certcore.votes.recognise import fused_voter
from certcore.votes.rounding import same_scores
from certcore.votes.run import Voter, Votes, collect_votes
from certcore.votes.split import split_first
from certcore.votes.state import first_scores, require_evaluation, without_caches


def voter_for(
    called: Called,
    graph: Graph,
    noise: Noise,
    seed: int,
    n_classes: int,
    *,
    behind: bool = False,
    key: str | None = None,
    **settings: Any,
) -> tuple[Voter, Moved | None]:
    """The voter, and where Gaussian noise is drawn, if there is any: at the input or `behind` the first linear map."""
    moved = None
    if noise.attr_std is not None and behind:
        voter, moved = first_map_voter(called, graph, noise, seed, n_classes, **settings)
    else:
        if noise.attr_std is not None:
            moved = Moved.at_input(graph, noise)
            graph = moved.graph
        voter = make_module_voter(called, graph, noise, seed, n_classes, **settings)
    return (replace(voter, key=key) if isinstance(voter, ModuleVoter) else voter), moved


def counted(voter: Voter, estimation: int, **options: Any) -> Votes:
    """The votes (see `collect_votes`); refused if the model's scores for the first samples are different afterwards."""
    asked = max(1, min(SAMPLES, estimation // 20))
    before = voter.answers(asked) if isinstance(voter, ModuleVoter) else []
    votes = collect_votes(voter, estimation=estimation, **options)
    after = voter.answers(asked) if isinstance(voter, ModuleVoter) else []
    if not all(map(torch.equal, before, after)):
        raise InputError(
            "the model says something else about the same graph after it has voted than before, so its votes are not "
            "those of one model; take out what counts calls, or changes with time or chance"
        )
    return votes


def prepared(
    model: Callable[..., Any],
    graph: Graph,
    wrapper: Callable[..., Any] | None,
    edges: str,
    device: str | torch.device | None,
    notes: list[str],
) -> Called:
    """A copy in evaluation mode and without caches: training the original further does not affect the votes.

    A function is not copied: the modules that it refers to have to be in evaluation mode already.
    """
    called = Called(model, wrapper, edges, None if device is None else str(device))
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
        _require_same_without_caches(before, called, graph)
        notes.append(f"cached=True of {', '.join(layers)} was turned off, for samples have other edges than the graph")
    try:
        return called if device is None else called.to(device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"the device {device!r} cannot be used ({reason})") from error


def _require_same_without_caches(before: Called, called: Called, graph: Graph) -> None:
    with torch.no_grad():
        held, own = (one.run(*clean_input(graph, called), "this graph") for one in (before, copy.deepcopy(called)))
    if not same_scores(held, own):
        raise InputError(
            "layers of the model with cached=True hold another graph than this one, so its answers are about that one; "
            "make them with cached=False and load the same weights (load_state_dict)"
        )


def first_call(called: Called, graph: Graph) -> tuple[int, bool]:
    """The number of classes, and whether the model keeps values between calls."""
    x, index = clean_input(graph, called)
    try:
        scores, keeps = first_scores(called, x, index)
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"the model does not run on this graph ({type(error).__name__}: {str(error).partition(chr(10))[0]}); "
            f"expected model(x, edge_index) with {x.shape[1]:,} attributes, or a wrapper that calls it"
        ) from error
    return int(scores.shape[1]), keeps


def make_module_voter(
    called: Called,
    graph: Graph,
    noise: Noise,
    seed: int,
    n_classes: int,
    *,
    batch_size: int | None = None,
    keeps: bool = False,
    notes: list[str] | None = None,
) -> Voter:
    """The fastest voter with the same scores as the model itself, see `smooth`; `notes` says why it is not faster.

    A model that `keeps` values between calls is copied for every call.
    """
    if batch_size is not None:
        whole_number(batch_size, "batch_size", 1, 4096)
    plain = ModuleVoter(graph, noise, seed, called, n_classes, fresh=keeps)
    slower: list[str] = [] if notes is None else notes
    if keeps:
        slower.append("the model keeps values between calls (or cannot be pickled), so it is copied for every call")
    if not called.fast:
        slower.append(f"the model is on {called.place} in {called.dtype}, so it votes there by its own forward pass")
    try:
        reading = read_module(called, *clean_input(graph, called))
    except Unreadable as why:
        slower.append(f"one sample is counted at a time, for what the model computes cannot be derived: {why}")
        return _unread(plain, batch_size, slower)
    if called.fast:
        fused = fused_voter(reading, graph, noise, seed) if batch_size is None else None
        if fused is not None:
            if fused_agrees(fused, plain):
                return fused
            slower.append("the fused kernel gave other scores than the model, so it was not used")
        split = split_first(called, *clean_input(graph, called), reading)
        if split is not None:
            voter = replace(plain, batch=batch_size or fitting_batch(graph, split.width, called), split=True)
            if module_agrees(voter):
                return voter
            slower.append("the network on sparse attributes gave other scores than the model, so it was not used")
    return _batched(plain, batch_size, slower)


def _batched(plain: ModuleVoter, batch_size: int | None, slower: list[str]) -> ModuleVoter:
    """A network whose calls are known, in batches if they give the same scores."""
    graph, called = plain.graph, plain.module
    batch = batch_size or fitting_batch(graph, graph.n_attrs, called)
    while batch > 1:
        for voter in (replace(plain, batch=batch, sparse=True), replace(plain, batch=batch)):
            if (called.fast or not voter.sparse) and module_agrees(voter):
                return voter
        if called.place.type == "cpu":
            slower.append("samples side by side got other scores than alone (or none), so they are counted one by one")
            break
        batch //= 2  # perhaps they did not fit into the memory of the device
    return _on_sparse(plain)


def _unread(plain: ModuleVoter, batch_size: int | None, slower: list[str]) -> ModuleVoter:
    """A network of unknown calls: in batches only if the user says so."""
    if batch_size in (None, 1):
        return _on_sparse(plain)
    slower.pop()
    voter = replace(plain, batch=batch_size)
    if not module_agrees(voter):
        raise InputError(
            f"the model says something else about {batch_size} graphs side by side than about one at a time, so "
            "it reads across them (pooling, normalisation over all nodes, one row per node); leave batch_size out"
        )
    sparse = replace(voter, sparse=True)
    return sparse if plain.module.fast and module_agrees(sparse) else voter


def _on_sparse(plain: ModuleVoter) -> ModuleVoter:
    """One sample at a time, multiplied by weights without being stored, if that gives the same scores."""
    voter = replace(plain, sparse=True)
    return voter if plain.module.fast and module_agrees(voter) else plain


def first_map_voter(
    called: Called,
    graph: Graph,
    noise: Noise,
    seed: int,
    n_classes: int,
    *,
    batch_size: int | None = None,
    keeps: bool = False,
    notes: list[str] | None = None,
) -> tuple[Voter, Moved]:
    """The voter with noise after the first linear maps, if the modules show them; an error otherwise."""
    try:
        reading = read_module(called, *clean_input(graph, called))
        split = split_first(called, *clean_input(graph, called), reading)
    except Unreadable as error:
        raise _not_behind(f"what the model computes cannot be derived: {error}") from error
    if split is None:
        raise _not_behind("the model reads its attributes other than through linear maps, or through unknown ones")
    if keeps:
        raise _not_behind("the model stores values between calls, or cannot be pickled")
    if not called.fast:
        raise _not_behind(f"the model runs on {called.place} and in {called.dtype}, not on the CPU in torch.float32")
    moved = Moved.behind(graph, split.weights, noise)
    assert moved.cut is not None
    batch = batch_size or fitting_batch(graph, split.width, called)
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


def _not_behind(reason: str) -> InputError:
    return InputError(f"{reason}, so noise cannot be drawn behind its first linear maps; leave noise_at out")
