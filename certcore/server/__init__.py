"""The engine over HTTP: `uvicorn certcore.server:app` runs it alone, and the dashboard mounts it below `/api`."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.routing import Mount

    from certcore.server.guard import Guard
    from certcore.server.routes import routes

    globals()["app"] = Starlette(routes=[Mount("/api", routes=routes())], middleware=[Middleware(Guard)])
    return globals()["app"]
