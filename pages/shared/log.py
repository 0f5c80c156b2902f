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
FIELDS = ("work", "state", "seconds", "waiting", "error")


class _Line(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        for name in FIELDS:
            if hasattr(record, name):
                line[name] = getattr(record, name)
        if record.exc_info and record.exc_info[1] is not None:
            # The kind and place of a fault, not its text: a message may quote what a user gave us.
            error, trace = record.exc_info[1], record.exc_info[2]
            while trace is not None and trace.tb_next is not None:
                trace = trace.tb_next
            place = f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}" if trace else "?"
            line["error"] = f"{type(error).__name__} at {place}"
        return json.dumps(line, ensure_ascii=True)


def set_up() -> logging.Logger:
    """The dashboard's log, set up once per process."""
    log = logging.getLogger(NAME)
    if not log.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(_Line())
        log.addHandler(handler)
        log.propagate = False
        log.setLevel(logging.CRITICAL + 1 if os.environ.get("CERTCORE_LOG") == "off" else logging.INFO)
    return log
