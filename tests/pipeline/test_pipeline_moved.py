"""`smooth` and bundles under Gaussian noise: what is in the file, and what is refused."""

from __future__ import annotations

import json
from typing import Any, List, Optional, Union  # noqa: UP035 (as networks are written by hand)

import numpy as np
import pytest

pytest.importorskip("torch")
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCN, GCNConv, GraphSAGE

import certcore as cc
from certcore import messages
from certcore.common.errors import InputError
from certcore.common.rounding import percent_down
from certcore.data import from_pyg, save_dataset
from certcore.domain.noise import Noise
from certcore.models.called import Called
from certcore.votes.module import ModuleVoter
from certcore.votes.purposes import ESTIMATION
from experiments.__main__ import main
from experiments.bundle import BundleRecipe
from experiments.controls import DISTANCES, certified_accuracy, times
from experiments.datasets.features import nearest_points

RNG = np.random.default_rng(0)
X = RNG.normal(0, 1, (40, 12)) + np.repeat(np.eye(4, 12) * 2, 10, axis=0)
LABELS = np.repeat(np.arange(4), 10)
PAIRS = nearest_points(X, 3)


def data() -> Data:
    both = np.concatenate([PAIRS, PAIRS[:, ::-1]]).T
    index = torch.from_numpy(np.ascontiguousarray(both))
    return Data(x=torch.from_numpy(X).float(), edge_index=index, y=torch.from_numpy(LABELS))


def network(kind=GCN, units: int = 8):
    torch.manual_seed(1)
    return kind(12, units, 2, 4).eval()


@pytest.mark.parametrize("theta", [0, 0.3])
@pytest.mark.parametrize("kind", [GCN, GraphSAGE])
def test_smooth_at_the_input(kind, theta):
    model = network(kind)
    instance = cc.smooth(model, data(), attr_std="0.25", adj_del=theta, samples=300, selection=50)
    assert "votes_note" not in instance.meta
    assert instance.meta["noise_at"] == "input"
    assert instance.meta["lattice"] == "2^-6"
    exact = np.linalg.norm(X.astype(np.float32) - instance.graph.attributes.toarray().astype(np.float64))
    assert exact <= instance.meta["rounding"] < 1.011 * exact
    noise = Noise(("0", "0", "0", str(theta)), attr_std="0.25")
    called = Called(model, None, "edge_index").eval()
    own = ModuleVoter(instance.graph, noise, 0, called, 4).count(ESTIMATION, 0, 300)
    assert abs(instance.base.votes - own).sum() <= 4
    found = cc.certify(instance, attr_l2="0.05")
    assert found.certified > 0
    assert cc.certify(instance, attr_l2="100").certified == 0


def test_smooth_behind_the_first_map():
    for kind, units in ((GCN, 5), (GraphSAGE, 4)):  # SAGE has two maps of 4 units
        instance = cc.smooth(
            network(kind, units), data(), attr_std="0.25", samples=400, selection=50, noise_at="first_map"
        )
        assert instance.meta["noise_at"] == "first_map"
        assert "rounding" not in instance.meta
        assert np.array_equal(instance.graph.attributes.toarray(), X.astype(np.float32))
        assert len(instance.base.offsets) == 40
        assert instance.base.factor >= 2**20
        at_input = cc.smooth(network(kind, units), data(), attr_std="0.25", samples=400, selection=50)
        assert abs(instance.base.votes - at_input.base.votes).mean() < 15
        assert cc.certify(instance, attr_l2="0.05").certified > 0
    with pytest.raises(InputError, match="leave noise_at out"):
        cc.smooth(network(units=12), data(), attr_std="0.25", samples=10, selection=5, noise_at="first_map")
    normalised = Called(network(), lambda m, x, e: m(x / x.norm(dim=1, keepdim=True), e), "edge_index")
    with pytest.raises(InputError, match="leave noise_at out"):  # rows are read before they are mapped
        cc.smooth(
            normalised.model, data(), attr_std="0.25", samples=10, selection=5, noise_at="first_map",
            wrapper=normalised.wrapper, layers=2,
        )  # fmt: skip


class ByHand(nn.Module):
    """A network as people write it: own forward, annotations, functions instead of modules."""

    hidden: List[Union[int, Any]]  # noqa: UP006, UP007

    def __init__(self, row_norm: bool = False, memory: bool = False) -> None:
        super().__init__()
        self.first, self.second = GCNConv(12, 5), GCNConv(5, 4)
        self.row_norm = row_norm
        self.seen: list[Tensor] | None = [] if memory else None

    def forward(self, x: Tensor, edge_index: Tensor, weight: Optional[Tensor] = None) -> Tensor:  # noqa: UP045
        h: Optional[Tensor] = F.relu(self.first(x, edge_index, weight))  # noqa: UP045
        if self.row_norm:
            h = F.normalize(h, p=2.0, dim=1)
        if self.seen is not None:
            self.seen.append(h)
        h = F.dropout(h, p=0.5, training=self.training)
        return F.log_softmax(self.second(h, edge_index, weight), dim=1)


class OwnProducts(nn.Module):
    """Messages as a product with a sparse matrix, which no trace can follow."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(12, 5), nn.Linear(5, 4)

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        h = F.relu(torch.sparse.mm(adjacency, self.first(x)))
        return torch.sparse.mm(adjacency, self.second(h))


def by_hand(**given: bool) -> ByHand:
    torch.manual_seed(1)
    return ByHand(**given).eval()


def test_networks_written_by_hand_vote_behind_their_first_map():
    library, model = network(GCN, 5), by_hand()
    for ours, theirs in zip((model.first, model.second), library.convs):
        ours.load_state_dict(theirs.state_dict())
    options = {"attr_std": "0.25", "samples": 400, "selection": 50}
    found = cc.smooth(model, data(), noise_at="first_map", **options)
    assert found.meta["field"] == "derived from the modules"
    assert "votes_note" not in found.meta
    expected = cc.smooth(library, data(), noise_at="first_map", **options)
    assert np.array_equal(found.base.votes, expected.base.votes)
    assert np.array_equal(found.base.offsets, expected.base.offsets)
    threat = cc.ThreatModel(attr_l2="0.05")
    assert cc.certify(found, threat).certified == cc.certify(expected, threat).certified > 0


def test_rows_normalised_by_hand_are_read():
    """Without the fused kernel: the rest of the network votes on mapped rows, about as the whole one does."""
    options = {"attr_std": "0.25", "samples": 400, "selection": 50}
    found = cc.smooth(by_hand(row_norm=True), data(), noise_at="first_map", **options)
    assert (found.layers, found.edge_field) == (2, "degrees")
    assert found.meta["field"] == "derived from the modules"
    at_input = cc.smooth(by_hand(row_norm=True), data(), **options)
    assert abs(found.base.votes - at_input.base.votes).mean() < 15
    assert cc.certify(found, attr_l2="0.02").certified > 0


@pytest.mark.parametrize(
    ("model", "given", "words"),
    [
        (by_hand(memory=True), {"layers": 2}, "stores values between calls"),
        (OwnProducts(), {"layers": 2, "edges": "adjacency"}, "what the model computes cannot be derived"),
    ],
)
def test_the_reason_why_noise_stays_at_the_input(model, given, words):
    options = {"attr_std": "0.25", "samples": 10, "selection": 5} | given
    with pytest.raises(InputError, match=words + ".*leave noise_at out"):
        cc.smooth(model.eval(), data(), noise_at="first_map", **options)
    assert cc.smooth(model.eval(), data(), **options).meta["noise_at"] == "input"


def test_numbers_that_no_noise_flips_are_taken_as_they_are():
    options = {"samples": 40, "selection": 10}
    found = cc.smooth(by_hand(), data(), adj_del=0.4, **options)
    assert np.array_equal(found.graph.attributes.toarray(), X.astype(np.float32))
    assert found.meta["attributes"] == "kept as numbers: no noise flips them"
    asked = cc.smooth(by_hand(), data(), adj_del=0.4, keep_values=True, **options)
    assert np.array_equal(found.base.votes, asked.base.votes)
    assert not cc.smooth(by_hand(), data(), adj_del=0.4, binarize=True, **options).graph.real
    for flips in ({"attr_del": 0.1}, {"attr_add": 0.01, "adj_del": 0.4}):
        with pytest.raises(InputError, match=r"neither 0 nor 1.*nothing is changed without being asked for"):
            cc.smooth(by_hand(), data(), **flips, **options)
    with pytest.raises(InputError, match="neither 0 nor 1"):
        cc.smooth(by_hand(), data(), adj_del=0.4, keep_values=False, **options)
    bits = Data(x=(data().x > 0).float(), edge_index=data().edge_index)
    assert "attributes" not in cc.smooth(by_hand(), bits, adj_del=0.4, **options).meta


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"attr_std": "0.25", "attr_del": 0.5}, "flips attributes"),
        ({"attr_std": "0.25", "adj_add": 0.01}, "adj_add"),
        ({"attr_std": "0.25", "noise_at": "output"}, "first_map"),
        ({"attr_std": "0.25", "lattice": "0.1"}, "power of two"),
        ({"adj_del": 0.4, "keep_values": True, "noise_at": "first_map"}, "give attr_std"),
        ({"attr_std": "0.25", "alpha": "1e-29", "samples": 10**9}, "fewer samples"),
    ],
)
def test_smooth_refuses(given, words):
    with pytest.raises(InputError, match=words):
        cc.smooth(network(), data(), **({"samples": 10, "selection": 5} | given))


def test_votes_continue_and_belong_to_their_noise(tmp_path):
    model = network()
    whole = cc.smooth(model, data(), attr_std="0.25", samples=64, selection=8)
    kept = cc.smooth(model, data(), attr_std="0.25", samples=64, selection=8, checkpoint=tmp_path / "votes.npz")
    assert np.array_equal(whole.base.votes, kept.base.votes)
    with pytest.raises(InputError, match="another model, graph, noise"):
        cc.smooth(model, data(), attr_std="0.3", samples=64, selection=8, checkpoint=tmp_path / "votes.npz")


def test_a_bundle_chooses_its_noise_on_the_validation_nodes(tmp_path, capsys):
    path, out = tmp_path / "points.npz", tmp_path / "bundle.npz"
    save_dataset(path, from_pyg(data(), "points", keep_values=True))
    common = ["--per-class", "3", "--samples", "80", "--selection", "20", "--epochs", "8", "--jobs", "1", "--json"]
    common += ["--work", str(tmp_path / "work"), "-o", str(out)]
    assert main(["bundle", str(path), "gcn", "l2", "--attr-std", "0.2", "--noise-at", "first_map", *common]) == 2
    assert "leave noise_at out" in capsys.readouterr().err  # 32 units are more than 12 attributes
    assert main(["bundle", str(path), "gcn", "l2_joint", "--attr-std", "0.1,0.3,5", *common]) == 0
    instance = cc.load_instance(out)
    trials = instance.meta["attr_std_trials"]
    best = max(trial["median_radius"] for trial in trials)
    good = [float(trial["attr_std"]) for trial in trials if trial["median_radius"] >= 0.98 * best]
    assert len(trials) == 3
    assert float(instance.meta["attr_std"]) == max(good)
    assert instance.covered_types == ("adj_del", "attr_l2")
    assert instance.graph.attr_values is not None
    recipe = BundleRecipe.from_command(instance.meta["command"])
    assert recipe.attr_std == ("0.1", "0.3", "5")
    assert recipe.per_class == 3
    # A network that ignores edges stands beside, at multiples of s, and in a remark at the next larger distance.
    curve = instance.meta["control"]["certified_accuracy"]
    assert list(curve) == list(times(instance.meta["attr_std"], DISTANCES))
    assert sorted(curve.values(), reverse=True) == list(curve.values())
    assert not instance.controls  # they are no lines across a curve
    asked, recorded = (times(instance.meta["attr_std"], [share])[0] for share in ("1.5", "2"))
    said = " ".join(str(text) for text in messages.remarks(instance, cc.ThreatModel(attr_l2=asked)))
    assert f"MLP that ignores edges keeps {percent_down(curve[recorded])}" in said
    assert f"distance {recorded}" in said
    far = times(instance.meta["attr_std"], ["15"])[0]
    assert "MLP" not in " ".join(str(text) for text in messages.remarks(instance, cc.ThreatModel(attr_l2=far)))


def test_edge_bundles_leave_the_numbers_behind(tmp_path, capsys):
    path, out = tmp_path / "points.npz", tmp_path / "bundle.npz"
    save_dataset(path, from_pyg(data(), "points", keep_values=True))
    words = ["bundle", str(path), "gcn", "adj", "--per-class", "3", "--samples", "80", "--selection", "20"]
    assert main([*words, "--epochs", "8", "--jobs", "1", "--work", str(tmp_path), "-o", str(out), "--json"]) == 0
    instance = cc.load_instance(out)
    assert instance.graph.attr_digest is not None
    assert instance.graph.digest == from_pyg(data(), "points", keep_values=True).graph.digest
    assert cc.certify(instance, adj_del=1).certified >= 0
    assert set(instance.controls) == {"MLP without edges"}


def test_training_for_gaussian_noise_from_the_command_line(tmp_path, capsys):
    path, out = tmp_path / "points.npz", tmp_path / "model.safetensors"
    save_dataset(path, from_pyg(data(), "points", keep_values=True))
    split = ["--epochs", "3", "-o", str(out), "--json"]
    assert main(["train", str(path), "gcn", "attr", "--attr-std", "0.2", *split]) == 2
    assert "either" in capsys.readouterr().err
    big = Data(
        x=torch.from_numpy(np.tile(X, (12, 1))).float() + 0.01, edge_index=torch.zeros((2, 0), dtype=torch.long),
        y=torch.from_numpy(np.tile(LABELS, 12)),
    )  # fmt: skip
    save_dataset(path, from_pyg(big, "points", keep_values=True))
    assert main(["train", str(path), "gcn", "--attr-std", "0.2", *split]) == 0
    assert json.loads(capsys.readouterr().out)["attr_std"] == "0.2"
    assert main(["vote", str(path), str(out), "--samples", "10"]) == 2
    assert "bundle" in capsys.readouterr().err


def test_the_network_that_ignores_edges_is_certified_as_the_program_would():
    alone = Data(x=data().x, edge_index=torch.zeros((2, 0), dtype=torch.long), y=data().y)
    instance = cc.smooth(network(), alone, attr_std="0.5", samples=2_000, selection=100)
    shares = []
    for distance in ("0", "0.1", "0.5", "1.5", "4"):
        program = cc.certify(instance, attr_l2=distance, targets="correct").certified / len(LABELS)
        shares.append(certified_accuracy(instance, distance))
        assert shares[-1] == program, distance
    assert shares[0] > shares[2] > shares[-1]
