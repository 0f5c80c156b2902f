"""Every fast way to count votes is compared with the model's own forward pass before its votes count."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from certcore.common.errors import InputError
from certcore.domain.noise import Noise
from certcore.domain.perturbations import TYPES
from certcore.models.base import Edges
from certcore.votes.fused import FusedVoter
from certcore.votes.module import ModuleVoter
from certcore.votes.purposes import SELECTION
from certcore.votes.rounding import rounding, same_scores
from certcore.votes.sampler import Sampler
from certcore.votes.threads import one_thread

#: Samples that are compared one by one with the fused kernel.
_SAMPLES = 4
_CLEAN = Noise(("0",) * len(TYPES))  # type: ignore[arg-type]


def alone(voter: ModuleVoter) -> ModuleVoter:
    """The plainest way: the model itself on one dense sample at a time."""
    return replace(voter, batch=1, split=False)


def module_agrees(voter: ModuleVoter) -> bool:
    """Whether samples side by side, or a network cut after its first maps, answer like the model itself, one by one."""
    plain = alone(voter)
    with torch.no_grad(), one_thread():
        try:
            for noise in (voter.noise, _CLEAN):
                ours = replace(voter, noise=noise).scores(SELECTION, 0)
                single = replace(plain, noise=noise)
                count = voter.batch if noise is voter.noise else 1
                own = torch.cat([single.scores(SELECTION, number) for number in range(count)])
                if not same_scores(ours[: len(own)], own):
                    return False
        except InputError:  # one row per node or per edge: fine alone, not side by side
            replace(plain, noise=voter.noise).scores(SELECTION, 0)  # or not even alone: then this is what is said
            return False
    return True


def fused_agrees(fused: FusedVoter, plain: ModuleVoter) -> bool:
    """Whether the kernel has the scores of the model, and its labels wherever their margin is clear."""
    with torch.no_grad(), one_thread():
        for noise, count in ((_CLEAN, 1), (fused.noise, _SAMPLES)):
            kernel, single = replace(fused, noise=noise), replace(plain, noise=noise)
            for number in range(count):
                own = single.scores(SELECTION, number)
                scores = _gcn_scores(kernel, Sampler(fused.graph, noise), number)
                forms = (scores, functional.log_softmax(scores, dim=1), functional.softmax(scores, dim=1))
                if not any(same_scores(form, own) for form in forms):
                    return False
                labels = torch.from_numpy(kernel.count(SELECTION, number, 1).argmax(axis=1))
                chosen = own.gather(1, labels[:, None])[:, 0]
                if bool((own.amax(dim=1) - chosen > 2 * rounding(own)).any()):
                    return False
    return True


def _gcn_scores(kernel: FusedVoter, sampler: Sampler, sample: int) -> Tensor:
    """What the arrays of a kernel with symmetric weights stand for, computed plainly."""
    attributes, _ = sampler.matrices(kernel.seed, SELECTION, sample)
    edges = Edges.stack(kernel.n_nodes, [sampler.edges(kernel.seed, SELECTION, sample)])
    hidden = np.maximum(edges.symmetric @ (attributes @ kernel.weights1) + kernel.bias1, 0)
    return torch.from_numpy(edges.symmetric @ (hidden @ kernel.weights2) + kernel.bias2)
