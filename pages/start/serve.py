"""What `python app.py` does: starts the dashboard with the first page prepared.

A first visit needs the imports, the first bundle and its first program. Done before the server listens, this takes a
third of a second; done while a browser loads the page's scripts, it takes three times as long, and both wait for one
another. Every option of `streamlit run` may follow. `streamlit run app.py` works as well, but its first page is slower.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import streamlit as st

#: A server that answers late is worse than a first page that is not prepared: bundles may be large.
PATIENCE = 2.0


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
        engine.session(instance).certify(ThreatModel(**budget), attack=False)


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


def main(script: str) -> None:
    """Start the server on a script; the options of `streamlit run` come from the command line."""
    from streamlit.web import cli

    from ..server import uploads

    uploads.guard()
    parent = os.environ.pop("CERTCORE_DASHBOARD_PARENT", "")
    if parent.isdigit():
        threading.Thread(target=_leave_with, args=(int(parent),), daemon=True, name="leave").start()
    _leave_pages_to_navigation()
    _quietly(_load)
    early = threading.Thread(target=_quietly, args=(prepare,), daemon=True, name="prepare")
    early.start()
    early.join(PATIENCE)
    sys.argv = ["streamlit", "run", script, *sys.argv[1:]]
    cli.main()
