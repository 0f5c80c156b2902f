"""Numba functions with a cache that is renewed whenever one of our sources changes.

Numba's own cache checks only the file of the compiled function. It misses changes in functions that are called from
other files, and would then run old code. So the cache folder is named after a digest of all sources.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from numba import config, njit

from certcore.common.files import cache_folder

#: Layers with compiled functions, or with functions that compiled functions call.
_LAYERS = ("common", "models", "votes")


@lru_cache(maxsize=1)
def _folder() -> str:
    digest = hashlib.sha256()
    package = Path(__file__).parents[1]
    for path in sorted(path for layer in _LAYERS for path in (package / layer).glob("*.py")):
        digest.update(path.name.encode() + path.read_bytes())
    parent = os.environ.get("NUMBA_CACHE_DIR") or str(cache_folder() / "numba")
    return str(Path(parent) / digest.hexdigest()[:16])


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit` with a cache that depends on all our sources."""

    def decorate(function: Callable[..., Any]) -> Any:
        before = config.CACHE_DIR
        config.CACHE_DIR = _folder()
        try:
            return njit(cache=True, **options)(function)
        finally:
            config.CACHE_DIR = before

    return decorate
