"""A browser tab without a browser: speaks Streamlit's protocol over a websocket the way its front end does.

It sends a rerun when a number field is moved; it keeps one timer for each fragment that asked for one, polls at that
interval whatever else goes on, and drops all timers when a run of the whole page begins. It reads all the time.
"""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass, field
from typing import Any

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

#: A number must be there so long after a move, whatever else is going on.
LONGEST = 120.0
BUDGET = {
    "attr_add": re.compile(r"([\d,]+) attribute addition"),
    "attr_del": re.compile(r"([\d,]+) attribute deletion"),
}

Budgets = tuple[int, int]
GUARANTEE = re.compile(r"\*\*([\d,]+) of ([\d,]+)\*\* (?:correct )?labels")


def rerun(
    query: str = "",
    states: dict[str, int] | None = None,
    fragment: str = "",
) -> bytes:
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


def read_guarantee(text: str) -> tuple[Budgets, int] | None:
    """Budgets and count of a guarantee, or None if the text is something else."""
    count = GUARANTEE.search(text)
    if count is None:
        return None
    found = [pattern.search(text) for pattern in BUDGET.values()]
    add, delete = (0 if match is None else int(match[1].replace(",", "")) for match in found)
    return (add, delete), int(count[1].replace(",", ""))


@dataclass
class Tab:
    """One tab. `shown` are all guarantees that were ever on it, `line` what it last said about work under way."""

    port: int
    query: str = ""
    shown: set[tuple[Budgets, int]] = field(default_factory=set)
    errors: list[str] = field(default_factory=list)
    line: str = ""
    resting: bool = False
    """Whether the last run of the whole page came to its end."""
    _fields: dict[str, str] = field(default_factory=dict)
    _values: dict[str, int] = field(default_factory=dict)
    _timers: dict[str, tuple[float, float]] = field(default_factory=dict)
    _seen: tuple[Budgets, int] | None = None
    _fresh: bool = False
    _kinds: list[str] = field(default_factory=list)

    async def __aenter__(self) -> Tab:
        # Like a browser, it sends no pings of its own.
        url = f"ws://127.0.0.1:{self.port}/_stcore/stream"
        self._socket: Any = await websockets.connect(
            url, subprotocols=["streamlit"], max_size=None, ping_interval=None  # type: ignore[list-item]
        )  # fmt: skip
        self._news = asyncio.Condition()
        self._reader = asyncio.create_task(self._read())
        await self.send()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)
        await self._socket.close()

    async def send(self, fragment: str = "") -> None:
        states = {self._fields[name]: value for name, value in self._values.items() if name in self._fields}
        await self._socket.send(rerun(self.query, states, fragment))

    async def move(self, **values: int) -> None:
        """Put numbers into number fields."""
        self._values |= values
        self._seen, self._fresh, self.resting = None, False, False
        await self.send()

    async def until(self, ready: Any, what: str, seconds: float = LONGEST) -> None:
        """Wait until something is true of the tab."""
        try:
            async with self._news, asyncio.timeout(seconds):
                await self._news.wait_for(lambda: ready() or self._reader.done())
        except TimeoutError:
            how = f"{'at' if self.resting else 'without'} rest, {len(self._timers)} timers, {self._kinds[-12:]}"
            raise TimeoutError(f"no {what} within {seconds:g} s ({how}); the page says “{self.line}”") from None
        if not ready():
            raise ConnectionError(f"the connection ended before there was {what}")

    async def number(self, budgets: Budgets, seconds: float = LONGEST) -> int:
        """Wait until the page shows the guarantee for these budgets as the present one."""
        await self.until(lambda: self._fresh and self._seen is not None and self._seen[0] == budgets, "number", seconds)
        assert self._seen is not None
        return self._seen[1]

    @property
    def waits(self) -> bool:
        """Whether the page asks again and again for work that is under way."""
        return bool(self._timers)

    async def rest(self, seconds: float = LONGEST) -> None:
        """Wait until nothing on the page is under way any more."""
        await self.until(lambda: self.resting and not self._timers, "rest", seconds)

    async def _read(self) -> None:
        try:
            while True:
                due = min((due for _, due in self._timers.values()), default=None)
                try:
                    async with asyncio.timeout(None if due is None else max(0.0, due - time.monotonic())):
                        data = await self._socket.recv()
                except TimeoutError:
                    await self._poll()
                    continue
                self._take(ForwardMsg.FromString(data))
                async with self._news:
                    self._news.notify_all()
        finally:
            async with self._news:
                self._news.notify_all()

    async def _poll(self) -> None:
        now = time.monotonic()
        for fragment, (interval, due) in list(self._timers.items()):
            if due <= now:
                self._timers[fragment] = (interval, max(due + interval, now))
                await self.send(fragment)

    def _take(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "script_finished":
            self._kinds.append(ForwardMsg.ScriptFinishedStatus.Name(message.script_finished))
        elif kind != "delta":
            self._kinds.append(str(kind))
        match kind:
            case "new_session" if not message.metadata.run.fragment_ids:
                self._timers.clear()
                self._seen, self._fresh, self.resting = None, False, False
            case "auto_rerun":
                interval = message.auto_rerun.interval
                self._timers.setdefault(message.auto_rerun.fragment_id, (interval, time.monotonic() + interval))
            case "stop_auto_rerun":
                for fragment in message.stop_auto_rerun.fragment_ids:
                    self._timers.pop(fragment, None)
            case "page_info_changed":
                self.query = message.page_info_changed.query_string
            case "script_finished":
                self.resting |= message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY
            case "delta" if message.delta.WhichOneof("type") == "new_element":
                self._element(message.delta.new_element)

    def _element(self, element: Any) -> None:
        match element.WhichOneof("type"):
            case "number_input":
                self._fields[element.number_input.id.rsplit("-", 1)[-1]] = element.number_input.id
            case "markdown":
                self._fresh |= "answered in" in element.markdown.body
                seen = read_guarantee(element.markdown.body)
                if seen is not None:
                    self.shown.add(seen)
                    self._seen = seen
                elif ":material/progress_activity:" in element.markdown.body:
                    self.line = element.markdown.body
            case "exception":
                self.errors.append(element.exception.message)
