"""The bundles that travel with the project: small, quick to load, with a history, and provable."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path

import pytest

from certcore import Instance, certify, load_instance
from certcore.base.ballots import BallotsBase
from certcore.domain.threat import ThreatModel
from certcore.sweep import Session
from certcore.verify.proof import verify_proof
from experiments.bundle import MAX_BYTES
from experiments.datasets.registry import REGISTRY
from experiments.source import BUNDLES, LOCAL
from pages.files import bundles
from pages.state.state import START

FILES = sorted(BUNDLES.glob("*.npz"))


@cache
def loaded(path: Path) -> tuple[Instance, float]:
    """A bundle and how long it took to load: at most three tries, other work on the machine is not its fault."""
    seconds = float("inf")
    for _ in range(3):
        if seconds > 2.0:
            started = time.process_time()
            instance = load_instance(path)
            seconds = time.process_time() - started
    return instance, seconds


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_bundle(path: Path) -> None:
    assert path.stat().st_size < MAX_BYTES
    instance, seconds = loaded(path)
    assert seconds < 2.0, f"{path.name} takes {seconds:.1f} s to load"
    meta = instance.meta
    assert meta["dataset"] in REGISTRY
    assert meta["dataset"] not in LOCAL
    assert path.stem == f"{meta['group']}-s{meta['split']}"
    name, model, types = meta["group"].split("-")[:3]
    assert meta["command"].startswith(f"certcore bundle {name} {model} {types} --split {meta['split']}")
    assert {"seed", "accuracy", "versions", "checksums", "source"} <= set(meta)
    assert instance.layout is not None
    if isinstance(instance.base, BallotsBase):
        assert set(instance.controls) == {"MLP without edges", "MLP distilled from a GNN", "GNN, not certified"}
        assert not instance.base.weights_read_edges
    if instance.graph.real:  # a network that ignores edges stands beside
        assert meta["controls"]
    kinds = ("attr_del", "adj_add", "attr_l2", "adj_del", "attr_add")
    # Against ballots nothing is certified node by node once attributes change.
    first = 1 if isinstance(instance.base, BallotsBase) else 0
    kind = next(kind for kind in kinds[first:] if kind in instance.base.axes)
    local = {f"local_{kind}": 1} if instance.base.local is not None else {}
    threat = ThreatModel(**{kind: meta["attr_std"] if kind == "attr_l2" else 1}, **local)
    certificate = certify(instance, threat, attack=False)
    assert certificate.certified >= certificate.naive_certified > 0
    assert certificate.proof is not None
    assert verify_proof(certificate.proof, instance).accepted


#: What the dashboard opens with, and how many votes per node stand behind it (None: needs none).
PROMISED = {
    **{f"citeseer-gcn-attr-s{split}": 10**6 for split in range(5)},
    **{f"citeseer-gcn-{types}-s{split}": 10**5 for types in ("adj", "joint") for split in range(3)},
    "citeseer-gcn_mean-adj-s0": 10**5,
    "citeseer-gcn-joint-s0": 10**6,
    **{f"citeseer-gcn-convex-s{split}": None for split in range(2)},
    **{f"citeseer-{model}-attr-s0": 10**5 for model in ("gat", "appnp", "rgcn", "sma")},
    "pubmed-gcn-attr-s0": 10**6,
    "cora-gcn-attr-s0": 10**5,
    "cora-gcn-joint-s0": 10**5,
    **{f"{name}-decoupled-ballots-s{split}": None for name in ("cora", "citeseer") for split in range(3)},
    "pubmed-decoupled-ballots-s0": None,
    "pubmed_tfidf-gcn-adj-s0": 10**5,
    "pubmed_tfidf-gcn-l2-s0": 10**5,
    "digits-gcn-l2-s0": 10**5,
    "digits-gcn-l2_joint-s0": 10**5,
}


@pytest.mark.parametrize(("name", "votes"), PROMISED.items())
def test_promised_bundles_are_there(name: str, votes: int | None) -> None:
    facts = loaded(BUNDLES / f"{name}.npz")[0].base.facts
    if votes is None:
        assert "samples" not in facts
    else:
        assert facts["samples"] >= votes


def test_the_first_view_of_a_visitor_tells_the_story() -> None:
    """Collective far above naive, a bracket to be seen, and the strong search closes most of it."""
    name = bundles.first(bundles.on_disk())
    session = Session(load_instance(bundles.path_of(name)))
    threat = ThreatModel(attr_del=START["attr_del"])
    tight = session.certify(threat)
    strong = session.certify(threat, relaxation="strong", rounds=6)
    targets = len(session.instance.select_targets(None))
    assert tight.certified > 2 * tight.naive_certified
    assert tight.certified > 0.8 * targets
    open_before, open_after = (targets - c.attack_found - c.certified for c in (tight, strong))
    assert 0.01 * targets < open_before < 0.05 * targets
    assert open_after < 0.5 * open_before
