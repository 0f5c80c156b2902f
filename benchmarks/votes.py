"""Samples per second on Citeseer, side by side: the fused kernel, batched torch, and loops over single samples.

    python benchmarks/votes.py [--dataset citeseer] [--seconds 5] [--jobs 2] [--json]

The dense loop is a torch-geometric GCN on a dense attribute matrix, one smoothed graph at a time, as one would write
it first. The sparse loops do the same with sparse inputs, with one and with two torch threads; the best counts.
torch-geometric's own GCN, SAGE, GAT and GIN, as `certcore.smooth` counts them, stand beside their naive dense loops.
Asked for: fused ≥ 100 × dense loop and ≥ 4 × the best sparse loop, both on two threads; GCN, SAGE and GAT through
`smooth` ≥ 20 × their dense loops.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
import torch_geometric.nn as geometric
from torch.nn import functional
from torch_geometric.nn import GCNConv

from certcore.domain.graph import Graph
from certcore.domain.noise import PAPER_THETA, Noise
from certcore.models.base import Edges
from certcore.models.called import Called
from certcore.models.gcn import GCN
from certcore.votes.choose import make_module_voter
from certcore.votes.fused import FusedVoter
from certcore.votes.purposes import ESTIMATION
from experiments.datasets.registry import get_dataset
from experiments.networks.batched import TorchVoter
from experiments.networks.pagerank import truncated_pagerank
from experiments.networks.sma import ITERATIONS, SMA
from experiments.networks.voters import make_voter


def rate(step: Callable[[int], int], seconds: float) -> float:
    """Samples per second of `step(round)`, which returns how many samples it did; one round to warm up."""
    step(0)
    done, begun, turn = 0, time.perf_counter(), 1
    while time.perf_counter() - begun < seconds:
        done += step(turn)
        turn += 1
    return done / (time.perf_counter() - begun)


class DenseLoop:
    """The first thing one would write: flip a dense matrix, run torch-geometric, count."""

    def __init__(self, model: GCN, dataset, noise: Noise) -> None:
        self.graph = dataset.graph
        self.flips = [float(f) for f in noise.fractions]
        self.clean = torch.from_numpy(self.graph.attributes.toarray()).float()
        self.chance = torch.where(self.clean > 0, self.flips[1], self.flips[0])
        self.edges = Edges.of(self.graph).index
        self.first, self.second = GCNConv(self.graph.n_attrs, 64), GCNConv(64, dataset.n_classes)
        with torch.no_grad():
            self.first.lin.weight.copy_(model.first.T)
            self.second.lin.weight.copy_(model.second.T)
        self.votes = np.zeros((self.graph.n_nodes, dataset.n_classes), dtype=np.int64)

    def __call__(self, turn: int) -> int:
        with torch.no_grad():
            drawn = (self.clean - torch.bernoulli(self.chance)).abs()
            hidden = torch.relu(self.first(drawn, self.edges))
            labels = self.second(hidden, self.edges).argmax(dim=1).numpy()
        self.votes[np.arange(len(labels)), labels] += 1
        return 1


class SparseLoop:
    """One sample at a time with sparse attributes: the ones are drawn, additions placed at random, rows summed."""

    def __init__(self, model: GCN, dataset, noise: Noise, threads: int) -> None:
        self.model, self.graph, self.threads = model, dataset.graph, threads
        self.flips = [float(f) for f in noise.fractions]
        self.rng = np.random.default_rng(0)
        self.rows = np.repeat(np.arange(self.graph.n_nodes), self.graph.ones)
        self.columns = self.graph.attr_indices
        self.existing = np.sort(self.rows * self.graph.n_attrs + self.columns)
        weights = Edges.of(self.graph).symmetric
        self.propagate = torch.sparse_csr_tensor(
            torch.from_numpy(weights.indptr.astype(np.int64)),
            torch.from_numpy(weights.indices.astype(np.int64)),
            torch.from_numpy(weights.data),
            size=weights.shape,
            check_invariants=False,
        )
        self.votes = np.zeros((self.graph.n_nodes, dataset.n_classes), dtype=np.int64)

    def __call__(self, turn: int) -> int:
        torch.set_num_threads(self.threads)
        cells = self.graph.n_nodes * self.graph.n_attrs
        kept = self.existing[self.rng.random(len(self.existing)) >= self.flips[1]]
        hits = self.rng.integers(0, cells, self.rng.binomial(cells, self.flips[0]))
        added = np.setdiff1d(hits, self.existing, assume_unique=False)
        ones = np.sort(np.concatenate([kept, added]))
        nodes = ones // self.graph.n_attrs
        offsets = np.searchsorted(nodes, np.arange(self.graph.n_nodes))
        with torch.no_grad():
            units = functional.embedding_bag(
                torch.from_numpy(ones % self.graph.n_attrs), self.model.first, torch.from_numpy(offsets), mode="sum"
            )
            hidden = torch.relu(self.propagate @ units + self.model.bias1)
            labels = (self.propagate @ (hidden @ self.model.second) + self.model.bias2).argmax(dim=1).numpy()
        self.votes[np.arange(len(labels)), labels] += 1
        return 1


def threaded(voter: FusedVoter, pool: ThreadPoolExecutor, jobs: int, size: int) -> Callable[[int], int]:
    """The kernel on `jobs` threads: it holds no lock."""

    def step(turn: int) -> int:
        starts = [(turn * jobs + k) * size for k in range(jobs)]
        list(pool.map(lambda start: voter.count(ESTIMATION, start, size), starts))
        return jobs * size

    return step


class Unknown(torch.nn.Module):
    """A network that is not recognised: it asks for the shape of its input."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        return self.model(x.reshape(x.shape), edge_index)


def processor_rate(step: Callable[[int], int], seconds: float) -> float:
    """As `rate`, in processor seconds of this process: other work on the machine does not count."""
    step(0)
    done, begun, turn = 0, time.process_time(), 1
    while time.process_time() - begun < seconds:
        done += step(turn)
        turn += 1
    return done / (time.process_time() - begun)


def own_models(dataset, seconds: float) -> dict[str, float]:
    """torch-geometric's own networks as `certcore.smooth` counts them, against their naive dense loops, one thread."""
    noise, graph = Noise(PAPER_THETA["attr"]), dataset.graph
    flips = [float(f) for f in noise.fractions]
    clean = torch.from_numpy(graph.attributes.toarray()).float()
    chance = torch.where(clean > 0, flips[1], flips[0])
    edges = Edges.of(graph).index
    sizes = {"in_channels": graph.n_attrs, "hidden_channels": 64, "num_layers": 2, "out_channels": dataset.n_classes}
    networks = {
        "GCN": geometric.GCN(**sizes),
        "SAGE": geometric.GraphSAGE(**sizes),
        "GAT": geometric.GAT(**sizes, heads=8),
        "GIN": geometric.GIN(**sizes),
    }
    torch.set_num_threads(1)
    result: dict[str, float] = {}
    for name, network in networks.items():
        network.eval()

        def naive(turn: int, network: torch.nn.Module = network) -> int:
            with torch.no_grad():
                drawn = (clean - torch.bernoulli(chance)).abs()
                return int(network(drawn, edges).argmax(dim=1).numel() > 0)

        voter = make_module_voter(Called(network).eval(), graph, noise, 0, dataset.n_classes)
        size = 64 if isinstance(voter, FusedVoter) else voter.batch  # type: ignore[attr-defined]
        ours = processor_rate(lambda turn, v=voter, n=size: v.count(ESTIMATION, turn * n, n).sum() and n, seconds)
        loop = processor_rate(naive, seconds)
        result |= {f"{name} of torch-geometric, smooth": ours, f"{name}, naive dense loop": loop}
        result[f"{name}: smooth / naive"] = ours / loop
    called = Called(Unknown(networks["GCN"])).eval()
    rates = []
    for batch in (1, 8):
        voter = make_module_voter(called, graph, noise, 0, dataset.n_classes, batch_size=batch)
        rates.append(
            processor_rate(lambda turn, v=voter, n=batch: v.count(ESTIMATION, turn * n, n).sum() and n, seconds)
        )
    result["unknown module, one by one"] = rates[0]
    result["unknown module: batches of 8 / one by one"] = rates[1] / rates[0]
    result["unknown module: one by one / naive dense loop"] = rates[0] / result["GCN, naive dense loop"]
    return result


class ByHand(torch.nn.Module):
    """A network as one writes it without torch-geometric's layers: gather, weigh, `index_add`."""

    def __init__(self, inputs: int, units: int, classes: int) -> None:
        super().__init__()
        self.first, self.last = torch.nn.Linear(inputs, units), torch.nn.Linear(units, classes)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        sender, receiver = edge_index
        degrees = torch.zeros(len(x)).index_add(0, receiver, torch.ones(len(sender))) + 1

        def mean(values: torch.Tensor) -> torch.Tensor:
            own = values / degrees[:, None]
            return own.index_add(0, receiver, values[sender] / degrees[receiver][:, None])

        return mean(self.last(mean(self.first(x)).relu()))


class CarefulLoop:
    """A user's own loop with care: attributes stay sparse, additions are drawn by their number, edges by a mask."""

    def __init__(self, network: torch.nn.Module, graph: Graph, noise: Noise) -> None:
        self.network, self.shape, self.flips = (
            network,
            (graph.n_nodes, graph.n_attrs),
            [float(f) for f in noise.fractions],
        )
        self.rng = np.random.default_rng(0)
        rows = np.repeat(np.arange(graph.n_nodes), graph.ones)
        self.existing = np.sort(rows * graph.n_attrs + graph.attr_indices)
        self.known = np.zeros(graph.n_nodes * graph.n_attrs, dtype=bool)
        self.known[self.existing] = True
        self.clean, self.edges = self._table(self.existing), Edges.of(graph).index
        self.pairs = self.edges[:, self.edges[0] < self.edges[1]]

    def _table(self, ones: np.ndarray) -> torch.Tensor:
        nodes = ones // self.shape[1]
        pointers = np.searchsorted(nodes, np.arange(self.shape[0] + 1))
        parts = (pointers, ones - nodes * self.shape[1], np.ones(len(ones), np.float32))
        return torch.sparse_csr_tensor(*map(torch.from_numpy, parts), size=self.shape, check_invariants=False)

    def __call__(self, turn: int) -> int:
        x, edges = self.clean, self.edges
        if any(self.flips[:2]):
            kept = self.existing[self.rng.random(len(self.existing), dtype=np.float32) >= self.flips[1]]
            hits = self.rng.integers(
                0, len(self.known), self.rng.binomial(len(self.known), self.flips[0]), dtype=np.int32
            )
            x = self._table(np.sort(np.concatenate([kept, hits[~self.known[hits]]])))
        if self.flips[3]:
            pairs = self.pairs[:, torch.rand(self.pairs.shape[1]) >= self.flips[3]]
            edges = torch.cat([pairs, pairs.flip(0)], dim=1)
        with torch.no_grad():
            return int(self.network(x, edges).argmax(dim=1).numel() > 0)


def general_models(dataset, seconds: float) -> dict[str, float]:
    """Networks without a kernel of their own as `certcore.smooth` counts them, against a careful loop; one thread."""
    graph, result = dataset.graph, {}
    torch.set_num_threads(1)
    networks = {
        "GAT": geometric.GAT(graph.n_attrs, 64, 2, dataset.n_classes, heads=8),
        "by hand": ByHand(graph.n_attrs, 64, dataset.n_classes),
    }
    for name, network in networks.items():
        for what, noise in (("attributes", Noise(PAPER_THETA["attr"])), ("edges", Noise(("0", "0", "0", "0.4")))):
            voter = make_module_voter(Called(network.eval()).eval(), graph, noise, 0, dataset.n_classes)
            size = voter.batch  # type: ignore[attr-defined]
            ours = processor_rate(lambda turn, v=voter, n=size: v.count(ESTIMATION, turn * n, n).sum() and n, seconds)
            loop = processor_rate(CarefulLoop(network, graph, noise), seconds)
            result |= {f"{name}, {what}, smooth": ours, f"{name}, {what}, careful loop": loop}
            result[f"{name}, {what}: smooth / careful loop"] = ours / loop
    return result


def medoids(graph: Graph, seconds: float) -> dict[str, float]:
    """SMA's aggregation: two nodes compared once per sample (voting) and in every row they share (training)."""
    model = SMA(graph.n_attrs, 2).eval()
    matrix = truncated_pagerank(Edges.of(graph).one_copy, ITERATIONS)
    values = torch.randn(4, graph.n_nodes, 64, generator=torch.Generator().manual_seed(0))

    def rate_of(aggregate: Callable[..., torch.Tensor]) -> float:
        return rate(lambda turn: len(aggregate(values, matrix)), seconds)

    torch.set_num_threads(1)
    with torch.no_grad():
        once, rows = rate_of(model._compare_once), rate_of(model._aggregate)
    return {"SMA, pairs compared once": once, "SMA, row by row in torch": rows, "once / row by row": once / rows}


def measure(name: str, seconds: float, jobs: int) -> dict[str, float]:
    """All rates, in one run."""
    dataset = get_dataset(name)
    noise = Noise(PAPER_THETA["attr"])
    torch.manual_seed(0)
    model = GCN(dataset.graph.n_attrs, dataset.n_classes).eval()
    fused = make_voter(model, dataset.graph, noise, 0)
    batched = make_voter(model, dataset.graph, noise, 0, fused=False)
    assert isinstance(fused, FusedVoter)
    assert isinstance(batched, TorchVoter)
    size = max(16, 200_000 // dataset.graph.n_nodes)
    with ThreadPoolExecutor(jobs) as pool:
        result = {
            "fused, one thread": rate(threaded(fused, pool, 1, size), seconds),
            f"fused, {jobs} threads": rate(threaded(fused, pool, jobs, size), seconds),
        }
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        rate(threaded(fused, pool, jobs, 4 * size), seconds)
        result["memory grown by four times as many samples (MiB)"] = (
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        ) / 1024
    result["batched torch, one thread"] = rate(
        lambda turn: batched.count(ESTIMATION, turn * 32, 32).sum() and 32, seconds
    )
    sparse = [rate(SparseLoop(model, dataset, noise, threads), seconds) for threads in range(1, jobs + 1)]
    result["sparse torch loop, best"] = max(sparse)
    torch.set_num_threads(jobs)
    result["dense torch-geometric loop"] = rate(DenseLoop(model, dataset, noise), seconds)
    best = result[f"fused, {jobs} threads"]
    result["fused / dense loop"] = best / result["dense torch-geometric loop"]
    result["fused / sparse loop"] = best / result["sparse torch loop, best"]
    result["minutes for 10^6 votes"] = 1e6 / best / 60
    general = general_models(dataset, seconds)
    return result | medoids(dataset.graph, seconds) | own_models(dataset, seconds) | general


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="citeseer")
    parser.add_argument("--seconds", type=float, default=5.0, help="time per measurement")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--own", action="store_true", help="only torch-geometric's own networks through smooth")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if args.own:
        dataset = get_dataset(args.dataset)
        result = own_models(dataset, args.seconds) | general_models(dataset, args.seconds)
    else:
        result = measure(args.dataset, args.seconds, args.jobs)
    if args.json:
        print(json.dumps(result))
        return
    for what, value in result.items():
        print(f"{what:50} {value:12,.1f}")


if __name__ == "__main__":
    main()
