"""Base certificates of installed packages, found through entry points; see `docs/how-to/extend.md`."""

from __future__ import annotations

from typing import Any

from certcore.base.grid import BaseCertificate
from certcore.common.errors import InputError, did_you_mean
from certcore.common.plugins import BASE_CERTIFICATES, load_plugin, plugins


def base_certificate(name: str, *arguments: Any, **options: Any) -> BaseCertificate:
    """Create the base certificate that an installed package offers under this name, from its own arguments.

    Use it in an `Instance` with the graph and the fields. Its soundness is the responsibility of its package.
    """
    found = plugins(BASE_CERTIFICATES)
    if name not in found:
        known = ", ".join(found) or "none: no installed package adds one"
        raise InputError(f"there is no base certificate {name!r}{did_you_mean(name, found)}; expected one of: {known}")
    made = load_plugin(found[name])(*arguments, **options)
    if not isinstance(made, BaseCertificate):
        raise InputError(
            f"the base certificate {name!r} of another package is a {type(made).__name__}; expected an object with the "
            "methods of certcore.base.BaseCertificate, for example a GridBase"
        )
    return made
