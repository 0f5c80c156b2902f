"""Reading of untrusted `.npz` files: nothing is unpickled, and sizes are checked before memory is allocated."""

from __future__ import annotations

import io
import os
import zipfile
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy

from certcore.common.errors import InputError
from certcore.common.files import atomic_write

MAX_FILE_BYTES = 512 * 2**20
MAX_ARRAY_BYTES = 2**30
#: Limit of the unpacked size of an upload. It is lower because several users may upload at once and checks copy data.
MAX_UPLOAD_BYTES = 2**28
MAX_ENTRIES = 200


def read_npz(
    source: str | os.PathLike[str] | bytes, name: str | None = None, *, keys: Collection[str] | None = None
) -> dict[str, np.ndarray]:
    """All arrays of an `.npz` file (or those in `keys`); otherwise an InputError that states why it cannot be read."""
    label = name or (Path(source).name or str(source) if isinstance(source, str | os.PathLike) else "the upload")
    handle: IO[bytes]
    try:
        if isinstance(source, bytes):
            size, handle = len(source), io.BytesIO(source)
        else:
            size, handle = os.path.getsize(source), open(source, "rb")  # noqa: SIM115 - closed below
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot read {label}: {reason}; give the path of an .npz file") from error
    with handle:
        if size > MAX_FILE_BYTES:
            raise InputError(f"{label} has {size:,} bytes; expected at most {MAX_FILE_BYTES:,}")
        if handle.read(2) != b"PK":
            raise InputError(
                f"{label} is no .npz file (pickles and other formats are not read); save it with numpy.savez"
            )
        handle.seek(0)
        try:
            with zipfile.ZipFile(handle) as archive:
                most = MAX_UPLOAD_BYTES if isinstance(source, bytes) else MAX_ARRAY_BYTES
                return _read_members(archive, label, most, keys)
        except InputError:
            raise
        except Exception as error:  # zipfile, zlib and numpy raise many kinds of exceptions on broken files
            raise InputError(
                f"{label} is damaged or cut off ({type(error).__name__}); save or download it again"
            ) from error


def _read_members(
    archive: zipfile.ZipFile, label: str, most: int, keys: Collection[str] | None
) -> dict[str, np.ndarray]:
    members = archive.infolist()
    if len(members) > MAX_ENTRIES:
        raise InputError(f"{label} holds {len(members)} entries; expected at most {MAX_ENTRIES}")
    total = sum(member.file_size for member in members)
    if total > most:
        raise InputError(f"{label} unpacks to {total:,} bytes; expected at most {most:,}")
    names = Counter(member.filename for member in members)
    twice = [name for name, count in names.items() if count > 1]
    if twice:
        # Readers differ in which copy they take, so one file could be read as two different graphs.
        raise InputError(f"{label} holds {twice[0]!r} twice; every array may be there once: save it with numpy.savez")
    arrays: dict[str, np.ndarray] = {}
    for member in members:
        if not member.filename.endswith(".npy"):
            continue
        key = member.filename.removesuffix(".npy")
        if keys is not None and key not in keys:
            continue
        with archive.open(member) as stream:
            arrays[key] = _read_array(stream, member.file_size, f"{key!r} in {label}", most)
            most -= _size(arrays[key].size, arrays[key].dtype)
    return arrays


def _size(count: int, dtype: np.dtype) -> int:
    """Bytes that an array takes in memory: integers are converted to 64 bits, whatever their width in the file."""
    return count * (8 if dtype.kind in "iu" else dtype.itemsize)


def _read_array(stream: IO[bytes], declared: int, label: str, most: int) -> np.ndarray:
    version = npy.read_magic(stream)
    reader = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
    if reader is None:
        raise InputError(f"{label} uses array format {version}; expected 1.0 or 2.0: save it with numpy.savez")
    shape, fortran, dtype = reader(stream)
    if dtype.hasobject or dtype.kind not in "biufU":
        raise InputError(
            f"{label} holds {dtype} values, which would need unpickling; expected numbers, booleans or text"
        )
    count = 1
    for side in shape:
        count *= int(side)
    need = count * dtype.itemsize
    if need > declared or any(side < 0 for side in shape):
        raise InputError(f"{label} declares shape {shape} but holds fewer bytes; save it again")
    if _size(count, dtype) > most:
        raise InputError(f"{label} has {count:,} entries, more than there is room for; expected a smaller instance")
    data = stream.read(need)
    if len(data) != need:
        raise InputError(f"{label} is cut off; save or download it again")
    stream.read()  # read to the end, because zipfile checks the checksum only there
    array = np.frombuffer(data, dtype=dtype)
    if dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError(f"{label} contains NaN or infinity; expected finite numbers")
    if dtype.kind == "b" and (array.view(np.uint8) > 1).any():
        raise InputError(f"{label} contains bytes other than 0 and 1 as booleans; save it with numpy.savez")
    if dtype.kind == "U" and array.size:
        points = array.astype(dtype.newbyteorder("=")).view(np.uint32)
        if ((points > 0x10FFFF) | ((points >= 0xD800) & (points < 0xE000))).any():
            raise InputError(f"{label} contains characters that do not exist; expected Unicode text")
    return array.reshape(shape, order="F" if fortran else "C").astype(dtype.newbyteorder("="))


def write_npz(path: str | os.PathLike[str], arrays: dict[str, np.ndarray]) -> None:
    """Write arrays as a compressed `.npz`: atomically, and the same bytes for the same arrays."""
    with atomic_write(path) as handle, zipfile.ZipFile(handle, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for key in sorted(arrays):
            buffer = io.BytesIO()
            npy.write_array(buffer, np.asarray(arrays[key], order="C"), allow_pickle=False)
            # A fixed time stamp, so that equal arrays give equal files.
            archive.writestr(
                zipfile.ZipInfo(f"{key}.npy", (1980, 1, 1, 0, 0, 0)), buffer.getvalue(), zipfile.ZIP_DEFLATED
            )
