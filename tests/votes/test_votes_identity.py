"""Votes belong to one model: no name, cache, checkpoint or worker may give those of another one."""

from __future__ import annotations

import functools
import importlib
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from certcore.common.errors import InputError
from certcore.common.executor import open_executor, run_tasks
from certcore.common.npz import read_npz, write_npz
from certcore.data import citation_like
from certcore.domain.noise import Noise
from certcore.models.called import Called
from certcore.votes.function import FunctionVoter
from certcore.votes.fused import FusedVoter, voter_digest
from certcore.votes.module import ModuleVoter
from certcore.votes.run import _count, collect_votes
from experiments.networks.batched import TorchVoter
from experiments.networks.voters import make_voter

GRAPH = citation_like(60, 30, 3).graph
NOISE = Noise(("0.05", "0.5", "0", "0.4"))
SLOPE = 0.5
TABLE = torch.zeros(3)


def constant(attributes, adjacency, label=0):
    return np.full(attributes.shape[0], label)


def closure(label):
    return lambda attributes, adjacency: np.full(attributes.shape[0], label)


def voter(function, key="mine"):
    return FunctionVoter(GRAPH, NOISE, 0, function, 3, key)


def winner(mine, **options) -> int:
    """The label that a model which always gives the same one gets all votes for."""
    votes = collect_votes(mine, selection=2, estimation=4, **({"jobs": 1} | options))
    label = int(votes.prediction[0])
    assert (votes.estimation[:, label] == 4).all()
    return label


class Always(nn.Module):
    """Gives all nodes one label."""

    def __init__(self, label):
        super().__init__()
        self.bias = nn.Parameter(torch.eye(3)[label] * 9)
        self.register_buffer("kept", torch.zeros(2))
        self.register_buffer("other", torch.zeros(2), persistent=False)
        self.setting, self.sizes, self.table, self.numbers = 0.5, [1, 2], torch.zeros(2), np.zeros(2, np.float32)
        self.inner = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Dropout())
        self.activation = torch.relu

    def forward(self, x, edge_index):
        beside = self.table.sum() + self.numbers.sum() * torch.arange(3)
        return self.activation(self.bias.repeat(len(x), 1)) * self.setting * self.scale() + beside

    def scale(self):
        return 1.0 if SLOPE < 9 else 2.0


class Child(Always):
    pass


def on_graph(module, **options):
    return ModuleVoter(GRAPH, NOISE, 0, Called(module).eval(), 3, **options)


def _change(module, name):
    if name == "weights":
        with torch.no_grad():
            module.bias[0] += 1
    elif name == "inner weights":
        with torch.no_grad():
            module.inner[0].weight[0, 0] += 1
    else:
        {
            "buffer": lambda: module.kept.add_(1),
            "buffer outside the state_dict": lambda: module.other.add_(1),
            "statistics": lambda: module.inner[1].running_mean.add_(1),
            "training flag": lambda: module.inner[2].train(),
            "number": lambda: setattr(module, "setting", 0.1),
            "list": lambda: module.sizes.append(3),
            "plain tensor": lambda: module.table.add_(1),
            "plain array": lambda: module.numbers.__setitem__(0, 1),
            "new attribute": lambda: setattr(module, "note", 1),
            "library function": lambda: setattr(module, "activation", torch.sigmoid),
            "part taken out": lambda: module.inner.pop(2),
            "part replaced": lambda: module.inner.__setitem__(2, nn.Identity()),
            "setting of a part": lambda: setattr(module.inner[2], "p", 0.1),
        }[name]()


CHANGES = [
    "weights", "inner weights", "buffer", "buffer outside the state_dict", "statistics", "training flag", "number",
    "list", "plain tensor", "plain array", "new attribute", "library function", "part taken out", "part replaced",
    "setting of a part",
]  # fmt: skip


def votes_of(mine, **options):
    return collect_votes(mine, selection=3, estimation=9, **({"jobs": 1} | options)).estimation


def refused_or_the_same(make, change, path) -> bool:
    """Whether votes stored before a change are refused afterwards; if not, they are those of the changed model."""
    votes_of(make(), checkpoint=path)
    change()
    try:
        found = votes_of(make(), checkpoint=path)
    except InputError as why:
        assert "another model" in str(why)  # noqa: PT017
        return True
    assert np.array_equal(found, votes_of(make()))
    return False


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("kind", [Always, Child])
def test_changes_of_a_module_are_seen(name, kind, tmp_path):
    torch.manual_seed(0)
    module = kind(1).eval()
    assert on_graph(module).digest == on_graph(module).digest
    refused = refused_or_the_same(
        lambda: ModuleVoter(GRAPH, NOISE, 0, Called(module), 3), lambda: _change(module, name), tmp_path / "votes.npz"
    )
    assert refused or name in ("list", "new attribute", "setting of a part"), "these change no score"


def test_changes_of_classes_and_globals_are_seen(monkeypatch, tmp_path):
    torch.manual_seed(0)
    modules = [kind(1).eval() for kind in (Always, Child)]
    modules[1].load_state_dict(modules[0].state_dict())
    before = [on_graph(module).digest for module in modules]
    assert before[0] != before[1], "a subclass is another model"
    changes = {
        "the class, also as a parent": (Always, "scale", lambda self: -1.0),
        "a constant beside the class": (sys.modules[__name__], "SLOPE", 10),
    }
    for what, change in changes.items():
        with monkeypatch.context() as patch:
            patch.setattr(*change)
            assert all(on_graph(module).digest != was for module, was in zip(modules, before)), what
    with monkeypatch.context() as patch:
        make = functools.partial(on_graph, modules[0])
        refused_or_the_same(
            make, lambda: patch.setattr(nn.Linear, "forward", lambda self, x: x), tmp_path / "library.npz"
        )
    assert [on_graph(module).digest for module in modules] == before


def test_a_tensor_beside_the_class_counts_by_its_numbers():
    module = ReadsGlobal(1)
    before = on_graph(module).digest
    TABLE.add_(1)
    assert on_graph(module).digest != before
    TABLE.zero_()
    assert on_graph(module).digest == before


class ReadsGlobal(Always):
    def forward(self, x, edge_index):
        return super().forward(x, edge_index) + TABLE


class CallsFunction(Always):
    def scale(self):
        return float(closure(1)(np.zeros((1, 1)), None)[0])


class ReadsFile(Always):
    path = ""

    def scale(self):
        return float(torch.load(self.path))


class Imports(Always):
    def scale(self):
        import random

        return random.random()


def test_code_that_reads_elsewhere_is_judged_by_what_it_says(tmp_path):
    torch.save(torch.tensor(1.0), tmp_path / "scale.pt")
    reads = ReadsFile(1)
    reads.path = str(tmp_path / "scale.pt")
    assert refused_or_the_same(
        lambda: on_graph(reads), lambda: torch.save(torch.tensor(-1.0), tmp_path / "scale.pt"), tmp_path / "1.npz"
    )
    calls = CallsFunction(1)
    assert not refused_or_the_same(lambda: on_graph(calls), lambda: None, tmp_path / "2.npz")
    with pytest.raises(InputError, match="changed while"):
        votes_of(on_graph(Imports(1)), checkpoint=tmp_path / "3.npz")


def _nested():
    hidden = [1.0]

    class Nested(Always):
        def scale(self):
            return hidden[0]

    return Nested(1)


def _with(**given):
    module = Always(1)
    for name, value in given.items():
        setattr(module, name, value)
    return module


def _hooked(part=lambda module: module):
    module = Always(1)
    part(module).register_forward_hook(lambda module, given, answer: answer * -1)
    return module


def _parametrized():
    module = Always(1)
    nn.utils.parametrize.register_parametrization(module.inner[0], "weight", nn.Softplus())
    return module


#: What cannot be seen without calling it: it is judged by its scores.
HIDDEN = {
    "hook": _hooked,
    "hook of a part": lambda: _hooked(lambda module: module.inner[0]),
    "function as an attribute": lambda: _with(activation=lambda scores: scores),
    "replaced forward": lambda: _with(forward=lambda x, edge_index: x[:, :3]),
    "module in a list": lambda: _with(parts=[nn.Linear(2, 2)]),
    "object": lambda: _with(note=object()),
    "closure": _nested,
    "parametrization": _parametrized,
}


@pytest.mark.parametrize("case", HIDDEN)
def test_what_cannot_be_seen_is_judged_by_its_scores(case, tmp_path):
    torch.manual_seed(0)
    module = HIDDEN[case]()
    path = tmp_path / "votes.npz"
    assert not refused_or_the_same(lambda: on_graph(module), lambda: None, path)
    handle = module.register_forward_hook(lambda module, given, answer: answer.roll(1, 1))
    assert refused_or_the_same(lambda: on_graph(module), lambda: None, tmp_path / "other.npz") is False
    with pytest.raises(InputError, match="another model"):
        votes_of(on_graph(module), checkpoint=path)
    handle.remove()


@pytest.mark.parametrize("function", [closure(1), functools.partial(constant, label=1)])
def test_functions_need_a_key_where_it_matters(function, tmp_path):
    for options in ({"checkpoint": tmp_path / "votes.npz"}, {"scheduler": "tcp://nowhere:1"}):
        with pytest.raises(InputError, match="key="):
            votes_of(on_graph(function), **options)
    assert not (tmp_path / "votes.npz").exists()


def test_a_wrapper_needs_a_key():
    called = Called(Always(1), lambda model, x, edge_index: model(x, edge_index)).eval()
    mine = ModuleVoter(GRAPH, NOISE, 0, called, 3)
    with pytest.raises(InputError, match="key="):
        assert mine.digest
    assert replace(mine, key="mine").digest != replace(mine, key="other").digest


def test_using_a_network_does_not_change_it():
    """torch-geometric writes code of its own into its layers."""
    geometric = pytest.importorskip("torch_geometric.nn")

    class Own(geometric.MessagePassing):
        def forward(self, x, edge_index):
            return self.propagate(edge_index, x=x)

        def message(self, x_j):
            return x_j

    for model in (geometric.GCN(30, 4, 2, 30), geometric.GAT(30, 4, 2, 30), Own()):
        mine = ModuleVoter(GRAPH, NOISE, 0, Called(model).eval(), 30)
        before = mine.digest
        model(torch.zeros(2, 30), torch.tensor([[0, 1], [1, 0]]))
        assert mine.digest == before


def test_scores_of_all_64_samples_count(tmp_path):
    """A model that differs for the last of them only."""

    class Picky(Always):
        rare = -1.0

        def forward(self, x, edge_index):
            here = float(x.sum()) == self.rare
            return super().forward(x, edge_index) + 9 * here * torch.eye(3)[2]

    module = Picky(1).eval()
    mine = on_graph(module)
    sums = [float(mine._inputs(0, number, 1).sum()) for number in range(200)]
    last, later = (next(i for i in at if sums.count(sums[i]) == 1) for at in (range(63, 0, -1), range(64, 200)))
    for number, seen in ((last, True), (later, False)):
        before = mine.digest
        module.rare = sums[number]
        assert (mine.digest != before) is seen
        module.rare = -1.0


def test_a_checkpoint_belongs_to_one_module(tmp_path):
    path = tmp_path / "votes.npz"
    torch.manual_seed(0)
    module = Always(0)
    assert winner(on_graph(module), checkpoint=path) == 0
    assert winner(on_graph(module), checkpoint=path) == 0
    with torch.no_grad():
        module.bias.copy_(torch.eye(3)[2] * 9)
    with pytest.raises(InputError, match="another model"):
        winner(on_graph(module), checkpoint=path)
    assert winner(on_graph(module)) == 2


def test_keys(tmp_path):
    """A key stands for what cannot be seen; weights and the first answer are compared all the same."""
    path = tmp_path / "votes.npz"
    with pytest.raises(InputError, match="key="):
        winner(voter(constant, None), checkpoint=path)
    with pytest.raises(InputError, match="key="):
        winner(voter(constant, ""), checkpoint=path)
    assert winner(voter(constant), checkpoint=path) == 0
    assert winner(voter(constant), checkpoint=path) == 0
    for other in (voter(constant, "other"), voter(functools.partial(constant, label=1))):
        with pytest.raises(InputError, match="another model"):
            winner(other, checkpoint=path)
    hooked = on_graph(_hooked(), key="mine")
    before = hooked.digest
    assert replace(hooked, key="other").digest != before
    with torch.no_grad():
        hooked.module.model.inner[0].weight[0, 0] += 1  # its answers stay as they are
    assert hooked.digest != before
    label = [0]
    drifting = voter(lambda attributes, adjacency: np.full(attributes.shape[0], label[0]))
    before = drifting.digest
    label[0] = 1
    assert drifting.digest != before, "found by its answer"


def test_a_model_that_changes_on_the_way_is_not_kept(tmp_path):
    counter = [0]

    def labels(attributes, adjacency):
        counter[0] += 1
        return np.full(attributes.shape[0], counter[0] // 3 % 3)

    path = tmp_path / "votes.npz"
    with pytest.raises(InputError, match="changed while"):
        winner(voter(labels), checkpoint=path)
    assert not path.exists()


@pytest.mark.parametrize("fused", [True, False])
def test_a_trained_model_votes_with_the_weights_it_was_taken_with(fused):
    from certcore.models.gcn import GCN

    torch.manual_seed(0)
    model = GCN(30, 3, units=8).eval()
    mine = make_voter(model, GRAPH, NOISE, 0, fused=fused)
    digest, votes = mine.digest, mine.count(16, 0, 20)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter))
    again = make_voter(model, GRAPH, NOISE, 0, fused=fused)
    assert again.digest != digest == mine.digest
    assert np.array_equal(mine.count(16, 0, 20), votes)
    assert np.array_equal(collect_votes(mine, selection=1, estimation=20, jobs=1).estimation, votes)
    assert not np.array_equal(collect_votes(again, selection=1, estimation=20, jobs=1).estimation, votes)


def test_a_subclass_is_not_taken_for_its_parent():
    from certcore.models.gcn import GCN

    class Other(GCN):
        def head(self, units, edges):
            return -super().head(units, edges)

    with pytest.raises(InputError, match="FunctionVoter"):
        make_voter(Other(30, 3, units=8), GRAPH, NOISE, 0)


def test_checkpoints_of_trained_models_stay_readable():
    """These digests are in people's files."""
    rng = np.random.default_rng(0)
    weights = [rng.standard_normal(shape).astype(np.float32) for shape in ((30, 8), (8,), (8, 3), (3,))]
    fused = FusedVoter(GRAPH, NOISE, 1, True, *weights)
    assert fused.digest == "b68ace4b4fe1c8956f63e7e7ce86febbe11588df588bf69396b668cdac4d966e"
    options = {"n_attrs": 30, "n_classes": 3, "units": 8, "dropout": 0.5}
    named = dict(zip(("first", "bias1", "second", "bias2"), weights))
    by_torch = TorchVoter(GRAPH, NOISE, 1, "gcn", options, named)
    assert by_torch.digest == "1192dc840318b87dd34f13ff4a5cc214d582008b7f8bff34fa284ffb5481461b"


def test_old_checkpoints_of_functions_are_refused(tmp_path):
    """Earlier versions wrote the digest of the name, or of what was found by reading code."""
    path = tmp_path / "votes.npz"
    mine = voter(constant)
    collect_votes(mine, selection=2, estimation=4, jobs=1, checkpoint=path)
    for old in ("function", "callable"):
        digest = voter_digest(f"{old}|{'0' * 64}|3|{NOISE.theta}|0", GRAPH, ())
        write_npz(path, read_npz(path) | {"digest": np.array(digest)})
        with pytest.raises(InputError, match="another model"):
            collect_votes(mine, selection=2, estimation=4, jobs=1, checkpoint=path)


LIBRARY = """
import numpy as np

weights = np.zeros(1, dtype=np.int64)

def labels(attributes, adjacency):
    return np.full(attributes.shape[0], weights[0])

def constant(attributes, adjacency, label):
    return np.full(attributes.shape[0], label)
"""


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A module that workers can import too."""
    (tmp_path / "workers_model.py").write_text(textwrap.dedent(LIBRARY))
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("workers_model", None)
    importlib.invalidate_caches()
    yield importlib.import_module("workers_model")
    sys.modules.pop("workers_model", None)


def test_two_models_on_one_worker(library):
    """Processes and Dask alike keep what they were sent; it answers for itself only."""
    distributed = pytest.importorskip("distributed")
    partials = [voter(functools.partial(library.constant, label=label)) for label in range(3)]
    plain = voter(library.labels, "plain")  # under one key, a worker takes models with equal answers for one
    tasks = [(mine, mine.digest, 16, 0, 2) for mine in partials]
    with open_executor(jobs=2) as (executor, workers):
        for task, votes in run_tasks(executor, workers, _count, tasks * 2):
            assert (votes[:, task[0].function.keywords["label"]] == 2).all()
        # Changed here, the function there still has the weights it was imported with.
        library.weights[0] = 2
        with pytest.raises(InputError, match="another model"):
            list(run_tasks(executor, workers, _count, [(plain, plain.digest, 16, 0, 2)]))
    library.weights[0] = 0
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", silence_logs=50
    ) as cluster:
        address = cluster.scheduler_address
        for label in (0, 1, 2):
            assert winner(voter(functools.partial(library.constant, label=label)), scheduler=address) == label
            assert winner(voter(closure(label)), scheduler=address) == label
        assert winner(voter(library.labels), scheduler=address) == 0
        library.weights[0] = 1
        with pytest.raises(InputError, match="another model"):
            winner(voter(library.labels), scheduler=address)


def test_functions_without_an_address_are_refused_by_processes():
    with pytest.raises(InputError, match="top of a module"):
        collect_votes(voter(closure(1)), selection=1, estimation=2, jobs=2)
