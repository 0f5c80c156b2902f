"""A structured log: one JSON object per line on standard error, about work and faults, never about people.

No addresses, session names, file names, node names or budgets are written: what somebody looks at is their own
business. CERTCORE_LOG=off silences it.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from typing import Any

NAME = "certcore.dashboard"
#: What may be written next to time, level and event.
FIELDS = ("work", "state", "seconds", "waiting", "turned_away", "error")


class _JsonLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            # What others write may name files or addresses: only the fixed part of it is kept, not what is filled in.
            "event": record.getMessage() if record.name == NAME else str(record.msg).partition(":")[0][:80],
        }
        for name in FIELDS:
            if hasattr(record, name):
                line[name] = getattr(record, name)
        if record.exc_info and record.exc_info[1] is not None:
            # The kind and place of a fault, not its text: a message may quote what a user gave us.
            error, trace, places = record.exc_info[1], record.exc_info[2], ["?"]
            while trace is not None:
                places.insert(0, f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}")
                trace = trace.tb_next
            line["error"] = f"{type(error).__name__} at {' from '.join(places[:-1][:6] or places)}"
        return json.dumps(line, ensure_ascii=True)


def set_up() -> logging.Logger:
    """The dashboard's log, set up once per process."""
    log = logging.getLogger(NAME)
    if not log.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(_JsonLine())
        log.addHandler(handler)
        log.propagate = False
        log.setLevel(logging.CRITICAL + 1 if os.environ.get("CERTCORE_LOG") == "off" else logging.INFO)
        _tame_streamlit()
        _tame_web_server()
    return log


def _tame_streamlit() -> None:
    """Streamlit's own warnings and errors in the same form: a fault of a page is told without its text."""
    from streamlit import logger

    def quiet(other: logging.Logger) -> None:
        plain(other)
        for handler in other.handlers:
            handler.setFormatter(_JsonLine())

    plain, logger.setup_formatter = logger.setup_formatter, quiet
    logger.update_formatter()


def _tame_web_server() -> None:
    """The web server's faults, which a stranger can cause, and what those write who have no log of their own."""
    from uvicorn.config import LOGGING_CONFIG

    LOGGING_CONFIG["formatters"]["default"] = {"()": _json_line}
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_JsonLine())


def _json_line(**_: object) -> _JsonLine:
    """The form of a line, whatever colours somebody wants for it."""
    return _JsonLine()
