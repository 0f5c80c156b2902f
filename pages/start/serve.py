"""What starts with the dashboard: the engine's API beside the pages, the guard before both, and the first page.

A first visit needs the imports, the first bundle and its first program. They are prepared while the server begins to
listen: done while a browser loads the page's scripts, they take three times as long, and both wait for one another.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import stat
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import streamlit as st
from starlette.middleware import Middleware
from starlette.routing import Mount

from certcore.server.guard import Guard
from certcore.server.routes import routes as api


def prepare() -> None:
    """Do what the first page needs; if that fails, the page itself will say why."""
    # Outside a page Streamlit remarks on every cached function that there is no page.
    logger = logging.getLogger("streamlit.runtime.caching.cache_data_api")
    logger.setLevel(logging.ERROR)
    from certcore.domain.threat import ThreatModel
    from certcore.sweep.ranges import first_budget

    from ..background import engine
    from ..files import bundles

    names = bundles.on_disk()
    if names:
        instance = bundles.load(bundles.first(names))
        budget: dict[str, Any] = dict(first_budget(instance))
        engine.session(instance).certify(ThreatModel(**budget).bound_to(instance.scale), attack=False)


def _load() -> None:
    """Import what every page needs, before anybody can ask for one.

    Where two threads import modules that import each other's packages, Python gives one of them half a module.
    """
    from ..explore import workbench  # noqa: F401
    from ..frame import frame  # noqa: F401


def _quietly(act: Callable[[], None]) -> None:
    with contextlib.suppress(Exception):
        act()


def _leave_pages_to_navigation() -> None:
    """Beside a folder called `pages` Streamlit makes a menu of its own until `st.navigation` is called once.

    A fresh server's first visitor, if led here by a link to one page, would be told that there is no such page.
    """
    logging.getLogger("streamlit.runtime.scriptrunner_utils.script_run_context").setLevel(logging.ERROR)
    st.navigation([st.Page(_leave_pages_to_navigation)])


def _leave_with(parent: int) -> None:
    """A dashboard that a notebook or command started ends with it, however that ends."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


def options(words: list[str]) -> dict[str, Any]:
    """Options of Streamlit, `--server.port 8501` or `--server.port=8501`, as its settings take them."""
    found: dict[str, Any] = {}
    rest = list(words)
    while rest:
        name, equals, text = rest.pop(0).partition("=")
        if not name.startswith("--") or "." not in name:
            raise SystemExit(f"{name!r} is no option; expected options such as --server.port 8501")
        if not equals:
            text = rest.pop(0) if rest and not rest[0].startswith("--") else "true"
        value: Any = text
        if text.lower() in ("true", "false"):
            value = text.lower() == "true"
        elif text.isascii() and text.isdigit():
            value = int(text)
        found[name.removeprefix("--")] = value
    return found


def base_path() -> str:
    """The path below which everything is, without slashes."""
    words = [] if "streamlit" in os.path.basename(sys.argv[0]) else sys.argv[1:]
    with contextlib.suppress(SystemExit):
        given = options(words).get("server.baseUrlPath")
        if given is not None:
            return str(given).strip("/")
    return str(st.get_option("server.baseUrlPath") or "").strip("/")


def routes() -> list[Mount]:
    base = base_path()
    return [Mount(f"/{base}/api" if base else "/api", routes=api())]


def middleware() -> list[Middleware]:
    return [Middleware(Guard, base=base_path())]


def send_small_lines_at_once() -> int:
    """Set TCP_NODELAY on the listening sockets of this process, which connections inherit; returns how many.

    Streamlit binds its own socket without it: the first line of an answer would wait 40 ms for the browser's delayed
    acknowledgement.
    """
    found = 0
    for number in range(3, 256):
        try:
            if not stat.S_ISSOCK(os.fstat(number).st_mode):
                continue
            with socket.socket(fileno=os.dup(number)) as one:
                internet = one.family in (socket.AF_INET, socket.AF_INET6) and one.type == socket.SOCK_STREAM
                if internet and one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    found += 1
        except OSError:
            continue
    return found


@contextlib.asynccontextmanager
async def lifespan(app: Any) -> AsyncIterator[dict[str, Any]]:
    """Before the first request, however the server was started."""
    send_small_lines_at_once()
    _leave_pages_to_navigation()
    threading.Thread(target=_quietly, args=(prepare,), daemon=True, name="prepare").start()
    yield {}


def main(app: Any) -> None:
    """Start the server; the options of `streamlit run` come from the command line."""
    parent = os.environ.pop("CERTCORE_DASHBOARD_PARENT", "")
    if parent.isdigit():
        threading.Thread(target=_leave_with, args=(int(parent),), daemon=True, name="leave").start()
    _quietly(_load)
    try:
        app.run(config=options(sys.argv[1:]))
    except st.errors.StreamlitAPIException as error:
        raise SystemExit(str(error)) from error
