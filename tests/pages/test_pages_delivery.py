"""Streamlit's own machinery, in this process: what a run says at its end reaches the browser."""

from __future__ import annotations

import asyncio
import sys
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import Runtime, RuntimeConfig
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType

from pages.background import work
from stress.tab import rerun
from tests.waiting import until

#: A page that waits for a chart: a fragment with a timer near its end, as `work.line` draws it.
PAGE = """
import streamlit as st
from _delivery_gate import gate

def poll():
    st.write("still waiting")

st.write("the number")
gate.wait(20)
st.fragment(poll, run_every=0.5)()
"""


class Browser:
    """What a browser keeps of the messages: its timers, and whether the page has come to its end."""

    client_context = None

    def __init__(self) -> None:
        self.timers: set[str] = set()
        self.runs = self.ends = 0

    def write_forward_msg(self, message: ForwardMsg) -> None:
        match message.WhichOneof("type"):
            case "new_session" if not message.metadata.run.fragment_ids:
                self.timers.clear()
                self.runs += 1
            case "auto_rerun":
                self.timers.add(message.auto_rerun.fragment_id)
            case "script_finished":
                self.ends += message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    module: Any = types.ModuleType("_delivery_gate")
    module.gate = threading.Event()
    sys.modules["_delivery_gate"] = module
    yield module.gate
    module.gate.set()
    del sys.modules["_delivery_gate"]


async def _until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not true():
            await asyncio.sleep(0.01)


async def _visit(page: Path, gate: threading.Event) -> tuple[Browser, str]:
    runtime = Runtime(RuntimeConfig(str(page), MemoryMediaFileStorage("/media"), MemoryUploadedFileManager("/upload")))
    await runtime.start()
    try:
        browser = Browser()
        name = runtime.connect_session(browser, {})
        session = runtime._session_mgr.get_active_session_info(name).session  # type: ignore[union-attr]
        gate.set()
        runtime.handle_backmsg(name, BackMsg.FromString(rerun()))
        await _until(lambda: bool(browser.timers) and browser.ends == 1)
        (fragment,) = browser.timers
        # The page runs anew. The browser hears of it, and has dropped its timer ...
        gate.clear()
        runtime.handle_backmsg(name, BackMsg.FromString(rerun()))
        await _until(lambda: browser.runs == 2 and not browser.timers)
        # ... while a poll it sent before is on its way. The server is busy until the run has ended, then takes it.
        gate.set()
        runner = session._scriptrunner
        until(lambda: runner._requests._state is ScriptRequestType.STOP)  # and the loop gets nothing in between
        runtime.handle_backmsg(name, BackMsg.FromString(rerun(fragment=fragment)))
        await _until(lambda: session._scriptrunner is None)
        await _until(lambda: browser.ends == 2)
        return browser, fragment
    finally:
        runtime.stop()
        await runtime.stopped


def test_a_poll_that_meets_the_end_of_a_run_does_not_cost_the_page_its_timers(
    tmp_path: Path, gate: threading.Event
) -> None:
    """Without them nobody ever asks for the chart again."""
    page = tmp_path / "page.py"
    page.write_text(PAGE)
    work.pool()
    browser, fragment = asyncio.run(_visit(page, gate))
    assert browser.timers == {fragment}
    assert browser.ends == 2
