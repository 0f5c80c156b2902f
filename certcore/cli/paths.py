"""Files named on the command line: a missing one is reported with its absolute path and similar names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from certcore.common.errors import InputError, did_you_mean

#: Default folder of instances.
BUNDLES = Path("precomputed")
#: Folders with more entries are not searched for similar names.
MOST_ENTRIES = 5_000


def require_file(path: str, what: str, *, suffix: str = "", words: Iterable[str] = ()) -> str:
    """The path if it exists; otherwise an error with the absolute path and a suggestion.

    `words` are accepted values that are not files, `suffix` is the file extension of suggestions.
    """
    if os.path.exists(path):
        return path
    hint = did_you_mean(path, words) or _did_you_mean_file(Path(path), suffix)
    raise InputError(f"cannot read {path}: there is no file {Path(path).absolute()}{hint}; give the path of {what}")


def _did_you_mean_file(path: Path, suffix: str = "") -> str:
    """` (did you mean precomputed/x.npz?)` for files with a similar name, in that folder or among the bundles."""
    near: dict[str, str] = {}
    for folder in _folders(path):
        for name in _names(folder, suffix):
            near.setdefault(name, str(folder / name))
    found = did_you_mean(path.name, near)
    for name in sorted(near, key=len, reverse=True):
        found = found.replace(f" {name}", f" {near[name]}")
    return found


def _folders(path: Path) -> Iterator[Path]:
    parent = path.parent
    if parent.is_dir():
        yield parent
    elif parent.parent.is_dir():
        siblings = [entry.name for entry in parent.parent.iterdir() if entry.is_dir()][:MOST_ENTRIES]
        yield from (parent.parent / name for name in siblings if did_you_mean(parent.name, [name]))
    if BUNDLES.is_dir() and parent != BUNDLES:
        yield BUNDLES


def _names(folder: Path, suffix: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for _, entry in zip(range(MOST_ENTRIES), entries)]
    except OSError:
        return []
    return [name for name in names if name.endswith(suffix) and not name.startswith(".")]
