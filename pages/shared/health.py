"""Is the dashboard well? `python -m pages.shared.health [PORT]` opens a session as a browser would.

The web server's own health page only says that it answers. This asks for the first page and waits until the engine
has put a guarantee on it, so a server whose engine is broken or stuck counts as ill. Exit code 0 or 1, one line.
"""

from __future__ import annotations

import os
import re
import sys
import time
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

LONGEST = 25.0
GUARANTEE = re.compile(r"at least \*\*([\d,]+) of ([\d,]+)\*\* labels stay")


def rerun(query: str = "", states: dict[str, int] | None = None, fragment: str = "") -> bytes:
    """What a browser tab sends: run the page with this link and these number fields (or only one fragment of it)."""
    message = BackMsg()
    message.rerun_script.query_string = query
    for widget, value in (states or {}).items():
        message.rerun_script.widget_states.widgets.add(id=widget, double_value=value)
    if fragment:
        message.rerun_script.fragment_id = fragment
        message.rerun_script.is_auto_rerun = True
    data: bytes = message.SerializeToString()
    return data


def check(port: int) -> str:
    """The guarantee the first page shows; an exception if it shows none in time."""
    deadline = time.monotonic() + LONGEST
    fragment, due = "", float("inf")
    with connect(f"ws://127.0.0.1:{port}/_stcore/stream", subprotocols=["streamlit"], max_size=None) as socket:  # type: ignore[list-item]
        socket.send(rerun())
        while time.monotonic() < deadline:
            try:
                data: Any = socket.recv(timeout=max(0.05, min(due, deadline) - time.monotonic()))
            except TimeoutError:
                if fragment:
                    socket.send(rerun(fragment=fragment))
                    due = time.monotonic() + 0.5
                continue
            message = ForwardMsg.FromString(data)
            if message.WhichOneof("type") == "auto_rerun":
                fragment, due = message.auto_rerun.fragment_id, time.monotonic() + message.auto_rerun.interval
            elif message.WhichOneof("type") == "delta":
                element = message.delta.new_element
                found = GUARANTEE.search(element.markdown.body) if element.WhichOneof("type") == "markdown" else None
                if found is not None:
                    return f"well: {found[1]} of {found[2]} labels certified on the first page"
    raise TimeoutError(f"no guarantee within {LONGEST:g} seconds")


def main() -> int:
    port = int(sys.argv[1]) if len(sys.argv) > 1 else int(os.environ.get("PORT", "8501"))
    if os.environ.get("CERTCORE_PASSWORD"):
        # Behind a password the page shows nothing; ask the engine itself and the web server separately.
        return _separately(port)
    try:
        print(check(port))
    except Exception as error:  # whatever it is, the server is not well
        print(f"ill: {type(error).__name__}: {str(error)[:200]}")
        return 1
    return 0


def _separately(port: int) -> int:
    import urllib.request

    import numpy as np

    from certcore import Graph, GridBase, Instance, ThreatModel, certify, verify_proof

    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5) as answer:
            assert answer.read() == b"ok"
        graph = Graph.from_edges(2, np.array([[0, 1]]), np.ones((2, 1), dtype=np.int8))
        instance = Instance(graph, GridBase(np.array([[1, 0], [1, 1]], dtype=bool), ("attr_del",)), 1)
        certificate = certify(instance, ThreatModel(attr_del=1))
        assert certificate.certified == 1
        assert verify_proof(certificate.proof or {}, instance).accepted
    except Exception as error:
        print(f"ill: {type(error).__name__}")
        return 1
    print("well: the web server answers and the engine proves")
    return 0


if __name__ == "__main__":
    sys.exit(main())
