"""Gaussian noise on real-valued attributes: where it is drawn, and the base certificate."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_UP, Context
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from certcore.common.choice import Choice
from certcore.common.errors import InputError
from certcore.common.exact import read_alpha
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.votes.first_map import FirstMap, first_map
from certcore.votes.lattice import on_lattice
from certcore.votes.run import Votes
from certcore.votes.sampler import Sampler

if TYPE_CHECKING:
    from certcore.base.gaussian import GaussianBase
    from certcore.models.base import NodeClassifier


class NoiseAt(Choice):
    """Where Gaussian noise is drawn: at the input or after the first linear map."""

    INPUT = "input"
    FIRST_MAP = "first_map"


INPUT, FIRST_MAP = str(NoiseAt.INPUT), str(NoiseAt.FIRST_MAP)


@dataclass(frozen=True, eq=False)
class Moved:
    """A graph under Gaussian noise: the certificate is about `graph`, votes are drawn on `drawn`.

    With noise at the input both are the graph with its attributes rounded to the lattice. With noise after the first
    map `graph` is the given graph, and `cut` describes how `drawn` was computed from it.
    """

    graph: Graph
    drawn: Graph
    noise: Noise
    rounding: float = 0.0
    """‖X − X̄‖ of rounding the attributes to the lattice, rounded up."""
    cut: FirstMap | None = None

    @classmethod
    def at_input(cls, graph: Graph, noise: Noise) -> Moved:
        rounded, distance = on_lattice(graph, noise)
        return cls(rounded, rounded, noise, distance)

    @classmethod
    def behind(cls, graph: Graph, weights: np.ndarray, noise: Noise) -> Moved:
        """Noise after the first map; `weights` (attributes × units) hold all maps that read the attributes."""
        graph = graph if graph.real else graph.with_attributes(graph.attributes)
        fine = noise.behind_first_map()
        cut = first_map(graph, weights, fine)
        return cls(graph, cut.graph, fine, cut=cut)

    def require_exact(self, samples: int, alpha: object) -> None:
        """Refuse a number of samples at which the total distance to ideal Gaussian noise is too large for α."""
        Sampler(self.drawn, self.noise).require_exact(samples, read_alpha(alpha))

    def base(self, votes: Votes, alpha: object, rule: str, fields: sp.csr_array) -> GaussianBase:
        """The base certificate; row i of `fields` marks the nodes that node i reads."""
        from certcore.base.gaussian import GaussianBase

        offsets = None if self.cut is None else self.cut.offsets(fields, self.noise.std)
        return GaussianBase(
            votes=votes.estimation, prediction=votes.prediction, n_samples=votes.n_samples, alpha=str(alpha),
            theta=self.noise.theta, rule=rule, graph=self.graph, std=self.noise.attr_std,
            lattice=str(self.noise.lattice), offsets=offsets, factor=None if self.cut is None else self.cut.factor,
        )  # fmt: skip

    @property
    def facts(self) -> dict[str, Any]:
        """Entries for the provenance."""
        norms = np.sqrt(np.asarray(abs(self.graph.attributes).power(2).sum(axis=1)).ravel())
        facts: dict[str, Any] = {
            "attr_std": self.noise.attr_std,
            "lattice": self.noise.lattice,
            "noise_at": INPUT if self.cut is None else FIRST_MAP,
            "row_norms": [float(f"{value:.4g}") for value in (norms.min(), np.median(norms), norms.max())],
        }
        if self.rounding:
            digits = Context(prec=3, rounding=ROUND_UP)  # three digits, never less than the distance
            facts["rounding"] = float(digits.create_decimal_from_float(self.rounding))
        return facts


def network_under(model: NodeClassifier, graph: Graph, noise: Noise, where: str) -> tuple[Moved, NodeClassifier]:
    """One of our networks under Gaussian noise at its input or after its first map, and the network that votes."""
    if NoiseAt.parse(where, "noise_at") is NoiseAt.INPUT:
        return Moved.at_input(graph, noise), model
    import torch

    moved = Moved.behind(graph, model.first.detach().numpy(), noise)
    assert moved.cut is not None
    rest = type(model)(**(model.options | {"n_attrs": len(moved.cut.rest)}))
    rest.load_state_dict(model.state_dict() | {"first": torch.from_numpy(moved.cut.rest)})
    rest.eval()
    _require_same_network(model, rest, moved)
    return moved, rest


def _require_same_network(model: NodeClassifier, rest: NodeClassifier, moved: Moved) -> None:
    """Check on a noisy sample that the rest of the network, after the first map, gives the same scores as the whole."""
    import torch

    from certcore.models.base import Edges
    from certcore.votes.purposes import SELECTION
    from certcore.votes.rounding import same_scores

    assert moved.cut is not None
    table, edges = Sampler(moved.drawn, moved.noise).moved(0, SELECTION, 0), Edges.of(moved.graph)
    with torch.no_grad():
        whole = torch.from_numpy(moved.cut.preimage(table)).float() @ model.first
        ours = rest.head(torch.from_numpy(table) @ rest.first, edges)
        if not same_scores(ours, model.head(whole, edges)):
            raise InputError(
                "the network behind its first map gives other scores than the network itself; use noise_at='input'"
            )
