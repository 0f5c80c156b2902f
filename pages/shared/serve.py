"""Starts the dashboard (`python -m pages.shared.serve --server.port 8501`) and prepares the first page meanwhile.

A first visit needs the imports, the first bundle and its first program: about two seconds of work. The browser needs as
long to load the page's own scripts, so a thread does that work in the meantime. Every option of `streamlit run` may
follow. `streamlit run app.py` works as well; its first visitor waits for both, one after the other.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

APP = Path(__file__).resolve().parents[2] / "app.py"


def prepare() -> None:
    """Do what the first page needs; if that fails, the page itself will say why."""
    # Outside a page Streamlit remarks on every cached function that there is no page.
    logger = logging.getLogger("streamlit.runtime.caching.cache_data_api")
    logger.setLevel(logging.ERROR)
    from certcore.threat import ThreatModel
    from pages.shared import bundles, charts, engine, headline, sidebar, sweeps, work  # noqa: F401 - imported early

    names = bundles.on_disk()
    if names:
        instance = bundles.load(bundles.first(names))
        budget: dict[str, Any] = dict(sidebar.first_budget(instance))
        engine.session(instance).certify(ThreatModel(**budget), attack=False)


def _when_it_listens() -> None:
    """Wait for the server, so that nothing delays its start: from then on it has nothing to do for about a second."""
    from streamlit import config

    address = ("127.0.0.1", config.get_option("server.port"))
    for _ in range(400):
        with contextlib.suppress(OSError), socket.create_connection(address, timeout=1):
            break
        time.sleep(0.03)
    usual = sys.getswitchinterval()
    sys.setswitchinterval(0.0003)  # the browser's many small requests must not wait for imports
    with contextlib.suppress(Exception):
        prepare()
    sys.setswitchinterval(usual)


def main() -> None:
    from streamlit.web import cli

    threading.Thread(target=_when_it_listens, daemon=True, name="prepare").start()
    sys.argv = ["streamlit", "run", str(APP), *sys.argv[1:]]
    cli.main()


if __name__ == "__main__":
    main()
