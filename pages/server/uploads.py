"""Uploads: from visitors who are in, and together no more than the server can hold.

Streamlit takes a file from whoever has a connection, also while the page still asks for the password, and keeps it in
memory as long as it remembers the session. Here the request is refused before its body is read, which takes the routes
that `python app.py` makes; where somebody else has started the server (`streamlit run app.py`), it is refused when the
file would be kept.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from streamlit import config, runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.web.server.starlette import starlette_app, starlette_server

from .login import admitted

MB = 2**20
#: Files of all visitors together, unless CERTCORE_UPLOADS_MB says something else, and how much of it one may have.
MOST_MB, SHARE = 600, 0.5
#: A browser says little: which widgets stand where, at most a selection among 100,000 nodes.
MOST_SAID = 8 * MB
#: Seconds between two looks for files that nobody can ask for any more.
TIDY = 30.0

_plain_add, _plain_routes = MemoryUploadedFileManager.add_file, starlette_app.create_upload_routes
_lock = threading.Lock()
#: Bytes that are arriving at this moment, by session.
_arriving: dict[str, int] = {}
_tidying = threading.Event()
#: What else is freed when sessions have ended.
ALSO_TIDY: list[Callable[[], None]] = []


def most() -> int:
    """Bytes that all uploads together may have."""
    told = os.environ.get("CERTCORE_UPLOADS_MB", "")
    return (int(told) if told.isascii() and told.isdigit() and len(told) < 8 else MOST_MB) * MB


def _sessions() -> Any:
    """The sessions of this server; None where there is no server (tests of single pages have half of one)."""
    return getattr(runtime.get_instance(), "_session_mgr", None) if runtime.exists() else None


def remembers(session: str) -> bool:
    """Whether the server still remembers this session, with a connection or away for a moment."""
    sessions = _sessions()
    return sessions is None or sessions.get_session_info(session) is not None


def may_upload(session: str) -> bool:
    """Whether this is a session with a connection whose visitor has been let in."""
    found = _sessions().get_active_session_info(session)
    return found is not None and admitted(found.session.session_state)


def forget_ended(files: MemoryUploadedFileManager, *, all_away: bool = False) -> None:
    """Free files of sessions that are gone; with `all_away` also of those that might still come back."""
    sessions = _sessions()
    with files._lock:
        owners = list(files.file_storage)
    for owner in owners:
        gone = sessions.get_session_info(owner) is None
        if gone or (all_away and not sessions.is_active_session(owner)):
            files.remove_session_files(owner)


def _held(files: MemoryUploadedFileManager) -> dict[str, int]:
    with files._lock:
        return {owner: sum(len(one.data) for one in kept.values()) for owner, kept in files.file_storage.items()}


def _check(files: MemoryUploadedFileManager, session: str, size: int, *, arriving: dict[str, int]) -> None:
    """Refuse a file for which there is no room, after making what room there is."""
    for attempt in range(2):
        held = _held(files)
        mine = held.get(session, 0) + arriving.get(session, 0)
        everybody = sum(held.values()) + sum(arriving.values())
        if mine + size <= SHARE * most() and everybody + size <= most():
            return
        if not attempt:
            forget_ended(files, all_away=True)
    raise HTTPException(507, "the server holds as many uploads as it can; remove one, or wait a few minutes")


@contextlib.contextmanager
def _room(files: MemoryUploadedFileManager, session: str, size: int) -> Iterator[None]:
    """Keep a place for a file while it is arriving."""
    with _lock:
        _check(files, session, size, arriving=_arriving)
        _arriving[session] = _arriving.get(session, 0) + size
    try:
        yield
    finally:
        with _lock:
            _arriving[session] -= size
            if not _arriving[session]:
                del _arriving[session]


def _size(request: Request) -> int:
    """How large the body says it is; without a word (or with nonsense) as large as one may be."""
    told = request.headers.get("content-length", "")
    largest = int(config.get_option("server.maxUploadSize")) * MB
    return min(int(told), largest) if told.isascii() and told.isdigit() and len(told) < 16 else largest


def _put(
    plain: Callable[[Request], Awaitable[Response]], files: MemoryUploadedFileManager
) -> Callable[[Request], Awaitable[Response]]:
    async def put(request: Request) -> Response:
        session = request.path_params["session_id"]
        if not may_upload(session):
            raise HTTPException(403, "only visitors who have been let in can upload files")
        with _room(files, session, _size(request)):
            return await plain(request)

    return put


def _create_upload_routes(server: Any, files: MemoryUploadedFileManager, base: str | None) -> list[Any]:
    made: list[Any] = _plain_routes(server, files, base)
    return [
        Route(route.path, _put(route.endpoint, files), methods=["PUT"]) if "PUT" in (route.methods or ()) else route
        for route in made
    ]


def _add_file(self: MemoryUploadedFileManager, session_id: str, file: UploadedFileRec) -> None:
    """The last look before a file is kept: its session may have ended while it was arriving."""
    if _sessions() is not None:
        if not may_upload(session_id):
            raise HTTPException(403, "only visitors who have been let in can upload files")
        _check(self, session_id, len(file.data), arriving={})
    _plain_add(self, session_id, file)


def _tidy() -> None:
    while True:
        time.sleep(TIDY)
        if _sessions() is not None:
            files = runtime.get_instance().uploaded_file_mgr
            if isinstance(files, MemoryUploadedFileManager):
                forget_ended(files)
            for tidy in ALSO_TIDY:
                with contextlib.suppress(OSError):
                    tidy()


def guard() -> None:
    """Install all this; once is enough, more does no harm."""
    MemoryUploadedFileManager.add_file = _add_file
    starlette_app.create_upload_routes = _create_upload_routes
    starlette_server.get_max_message_size_bytes = lambda: MOST_SAID
    with _lock:
        first = not _tidying.is_set()
        _tidying.set()
    if first:
        threading.Thread(target=_tidy, daemon=True, name="uploads").start()
