"""Names that installed packages add through entry points; docs/examples/plugin is an example."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from certcore.common.errors import InputError

DATASETS = "certcore.datasets"
MODELS = "certcore.models"
BASE_CERTIFICATES = "certcore.base_certificates"


def plugins(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group by name; an error if two packages offer the same name."""
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=group):
        other = found.get(entry.name)
        if other is not None and other.value != entry.value:
            raise InputError(
                f"two installed packages offer {entry.name!r} as {group} ({_owner(other)} and {_owner(entry)}); "
                "uninstall one of them"
            )
        found[entry.name] = entry
    return found


def load_plugin(entry: EntryPoint) -> Any:
    """The object of an entry point; the error message names a package that cannot be imported."""
    try:
        return entry.load()
    except Exception as error:
        raise InputError(
            f"{entry.name!r} of the package {_owner(entry)} ({entry.value}) cannot be loaded: "
            f"{type(error).__name__}: {error}; update or uninstall that package"
        ) from error


def _owner(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else "unknown"
