"""A cache of tables on disk, shared by processes; its contents are checked when read.

A file that is damaged, has an unexpected shape or a wrong checksum counts as missing and is written again. Files are
written atomically, so that two processes may use the same folder. If the folder cannot be written, tables are computed
each time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

import numpy as np

from certcore.common.errors import InputError
from certcore.common.files import atomic_write, cache_folder
from certcore.common.npz import read_npz

#: Increase this whenever the meaning of a stored table changes.
FORMAT = "certcore-table-1"

Expected = dict[str, tuple[np.dtype, tuple[int, ...] | None]]


class TableCache:
    """A folder of tables; the key of a table is text that lists everything it depends on."""

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = cache_folder() if folder is None else Path(folder)

    def path(self, key: str) -> Path:
        return self.folder / f"{hashlib.sha256(f'{FORMAT}|{key}'.encode()).hexdigest()[:40]}.npz"

    def read(self, key: str, expected: Expected) -> dict[str, np.ndarray] | None:
        """The stored arrays, or None unless names, types and shapes are as expected (shape None: any)."""
        path = self.path(key)
        if not path.is_file():
            return None
        try:
            arrays = read_npz(path)
        except InputError:
            return None
        checksum = arrays.pop("checksum", None)
        if set(arrays) != set(expected) or checksum is None or checksum.size != 1:
            return None
        for name, (dtype, shape) in expected.items():
            if arrays[name].dtype != dtype or (shape is not None and arrays[name].shape != shape):
                return None
        return arrays if str(checksum.reshape(-1)[0]) == _checksum(key, arrays) else None

    def write(self, key: str, arrays: dict[str, np.ndarray]) -> None:
        """Store arrays under a key; errors while writing are ignored."""
        with contextlib.suppress(InputError), atomic_write(self.path(key)) as handle:
            np.savez(handle, checksum=np.array(_checksum(key, arrays)), allow_pickle=False, **arrays)


def _checksum(key: str, arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256(f"{FORMAT}|{key}".encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"|{name}|{array.dtype.str}|{array.shape}|".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
