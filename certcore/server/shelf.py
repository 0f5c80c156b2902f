"""Instances and their sessions: those of a folder by name, uploads by an id that is their permission.

One limit of memory (`CERTCORE_MEMORY_MB`) holds for the sessions of all instances together.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from certcore.common.errors import InputError
from certcore.common.npz import read_npz
from certcore.domain.noise import Noise
from certcore.domain.perturbations import FLIPS, TABLE, TYPES
from certcore.instance.instance import Instance, load_instance, named
from certcore.model_attack.stored import ModelAttack, attack_files, attacks_on
from certcore.sweep.session import Session, Sessions

MB = 2**20
#: Sessions of all instances together, unless CERTCORE_MEMORY_MB says otherwise.
MEMORY_MB = 1536
#: The largest upload, unless CERTCORE_UPLOAD_MB says otherwise; and how many are kept.
UPLOAD_MB, MOST_UPLOADS = 200, 20
#: Loaded instances that are kept.
MOST_INSTANCES = 8
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,120}")
_ID = re.compile(r"up-[A-Za-z0-9_-]{43}")


#: A file, what tells whether it was replaced, and the base rule.
_Key = tuple[str, tuple[int, int, int], str]


class Unknown(Exception):
    """There is no such instance, or none that may be told of."""


def number_from(variable: str, usual: int) -> int:
    """A whole number from the environment; the usual one if it is not set or makes no sense."""
    told = os.environ.get(variable, "")
    return int(told) if told.isascii() and told.isdigit() and 0 < len(told) < 8 else usual


#: The clone; where the package is installed without it, the folder the server was started in.
ROOT = Path(__file__).resolve().parents[2]
ROOT = ROOT if (ROOT / "app.py").is_file() else Path.cwd()


def bundle_folder() -> Path:
    """Where instances are: CERTCORE_BUNDLES, or `precomputed/`."""
    return Path(os.environ.get("CERTCORE_BUNDLES", ROOT / "precomputed"))


def upload_folder() -> Path:
    """Where uploads are kept."""
    return Path(os.environ.get("CERTCORE_IMPORTS", ROOT / "runs" / "imported"))


@dataclass(frozen=True, eq=False)
class Held:
    """A loaded instance and the stored attacks on its model."""

    instance: Instance
    attacks: tuple[ModelAttack, ...]


class Shelf:
    """Instances by name. Thread-safe; a file that has changed is loaded again."""

    def __init__(self, memory_mb: int | None = None) -> None:
        self.sessions = Sessions(MB * (memory_mb or number_from("CERTCORE_MEMORY_MB", MEMORY_MB)))
        self._lock = threading.Lock()
        self._held: OrderedDict[_Key, Held] = OrderedDict()
        self._gates: dict[str, threading.Lock] = {}
        self._lent: dict[str, tuple[Path, str]] = {}

    def names(self) -> list[str]:
        """The instances of the folder, in alphabetical order; uploads are never listed."""
        return sorted(path.stem for path in bundle_folder().glob("*.npz") if _NAME.fullmatch(path.stem))

    def path(self, name: str) -> Path:
        """The file of an instance; `Unknown` if there is none."""
        if _ID.fullmatch(name):
            path, _ = self._lent.get(name, (upload_folder() / f"{name}.npz", ""))
        elif _NAME.fullmatch(name):
            # Imports of this machine's owner; those of a visitor are in a folder of their own (see `lend`).
            path = (upload_folder() if name.startswith("import-") else bundle_folder()) / f"{name}.npz"
        else:
            raise Unknown(name)
        if not path.is_file():
            raise Unknown(name)
        return path

    def held(self, name: str, rule: str = "binary") -> Held:
        """The instance of that name; the same object for everybody."""
        path = self.path(name)
        # Files from archives may all bear one time: what replaces a file is told by its change and its size as well.
        state = path.stat()
        key = (str(path), (state.st_mtime_ns, state.st_ctime_ns, state.st_size), rule)
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
            gate = self._gates.setdefault(name, threading.Lock())
        with gate:
            with self._lock:
                found = self._held.get(key)
            return found or self._load(name, path, key)

    def _load(self, name: str, path: Path, key: _Key) -> Held:
        shown = self._lent.get(name, (path, "the upload" if _ID.fullmatch(name) else name))[1]
        instance = named(load_instance(path, base_rule=key[2], name=path.name if shown == name else shown), shown)
        attacks: list[ModelAttack] = []
        if attack_files(path):
            with contextlib.suppress(InputError):  # a damaged attack file takes no instance away
                attacks = attacks_on(path, instance)
        found = Held(instance, tuple(attacks))
        with self._lock:
            self._held[key] = found
            while len(self._held) > MOST_INSTANCES:
                self._held.popitem(last=False)
            self._gates.pop(name, None)
        return found

    def session(self, instance: Instance) -> Session:
        """The engine's memory of an instance, within the limit for all of them."""
        return self.sessions.of(instance)

    def lend(self, path: Path, title: str) -> str:
        """An id under which this process answers questions about a file elsewhere, such as a visitor's own."""
        with self._lock:
            for name, known in self._lent.items():
                if known == (path, title):
                    return name
            name = f"up-{secrets.token_urlsafe(32)}"
            self._lent[name] = path, title
        return name

    def keep(self, part: Path, name: str) -> str:
        """Validate an upload that was written to `part`, and keep it under a new id."""
        load_instance(part.read_bytes(), name=name)  # of bytes less may be unpacked than of a file of one's own
        made = f"up-{secrets.token_urlsafe(32)}"
        os.replace(part, upload_folder() / f"{made}.npz")
        uploads = sorted(upload_folder().glob("up-*.npz"), key=lambda one: one.stat().st_mtime)
        for old in uploads[:-MOST_UPLOADS]:
            old.unlink(missing_ok=True)
        return made


#: The instances and sessions of this process, shared with pages in it.
SHELF = Shelf()


def covered(path: Path) -> list[str]:
    """The types that a file's base certificate covers, without loading all of it; none if it is damaged."""
    try:
        return list(_covered(str(path), path.stat().st_mtime_ns))
    except Exception:  # a damaged file fails in a dozen ways; it is named when somebody asks about it
        return []


@functools.lru_cache(maxsize=256)
def _covered(path: str, changed: int) -> tuple[str, ...]:
    arrays = read_npz(path, keys=("theta", "base_axes", "attr_std", "ballots_weight"))
    if "ballots_weight" in arrays:
        axes = {one.name for one in TABLE if not one.lengths}
    elif "theta" in arrays:
        axes = {name for name, share in zip(FLIPS, Noise.of(arrays["theta"].reshape(-1)).fractions) if share}
        axes |= {one.name for one in TABLE if one.lengths and "attr_std" in arrays}
    else:
        axes = {str(axis) for axis in arrays["base_axes"].reshape(-1)}
    return tuple(name for name in TYPES if name in axes)
