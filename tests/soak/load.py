"""Load: browser-like sessions move sliders against one real server; every number is compared with a single-user run.

`python -m tests.soak.load SESSIONS SECONDS` starts a server on loopback, speaks Streamlit's own protocol to it the
way a browser tab does (a rerun with a changed number field, then polling the fragments the page asks for), and
prints one JSON line. Every guarantee the page shows names its budgets, so each can be checked on its own. All
requests go to 127.0.0.1, and it stops by itself.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import websockets
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from pages.shared.health import GUARANTEE, rerun

ROOT = Path(__file__).resolve().parents[2]
BUNDLE = "citeseer-gcn-attr-s0"
#: A number must be there so long after a move, whatever else is going on.
LONGEST = 120.0
BUDGET = {
    "attr_add": re.compile(r"([\d,]+) attribute addition"),
    "attr_del": re.compile(r"([\d,]+) attribute deletion"),
}

Budgets = tuple[int, int]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server:
    """The dashboard in a process of its own."""

    def __init__(self) -> None:
        self.port = free_port()
        command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(self.port)]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def wait(self, seconds: float = 90.0) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/_stcore/health", timeout=2) as answer:
                    if answer.read() == b"ok":
                        return
            except OSError:
                time.sleep(0.2)
        raise RuntimeError("the server did not start")

    def memory(self) -> float:
        """Resident memory in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]

    def stop(self) -> str:
        """End it gracefully; returns what it logged."""
        self.process.terminate()
        try:
            _, log = self.process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            _, log = self.process.communicate()
        return log.decode(errors="replace")


@dataclass
class Visitor:
    """One browser-like session."""

    url: str
    seed: int
    answers: list[tuple[Budgets, int, float]] = field(default_factory=list)
    shown: set[tuple[Budgets, int]] = field(default_factory=set)
    errors: list[str] = field(default_factory=list)
    fields: dict[str, str] = field(default_factory=dict)

    async def run(self, moves: int, until: float) -> None:
        rng = random.Random(self.seed)
        budgets = (0, 10)
        # Like a browser, it sends no pings of its own.
        connection = websockets.connect(self.url, subprotocols=["streamlit"], max_size=None, ping_interval=None)  # type: ignore[list-item]
        async with connection as socket_:
            for number in range(moves):
                if time.monotonic() > until:
                    return
                if number:
                    budgets = next_budgets(rng, budgets)
                started = time.monotonic()
                try:
                    certified = await asyncio.wait_for(self.move(socket_, budgets, first=number == 0), LONGEST)
                except TimeoutError:
                    self.errors.append(f"no number within {LONGEST} s for {budgets}")
                    return
                self.answers.append((budgets, certified, time.monotonic() - started))
                await asyncio.sleep(rng.uniform(0.2, 2.0))

    async def move(self, socket_: Any, budgets: Budgets, *, first: bool) -> int:
        """Move the sliders and poll as the page asks for, until it shows a fresh number for these budgets."""
        query = f"instance={BUNDLE}&attr_add={budgets[0]}&attr_del={budgets[1]}"
        await socket_.send(rerun(query, {} if first else self.states(budgets)))
        polls: dict[str, float] = {}
        found: int | None = None
        fresh = False
        while True:
            due = min(polls.values(), default=None)
            timeout = None if due is None else max(0.0, due - time.monotonic())
            try:
                data = await asyncio.wait_for(socket_.recv(), timeout)
            except TimeoutError:
                fragment = min(polls, key=lambda f: polls[f])
                polls[fragment] = time.monotonic() + 0.5
                await socket_.send(rerun(query, self.states(budgets), fragment))
                continue
            message = ForwardMsg.FromString(data)
            kind = message.WhichOneof("type")
            if kind == "auto_rerun":
                polls[message.auto_rerun.fragment_id] = time.monotonic() + message.auto_rerun.interval
            elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
                element = message.delta.new_element
                match element.WhichOneof("type"):
                    case "number_input":
                        self.fields[element.number_input.id.rsplit("-", 1)[-1]] = element.number_input.id
                    case "metric":
                        fresh |= element.metric.label == "Certified together"
                    case "markdown":
                        seen = read_guarantee(element.markdown.body)
                        if seen is not None:
                            self.shown.add(seen)
                            found, fresh = (seen[1], fresh) if seen[0] == budgets else (None, False)
                    case "exception":
                        self.errors.append(f"{budgets}: {element.exception.message}")
            elif kind == "script_finished" and found is not None and fresh and _complete(message):
                return found

    def states(self, budgets: Budgets) -> dict[str, int]:
        return {
            self.fields[name]: value for name, value in zip(("attr_add", "attr_del"), budgets) if name in self.fields
        }


def _complete(message: ForwardMsg) -> bool:
    """Whether a run came to its end, and was not given up for another one."""
    return bool(message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY)


def read_guarantee(text: str) -> tuple[Budgets, int] | None:
    """Budgets and count of a guarantee, or None if the text is something else."""
    count = GUARANTEE.search(text)
    if count is None:
        return None
    found = [pattern.search(text) for pattern in BUDGET.values()]
    add, delete = (0 if match is None else int(match[1].replace(",", "")) for match in found)
    return (add, delete), int(count[1].replace(",", ""))


def next_budgets(rng: random.Random, now: Budgets) -> Budgets:
    """Mostly small steps and jumps in one type; sometimes a second type comes in or goes."""
    add, delete = now
    match rng.randrange(6):
        case 0 | 1:
            delete = max(1, delete + rng.choice((-2, -1, 1, 2, 5)))
        case 2 | 3:
            delete = rng.choice((rng.randint(1, 40), rng.randint(1, 300), 10, 25, 50))
        case 4:
            add = 0
        case 5:
            add, delete = rng.randint(1, 2), min(delete, 30)
    return add, delete


async def _probe(port: int, links: list[str]) -> list[str]:
    problems = []
    url = f"ws://127.0.0.1:{port}/_stcore/stream"
    for link in links:
        async with websockets.connect(url, subprotocols=["streamlit"], max_size=None) as tab:  # type: ignore[list-item]
            await tab.send(rerun(link))
            while True:
                message = ForwardMsg.FromString(await asyncio.wait_for(tab.recv(), LONGEST))
                kind = message.WhichOneof("type")
                if kind == "delta" and message.delta.new_element.WhichOneof("type") == "exception":
                    problems.append(f"{link}: {message.delta.new_element.exception.type}")
                if kind == "script_finished" and _complete(message):
                    break
    return problems


def probe_links(port: int, links: list[str]) -> list[str]:
    """Open each link in a fresh session; returns what went wrong."""
    return asyncio.run(_probe(port, links))


def expected(budgets: Budgets, session: Any) -> int:
    """The same view for a single user, straight from the engine."""
    from certcore import ThreatModel

    count: int = session.certify(ThreatModel(attr_add=budgets[0], attr_del=budgets[1]), attack=False).certified
    return count


async def visit(
    port: int, sessions: int, seconds: float, moves: int, memory: list[float], server: Server
) -> list[Visitor]:
    until = time.monotonic() + seconds
    url = f"ws://127.0.0.1:{port}/_stcore/stream"
    visitors = [Visitor(url, seed) for seed in range(sessions)]

    async def watch() -> None:
        while True:
            memory.append(server.memory())
            await asyncio.sleep(2)

    watcher = asyncio.create_task(watch())
    await asyncio.gather(*(visitor.run(moves, until) for visitor in visitors))
    watcher.cancel()
    return visitors


def load(sessions: int, seconds: float, moves: int = 10_000) -> dict[str, Any]:
    """Run the load and compare every answer."""
    from certcore import load_instance
    from certcore.sweep import Session

    server = Server()
    memory: list[float] = []
    try:
        server.wait()
        visitors = asyncio.run(visit(server.port, sessions, seconds, moves, memory, server))
    finally:
        log = server.stop()
    session = Session(load_instance(ROOT / "precomputed" / f"{BUNDLE}.npz"))
    answers = [answer for visitor in visitors for answer in visitor.answers]
    shown = {seen for visitor in visitors for seen in visitor.shown}
    truth = {budgets: expected(budgets, session) for budgets, _ in shown}
    wrong = [(budgets, number, truth[budgets]) for budgets, number in sorted(shown) if number != truth[budgets]]
    times = sorted(answer[2] for answer in answers)
    third = max(1, len(memory) // 3)
    return {
        "sessions": sessions,
        "seconds": seconds,
        "answers": len(answers),
        "views": len(truth),
        "wrong": wrong[:5],
        "errors": [error for visitor in visitors for error in visitor.errors][:5],
        "log": [line for line in log.splitlines() if "Traceback" in line or "Error" in line][:5],
        "median": round(statistics.median(times), 3) if times else None,
        "p95": round(times[int(0.95 * (len(times) - 1))], 3) if times else None,
        "slowest": round(times[-1], 3) if times else None,
        "memory_mib": [round(statistics.mean(memory[i : i + third])) for i in range(0, len(memory), third)][:3],
        "stopped_with": server.process.returncode,
    }


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    print(json.dumps(load(int(sys.argv[1]), float(sys.argv[2]))))
