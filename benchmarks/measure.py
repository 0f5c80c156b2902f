"""Clocks, memory and the table of results."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

import numpy as np

Result = TypeVar("Result")
#: Where the part of RESULTS.md begins that `benchmarks.strong` writes.
STRONG_MARK = "<!-- strong -->"


@dataclass(frozen=True)
class Time:
    """Processor seconds (all threads of this process) and seconds on the wall."""

    cpu: float
    wall: float


def timed(work: Callable[[], Result]) -> tuple[Result, Time]:
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, Time(time.process_time() - cpu, time.perf_counter() - wall)


def peak_memory() -> float:
    """Largest resident memory of this process so far, in GiB (getrusage would count its parent's before the start)."""
    with open("/proc/self/status", encoding="utf-8") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**20


def spread(values: list[float]) -> str:
    """Median and the tail, in milliseconds."""
    low, middle, high, most = np.percentile(values, [10, 50, 90, 100]) * 1000
    return f"median {middle:,.0f} ms (10 % {low:,.0f}, 90 % {high:,.0f}, largest {most:,.0f})"


def machine(*, load: bool = True) -> str:
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), name)
    except OSError:
        pass
    packages = ", ".join(f"{p} {version(p)}" for p in ("highspy", "numpy", "scipy", "cvxpy"))
    busy = ", load " + ", ".join(f"{x:.1f}" for x in os.getloadavg()) if load else ""
    return f"{name}, {os.cpu_count()} cores{busy}; Python {platform.python_version()}, {packages}"


def write_block(path: Path, heading: str, name: str, body: str) -> None:
    """Put text between the marks of its name, or with new marks at the end of the section under a heading."""
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    text = path.read_text(encoding="utf-8")
    new = f"{begin}\n{body}\n{end}"
    if begin in text:
        before, _, rest = text.partition(begin)
        text = before + new + rest.partition(end)[2]
    else:
        before, _, rest = text.partition(heading + "\n")
        # The next section may begin with a mark of its own.
        following = re.search(r"\n(<!-- \w+ -->\n)?## ", rest)
        at = following.start() if following else len(rest)
        text = f"{before}{heading}\n{rest[:at].rstrip()}\n\n{new}\n{rest[at:]}"
    path.write_text(text, encoding="utf-8")


@dataclass
class Report:
    """Rows of the table, printed as they come and written at the end."""

    rows: list[tuple[str, str, str, str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def ratio(self, what: str, ours: float, reference: float, asked: str = "", unit: str = "s") -> None:
        """A time of ours next to the reference's, in processor seconds."""
        self.row(
            what,
            f"{ours:.4g} {unit}",
            f"{reference:.4g} {unit}",
            f"{reference / ours:,.{0 if reference >= 10 * ours else 1}f}×",
            asked,
        )

    def row(self, what: str, ours: str, reference: str = "", ratio: str = "", asked: str = "") -> None:
        self.rows.append((what, ours, reference, ratio, asked))
        print(f"{what:<70} {ours:<58} {reference:<12} {ratio:<8} {asked}", flush=True)

    def note(self, text: str) -> None:
        self.notes.append(text)
        print(f"  {text}", flush=True)
