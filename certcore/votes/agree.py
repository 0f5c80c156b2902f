"""Checks of every fast way to count votes against the model's own forward pass, before its votes are used."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from certcore.common.errors import InputError
from certcore.domain.noise import Noise
from certcore.domain.perturbations import FLIPS
from certcore.models.base import Edges
from certcore.models.called import Called
from certcore.votes.first_map import FirstMap
from certcore.votes.fused import FusedVoter
from certcore.votes.module import ModuleVoter
from certcore.votes.purposes import SELECTION
from certcore.votes.rounding import rounding, same_scores
from certcore.votes.sampler import Sampler
from certcore.votes.threads import one_thread

#: Number of samples that are compared one by one with the fused kernel.
_SAMPLES = 4
#: Largest number of samples of one batch that are compared one by one.
_MOST = 64
_CLEAN = Noise(("0",) * len(FLIPS))  # type: ignore[arg-type]


def alone(voter: ModuleVoter) -> ModuleVoter:
    """The reference: the model itself on one dense sample at a time."""
    return replace(voter, batch=1, split=False, sparse=False)


def module_agrees(voter: ModuleVoter) -> bool:
    """Whether batched samples, or a network split after its first maps, give the scores of the model itself."""
    plain = alone(voter)
    with torch.no_grad(), one_thread():
        try:
            for noise, samples in ((voter.noise, _SAMPLES), (_CLEAN, 1)):
                mine, single = replace(voter, noise=noise), replace(plain, noise=noise)
                for first in range(0, samples, voter.batch):
                    ours = mine.scores(SELECTION, first)
                    count = min(voter.batch, _MOST) if samples > 1 else 1
                    own = torch.cat([single.scores(SELECTION, first + number) for number in range(count)])
                    if not same_scores(ours[: len(own)], own):
                        return False
        except InputError:  # shapes with one row per node or edge may work for single samples only
            replace(plain, noise=voter.noise).scores(SELECTION, 0)  # raises the model's own error, if any
            return False
    return True


def fused_agrees(fused: FusedVoter, plain: ModuleVoter) -> bool:
    """Whether the kernel gives the model's scores, and its labels wherever the margin exceeds rounding."""
    with torch.no_grad(), one_thread():
        for noise, count in ((_CLEAN, 1), (fused.noise, _SAMPLES)):
            kernel, single = replace(fused, noise=noise), replace(plain, noise=noise)
            for number in range(count):
                forms = _gcn_forms(kernel, Sampler(fused.graph, noise), number)
                if not _same(single.scores(SELECTION, number), forms, kernel.count(SELECTION, number, 1)):
                    return False
    return True


def _same(own: Tensor, forms: tuple[Tensor, ...], votes: np.ndarray) -> bool:
    """Whether one form of the scores is the model's own, and votes are its labels where the margin exceeds rounding."""
    chosen = own.gather(1, torch.from_numpy(votes.argmax(axis=1))[:, None])[:, 0]
    clear = own.amax(dim=1) - chosen > 2 * rounding(own)
    return not bool(clear.any()) and any(same_scores(form, own) for form in forms)


def behind_agrees(voter: FusedVoter | ModuleVoter, cut: FirstMap, called: Called) -> bool:
    """Whether a network behind its first maps gives the model's own scores, on attributes that map to the sample."""
    sampler = Sampler(cut.graph, voter.noise)
    with torch.no_grad(), one_thread():
        for number in range(_SAMPLES):
            table = sampler.moved(voter.seed, SELECTION, number)
            pairs = sampler.edges(voter.seed, SELECTION, number)
            own = copy.deepcopy(called).scores(
                torch.from_numpy(cut.preimage(table)).float(), Edges.stack(voter.n_nodes, [pairs]).index
            )
            if isinstance(voter, ModuleVoter):
                first = number - number % voter.batch
                block = voter.scores(SELECTION, first)[(number - first) * voter.n_nodes :][: voter.n_nodes]
                forms: tuple[Tensor, ...] = (block,)
            else:
                forms = _gcn_forms(voter, sampler, number)
            if not _same(own, forms, voter.count(SELECTION, number, 1)):
                return False
    return True


def _gcn_forms(kernel: FusedVoter, sampler: Sampler, sample: int) -> tuple[Tensor, ...]:
    """Scores from the arrays of a kernel with symmetric weights, computed without the kernel, plain or by a softmax."""
    attributes, _ = sampler.matrices(kernel.seed, SELECTION, sample)
    edges = Edges.stack(kernel.n_nodes, [sampler.edges(kernel.seed, SELECTION, sample)])
    hidden = np.maximum(edges.symmetric @ (attributes @ kernel.weights1) + kernel.bias1, 0)
    scores = torch.from_numpy(edges.symmetric @ (hidden @ kernel.weights2) + kernel.bias2)
    return scores, functional.log_softmax(scores, dim=1), functional.softmax(scores, dim=1)
