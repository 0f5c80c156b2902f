"""From a trained torch network and a graph to an instance: noise, votes, and a checked receptive field."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from certcore import __version__
from certcore.base.smoothing import SmoothingBase
from certcore.check_field import FieldCheck, declared_field, falsify
from certcore.common.errors import InputError
from certcore.common.exact import Probability
from certcore.common.packages import require_training_packages
from certcore.common.reading import whole_number
from certcore.data.anything import as_dataset
from certcore.data.dataset import Dataset, numbered_classes
from certcore.domain.edge_field import EdgeField
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.domain.perturbations import FLIPS
from certcore.domain.split import chosen_nodes
from certcore.instance.fields import hop_fields
from certcore.instance.instance import Instance
from certcore.votes.moved import FIRST_MAP, INPUT, Moved, NoiseAt
from certcore.votes.run import Votes

if TYPE_CHECKING:
    import torch

    from certcore.models.called import Called

_LOG = logging.getLogger(__name__)
#: Number of nodes in the short check of the field.
_NODES = 8
#: Number of graphs in the short check of the field.
_GRAPHS = 2
#: Number of layers, the rule for edges, and whether both were derived from the modules.
_Field = tuple[int, EdgeField, bool]


def smooth(
    model: Callable[..., Any],
    data: object,
    *,
    attr_add: Probability = 0,
    attr_del: Probability = 0,
    adj_add: Probability = 0,
    adj_del: Probability = 0,
    attr_std: Probability | None = None,
    noise_at: str = INPUT,
    lattice: str | None = None,
    targets: str | Sequence[int] | np.ndarray | torch.Tensor | None = None,
    name: str = "",
    samples: int = 100_000,
    selection: int = 1_000,
    alpha: Probability = 0.01,
    base_rule: str = "binary",
    seed: int = 0,
    layers: int | None = None,
    edge_field: str | None = None,
    check: bool = True,
    wrapper: Callable[..., Any] | None = None,
    edges: str = "edge_index",
    batch_size: int | None = None,
    device: str | torch.device | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    key: str | None = None,
    fresh: bool = False,
    jobs: int | None = 1,
    scheduler: str | None = None,
    progress: bool | None = None,
    binarize: bool = False,
    keep_values: bool | None = None,
    undirected: bool = False,
    directed: bool = False,
    simplify: bool = False,
    largest_component: bool = False,
) -> Instance:
    """Smooth a trained network by random noise on the graph, and return the instance to certify.

    `attr_add`, `attr_del`, `adj_add`, `adj_del` are flip *probabilities*. `attr_std` is the standard deviation of
    Gaussian noise on real-valued attributes, alone or with `adj_del`. It is drawn on a lattice at the input (the
    attributes are rounded to it, `meta["rounding"]`; `lattice` is a power of two such as `2^-9`, by default from s), or
    with `noise_at="first_map"` after the first linear map of a recognised network, which needs fewer draws and rounds
    no attribute. The model is any torch module or function called as `model(x, edge_index)` that returns scores;
    `edges` and `wrapper` are for other calls (see `Called`). The data are a torch-geometric `Data`, a networkx graph,
    or (x, edge_index[, labels]); nothing in them is changed unless asked for (the last six options, see
    `ImportOptions`). Attributes that no noise flips are taken as the numbers they are (`meta["attributes"]`). Targets
    are a mask, indices, or `train`, `val`, `test` or `all`; by default the test nodes if there is a test mask.

    A module is copied, its copy set to evaluation mode, and caches of its layers turned off. Modules called inside a
    function have to be in evaluation mode already. A module that keeps values between calls is copied for every call.
    Models whose scores for the same graph differ, before, while or after they vote, are refused.

    The receptive field (`layers`, `edge_field`) is derived from the modules where that is certain, and has to be
    declared otherwise; a smaller one is refused. With `check` a short form of `check_field` tries to falsify it.

    `samples` votes at confidence 1 − `alpha` are counted where the model is, or on `device`, after `selection` ones
    that choose the labels. Fast ways are first compared with the model's own scores; where they differ a slower one is
    used, and `meta["votes_note"]` says so. With a `checkpoint` file an interrupted run continues; `jobs` processes or
    the Dask cluster at `scheduler` share the samples. Both identify modules by weights, classes and their scores for 64
    samples. Functions need a `key` as well, which must change whenever they change. `progress` shows a bar (by default
    on a terminal and in a notebook).
    """
    require_training_packages()
    from certcore.votes.choose import counted, first_call, prepared, voter_for
    from certcore.votes.state import generators_kept, require_plain_torch

    require_plain_torch()
    whole_number(samples, "the number of samples", 1, 10**9)
    noise = _noise((attr_add, attr_del, adj_add, adj_del), attr_std, noise_at, lattice)
    changes = {
        "binarize": binarize, "keep_values": _keeps_values(keep_values, noise, data, binarize),
        "undirected": undirected, "directed": directed, "simplify": simplify, "largest_component": largest_component,
    }  # fmt: skip
    dataset, labelled = as_dataset(data, name, **{option: True for option, on in changes.items() if on})
    where, notes = chosen_nodes(targets, dataset.graph.n_nodes, dataset.split), list[str]()
    with generators_kept():
        called = prepared(model, dataset.graph, wrapper, edges, device, notes)
        n_classes, keeps = first_call(called, dataset.graph)
        found = declared_field(called, dataset.graph, layers, edge_field)
        checked = _checked(called, dataset.graph, found, noise, check, seed, keeps)
        voter, moved = voter_for(
            called, dataset.graph, noise, seed, n_classes,
            behind=noise_at == FIRST_MAP, batch_size=batch_size, keeps=keeps, notes=notes, key=key,
        )  # fmt: skip
        if moved is not None:
            moved.require_exact(samples, alpha)
        for note in notes:
            _LOG.warning("%s", note)
        votes = counted(
            voter, selection=selection, estimation=samples, checkpoint=checkpoint, fresh=fresh, jobs=jobs,
            scheduler=scheduler, progress=_shown() if progress is None else progress,
        )  # fmt: skip
    base = _base(votes, dataset.graph, noise, moved, found, alpha, base_rule)
    meta = _meta(model, dataset, noise, votes, seed, found, checked, notes)
    if dataset.name != "graph" or name:
        meta["dataset"] = dataset.name
    if labelled:
        right = (votes.prediction == dataset.labels)[slice(None) if where is None else where]
        meta |= {"accuracy": {"smoothed": float(right.mean())}} if len(right) else {}
    graph = dataset.graph
    if moved is not None:
        meta, graph = meta | moved.facts, moved.graph
    return _instance(replace(dataset, graph=graph), labelled, base, found, where, n_classes, meta)


def _keeps_values(given: bool | None, noise: Noise, data: object, binarize: bool) -> bool:
    """Whether attributes are taken as the numbers they are: as given, for Gaussian noise, or if no noise flips them."""
    if given is not None and noise.attr_std is None:
        return given
    return not isinstance(data, Dataset | Graph) and (noise.attr_std is not None or not (noise.attributes or binarize))


def _base(
    votes: Votes, graph: Graph, noise: Noise, moved: Moved | None, found: _Field, alpha: Probability, rule: str
) -> SmoothingBase:
    if moved is None:
        return SmoothingBase(
            votes.estimation, votes.prediction, votes.n_samples, str(alpha), noise.theta, rule=rule, graph=graph
        )
    everybody = np.arange(moved.graph.n_nodes)
    fields = hop_fields(moved.graph, everybody, *found[:2], need_edges=False).nodes
    return moved.base(votes, alpha, rule, fields)


def _checked(
    called: Called, graph: Graph, found: _Field, noise: Noise, wanted: bool, seed: int, keeps: bool
) -> FieldCheck | None:
    """The short check of the field, which raises if it is falsified; None if only randomness and state were tested.

    If noise adds edges, every receptive field is the whole graph.
    """
    flips = bool(wanted and noise.fractions[2] == 0)
    checked = falsify(
        called, graph, *found[:2], noise, derived=found[2], nodes=_NODES, graphs=_GRAPHS if flips else 0, seed=seed,
        keeps=keeps,
    )  # fmt: skip
    checked.require()
    return checked if flips else None


def _instance(
    dataset: Dataset,
    labelled: bool,
    base: SmoothingBase,
    found: _Field,
    targets: np.ndarray | None,
    n_classes: int,
    meta: dict[str, Any],
) -> Instance:
    names = dataset.class_names if labelled else ()
    return Instance(
        graph=dataset.graph, base=base, layers=found[0], edge_field=found[1], targets=targets,
        labels=dataset.labels if labelled else None,
        class_names=(*names, *numbered_classes(np.array([n_classes - 1]))[len(names) :]),
        node_names=dataset.node_names, split=dataset.split, meta=meta,
    )  # fmt: skip


def _noise(given: tuple[Probability, ...], attr_std: Probability | None, noise_at: str, lattice: str | None) -> Noise:
    NoiseAt.parse(noise_at, "noise_at")
    for kind, value in zip(FLIPS, given):
        counts = isinstance(value, int | np.integer) and not isinstance(value, bool) and value != 0
        if counts or (isinstance(value, float) and value > 1):
            raise InputError(
                f"smooth(…, {kind}={value}) is no flip probability; expected a number from 0 to 1 such as 0.6 (1.0 if "
                f"you mean one). How many flips an attacker has is for certify(instance, {kind}={value})"
            )
    std = None if attr_std is None else str(attr_std)
    if std is None and (noise_at != INPUT or lattice is not None):
        raise InputError("noise_at and lattice are about Gaussian noise; give attr_std as well, or leave them out")
    noise = Noise(tuple(map(str, given)), std, lattice)  # type: ignore[arg-type]
    noise.check_drawable()
    if std is not None and noise.fractions[2]:
        raise InputError("beside attr_std edges are only deleted by noise; set adj_add to 0")
    if not (noise.attributes or noise.adjacency):
        raise InputError(
            "nothing is smoothed: all four flip probabilities are 0; give some, for example attr_add=0.002, "
            "attr_del=0.6, or attr_std=0.1 for attributes that are numbers"
        )
    return noise


def _meta(
    model: object,
    dataset: Dataset,
    noise: Noise,
    votes: Votes,
    seed: int,
    found: _Field,
    checked: FieldCheck | None,
    notes: list[str],
) -> dict[str, Any]:
    meta: dict[str, Any] = {
        "model": type(model).__name__ if not hasattr(model, "__name__") else str(model.__name__),
        "types": noise.types,
        "theta": list(noise.theta),
        "samples": votes.n_samples,
        "selection_samples": int(votes.selection[0].sum()),
        "seed": seed,
        "field": "derived from the modules" if found[2] else "declared",
        "source": dataset.source,
        "versions": {"certcore": __version__},
    }
    if checked is not None:
        meta["field_check"] = checked.to_json()
    if notes:
        meta["votes_note"] = "; ".join(notes)
    if votes.fresh_after:
        meta["fresh_after"] = list(votes.fresh_after)
    if dataset.graph.real and not noise.attributes:
        meta["attributes"] = "kept as numbers: no noise flips them"
    return meta


def _shown() -> bool:
    """Whether to show a progress bar: on a terminal and in a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules
