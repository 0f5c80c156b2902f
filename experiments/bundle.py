"""From a dataset's name to an instance file with provenance: train, count votes, compute a layout, write."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from certcore import __version__
from certcore.base.ballots import BallotsBase
from certcore.base.confidence import lower_bounds
from certcore.common.errors import InputError
from certcore.common.exact import read_alpha
from certcore.common.files import cache_folder, require_writable
from certcore.common.npz import read_npz, write_npz
from certcore.common.packages import require_training_packages
from certcore.common.rounding import percent_down
from certcore.data.dataset import Dataset
from certcore.data.split import PER_CLASS
from certcore.domain.base_rule import BaseRule
from certcore.domain.bundle_types import DIVISION_IS_GONE, BundleTypes
from certcore.domain.edge_field import EdgeField
from certcore.domain.graph import Graph
from certcore.domain.layout import layout_graph
from certcore.domain.noise import PAPER_THETA, Noise
from certcore.domain.perturbations import FLIPS
from certcore.domain.split import TEST, VALIDATION
from certcore.instance.fields import hop_fields
from certcore.instance.instance import Instance, save_instance
from certcore.votes.moved import Moved, NoiseAt, network_under
from certcore.votes.run import Voter, Votes, collect_votes
from experiments.datasets.registry import get_dataset
from experiments.networks.registry import BALLOT_MODELS
from experiments.training.result import check_numbers

if TYPE_CHECKING:
    from certcore.models.base import NodeClassifier
    from certcore.models.field import Field
    from experiments.training.ballots import Decoupled
    from experiments.training.result import Trained

#: Largest size of a bundle in bytes: bundles are shipped with the dashboard.
MAX_BYTES = 3 * 2**20
#: What a recorded command begins with.
PROGRAM = ["python", "-m", "experiments"]
#: `TRIAL_VOTES`: votes for each s that is tried on the validation nodes. `TRIAL_FIRST`: index of the first of these
#: samples.
TRIAL_VOTES, TRIAL_FIRST = 2_000, 10**6


@dataclass(frozen=True)
class BundleRecipe:
    """All settings that determine the content of a bundle."""

    dataset: str
    model: str = "gcn"
    types: str = BundleTypes.ATTR
    split: int = 0
    seed: int | None = None
    samples: int = 10**6
    first: int | None = None
    selection: int = 1000
    alpha: str = "0.01"
    theta: tuple[str, ...] | None = None
    edge_field: str | None = None
    epochs: int | None = None
    attr_std: tuple[str, ...] = ()
    """Standard deviations of Gaussian noise; of several, the one with the best radii on the validation nodes is used.
    """
    noise_at: str = NoiseAt.INPUT
    per_class: int = PER_CLASS
    control_at: tuple[str, ...] = ()
    """Distances at which a smoothed network that ignores edges is certified, for comparison."""

    def __post_init__(self) -> None:
        if self.types == "division":
            raise InputError(DIVISION_IS_GONE)
        object.__setattr__(self, "types", BundleTypes.parse(self.types, "what the bundle certifies by"))
        if self.edge_field is not None:
            object.__setattr__(self, "edge_field", EdgeField.parse(self.edge_field, "the edge field"))
        if self.types == BundleTypes.CONVEX and self.model != "gcn":
            raise InputError(f"the convex certificate covers gcn, not {self.model}; choose gcn or smoothing types")
        if (self.types == BundleTypes.BALLOTS) != (self.model in BALLOT_MODELS):
            raise InputError(
                f"the model is {self.model} and the type {self.types}; expected {', '.join(BALLOT_MODELS)} with "
                "ballots, and another model without"
            )
        if self.types == BundleTypes.BALLOTS and (self.edge_field or self.theta):
            raise InputError("ballots have no noise and are summed over one hop; leave out theta and edge field")
        object.__setattr__(self, "noise_at", NoiseAt.parse(self.noise_at, "where noise is drawn"))
        if BundleTypes(self.types).moves and not self.attr_std:
            raise InputError(f"the types are {self.types}, but no standard deviation is given; add --attr-std 0.1")
        check_numbers(self.split, self.seed, self.epochs)
        if BundleTypes(self.types).has_noise and self.noise.types != self.types:
            raise InputError(
                f"theta {' '.join(self.noise.theta)} smooths {self.noise.types}, but the types are {self.types}; "
                "change one of them"
            )
        read_alpha(self.alpha)

    @property
    def noise(self) -> Noise:
        if not BundleTypes(self.types).has_noise:
            return Noise(("0", "0", "0", "0"))
        if not self.attr_std:
            return Noise.to_draw(self.theta or PAPER_THETA[self.types])
        theta = self.theta or PAPER_THETA["adj"] if self.types == BundleTypes.L2_JOINT else ("0",) * len(FLIPS)
        noise = Noise(theta, self.attr_std[0])  # type: ignore[arg-type]
        noise.check_drawable()
        return noise

    @classmethod
    def from_command(cls, command: str) -> BundleRecipe:
        """Read back what `command` writes (older bundles say `certcore bundle`); of several, the last one counts."""
        words = command.split("&&")[-1].split()
        try:
            words = words[1:] if words[:1] == ["certcore"] else words[3:] if words[:3] == PROGRAM else words
            if words[:1] != ["bundle"]:
                raise ValueError(f"it does not begin with {' '.join(PROGRAM)} bundle")
            given: dict[str, Any] = dict(zip(("dataset", "model", "types"), words[1:4], strict=True))
            rest = iter(words[4:])
            for word in rest:
                name = word.removeprefix("--").replace("-", "_")
                if name == "theta":
                    given[name] = tuple(next(rest) for _ in FLIPS)
                elif name in ("attr_std", "control_at"):
                    given[name] = tuple(next(rest).split(","))
                elif name in ("alpha", "edge_field", "noise_at"):
                    given[name] = next(rest)
                elif name != "fresh":
                    given[name] = int(next(rest))
            return cls(**given)
        except (ValueError, TypeError, StopIteration, RuntimeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"{command!r} is no command that makes a bundle ({error}); give the model itself"
            ) from error

    @property
    def stem(self) -> str:
        """Name of a bundle without its file extension."""
        return f"{self.group}-s{self.split}"

    @property
    def group(self) -> str:
        """The name that bundles share if they differ in the split only."""
        name = Path(self.dataset).stem if self.dataset.endswith(".npz") else self.dataset
        rule = f"-{self.edge_field}" if self.edge_field else ""
        return f"{name}-{self.model}-{self.types}{rule}"

    @property
    def command(self) -> str:
        """The shell command that makes the same bundle."""
        words = [f"{' '.join(PROGRAM)} bundle {Path(self.dataset).name} {self.model} {self.types} --split {self.split}"]
        if BundleTypes(self.types).has_noise:
            words.append(f"--samples {self.samples}")
        defaults = BundleRecipe(self.dataset)
        if self.attr_std:
            words.append("--attr-std " + ",".join(self.attr_std))
        if self.control_at:
            words.append("--control-at " + ",".join(self.control_at))
        for option in ("seed", "first", "selection", "alpha", "edge_field", "epochs", "noise_at", "per_class"):
            value = getattr(self, option)
            if value != getattr(defaults, option):
                words.append(f"--{option.replace('_', '-')} {value}")
        if self.theta:
            words.append("--theta " + " ".join(self.theta))
        return " ".join(words)


def make_bundle(
    recipe: BundleRecipe,
    output: str | Path | None = None,
    *,
    work: str | Path | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    fresh: bool = False,
    layout: bool = True,
    most_convex: int | None = None,
    progress: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> tuple[Path, Instance]:
    """Make one bundle; finished steps are kept in `work` (default: the cache) and not repeated.

    Without `layout` the instance can be certified but has no node positions for drawing. The layout takes most of the
    time where votes are few. With `most_convex`, a convex certificate is computed for that many test nodes only, and
    these are the targets. Existing votes with another number of samples are refused, or with `fresh` discarded and
    drawn again: adding samples after the result is known would be optional stopping.
    """
    require_training_packages()
    folder = Path(work) if work else cache_folder() / "work"
    path = Path(output) if output else Path("precomputed") / f"{recipe.stem}.npz"
    require_writable(path)
    require_writable(folder / "model")
    dataset = get_dataset(recipe.dataset)
    say(f"{dataset.name}: {dataset.graph.n_nodes:,} nodes, {dataset.graph.n_edges:,} edges")
    if recipe.types == BundleTypes.BALLOTS:
        instance = _ballots_instance(recipe, dataset)
        say(f"test accuracy of ballots {percent_down(instance.meta['accuracy']['ballots'])}")
        for label, share in instance.meta["controls"].items():
            say(f"{label}: {percent_down(share)}")
    elif recipe.types == BundleTypes.CONVEX:
        trained = _trained_and_told(recipe, dataset, folder, progress, say)
        instance = _convex_instance(recipe, dataset, trained, most_convex)
    else:
        instance = smoothed_on(
            recipe, dataset, folder, jobs=jobs, scheduler=scheduler, fresh=fresh, progress=progress, say=say
        )
        if dataset.graph.real:
            instance = replace(instance, meta=instance.meta | _control(recipe, dataset, instance, folder, jobs))
        right = percent_down(instance.meta["accuracy"]["smoothed"])
        say(f"smoothed test accuracy {right}, where nodes that abstain count by the label most votes chose")
    save_instance(path, _with_layout(instance, dataset, folder) if layout else instance)
    size = path.stat().st_size
    if size > MAX_BYTES:
        say(f"note: {path.name} has {size / 2**20:.1f} MiB; dashboard bundles have less than {MAX_BYTES // 2**20}")
    return path, instance


def smoothed_on(
    recipe: BundleRecipe,
    dataset: Dataset,
    folder: Path,
    *,
    jobs: int | None = None,
    scheduler: str | None = None,
    fresh: bool = False,
    progress: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> Instance:
    """Choose the noise if there are several, train, vote, and make the instance; finished steps are kept."""
    from experiments.networks.voters import make_voter

    chosen, trials = _chosen_std(recipe, dataset, folder, progress, say)
    trained = _trained_and_told(chosen, dataset, folder, progress, say)
    moved, model = _under_noise(chosen, dataset, trained)
    graph, noise = (dataset.graph, chosen.noise) if moved is None else (moved.drawn, moved.noise)
    voter = make_voter(model, graph, noise, int(trained.facts["seed"]))
    votes = _votes(chosen, voter, folder, jobs, scheduler, fresh, progress)
    if votes.fresh_after:
        say(f"{votes.n_samples:,} new samples; those of earlier runs were dropped")
    instance = smoothed_instance(chosen, dataset, trained, votes, moved)
    if not trials:
        return instance
    return replace(instance, meta=instance.meta | {"command": recipe.command, "attr_std_trials": trials})


def _control(
    recipe: BundleRecipe, dataset: Dataset, instance: Instance, folder: Path, jobs: int | None
) -> dict[str, Any]:
    """Entries of `meta` about a network that ignores edges, for comparison."""
    from experiments.controls import SAMPLES, edge_control, moved_control

    if not recipe.attr_std:
        return edge_control(dataset, recipe.split, recipe.seed, recipe.per_class)

    def make(stds: tuple[str, ...], alone: Dataset) -> Instance:
        other = {"model": "gcn", "types": BundleTypes.L2, "theta": None, "edge_field": None}
        control = replace(recipe, **other, attr_std=stds, samples=SAMPLES, first=None)  # type: ignore[arg-type]
        return smoothed_on(control, alone, folder, jobs=jobs)

    return moved_control(make, dataset, str(instance.meta["attr_std"]), recipe.control_at)


def _chosen_std(
    recipe: BundleRecipe, dataset: Dataset, folder: Path, progress: bool, say: Callable[[str], None]
) -> tuple[BundleRecipe, list[dict[str, Any]]]:
    """The recipe with one standard deviation, chosen on the validation nodes before any vote of the certificate.

    It is the largest one whose median radius of single nodes is within two per cent of the best.
    """
    if len(recipe.attr_std) < 2:
        return recipe, []
    from certcore.votes.purposes import TRAINING
    from experiments.networks.voters import make_voter

    trials: list[dict[str, Any]] = []
    for std in recipe.attr_std:
        one = replace(recipe, attr_std=(std,))
        trained = _trained_model(one, dataset, folder, progress=progress)
        moved, model = _under_noise(one, dataset, trained)
        assert moved is not None
        voter = make_voter(model, moved.drawn, moved.noise, int(trained.facts["seed"]))
        nodes = np.flatnonzero(trained.split == VALIDATION)
        kept = folder / f"{one.stem}-{voter.digest[:12]}.radius.npz"
        if not kept.exists():
            found = _median_radius(voter, TRAINING, float(one.noise.std), dataset.labels, nodes)
            write_npz(kept, {"radius": np.array(found)})
        radius = float(read_npz(kept)["radius"])
        trials.append({"attr_std": std, "median_radius": radius, "nodes": len(nodes), "votes": TRIAL_VOTES})
        say(f"attr_std {std}: median radius of {len(nodes)} validation nodes {radius:.4g}")
    # On few nodes radii this close cannot be distinguished, and more noise can certify larger distances.
    enough = 0.98 * max(trial["median_radius"] for trial in trials)
    best = max((t["attr_std"] for t in trials if t["median_radius"] >= enough), key=Fraction)
    return replace(recipe, attr_std=(best,)), trials


def _median_radius(voter: Voter, kind: int, std: float, labels: np.ndarray, nodes: np.ndarray) -> float:
    """The median certified radius of single nodes at a few votes; a node whose label is wrong has radius 0.

    It serves to choose s before the votes of a certificate are drawn, so its samples are disjoint from all of those.
    """
    from scipy.special import ndtri

    votes = voter.count(kind, TRIAL_FIRST, TRIAL_VOTES)
    label = votes.argmax(axis=1)
    bounds = lower_bounds(votes[np.arange(len(label)), label], TRIAL_VOTES, read_alpha("0.01"))
    radius = std * np.maximum(ndtri(np.clip(bounds, 0.5, 1 - 1e-12)), 0)
    return float(np.median(np.where(label == labels, radius, 0)[nodes]))


def _under_noise(recipe: BundleRecipe, dataset: Dataset, trained: Trained) -> tuple[Moved | None, NodeClassifier]:
    """Under Gaussian noise, the graph that votes are drawn on and the network that votes."""
    if not recipe.attr_std:
        return None, trained.model
    moved, model = network_under(trained.model, dataset.graph, recipe.noise, recipe.noise_at)
    moved.require_exact(recipe.samples, recipe.alpha)
    return moved, model


def _trained_and_told(
    recipe: BundleRecipe, dataset: Dataset, folder: Path, progress: bool, say: Callable[[str], None]
) -> Trained:
    trained = _trained_model(recipe, dataset, folder, progress=progress)
    say(f"{recipe.model}: clean test accuracy {trained.facts['accuracy_clean']:.3f}")
    return trained


def trained_again(instance: Instance, work: str | Path | None = None) -> Trained:
    """The model of a bundle, trained again by its recorded command; refused if the result is another model."""
    require_training_packages()
    command, checksums = instance.meta.get("command"), instance.meta.get("checksums")
    if not isinstance(command, str) or not isinstance(checksums, dict) or "model" not in checksums:
        raise InputError(
            "this instance does not tell which command made its model; give the model itself with --model FILE, or in "
            "Python certcore.attack(model, data, instance, …)"
        )
    recipe = BundleRecipe.from_command(command)
    if recipe.attr_std:
        recipe = replace(recipe, attr_std=(str(instance.meta.get("attr_std")),))  # the one that was chosen
    folder = Path(work) if work else cache_folder() / "work"
    trained = _trained_model(recipe, get_dataset(recipe.dataset), folder)
    if trained.facts["sha256"] != checksums["model"]:
        raise InputError(
            f"`{command}` gives another model here than the one that was certified (its SHA-256 begins with "
            f"{trained.facts['sha256'][:12]} instead of {str(checksums['model'])[:12]}): other versions of the "
            "packages, or another processor; give the model itself with --model FILE"
        )
    return trained


def _trained_model(recipe: BundleRecipe, dataset: Dataset, folder: Path, *, progress: bool = False) -> Trained:
    """The model of a recipe: read from `folder` if it was trained before, otherwise trained and saved there."""
    from certcore.data.split import make_split
    from experiments.networks.storage import load_model, save_model
    from experiments.training import train
    from experiments.training.result import Trained

    settings = [
        dataset_digest(dataset),
        recipe.types == BundleTypes.CONVEX,
        recipe.noise.theta,
        recipe.split,
        recipe.seed,
        recipe.epochs,
    ]
    if recipe.attr_std or recipe.per_class != PER_CLASS:
        settings += [recipe.noise.moved, recipe.per_class]
    key = hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:12]
    path = folder / f"{recipe.group}-s{recipe.split}-{key}.safetensors"
    if not path.exists():
        trained = train(
            dataset, recipe.model, recipe.noise, split=recipe.split, seed=recipe.seed, epochs=recipe.epochs,
            robust=recipe.types == BundleTypes.CONVEX, per_class=recipe.per_class, progress=progress,
        )  # fmt: skip
        save_model(path, trained.model, trained.facts)
    model, facts = load_model(path)
    facts["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    return Trained(model, make_split(dataset.labels, recipe.split, recipe.per_class), facts)


def _votes(
    recipe: BundleRecipe,
    voter: Voter,
    folder: Path,
    jobs: int | None,
    scheduler: str | None,
    fresh: bool,
    progress: bool,
) -> Votes:
    return collect_votes(
        voter, selection=recipe.selection, estimation=recipe.samples,
        checkpoint=folder / f"{recipe.stem}-{voter.digest[:12]}.votes.npz", fresh=fresh, first=recipe.first, jobs=jobs,
        scheduler=scheduler, progress=progress,
    )  # fmt: skip


def smoothed_instance(
    recipe: BundleRecipe, dataset: Dataset, trained: Trained, votes: Votes, moved: Moved | None = None
) -> Instance:
    """An instance whose base certificate is randomized smoothing; all test nodes are targets.

    If only edges are smoothed, the certificate uses no attribute: real-valued attributes are left out, and the file has
    their digest.
    """
    from certcore.base.smoothing import SmoothingBase

    field = trained.model.field(dataset.graph, recipe.noise)
    if moved is None:
        base = SmoothingBase(
            votes.estimation, votes.prediction, votes.n_samples, recipe.alpha, recipe.noise.theta, graph=dataset.graph
        )
    else:
        base = moved.base(votes, recipe.alpha, BaseRule.BINARY, _node_fields(dataset.graph, field))
    edge_field = recipe.edge_field or field.edge_field
    test = np.flatnonzero(trained.split == TEST)
    smoothed = float((votes.prediction == dataset.labels)[test].mean())
    meta = _provenance(recipe, dataset, trained)
    meta["accuracy"]["smoothed"] = smoothed
    meta |= {"samples": votes.n_samples, "selection_samples": recipe.selection, "theta": list(recipe.noise.theta)}
    if votes.fresh_after:
        # Which samples are drawn depends on how many were drawn and discarded before.
        meta["fresh_after"] = list(votes.fresh_after)
        before = [replace(recipe, samples=number).command for number in votes.fresh_after]
        meta["command"] = " && ".join(f"{command} --fresh" for command in (*before, recipe.command))
    if moved is not None:
        meta |= moved.facts
    if edge_field != field.edge_field:
        meta["field_note"] = (
            f"edge fields by the rule `{edge_field}` although {recipe.model} needs `{field.edge_field}`: for "
            "comparison with the paper only, it overstates robustness to edge deletions"
        )
    return Instance(
        graph=_shipped_graph(dataset.graph, recipe.noise, moved), base=base, layers=field.layers,
        edge_field=edge_field, node_field=field.node_field, targets=test, labels=dataset.labels,
        class_names=dataset.class_names, node_names=dataset.node_names, split=trained.split, meta=meta,
    )  # fmt: skip


def _node_fields(graph: Graph, field: Field) -> sp.csr_array:
    """Receptive fields: the nodes that each node reads."""
    if field.node_field is not None:
        return field.node_field
    assert field.layers is not None
    return hop_fields(graph, np.arange(graph.n_nodes), field.layers, field.edge_field, need_edges=False).nodes


def _shipped_graph(graph: Graph, noise: Noise, moved: Moved | None) -> Graph:
    """The graph as it is written to the file, without real-valued attributes that the certificate does not use."""
    if moved is not None:
        return moved.graph if moved.cut is None else moved.graph.without_attributes()
    return graph if noise.attributes else graph.without_attributes()


def _convex_instance(recipe: BundleRecipe, dataset: Dataset, trained: Trained, most: int | None) -> Instance:
    """An instance whose base certificate is the convex relaxation of a robustly trained GCN."""
    from experiments.convex.certificate import convex_certificate
    from experiments.convex.network import GcnNetwork, normalised_adjacency
    from experiments.training.robust import LOCAL

    model, graph = trained.model, dataset.graph
    weights = [tensor.detach().numpy() for tensor in (model.first, model.bias1, model.second, model.bias2)]
    network = GcnNetwork(normalised_adjacency(graph.adjacency), graph.attributes, *weights)
    # As in the paper: attribute additions, at most as many per node as in training.
    targets = np.flatnonzero(trained.split == TEST)[:most]
    certificate = convex_certificate(network, local_budget=LOCAL, nodes=None if most is None else targets)
    meta = _provenance(recipe, dataset, trained) | {"local_budget": LOCAL, "convex": certificate.summary()}
    if most is not None:
        meta["certified_nodes"] = f"the first {len(targets)} test nodes only"
    return Instance(
        graph=graph, base=certificate.base(), layers=2, edge_field=EdgeField.DEGREES, targets=targets,
        labels=dataset.labels, class_names=dataset.class_names, node_names=dataset.node_names, split=trained.split,
        meta=meta,
    )  # fmt: skip


def _ballots_instance(recipe: BundleRecipe, dataset: Dataset) -> Instance:
    """An instance whose base certificate is ballots, which takes seconds of training and one forward pass."""
    from experiments.training.ballots import train_controls, train_decoupled

    model = train_decoupled(dataset, split=recipe.split, seed=recipe.seed, epochs=recipe.epochs)
    seed = int(model.facts["seed"])
    meta = _origin(recipe, dataset, seed)
    meta["controls"] = train_controls(dataset, model.split, seed, epochs=recipe.epochs)
    return _decoupled_instance(dataset, model, meta)


def _decoupled_instance(dataset: Dataset, model: Decoupled, meta: dict[str, Any]) -> Instance:
    """An instance from the ballots of `decoupled`; all test nodes are targets."""
    base = BallotsBase(model.ballots, 1, weights_read_edges=False).for_graph(dataset.graph)
    right = base.prediction == dataset.labels
    accuracy = {
        "ballots": float(right[model.split == TEST].mean()),
        "validation": float(right[model.split == VALIDATION].mean()),
    }
    return Instance(
        graph=dataset.graph, base=base, layers=1, edge_field=EdgeField.MESSAGES,
        targets=np.flatnonzero(model.split == TEST), labels=dataset.labels, class_names=dataset.class_names,
        node_names=dataset.node_names, split=model.split,
        meta=meta | {"accuracy": accuracy, "training": model.facts["settings"]},
    )  # fmt: skip


def _provenance(recipe: BundleRecipe, dataset: Dataset, trained: Trained) -> dict[str, Any]:
    meta = _origin(recipe, dataset, trained.facts["seed"])
    meta["accuracy"] = {"clean": trained.facts["accuracy_clean"]}
    meta["training"] = {
        key: trained.facts[key] for key in ("training", "epochs_run", "best_epoch") if key in trained.facts
    }
    meta["checksums"]["model"] = trained.facts["sha256"]
    return meta


def _origin(recipe: BundleRecipe, dataset: Dataset, seed: int) -> dict[str, Any]:
    """Provenance of a bundle: entries of `meta` that do not depend on the kind of model."""
    packages = ("numpy", "scipy", "numba", "torch", "torch-geometric")
    return {
        "dataset": dataset.name,
        "model": recipe.model,
        "types": recipe.types,
        "group": recipe.group,
        "split": recipe.split,
        "seed": seed,
        "command": recipe.command,
        "versions": {"certcore": __version__} | {name: importlib.metadata.version(name) for name in packages},
        "checksums": {"dataset": dataset_digest(dataset)},
        "source": dataset.source,
    }


def dataset_digest(dataset: Dataset) -> str:
    """SHA-256 over graph and labels."""
    graph = dataset.graph
    digest = hashlib.sha256(f"{graph.n_nodes}|{graph.n_attrs}|{graph.directed}".encode())
    for array in (*graph.arrays, dataset.labels):
        digest.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
    return digest.hexdigest()


def _with_layout(instance: Instance, dataset: Dataset, folder: Path) -> Instance:
    """The instance with node positions; all bundles of a dataset share one layout."""
    path = folder / f"layout-{dataset_digest(dataset)[:12]}.npz"
    if not path.exists():
        write_npz(path, {"layout": layout_graph(dataset.graph)})
    return replace(instance, layout=read_npz(path)["layout"])
