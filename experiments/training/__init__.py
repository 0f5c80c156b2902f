"""Training for smoothing and for the convex certificate. Importing this does not import torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from certcore.common.progress import ProgressBar
from certcore.data.split import PER_CLASS
from experiments.training.result import Trained, check_numbers

if TYPE_CHECKING:
    from certcore.data.dataset import Dataset
    from certcore.domain.noise import Noise

__all__ = ["Trained", "train"]


def train(
    dataset: Dataset,
    model: str,
    noise: Noise,
    *,
    split: int = 0,
    seed: int | None = None,
    epochs: int | None = None,
    robust: bool = False,
    per_class: int = PER_CLASS,
    progress: bool = False,
) -> Trained:
    """Train a model by name: with draws from the smoothing distribution, or robustly for the convex certificate."""
    check_numbers(split, seed, epochs)
    bar: ProgressBar | None = None

    def report(done: int, total: int, note: str) -> None:
        nonlocal bar
        if progress:
            bar = bar or ProgressBar("training", total, unit="epochs")
            bar.update(done, note)

    if robust:
        from experiments.training.robust import train_robust

        trained = train_robust(dataset, split=split, seed=seed, epochs=epochs, report=report)
    else:
        from experiments.training.smoothed import Schedule, train_smoothed

        schedule = Schedule.of(model, epochs, noise)
        trained = train_smoothed(
            dataset, model, noise, split=split, seed=seed, schedule=schedule, per_class=per_class, progress=report
        )
    if bar is not None:
        bar.close()
    return trained
