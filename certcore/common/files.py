"""Files written atomically: readers see the old file or the new one."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from certcore.common.errors import InputError


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "wb") -> Iterator[IO]:
    """Write to a temporary file next to `path`, which is renamed to `path` once it is complete."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    except OSError as error:
        raise InputError(
            f"cannot write {target}: {error.strerror or error}; choose a folder that exists and is writable"
        ) from error
    _remove_old_parts(target)
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


def require_writable(path: str | os.PathLike[str] | None) -> None:
    """Check, before a long computation, that its result can be written to `path`."""
    folder = Path(path).absolute().parent if path else Path.cwd()
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(
            f"cannot write {path or folder}: {error.strerror or error}; choose a folder that exists and is writable"
        ) from error


def _remove_old_parts(target: Path) -> None:
    """Remove temporary files of killed writers: those older than an hour."""
    for part in target.parent.glob(f".{glob.escape(target.name)}.*.part"):
        with contextlib.suppress(OSError):
            if time.time() - part.stat().st_mtime > 3600:
                part.unlink()


def cache_folder() -> Path:
    """Folder for files that can be computed again: CERTCORE_CACHE, or `certcore` in the user's cache folder."""
    chosen = os.environ.get("CERTCORE_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "certcore"
