"""A model on another device votes there: only samples come from the processor. Shown on torch's device `meta`."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch_geometric")

import torch
import torch_geometric.nn as geometric
from torch import Tensor, nn
from torch.utils import _pytree
from torch.utils._python_dispatch import TorchDispatchMode

from certcore.data import citation_like
from certcore.domain.noise import Noise
from certcore.models.called import Called
from certcore.votes.module import ModuleVoter, fitting_batch

GRAPH = citation_like(60, 30, 3).graph
#: How numbers get to a device.
MOVES = ("aten._to_copy", "aten.copy_", "aten.lift_fresh", "aten.detach", "aten.alias")


class Watch(TorchDispatchMode):
    """Lists everything that computes on the processor."""

    def __init__(self) -> None:
        super().__init__()
        self.left: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        answer = func(*args, **(kwargs or {}))
        tensors = [part for part in _pytree.tree_leaves((args, kwargs, answer)) if isinstance(part, Tensor)]
        if any(part.device.type == "cpu" for part in tensors) and not str(func).startswith(MOVES):
            self.left.append(str(func))
        return answer


class ByHand(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(30, 8), nn.Linear(8, 3)

    def forward(self, x, edge_index):
        x = self.first(x).relu()
        return self.last(torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]]))


MODELS = {
    "SAGE": lambda: geometric.GraphSAGE(30, 8, 2, 3),
    "GAT": lambda: geometric.GATConv(30, 3, heads=2, concat=False, add_self_loops=False),
    "by hand": ByHand,
}


@pytest.mark.parametrize("theta", [("0.05", "0.5", "0", "0.4"), ("0", "0", "0.01", "0.4"), ("0.05", "0.5", "0", "0")])
@pytest.mark.parametrize("name", MODELS)
def test_no_tensor_is_left_on_the_processor(name, theta):
    called = Called(MODELS[name]().eval().double().to("meta")).eval()
    assert (called.place.type, called.dtype, called.fast) == ("meta", torch.float64, False)
    voter = ModuleVoter(GRAPH, Noise(theta), 0, called, 3, batch=4)
    with torch.no_grad(), Watch() as watch:
        x, edges = voter._inputs(16, 8, 4), voter._edges(16, 8)
        labels = called(x, edges).argmax(dim=1)
    assert watch.left == []
    assert (x.dtype, x.shape, len(labels)) == (torch.float64, (240, 30), 240)
    assert {part.device.type for part in (x, edges, labels)} == {"meta"}


def test_the_watch_sees_a_tensor_that_was_left():
    class Leaves(ByHand):
        def forward(self, x, edge_index):
            torch.arange(len(x)) + 1
            return super().forward(x, edge_index)

    called = Called(Leaves().to("meta")).eval()
    voter = ModuleVoter(GRAPH, Noise(("0", "0", "0", "0.4")), 0, called, 3)
    with torch.no_grad(), Watch() as watch:
        called(voter._inputs(16, 0, 1), voter._edges(16, 0))
    assert any(name.startswith("aten.add") for name in watch.left)


def test_batches_are_sized_by_the_free_memory_of_the_device(monkeypatch):
    called = Called(ByHand(), device="cuda")
    sizes = []
    for free in (10**6, 10**8, 10**9, 10**12):
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device, free=free: (free, 10**12))
        sizes.append(fitting_batch(GRAPH, GRAPH.n_attrs, called))
    assert sizes == sorted(set(sizes))
    assert sizes[0] == 1
    assert sizes[-1] >= 512
    assert np.ptp([fitting_batch(GRAPH, GRAPH.n_attrs, Called(ByHand())) for _ in range(2)]) == 0
