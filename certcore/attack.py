"""Attacks on the model behind an instance: any network, or one of ours from its file."""

from __future__ import annotations

import copy
import hashlib
import os
import shlex
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from certcore.base.gaussian import GaussianBase
from certcore.base.smoothing import SmoothingBase
from certcore.common.errors import InputError
from certcore.common.exact import decimal_text
from certcore.common.options import defaults_of, show_options, take
from certcore.common.packages import require_training_packages
from certcore.common.progress import StepsDone
from certcore.domain.noise import Noise
from certcore.domain.perturbations import FLIPS
from certcore.domain.threat import Budgets, ThreatModel, read_threat
from certcore.instance.instance import Instance
from certcore.model_attack.run import AttackOptions, run_attack
from certcore.model_attack.stored import ModelAttack

if TYPE_CHECKING:
    from certcore.model_attack.victim import MakeVoter, Victim
    from certcore.models.base import NodeClassifier
    from certcore.votes.fused import FusedVoter


class AttackArguments(Budgets, total=False):
    """The options of `attack`: budgets, and the fields of `AttackOptions`."""

    method: str
    samples: int
    alpha: str
    seed: int
    time_limit: float | None
    nested: bool


def attack(
    model: Callable[..., Any],
    data: object,
    instance: Instance,
    threat: ThreatModel | None = None,
    *,
    wrapper: Callable[..., Any] | None = None,
    edges: str = "edge_index",
    cancel: threading.Event | None = None,
    progress: StepsDone | None = None,
    **options: Unpack[AttackArguments],
) -> ModelAttack:
    """Search for a perturbation that changes as many labels of the certified classifier as possible.

    `model` and `data` are the arguments that `smooth` was called with (with the same `wrapper` and `edges`). The
    budgets are those of `certify`, the other options those of `AttackOptions`. A label counts as changed if another
    class beats it on the perturbed graph in `samples` new samples, at confidence 1 − `alpha` over all targets together.
    The result is a lower bound: a worse attack may exist. The attack is checked against the certificates: if it changes
    a label that they cover, a `SoundnessError` is raised.
    """
    require_training_packages()
    budgets: Any = dict(options)
    how = take(AttackOptions, budgets)
    victim = module_victim(model, data, instance, wrapper, edges)
    return run_attack(victim, instance, read_threat(threat, budgets), how, cancel=cancel, progress=progress)


show_options(attack, defaults_of(AttackOptions), AttackArguments.__annotations__, rest="Budgets")


def noise_of(instance: Instance) -> Noise:
    """The smoothing noise of an instance; no noise where its base certificate is about a plain classifier."""
    if isinstance(instance.base, GaussianBase):
        base = instance.base
        return replace(base.noise, attr_std=decimal_text(base.std), lattice=base.lattice)
    return instance.base.noise if isinstance(instance.base, SmoothingBase) else Noise(("0",) * len(FLIPS))  # type: ignore[arg-type]


def module_victim(
    model: Callable[..., Any],
    data: object,
    instance: Instance,
    wrapper: Callable[..., Any] | None = None,
    edges: str = "edge_index",
) -> Victim:
    """Any network on the graph of an instance, with the fastest voter and the gradients that its modules allow."""
    from certcore.model_attack.victim import ModuleVictim
    from certcore.models.base import NodeClassifier
    from certcore.votes.attention import Attention
    from certcore.votes.choose import first_call, make_module_voter, prepared
    from certcore.votes.fused import FusedVoter
    from certcore.votes.module import ModuleVoter, clean_input
    from certcore.votes.split import split_first

    graph, noise = instance.graph, noise_of(instance)
    if getattr(data, "num_nodes", graph.n_nodes) != graph.n_nodes:
        raise InputError("the data are another graph than the instance's; give the data that `smooth` was given")
    if isinstance(model, NodeClassifier):
        return network_victim(model, instance, "")
    called = prepared(model, graph, wrapper, edges, None, [])
    n_classes, keeps = first_call(called, graph)
    bits = replace(noise, attr_std=None, lattice=None)  # Gaussian noise has its own way to votes
    voter = make_module_voter(called, graph, bits, 0, n_classes, keeps=keeps)
    if isinstance(voter, FusedVoter):
        return network_victim(_as_gcn(voter), instance, "")
    if noise.attr_std is not None:
        raise InputError(
            "attacks on attributes that are numbers need a two-layer GCN (or one of the models of certcore), and this "
            "is another network; give such a model"
        )
    assert isinstance(voter, ModuleVoter)
    split = split_first(called, *clean_input(graph, called)) if voter.split else None
    if split is not None and any(isinstance(part, Attention) for part in split.rest.modules()):
        split = None  # the compiled attention has no gradients
    weights = np.eye(graph.n_attrs, dtype=np.float32) if split is None else split.weights
    # A copy: computing edge gradients leaves attributes on a layer, after which a voter would not recognise it.
    rest = copy.deepcopy(called if split is None else split.rest)
    try:
        digest = voter.digest
    except InputError:  # the model has no reliable identity: such an attack cannot be resumed from a file
        digest = ""
    return ModuleVictim(noise, digest, lambda on, seed: replace(voter, graph=on, seed=seed), weights, rest)


def _as_gcn(voter: FusedVoter) -> NodeClassifier:
    """Convert a two-layer GCN of torch-geometric to our own, which accepts edge weights."""
    import torch

    from certcore.models.gcn import GCN

    network = GCN(voter.graph.n_attrs, voter.n_classes, len(voter.bias1))
    tensors = {"first": voter.weights1, "bias1": voter.bias1, "second": voter.weights2, "bias2": voter.bias2}
    network.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in tensors.items()}, strict=False)
    return network.eval()


def network_victim(model: NodeClassifier, instance: Instance, digest: str, voters: MakeVoter | None = None) -> Victim:
    """One of our networks; the digest is that of its file, and `voters` makes its voters (default: for a GCN)."""
    from certcore.model_attack.victim import NetworkVictim
    from certcore.votes.voters import gcn_voter

    make = voters or gcn_voter
    noise = noise_of(instance)
    if noise.attr_std is not None:
        return _moved_victim(copy.deepcopy(model), instance, noise, digest)
    return NetworkVictim(copy.deepcopy(model), noise, digest or make(model, instance.graph, noise, 0).digest, make)


def _moved_victim(model: NodeClassifier, instance: Instance, noise: Noise, digest: str) -> Victim:
    """A network under Gaussian noise, drawn where the base certificate says."""
    from certcore.model_attack.victim import MovedVictim
    from certcore.votes.first_map import FINE
    from certcore.votes.moved import NoiseAt, network_under

    base = instance.base
    assert isinstance(base, GaussianBase)
    if base.offsets is None:
        return MovedVictim(model, noise, digest)
    moved, rest = network_under(model, instance.graph, Noise(noise.theta, noise.attr_std), NoiseAt.FIRST_MAP)
    assert moved.cut is not None
    return MovedVictim(rest, noise, digest, map=moved.cut.orthogonal / FINE)


def file_victim(instance: Instance, path: str | os.PathLike[str]) -> Victim:
    """A network from its file, as the victim of an attack."""
    require_training_packages()
    from certcore.models.storage import load_model

    network, _ = load_model(path)
    return network_victim(network, instance, hashlib.sha256(Path(path).read_bytes()).hexdigest())


def command_of(program: list[str], arguments: list[str]) -> str:
    """The shell command that repeats the attack, without local paths."""
    words, given = [*program], iter(arguments)
    for word in given:
        if word in ("--work", "--model", "-o", "--output"):
            next(given, None)
        elif not word.startswith(("--work=", "--model=", "--output=")):
            words.append(Path(word).name if word.endswith(".npz") else word)
    return shlex.join(words)
