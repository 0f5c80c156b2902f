"""Finished cells of a curve or surface on disk, so that an interrupted sweep can continue."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from certcore.common.errors import InputError
from certcore.common.npz import read_npz, write_npz
from certcore.program.problem import SCALE_BITS
from certcore.sweep.family import digest_of


def exact(bounds: Sequence[Fraction], shape: tuple[int, ...]) -> np.ndarray:
    """Bounds of cells, in row-major order, as an array of exact fractions."""
    result = np.empty(len(bounds), dtype=object)
    result[:] = bounds
    return result.reshape(shape)


class Checkpoint:
    """A file of finished cells with bounds times 2**bits, for one instance, threat model and grid, with checksum."""

    def __init__(
        self, path: str | os.PathLike[str], key: dict[str, Any], shape: tuple[int, ...], bits: int = SCALE_BITS
    ) -> None:
        self.path = Path(path)
        self.key = digest_of(key)
        self.shape, self.scale = shape, 1 << bits
        self._stored = shape if len(shape) > 1 else (*shape, 1)

    def load(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Finished cells, and the exact bounds of all cells; None if there is no file yet."""
        if not self.path.exists():
            return None
        arrays = read_npz(self.path)
        if str(arrays.get("key", "")) != self.key:
            raise InputError(
                f"{self.path} was written for another curve or surface (instance, budgets or values differ), or by an "
                "older version; choose another file or delete it"
            )
        done, numerators = arrays.get("done"), arrays.get("numerators")
        fits = (
            done is not None
            and numerators is not None
            and done.shape == numerators.shape == self._stored
            and done.dtype == np.bool_
            and numerators.dtype == np.int64
        )
        if not fits or str(arrays.get("checksum", "")) != self._checksum(done, numerators):
            raise InputError(f"{self.path} is damaged; delete it and run the same command again")
        assert done is not None
        assert numerators is not None
        bounds = exact([Fraction(n, self.scale) for n in numerators.ravel().tolist()], self.shape)
        return done.reshape(self.shape).copy(), bounds

    def store(self, done: np.ndarray, bounds: np.ndarray) -> None:
        """Write the cells atomically."""
        numerators = np.array([math.ceil(b * self.scale) for b in bounds.ravel()], dtype=np.int64).reshape(self._stored)
        done = done.reshape(self._stored)
        write_npz(
            self.path,
            {
                "key": np.array(self.key),
                "done": done,
                "numerators": numerators,
                "checksum": np.array(self._checksum(done, numerators)),
            },
        )

    def _checksum(self, done: Any, numerators: Any) -> str:
        content = self.key.encode() + np.packbits(done).tobytes() + np.ascontiguousarray(numerators).tobytes()
        return hashlib.sha256(content).hexdigest()
