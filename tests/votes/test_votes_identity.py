"""Votes belong to one model: no name, cache, checkpoint or worker may give those of another one."""

from __future__ import annotations

import functools
import importlib
import itertools
import sys
import textwrap
import threading

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("torch")

import torch

from certcore.common.errors import InputError
from certcore.common.executor import open_executor, run_tasks
from certcore.common.npz import read_npz, write_npz
from certcore.data import citation_like
from certcore.domain.noise import Noise
from certcore.votes.batched import TorchVoter
from certcore.votes.function import FunctionVoter
from certcore.votes.fused import FusedVoter
from certcore.votes.identity import identity
from certcore.votes.run import _count, collect_votes
from certcore.votes.voters import make_voter

GRAPH = citation_like(60, 30, 3).graph
NOISE = Noise(("0.05", "0.5", "0", "0.4"))

scale = np.zeros(3, dtype=np.int64)


def constant(attributes, adjacency, label=0):
    return np.full(attributes.shape[0], label)


def by_global(attributes, adjacency):
    return np.full(attributes.shape[0], scale[0])


def voter(function):
    return FunctionVoter(GRAPH, NOISE, 0, function, 3)


def winner(function, **options) -> int:
    """The label that a model which always gives the same one gets all votes for."""
    votes = collect_votes(voter(function), selection=2, estimation=4, **({"jobs": 1} | options))
    label = int(votes.prediction[0])
    assert (votes.estimation[:, label] == 4).all()
    return label


def closure(label):
    return lambda attributes, adjacency: np.full(attributes.shape[0], label)


class Model:
    def __init__(self, label):
        self.label = label

    def __call__(self, attributes, adjacency):
        return self.predict(attributes, adjacency)

    def predict(self, attributes, adjacency):
        return np.full(attributes.shape[0], self.label)


def defined(label):
    """The same name again and again, as in a notebook."""
    space: dict = {"np": np, "__name__": "notebook"}
    exec(f"def model(attributes, adjacency):\n    return np.full(attributes.shape[0], {label})", space)
    return space["model"]


def decorated(label):
    @functools.wraps(constant)
    def wrapper(attributes, adjacency):
        return constant(attributes, adjacency, label)

    return wrapper


KINDS = {
    "closure": closure,
    "partial": lambda label: functools.partial(constant, label=label),
    "default": lambda label: lambda attributes, adjacency, label=label: np.full(attributes.shape[0], label),
    "redefinition": defined,
    "instance": Model,
    "method": lambda label: Model(label).predict,
    "decorated": decorated,
    "nested": lambda label: lambda *given: (lambda: constant(*given, label=label))(),
    "module": lambda label: functools.partial(by_module, _module(label)),
}


def by_module(module, attributes, adjacency):
    with torch.no_grad():
        return module(torch.zeros(attributes.shape[0], 1)).argmax(dim=1).numpy()


def _module(label):
    module = torch.nn.Linear(1, 3)
    with torch.no_grad():
        module.weight.zero_()
        module.bias.copy_(torch.eye(3)[label] * 9)
    return module.eval()


@pytest.mark.parametrize("kind", KINDS)
def test_models_that_differ_are_told_apart(kind, tmp_path):
    models = [KINDS[kind](label) for label in range(3)]
    assert [winner(model) for model in models] == [0, 1, 2]
    assert len({identity(model) for model in models}) == 3
    assert identity(KINDS[kind](1)) == identity(models[1])
    path = tmp_path / "votes.npz"
    assert winner(models[0], checkpoint=path) == 0
    with pytest.raises(InputError, match="another model"):
        winner(models[1], checkpoint=path)
    assert winner(KINDS[kind](0), checkpoint=path) == 0


def _cases():
    state = {"weights": [np.zeros(3)], "names": {"a", "b"}}

    def reads_closure(attributes, adjacency):
        return state

    model = Model([1, 2])
    module = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2), torch.nn.Dropout())
    ring: list = [1]
    ring.append(ring)
    matrix = sp.eye_array(3, format="csr")

    def change_weights():
        with torch.no_grad():
            module[0].weight[0, 0] += 1

    yield "array in a closure", reads_closure, lambda: state["weights"][0].__setitem__(1, 1.0)
    yield "dict in a closure", reads_closure, lambda: state.update(new=1)
    yield "set in a closure", reads_closure, lambda: state["names"].add("c")
    yield "global", by_global, lambda: scale.__setitem__(2, scale[2] + 1)
    yield "attribute", model, lambda: model.label.append(3)
    yield "attribute behind a method", model.predict, lambda: setattr(model, "other", 1)
    yield "weights", functools.partial(by_module, module), change_weights
    yield "buffer", functools.partial(by_module, module), lambda: module[1].running_mean.add_(1)
    yield "training flag", functools.partial(by_module, module), module[2].eval
    yield "setting", functools.partial(by_module, module), lambda: setattr(module[2], "p", 0.1)
    yield "cycle", lambda: ring, lambda: ring.append(2)
    yield "sparse", lambda: matrix, lambda: matrix.data.__setitem__(0, 5.0)
    yield "function attribute", constant, lambda: setattr(constant, "note", 1)
    yield "class", Model(1), lambda: setattr(Model, "predict", lambda self, x, a: None)
    yield "helper", decorated(1), lambda: setattr(constant, "__defaults__", (1,))


@pytest.mark.parametrize("number", range(15))
def test_changes_are_seen(number, monkeypatch):
    monkeypatch.setattr(Model, "predict", Model.predict)
    monkeypatch.setattr(constant, "__defaults__", (0,))
    _, function, change = next(itertools.islice(_cases(), number, None))
    before = identity(function)
    assert identity(function) == before
    change()
    assert identity(function) != before
    vars(constant).pop("note", None)


def test_all_cases_are_tried():
    assert len(list(_cases())) == 15


def test_using_a_model_does_not_change_it():
    module = _module(1)
    matrix = sp.csr_array((np.ones(4), ([0, 0, 1, 2], [2, 1, 0, 1])), shape=(3, 3))

    @torch.no_grad()
    def labels(attributes, adjacency):
        matrix.has_sorted_indices  # noqa: B018 - remembers what it finds out
        return np.add(by_module(module, attributes, adjacency), np.argmax([0]))

    before = identity(labels)
    winner(labels)
    assert identity(labels) == before


def test_graph_networks_are_recognised():
    """torch-geometric writes code of its own into its layers."""
    nn = pytest.importorskip("torch_geometric.nn")
    model = nn.GCN(in_channels=3, hidden_channels=4, num_layers=2, out_channels=2).eval()
    function = functools.partial(by_module, model)
    before = identity(function)
    edges = torch.tensor([[0, 1], [1, 0]])
    model(torch.zeros(2, 3), edges)
    assert identity(function) == before
    with torch.no_grad():
        next(model.parameters()).add_(1)
    assert identity(function) != before


def _unknown():
    lock = threading.Lock()
    cached = functools.lru_cache(closure(1))
    objects = np.array([object()], dtype=object)
    vectorized = np.frompyfunc(lambda x: x, 1, 1)
    yield lambda x, a: lock
    yield cached
    yield lambda x, a: objects
    yield vectorized
    yield lambda x, a: np.full(x.shape[0], int(open("label.txt").read()))  # noqa: SIM115
    yield lambda x, a: eval("constant(x, a)")
    generator = (i for i in range(3))
    yield lambda x, a: generator
    masked = np.ma.masked_array([1, 2], [0, 1])
    yield lambda x, a: masked
    sparse = torch.eye(2).to_sparse()
    yield lambda x, a: sparse


@pytest.mark.parametrize("number", range(9))
def test_what_cannot_be_told_is_refused_where_it_matters(number, tmp_path):
    function = next(itertools.islice(_unknown(), number, None))
    with pytest.raises(InputError, match="jobs=1 and without a checkpoint"):
        collect_votes(voter(function), selection=1, estimation=2, jobs=1, checkpoint=tmp_path / "votes.npz")
    with pytest.raises(InputError, match="jobs=1 and without a checkpoint"):
        collect_votes(voter(function), selection=1, estimation=2, jobs=2)


def test_such_a_model_votes_right_here():
    lock = threading.Lock()

    def labels(attributes, adjacency):
        with lock:
            return np.full(attributes.shape[0], 2)

    assert winner(labels) == 2


def test_a_model_that_changes_on_the_way_is_not_kept(tmp_path):
    counter = [0]

    def labels(attributes, adjacency):
        counter[0] += 1
        return np.full(attributes.shape[0], counter[0] % 3)

    path = tmp_path / "votes.npz"
    with pytest.raises(InputError, match="changed while"):
        winner(labels, checkpoint=path)
    assert not path.exists()


def test_weights_changed_after_the_digest_was_taken(tmp_path):
    module = _module(0)
    mine = voter(functools.partial(by_module, module))
    first = mine.digest
    path = tmp_path / "votes.npz"
    collect_votes(mine, selection=2, estimation=4, jobs=1, checkpoint=path)
    with torch.no_grad():
        module.bias.copy_(torch.eye(3)[2] * 9)
    assert mine.digest != first
    with pytest.raises(InputError, match="another model"):
        collect_votes(mine, selection=2, estimation=4, jobs=1, checkpoint=path)
    assert int(collect_votes(mine, selection=2, estimation=4, jobs=1).prediction[0]) == 2


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
    """An earlier version wrote the digest of the name: whose votes these are, nobody knows."""
    import hashlib

    from certcore.votes.fused import voter_digest

    path = tmp_path / "votes.npz"
    mine = voter(constant)
    collect_votes(mine, selection=2, estimation=4, jobs=1, checkpoint=path)
    name = hashlib.sha256(f"{constant.__module__}.constant|1".encode()).hexdigest()
    old = voter_digest(f"function|{name}|3|{NOISE.theta}|0", GRAPH, ())
    write_npz(path, read_npz(path) | {"digest": np.array(old)})
    with pytest.raises(InputError, match="by its name only"):
        collect_votes(mine, selection=2, estimation=4, jobs=1, checkpoint=path)


def test_the_version_adds_to_the_identity():
    given = [FunctionVoter(GRAPH, NOISE, 0, constant, 3, version=version).digest for version in ("", "1", "2")]
    assert len(set(given)) == 3
    assert FunctionVoter(GRAPH, NOISE, 0, closure(1), 3, version="2").digest not in given


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
    plain = voter(library.labels)
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
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        address = cluster.scheduler_address
        for label in (0, 1, 2):
            assert winner(functools.partial(library.constant, label=label), scheduler=address) == label
            assert winner(closure(label), scheduler=address) == label
        assert winner(library.labels, scheduler=address) == 0
        library.weights[0] = 1
        with pytest.raises(InputError, match="another model"):
            winner(library.labels, scheduler=address)


def test_functions_without_an_address_are_refused_by_processes():
    with pytest.raises(InputError, match="top of a module"):
        collect_votes(voter(closure(1)), selection=1, estimation=2, jobs=2)


def test_a_module_of_ones_own_counts_by_its_contents(library):
    space: dict = {"own": library}
    exec("def model(attributes, adjacency):\n    return own.labels(attributes, adjacency)", space)
    before = identity(space["model"])
    library.weights[0] = 1
    assert identity(space["model"]) != before
