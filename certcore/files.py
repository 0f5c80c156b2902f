"""Files that are either the old one or the new one, never half of one."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from certcore.errors import InputError


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "wb") -> Iterator[IO]:
    """Open a temporary file next to `path`; it takes the name `path` only when everything was written."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    except OSError as error:
        raise InputError(
            f"cannot write {target}: {error.strerror or error}; choose a folder that exists and is writable"
        ) from error
    try:
        with os.fdopen(descriptor, mode, encoding=None if "b" in mode else "utf-8") as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        os.chmod(name, 0o644)
        os.replace(name, target)
    except OSError as error:
        raise InputError(
            f"cannot write {target}: {error.strerror or error}; free some space or choose another folder"
        ) from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
