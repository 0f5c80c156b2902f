"""Is the dashboard well? `python -m pages.server.health [PORT]` opens a session as a browser would.

The web server's own health page only says that it answers. This asks for the first page and waits until the engine
has put a guarantee on it, so a server whose engine is broken or stuck counts as ill. Exit code 0 or 1, one line.
"""

from __future__ import annotations

import os
import re
import sys
import time
from typing import Any

from streamlit.proto.Alert_pb2 import Alert
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.TextInput_pb2 import TextInput
from websockets.sync.client import connect

LONGEST = 25.0
PASSWORD = TextInput.Type.PASSWORD
#: How the page says that the password was not looked at because too many others are being tried.
CROWDED = Alert.WARNING
GUARANTEE = re.compile(r"\*\*([\d,]+) of ([\d,]+)\*\* (?:correct )?labels")


def rerun(
    query: str = "",
    states: dict[str, int] | None = None,
    fragment: str = "",
    entered: tuple[str, str, str] | None = None,
) -> bytes:
    """What a browser tab sends: run the page with this link and these number fields (or only one fragment of it).

    `entered` is a form that is sent: the text field, what stands in it, and the button.
    """
    message = BackMsg()
    message.rerun_script.query_string = query
    for widget, value in (states or {}).items():
        message.rerun_script.widget_states.widgets.add(id=widget, double_value=value)
    if entered is not None:
        field, text, button = entered
        message.rerun_script.widget_states.widgets.add(id=field, string_value=text)
        message.rerun_script.widget_states.widgets.add(id=button, trigger_value=True)
    if fragment:
        message.rerun_script.fragment_id = fragment
        message.rerun_script.is_auto_rerun = True
    data: bytes = message.SerializeToString()
    return data


def check(port: int, password: str = "") -> str:
    """The guarantee the first page shows (to those who know the password); an exception if it shows none in time."""
    field = ""
    entered: tuple[str, str, str] | None = None
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
                if password and element.WhichOneof("type") == "text_input" and element.text_input.type == PASSWORD:
                    field = element.text_input.id
                elif field and element.WhichOneof("type") == "button" and element.button.is_form_submitter:
                    entered = (field, password, element.button.id)
                    socket.send(rerun(entered=entered))
                    field = password = ""
                elif entered is not None and element.WhichOneof("type") == "alert" and element.alert.format == CROWDED:
                    time.sleep(1)
                    socket.send(rerun(entered=entered))
                found = GUARANTEE.search(element.markdown.body) if element.WhichOneof("type") == "markdown" else None
                if found is not None:
                    return f"well: {found[1]} of {found[2]} labels certified on the first page"
    raise TimeoutError(f"no guarantee within {LONGEST:g} seconds")


def main() -> int:
    port = int(sys.argv[1]) if len(sys.argv) > 1 else int(os.environ.get("PORT", "8501"))
    try:
        print(check(port, os.environ.get("CERTCORE_PASSWORD", "")))
    except Exception as error:  # whatever it is, the server is not well
        print(f"ill: {type(error).__name__}: {str(error)[:200]}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
