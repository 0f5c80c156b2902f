"""From a dataset's name to an instance with its provenance: train, vote, lay out, write."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from certcore import __version__
from certcore.base.division import PairHash
from certcore.common.errors import InputError
from certcore.common.exact import read_alpha
from certcore.common.files import cache_folder, require_writable
from certcore.common.npz import read_npz, write_npz
from certcore.common.rounding import percent_down
from certcore.data.dataset import Dataset
from certcore.data.registry import get_dataset
from certcore.data.split import TEST
from certcore.domain.bundle_types import BundleTypes
from certcore.domain.edge_field import EdgeField
from certcore.domain.layout import layout_graph
from certcore.domain.noise import PAPER_THETA, Noise
from certcore.domain.perturbations import TYPES
from certcore.instance.instance import Instance, save_instance
from certcore.models.registry import DIVISION_MODELS, require_training_packages
from certcore.training.result import check_numbers
from certcore.votes.run import Votes, collect_votes

if TYPE_CHECKING:
    from certcore.training.result import Trained

#: Largest size of a bundle: bundles are shipped with the dashboard.
MAX_BYTES = 3 * 2**20


@dataclass(frozen=True)
class BundleRecipe:
    """Everything that decides what is in a bundle."""

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
    groups: int = 3
    salt: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "types", BundleTypes.parse(self.types, "what the bundle certifies by"))
        if self.edge_field is not None:
            object.__setattr__(self, "edge_field", EdgeField.parse(self.edge_field, "the edge field"))
        if self.types == BundleTypes.CONVEX and self.model != "gcn":
            raise InputError(f"the convex certificate covers gcn, not {self.model}; choose gcn or smoothing types")
        if (self.types == BundleTypes.DIVISION) != (self.model in DIVISION_MODELS):
            raise InputError(
                f"the model is {self.model} and the type {self.types}; expected one of {', '.join(DIVISION_MODELS)} "
                "with division, and none of them without it"
            )
        if self.types == BundleTypes.DIVISION and (self.edge_field or self.theta):
            raise InputError(
                "division voting has no noise and its models aggregate by means; leave out theta and edge field"
            )
        PairHash(self.groups, self.salt)  # both numbers are checked there
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
        return Noise.to_draw(self.theta or PAPER_THETA[self.types])

    @classmethod
    def from_command(cls, command: str) -> BundleRecipe:
        """Read back what `command` writes; of several commands the last one made the bundle."""
        words = command.split("&&")[-1].split()
        try:
            if words[:2] != ["certcore", "bundle"]:
                raise ValueError("it does not begin with certcore bundle")
            given: dict[str, Any] = dict(zip(("dataset", "model", "types"), words[2:5], strict=True))
            rest = iter(words[5:])
            for word in rest:
                name = word.removeprefix("--").replace("-", "_")
                if name == "theta":
                    given[name] = tuple(next(rest) for _ in TYPES)
                elif name in ("alpha", "edge_field"):
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
        """Name of a bundle without its ending."""
        return f"{self.group}-s{self.split}"

    @property
    def group(self) -> str:
        """Bundles that differ in the split only."""
        name = Path(self.dataset).stem if self.dataset.endswith(".npz") else self.dataset
        rule = f"-{self.edge_field}" if self.edge_field else ""
        return f"{name}-{self.model}-{self.types}{rule}"

    @property
    def command(self) -> str:
        """What to type to get the same bundle."""
        words = [f"certcore bundle {Path(self.dataset).name} {self.model} {self.types} --split {self.split}"]
        if self.types == BundleTypes.DIVISION:
            words.append(f"--groups {self.groups}")
        elif self.types != BundleTypes.CONVEX:
            words.append(f"--samples {self.samples}")
        defaults = BundleRecipe(self.dataset)
        for option in ("seed", "first", "selection", "alpha", "edge_field", "epochs", "salt"):
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

    Without `layout`, which takes longest where votes are few, the graph can be certified but has no places to be drawn.
    With `most_convex`, a convex certificate is computed for so many test nodes only, and these are the targets.
    Existing votes of another number of samples are refused, or with `fresh` dropped and drawn anew: adding samples
    after the result is known would be optional stopping.
    """
    require_training_packages()
    folder = Path(work) if work else cache_folder() / "work"
    path = Path(output) if output else Path("precomputed") / f"{recipe.stem}.npz"
    require_writable(path)
    require_writable(folder / "model")
    dataset = get_dataset(recipe.dataset)
    say(f"{dataset.name}: {dataset.graph.n_nodes:,} nodes, {dataset.graph.n_edges:,} edges")
    if recipe.types == BundleTypes.DIVISION:
        instance = _division_instance(recipe, dataset)
        right = percent_down(instance.meta["accuracy"]["division"])
        say(f"test accuracy of the majority of {recipe.groups} groups {right}")
        for label, share in instance.meta["controls"].items():
            say(f"{label}: {percent_down(share)}")
    elif recipe.types == BundleTypes.CONVEX:
        trained = _trained_and_told(recipe, dataset, folder, progress, say)
        instance = _convex_instance(recipe, dataset, trained, most_convex)
    else:
        trained = _trained_and_told(recipe, dataset, folder, progress, say)
        votes = _votes(recipe, dataset, trained, folder, jobs, scheduler, fresh, progress)
        if votes.fresh_after:
            say(f"{votes.n_samples:,} new samples; those of earlier runs were dropped")
        instance = smoothed_instance(recipe, dataset, trained, votes)
        right = percent_down(instance.meta["accuracy"]["smoothed"])
        say(f"smoothed test accuracy {right}, where nodes that abstain count by the label most votes chose")
    save_instance(path, _with_layout(instance, dataset, folder) if layout else instance)
    size = path.stat().st_size
    if size > MAX_BYTES:
        say(f"note: {path.name} has {size / 2**20:.1f} MiB; dashboard bundles have less than {MAX_BYTES // 2**20}")
    return path, instance


def _trained_and_told(
    recipe: BundleRecipe, dataset: Dataset, folder: Path, progress: bool, say: Callable[[str], None]
) -> Trained:
    trained = _trained_model(recipe, dataset, folder, progress=progress)
    say(f"{recipe.model}: clean test accuracy {trained.facts['accuracy_clean']:.3f}")
    return trained


def trained_again(instance: Instance, work: str | Path | None = None, *, progress: bool = False) -> Trained:
    """The model of a bundle, trained by the command it was made with; refused if another model comes out."""
    require_training_packages()
    command, checksums = instance.meta.get("command"), instance.meta.get("checksums")
    if not isinstance(command, str) or not isinstance(checksums, dict) or "model" not in checksums:
        raise InputError(
            "this instance does not tell which command made its model; give the model itself with --model FILE, or in "
            "Python certcore.attack(model, data, instance, …)"
        )
    recipe = BundleRecipe.from_command(command)
    trained = _trained_model(
        recipe, get_dataset(recipe.dataset), Path(work) if work else cache_folder() / "work", progress=progress
    )
    if trained.facts["sha256"] != checksums["model"]:
        raise InputError(
            f"`{command}` gives another model here than the one that was certified (its SHA-256 begins with "
            f"{trained.facts['sha256'][:12]} instead of {str(checksums['model'])[:12]}): other versions of the "
            "packages, or another processor; give the model itself with --model FILE"
        )
    return trained


def _trained_model(recipe: BundleRecipe, dataset: Dataset, folder: Path, *, progress: bool = False) -> Trained:
    """The model of a recipe: read from `folder` if it was trained before, trained and kept otherwise."""
    from certcore.data.split import make_split
    from certcore.models.storage import load_model, save_model
    from certcore.training import train
    from certcore.training.result import Trained

    settings = [
        dataset_digest(dataset),
        recipe.types == BundleTypes.CONVEX,
        recipe.noise.theta,
        recipe.split,
        recipe.seed,
        recipe.epochs,
    ]
    key = hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:12]
    path = folder / f"{recipe.group}-s{recipe.split}-{key}.safetensors"
    if not path.exists():
        trained = train(
            dataset, recipe.model, recipe.noise, split=recipe.split, seed=recipe.seed, epochs=recipe.epochs,
            robust=recipe.types == BundleTypes.CONVEX, progress=progress,
        )  # fmt: skip
        save_model(path, trained.model, trained.facts)
    model, facts = load_model(path)
    facts["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    return Trained(model, make_split(dataset.labels, recipe.split), facts)


def _votes(
    recipe: BundleRecipe,
    dataset: Dataset,
    trained: Trained,
    folder: Path,
    jobs: int | None,
    scheduler: str | None,
    fresh: bool,
    progress: bool,
) -> Votes:
    from certcore.votes.voters import make_voter

    voter = make_voter(trained.model, dataset.graph, recipe.noise, int(trained.facts["seed"]))
    return collect_votes(
        voter,
        selection=recipe.selection,
        estimation=recipe.samples,
        checkpoint=folder / f"{recipe.stem}-{voter.digest[:12]}.votes.npz",
        fresh=fresh,
        first=recipe.first,
        jobs=jobs,
        scheduler=scheduler,
        progress=progress,
    )


def smoothed_instance(recipe: BundleRecipe, dataset: Dataset, trained: Trained, votes: Votes) -> Instance:
    """An instance whose base certificate is randomized smoothing; all test nodes are targets."""
    from certcore.base.smoothing import SmoothingBase

    base = SmoothingBase(
        votes=votes.estimation,
        prediction=votes.prediction,
        n_samples=votes.n_samples,
        alpha=recipe.alpha,
        theta=recipe.noise.theta,
        graph=dataset.graph,
    )
    field = trained.model.field(dataset.graph, recipe.noise)
    edge_field = recipe.edge_field or field.edge_field
    test = np.flatnonzero(trained.split == TEST)
    smoothed = float((votes.prediction == dataset.labels)[test].mean())
    meta = _provenance(recipe, dataset, trained)
    meta["accuracy"]["smoothed"] = smoothed
    meta |= {"samples": votes.n_samples, "selection_samples": recipe.selection, "theta": list(recipe.noise.theta)}
    if votes.fresh_after:
        # The samples drawn depend on those drawn before.
        meta["fresh_after"] = list(votes.fresh_after)
        before = [replace(recipe, samples=number).command for number in votes.fresh_after]
        meta["command"] = " && ".join(f"{command} --fresh" for command in (*before, recipe.command))
    if edge_field != field.edge_field:
        meta["field_note"] = (
            f"edge fields by the rule `{edge_field}` although {recipe.model} needs `{field.edge_field}`: for "
            "comparison with the paper only, it overstates robustness to edge deletions"
        )
    return Instance(
        graph=dataset.graph,
        base=base,
        layers=field.layers,
        edge_field=edge_field,
        node_field=field.node_field,
        targets=test,
        labels=dataset.labels,
        class_names=dataset.class_names,
        node_names=dataset.node_names,
        split=trained.split,
        meta=meta,
    )


def _convex_instance(recipe: BundleRecipe, dataset: Dataset, trained: Trained, most: int | None) -> Instance:
    """An instance whose base certificate is the convex relaxation of a robustly trained GCN."""
    from certcore.base.convex import convex_certificate
    from certcore.base.network import GcnNetwork, normalised_adjacency
    from certcore.training.robust import LOCAL

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
        graph=graph,
        base=certificate.base(),
        layers=2,
        edge_field=EdgeField.DEGREES,
        targets=targets,
        labels=dataset.labels,
        class_names=dataset.class_names,
        node_names=dataset.node_names,
        split=trained.split,
        meta=meta,
    )


def _division_instance(recipe: BundleRecipe, dataset: Dataset) -> Instance:
    """An instance whose base certificate is division voting: seconds of training, one forward pass per group."""
    from certcore.pipeline.division import division_instance
    from certcore.training.division import train_controls, train_division

    model = train_division(
        dataset, recipe.model, groups=recipe.groups, salt=recipe.salt, split=recipe.split, seed=recipe.seed,
        epochs=recipe.epochs,
    )  # fmt: skip
    meta = _origin(recipe, dataset, model.facts["seed"])
    meta["controls"] = train_controls(dataset, model, epochs=recipe.epochs)
    return division_instance(dataset, model, groups=recipe.groups, salt=recipe.salt, meta=meta)


def _provenance(recipe: BundleRecipe, dataset: Dataset, trained: Trained) -> dict[str, Any]:
    meta = _origin(recipe, dataset, trained.facts["seed"])
    meta["accuracy"] = {"clean": trained.facts["accuracy_clean"]}
    meta["training"] = {
        key: trained.facts[key] for key in ("training", "epochs_run", "best_epoch") if key in trained.facts
    }
    meta["checksums"]["model"] = trained.facts["sha256"]
    return meta


def _origin(recipe: BundleRecipe, dataset: Dataset, seed: int) -> dict[str, Any]:
    """Where a bundle comes from, whatever was trained for it."""
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
    """The instance with node positions, which all bundles of a dataset share."""
    path = folder / f"layout-{dataset_digest(dataset)[:12]}.npz"
    if not path.exists():
        write_npz(path, {"layout": layout_graph(dataset.graph)})
    return replace(instance, layout=read_npz(path)["layout"])
