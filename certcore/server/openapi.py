"""The description of the routes (OpenAPI), made from the one table of parameters."""

from __future__ import annotations

from typing import Any

from certcore import __version__
from certcore.domain.parameters import Parameter, write
from certcore.workbench.view import OPTIONS, parameters

SUMMARIES = {
    "certificate": "the certified count: preview, solved, attack, lp, model, improved, end",
    "curve": "counts along one budget: rows, end",
    "map": "counts over two budgets: cells, end",
    "frames": "one attack per budget: frame, end",
    "defend": "nodes to protect, one after the other: step, end",
    "proof": "the content of a proof file",
    "words": "sentences with places for numbers",
    "description": "what the instance has, and how far its sliders go",
}
_JSON_KINDS = ("proof", "words", "description")
_NAME = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}


def _parameter(one: Parameter) -> dict[str, Any]:
    default = one.default
    kind = {bool: "boolean", int: "integer", float: "number"}.get(type(default), "string")
    told: dict[str, Any] = {"name": one.name, "in": "query", "description": one.help}
    schema: dict[str, Any] = {"type": "integer" if kind == "boolean" else kind}
    if kind == "boolean":
        schema["enum"] = [0, 1]
    if default not in (None, "", []):
        schema["default"] = int(default) if isinstance(default, bool) else default
        if isinstance(default, list):
            schema["default"] = write(default)
    return told | {"schema": schema}


def _operation(summary: str, kind: str, given: list[dict[str, Any]]) -> dict[str, Any]:
    error = {"description": "one sentence: what was given, what was expected, what to do"}
    answers = {"200": {"description": summary, "content": {kind: {}}}}
    return {"summary": summary, "parameters": given, "responses": answers | {"default": error}}


def description() -> dict[str, Any]:
    """The whole description."""
    paths: dict[str, Any] = {
        "/api/instances": {
            "get": _operation("names of instances, and the types that each covers", "application/json", []),
            "post": _operation("keep an instance file; its id is the permission", "application/json", []),
        },
        "/api/instances/{name}/graph": {"get": _operation("the graph for drawing", "application/json", [_NAME])},
        "/api/health": {"get": _operation("whether the engine answers", "application/json", [])},
    }
    for what in OPTIONS:
        path = "/api/instances/{name}" + ("" if what == "description" else f"/{what}")
        kind = "application/json" if what in _JSON_KINDS else "application/x-ndjson"
        given = [_NAME, *(_parameter(one) for one in parameters(what))]
        paths[path] = {"get": _operation(SUMMARIES[what], kind, given)}
    return {"openapi": "3.1.0", "info": {"title": "certcore", "version": __version__}, "paths": paths}
