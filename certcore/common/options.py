"""Functions with many keyword options, which are grouped in dataclasses."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

Group = TypeVar("Group")


def take(group: type[Group], options: dict[str, Any]) -> Group:
    """Make a dataclass from the options that are its fields, and remove them from `options`."""
    names = [field.name for field in fields(group) if field.name in options]  # type: ignore[arg-type]
    return group(**{name: options.pop(name) for name in names})


def show_options(
    function: Callable[..., Any], defaults: dict[str, Any], kinds: dict[str, Any], rest: str | None = None
) -> None:
    """Let `help` and notebooks show options by name instead of `**options`.

    `kinds` maps names to annotations. Options without an entry in `defaults` are shown together as `**rest`.
    """
    written = inspect.signature(function)
    shown = [one for one in written.parameters.values() if one.kind is not one.VAR_KEYWORD]
    for name, default in defaults.items():
        kind = getattr(kinds[name], "__forward_arg__", kinds[name])
        shown.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind))
    if rest is not None:
        shown.append(inspect.Parameter(rest.lower(), inspect.Parameter.VAR_KEYWORD, annotation=f"Unpack[{rest}]"))
    function.__signature__ = written.replace(parameters=shown)  # type: ignore[attr-defined]


def defaults_of(*groups: type) -> dict[str, Any]:
    """The default of every field of the dataclasses."""
    return {field.name: field.default for group in groups for field in fields(group)}
