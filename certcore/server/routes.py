"""The routes: every question is answered with lines of JSON, one proven statement each.

An error before the first line is a status with `{"error": sentence}`; a later one is a line of kind `error`, and takes
all lines of its question back. Closing the request cancels the work.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import secrets
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from certcore.common.errors import InputError, SoundnessError
from certcore.domain.threat import ThreatModel
from certcore.server import openapi, questions
from certcore.server.desk import Busy, Desk, Lines
from certcore.server.questions import Asked, Line
from certcore.server.shelf import MB, SHELF, UPLOAD_MB, Unknown, covered, number_from, upload_folder
from certcore.sweep.ranges import first_budget
from certcore.workbench.parts import graph_data
from certcore.workbench.view import OPTIONS, View, read_values, read_view

_log = logging.getLogger("certcore.server")
#: The threads of this process.
DESK = Desk()
SCRIPTS = Path(__file__).resolve().parents[1] / "workbench"
TYPES = {".js": "text/javascript", ".css": "text/css"}
NO_STORE = {"cache-control": "no-store", "x-accel-buffering": "no"}
HEALTH_SECONDS = 25.0
#: Uploads that are checked at the same time, since each takes memory.
READING = anyio.Semaphore(2)


def refusal(error: Exception) -> tuple[int, str]:
    """The status and the sentence of an error."""
    if isinstance(error, Unknown):
        return 404, "there is no such instance; GET /api/instances lists those there are"
    if isinstance(error, InputError):
        return 422, str(error)
    if isinstance(error, Busy):
        return 429, "the server is busy with other questions; ask again in a few seconds"
    if isinstance(error, SoundnessError):
        return 500, str(error)
    _log.error("a question failed", exc_info=error)
    return 500, "the computation failed unexpectedly; the server's log has the details"


def refused(error: Exception) -> JSONResponse:
    status, sentence = refusal(error)
    return JSONResponse({"error": sentence}, status, {"retry-after": "3"} if status == 429 else None)


def dumped(data: Any) -> bytes:
    return json.dumps(data, separators=(",", ":"), allow_nan=False).encode()


def view_of(request: Request, what: str) -> View:
    """The view that a request describes; loads its instance."""
    name = request.path_params["name"]
    values = read_values(what, request.query_params.multi_items())
    held = SHELF.held(name, values["base_rule"])
    return read_view(what, name, held.instance, values, held.attacks)


def _asked(request: Request, what: str) -> Asked:
    view = view_of(request, what)
    return questions.QUESTIONS[what](view, SHELF.session(view.instance))


def visitor(request: Request) -> str:
    return str(request.scope.get("visitor") or (request.client.host if request.client else ""))


def _bytes(line: Line) -> bytes:
    """A line as bytes, after it was held against all attacks known at this moment."""
    line.hold()
    return dumped(line.data)


async def _sent(line: Line) -> bytes:
    if line.data.keys() & {"picture", "values", "cells"}:  # long lines do not hold up those of others
        return await anyio.to_thread.run_sync(_bytes, line)
    return _bytes(line)


class _Answer(StreamingResponse):
    """The lines of one request, until the last one or the end of the request."""

    def __init__(self, first: bytes, known: list[Line], lines: Lines) -> None:
        super().__init__(self._body(first, known), media_type="application/x-ndjson", headers=NO_STORE)
        self._lines = lines

    async def _body(self, first: bytes, known: list[Line]) -> AsyncIterator[bytes]:
        yield first + b"\n"
        try:
            for line in known:
                yield await _sent(line) + b"\n"
            async for line in self._lines:
                yield await _sent(line) + b"\n"
        except Exception as error:  # the status has been sent: the error is a line
            status, sentence = refusal(error)
            yield dumped({"kind": "error", "status": status, "error": sentence}) + b"\n"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._lines.close()


async def _unless_gone(request: Request, lines: Lines) -> Line | None:
    """The first line; None if the request is closed before there is one."""
    first = asyncio.ensure_future(anext(lines))
    gone = asyncio.ensure_future(request.receive())
    try:
        while not first.done():
            await asyncio.wait({first, gone}, return_when=asyncio.FIRST_COMPLETED)
            if gone.done() and not first.done():
                if gone.result()["type"] == "http.disconnect":
                    return None
                gone = asyncio.ensure_future(request.receive())
        return first.result()
    finally:
        first.cancel()
        gone.cancel()
        await asyncio.gather(first, gone, return_exceptions=True)


async def question(request: Request) -> Response:
    """One of the streams: certificate, curve, map, frames, defend; or a proof."""
    what = request.path_params["what"]
    if what not in questions.QUESTIONS:
        names = ", ".join(questions.QUESTIONS)
        return JSONResponse({"error": f"no question is called {what[:40]!r}; expected one of {names}"}, 404)
    lines: Lines | None = None
    try:
        # Reading may load an instance: in a thread, before any queue.
        asked = await anyio.to_thread.run_sync(_asked, request, what)
        lines = DESK.ask(visitor(request), asked)
        known = list(asked.first)
        first = known.pop(0) if known else await _unless_gone(request, lines)
        if first is None:
            return Response(status_code=499)
        if what == "proof":
            first.hold()
            return _file(dumped(first.data["proof"]), "proof.json")
        answer, lines = _Answer(await _sent(first), known, lines), None
        return answer
    except Exception as error:
        return refused(error)
    finally:
        if lines is not None:
            lines.close()


def _file(data: bytes, name: str) -> Response:
    return Response(
        data,
        media_type="application/json",
        headers={**NO_STORE, "content-disposition": f'attachment; filename="{name}"'},
    )


def _kept(made: Callable[[Request], bytes], kind: str = "application/json") -> Callable[..., Any]:
    """A route whose answer the browser keeps, and asks for again by its tag: the digest of the answer itself, which a
    newer version of this program words differently.
    """

    def tagged(request: Request) -> tuple[str, bytes]:
        data = made(request)
        return hashlib.sha256(data).hexdigest()[:32], data

    async def answer(request: Request) -> Response:
        try:
            tag, data = await anyio.to_thread.run_sync(tagged, request)
        except Exception as error:
            return refused(error)
        head = {"etag": f'"{tag}"', "cache-control": "private, no-cache"}
        if request.headers.get("if-none-match", "").removeprefix("W/") == head["etag"]:
            return Response(status_code=304, headers=head)
        return Response(data, media_type=kind, headers=head)

    return answer


def _graph(request: Request) -> bytes:
    return dumped(graph_data(SHELF.held(request.path_params["name"]).instance))


def _words(request: Request) -> bytes:
    return dumped(questions.words(view_of(request, "words")))


def _description(request: Request) -> bytes:
    return dumped(questions.description(view_of(request, "description")))


async def instances(request: Request) -> Response:
    def listed() -> list[dict[str, Any]]:
        return [{"instance": name, "covered": covered(SHELF.path(name))} for name in SHELF.names()]

    return JSONResponse({"instances": await anyio.to_thread.run_sync(listed)})


async def upload(request: Request) -> Response:
    """Keep an instance file; its id is the permission to ask about it, and is listed nowhere."""
    most = MB * number_from("CERTCORE_UPLOAD_MB", UPLOAD_MB)
    too_large = InputError(f"the upload is larger than {most // MB} MB; send a smaller instance")
    told = request.headers.get("content-length", "0")
    if not told.isdigit() or int(told) > most:
        return JSONResponse({"error": str(too_large)}, 413, {"connection": "close"})
    part = upload_folder() / f"part-{secrets.token_hex(16)}"
    try:
        part.parent.mkdir(parents=True, exist_ok=True)
        size = 0
        async with await anyio.open_file(part, "wb") as file:
            async for chunk in request.stream():
                size += len(chunk)
                if size > most:
                    return JSONResponse({"error": str(too_large)}, 413, {"connection": "close"})
                await file.write(chunk)
        name = request.query_params.get("name", "the upload")[:120]
        async with READING:
            made = await anyio.to_thread.run_sync(SHELF.keep, part, name)
    except OSError as error:
        reason = error.strerror or "it cannot be written"
        sentence = f"the server has no place for the file ({reason}); whoever runs it can free some space"
        return JSONResponse({"error": sentence}, 507)
    except Exception as error:
        return refused(error)
    finally:
        with contextlib.suppress(OSError):
            part.unlink()
    return JSONResponse({"instance": made}, 201)


async def health(request: Request) -> Response:
    """Whether the engine answers, not only the web server."""

    def look() -> str:
        names = SHELF.names()
        if not names:
            return "no instances"
        instance = SHELF.held(names[0]).instance
        SHELF.session(instance).certify(ThreatModel(**first_budget(instance)).bound_to(instance.scale), attack=False)
        return "ok"

    try:
        with anyio.fail_after(HEALTH_SECONDS):
            return JSONResponse({"status": await anyio.to_thread.run_sync(look, abandon_on_cancel=True)})
    except Exception as error:
        _log.error("the engine does not answer", exc_info=error)
        return JSONResponse({"error": "the engine does not answer; the server's log has the details"}, 503)


async def described(request: Request) -> Response:
    return JSONResponse(openapi.description())


def _script(request: Request) -> bytes:
    path = SCRIPTS / request.path_params["file"]
    if path.suffix not in TYPES or path.parent != SCRIPTS or not path.is_file():
        raise Unknown(path.name)
    return path.read_bytes()


async def script(request: Request) -> Response:
    kind = TYPES.get(Path(request.path_params["file"]).suffix, "text/plain")
    response: Response = await _kept(_script, kind)(request)
    return response


def routes() -> list[Route]:
    """All routes, to be mounted at `/api`."""
    return [
        Route("/health", health),
        Route("/openapi.json", described),
        Route("/static/{file}", script),
        Route("/instances", instances),
        Route("/instances", upload, methods=["POST"]),
        Route("/instances/{name}", _kept(_description)),
        Route("/instances/{name}/graph", _kept(_graph)),
        Route("/instances/{name}/words", _kept(_words)),
        Route("/instances/{name}/{what}", question),
    ]


assert set(questions.QUESTIONS) <= set(OPTIONS)
