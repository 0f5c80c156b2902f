"""The models of the shipped bundles, trained again: `python -m experiments.weights` stores those that come out equal.

A bundle holds the SHA-256 of its model's file and the command that trained it, but no weights. Attacks on the model can
be counted again on these files after the code that trains has changed. A bundle of ballots has no such checksum: its
perceptron is stored if it gives the bundle's ballots to the bit. The command continues where it was stopped.
"""

from __future__ import annotations

import hashlib
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from certcore import InputError, Instance, load_instance
from certcore.base.ballots import BallotsBase
from certcore.common.files import atomic_write

ROOT = Path(__file__).resolve().parents[1]
BUNDLES, MODELS = ROOT / "precomputed", ROOT / "experiments" / "models"
#: Bundles without a stored attack whose models are the only ones of their kind.
KINDS = ("citeseer-decoupled-ballots-s0", "citeseer-rgcn-attr-s0", "citeseer-sma-attr-s0")


def needed() -> list[str]:
    """Bundles with a stored attack, and one of every other kind of model."""
    attacked = {path.name.split(".")[0] for path in (BUNDLES / "attacks").glob("*.attack.npz")}
    return sorted({*attacked, *KINDS})


def model_path(bundle: str) -> Path:
    return MODELS / f"{bundle}.safetensors"


def trained_bytes(instance: Instance) -> bytes:
    """The file of the bundle's model, trained again; refused if it is another model."""
    from experiments.bundle import trained_again

    if isinstance(instance.base, BallotsBase):
        return _perceptron_bytes(instance, instance.base)
    with TemporaryDirectory() as folder:
        trained_again(instance, folder)  # compares the checksum
        (path,) = Path(folder).glob("*.safetensors")
        return path.read_bytes()


def _perceptron_bytes(instance: Instance, base: BallotsBase) -> bytes:
    from safetensors.torch import save

    from experiments.bundle import BundleRecipe
    from experiments.datasets.registry import get_dataset
    from experiments.training.ballots import train_decoupled

    recipe = BundleRecipe.from_command(str(instance.meta["command"]))
    model = train_decoupled(get_dataset(recipe.dataset), split=recipe.split, seed=recipe.seed, epochs=recipe.epochs)
    if not np.array_equal(model.ballots, base.ballots):
        raise InputError("the perceptron that was trained gives other ballots than those of the bundle")
    return save({key: value.contiguous() for key, value in model.network.state_dict().items()})


def main() -> int:
    """Train what is missing; what comes out as another model is printed and left out."""
    MODELS.mkdir(exist_ok=True)
    missing = 0
    for bundle in needed():
        path, begun = model_path(bundle), time.process_time()
        if path.exists():
            continue
        try:
            content = trained_bytes(load_instance(BUNDLES / f"{bundle}.npz"))
        except InputError as error:
            missing += 1
            print(f"{bundle}: left out: {error}", flush=True)
            continue
        with atomic_write(path) as handle:
            handle.write(content)
        digest = hashlib.sha256(content).hexdigest()
        print(f"{bundle}: {len(content):,} bytes, {digest[:12]} ({time.process_time() - begun:.0f} s)", flush=True)
    return int(missing > 0)


if __name__ == "__main__":
    sys.exit(main())
