"""Attacks on the model of a bundle, which is trained again by the command that the bundle records."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from certcore.attack import network_victim
from certcore.common.errors import InputError
from certcore.common.packages import require_training_packages
from certcore.instance.instance import Instance
from experiments.bundle import BundleRecipe, trained_again
from experiments.datasets.registry import get_dataset

if TYPE_CHECKING:
    from certcore.model_attack.victim import Victim


def with_attributes(instance: Instance) -> Instance:
    """The instance of a bundle with the attributes of its dataset, where its file holds only their digest."""
    graph = instance.graph
    if not graph.real or graph.attr_values is not None:
        return instance
    given = get_dataset(BundleRecipe.from_command(str(instance.meta.get("command"))).dataset).graph
    known = replace(instance, graph=graph.with_attributes(given.attributes))
    if known.graph.digest != graph.digest:
        raise InputError("the dataset here has other attributes than the instance was made from; get the same version")
    return known


def bundle_victim(instance: Instance, work: str | Path | None = None) -> Victim:
    """The model of a bundle as the victim of an attack."""
    require_training_packages()
    from experiments.networks.voters import make_voter

    trained = trained_again(instance, work)
    return network_victim(trained.model, instance, trained.facts["sha256"], make_voter)


def file_victim(instance: Instance, path: str) -> Victim:
    """A network from its file, as the victim of an attack."""
    require_training_packages()
    from experiments.networks.storage import load_model
    from experiments.networks.voters import make_voter

    network, _ = load_model(path)
    return network_victim(network, instance, hashlib.sha256(Path(path).read_bytes()).hexdigest(), make_voter)
