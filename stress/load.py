"""Load: browser-like sessions move sliders against one real server; every number is compared with a single-user run.

`python -m stress.load SESSIONS SECONDS [ON_PUBMED]` starts a server on loopback, opens tabs that behave as those of
a browser (`stress.tab`), and prints one JSON line. Every guarantee the page shows names its budgets, so each can be
checked on its own. A session that gets no number within two minutes, or whose page does not come to rest within ten
(when all have stopped moving, everybody's charts are computed at once), is an error. All requests go to 127.0.0.1, and
it stops by itself.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import websockets
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from certcore.cli.dashboard import free_port
from stress.tab import LONGEST, Budgets, Tab, rerun

#: Charts of all visitors at once may take so long.
LONGEST_REST = 600.0
ROOT = Path(__file__).resolve().parents[1]
BUNDLES = {"Citeseer": "citeseer-gcn-attr-s0", "PubMed": "pubmed-gcn-attr-s0"}


class Server:
    """The dashboard in a process of its own."""

    def __init__(self) -> None:
        self.port = free_port()
        command = [sys.executable, "app.py", "--server.port", str(self.port)]
        # Into a file: a pipe that nobody reads fills up, and then every thread that logs stands still.
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=self._log)

    def wait(self, seconds: float = 90.0) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/health", timeout=30):
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
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        with self._log as log:
            log.seek(0)
            return log.read().decode(errors="replace")


@dataclass
class Visitor:
    """Somebody who looks at a number, thinks, and moves on."""

    port: int
    seed: int
    graph: str = "Citeseer"
    exact: bool = False
    """Whether exact programs are asked for; these take as long as they may."""
    waits: list[float] = field(default_factory=list)
    calm: float = 0.0
    """Seconds from the last number to a page on which nothing is under way."""
    shown: set[tuple[Budgets, int]] = field(default_factory=set)
    errors: list[str] = field(default_factory=list)

    async def run(self, moves: int, until: float) -> None:
        rng = random.Random(self.seed)
        budgets = (2, 30) if self.exact else (0, 10)
        link = f"instance={BUNDLES[self.graph]}&attr_add={budgets[0]}&attr_del={budgets[1]}"
        tab = Tab(self.port, link + ("&relaxation=exact&limit=30" if self.exact else ""), self.shown)
        try:
            started = time.monotonic()
            async with tab:
                for _ in range(moves):
                    await tab.number(budgets)
                    self.waits.append(time.monotonic() - started)
                    await asyncio.sleep(rng.uniform(0.2, 2.0))
                    if time.monotonic() > until:
                        break
                    budgets = (budgets[0], budgets[1] + 1) if self.exact else next_budgets(rng, budgets)
                    started = time.monotonic()
                    await tab.move(attr_add=budgets[0], attr_del=budgets[1])
                await tab.number(budgets)
                started = time.monotonic()
                await tab.rest(LONGEST_REST)
                self.calm = time.monotonic() - started
        except (TimeoutError, ConnectionError, websockets.WebSocketException) as error:
            self.errors.append(f"{budgets}: {error}")
        self.errors += tab.errors


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
                if kind == "script_finished" and message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
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
    port: int, sessions: int, seconds: float, moves: int, memory: list[float], server: Server, pubmed: int
) -> list[Visitor]:
    until = time.monotonic() + seconds
    # With more than a few visitors, one of them keeps the integer solver busy; the last ones look at PubMed.
    graphs = ["Citeseer"] * (sessions - pubmed) + ["PubMed"] * pubmed
    visitors = [Visitor(port, seed, graph, exact=seed == 4 and pubmed < sessions) for seed, graph in enumerate(graphs)]

    async def watch() -> None:
        while True:
            memory.append(server.memory())
            await asyncio.sleep(1)

    watcher = asyncio.create_task(watch())
    await asyncio.gather(*(visitor.run(moves, until) for visitor in visitors))
    watcher.cancel()
    return visitors


def _faults(log: str) -> list[str]:
    """The end of the first traceback and every line that speaks of an error."""
    lines = log.splitlines()
    for number, line in enumerate(lines):
        if "Traceback" in line:
            return lines[number : number + 25]
    return [line for line in lines if "Error" in line or '"level": "error"' in line][:5]


def _waits(visitors: list[Visitor]) -> dict[str, Any]:
    """How long they waited for their numbers."""
    times = sorted(wait for visitor in visitors for wait in visitor.waits)
    return {
        "numbers": len(times),
        "median": round(statistics.median(times), 3) if times else None,
        "p95": round(times[int(0.95 * (len(times) - 1))], 3) if times else None,
        "slowest": round(times[-1], 3) if times else None,
    }


def load(sessions: int, seconds: float, moves: int = 10_000, pubmed: int = 0) -> dict[str, Any]:
    """Run the load, some of the sessions on PubMed, and compare every answer."""
    from certcore import load_instance
    from certcore.sweep import Session

    server = Server()
    memory: list[float] = []
    try:
        server.wait()
        visitors = asyncio.run(visit(server.port, sessions, seconds, moves, memory, server, pubmed))
    finally:
        log = server.stop()
    truth = {}
    for graph in {visitor.graph for visitor in visitors}:
        session = Session(load_instance(ROOT / "precomputed" / f"{BUNDLES[graph]}.npz"))
        asked = {budgets for visitor in visitors if visitor.graph == graph for budgets, _ in visitor.shown}
        truth |= {(graph, budgets): expected(budgets, session) for budgets in sorted(asked)}
    wrong = [
        (visitor.graph, visitor.exact, budgets, number, truth[visitor.graph, budgets])
        for visitor in visitors
        for budgets, number in sorted(visitor.shown)
        # An exact program stopped at its limit certifies at least what the relaxation does.
        if (number < truth[visitor.graph, budgets] if visitor.exact else number != truth[visitor.graph, budgets])
    ]
    usual = [visitor for visitor in visitors if not visitor.exact]
    graphs_seen = [visitor.graph for visitor in visitors]
    quarter = max(1, len(memory) // 4)
    return {
        "sessions": sessions,
        "seconds": seconds,
        **_waits(usual),
        "graphs": {
            graph: {"visitors": graphs_seen.count(graph), **_waits([v for v in usual if v.graph == graph])}
            for graph in dict.fromkeys(graphs_seen)
        },
        "fewest_per_session": min(len(visitor.waits) for visitor in usual),
        "exact_numbers": [len(visitor.waits) for visitor in visitors if visitor.exact],
        "views": len(truth),
        "wrong": wrong[:5],
        "errors": [error for visitor in visitors for error in visitor.errors][:5],
        "log": _faults(log),
        "slowest_calm": round(max(visitor.calm for visitor in visitors), 1),
        "memory_mib": [round(statistics.mean(memory[i : i + quarter])) for i in range(0, len(memory), quarter)][:4],
        "stopped_with": server.process.returncode,
    }


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    print(json.dumps(load(int(sys.argv[1]), float(sys.argv[2]), pubmed=int(sys.argv[3]) if sys.argv[3:] else 0)))
