"""Available memory; programs that need more are refused before they are built."""

from __future__ import annotations

import math
from pathlib import Path

from certcore.common.errors import InputError

#: Peak bytes per entry of the fields while building and solving a program, beside the fields (30 at 200,000 nodes).
BYTES_PER_ENTRY = 35
GIB = 2**30


def available_memory() -> float:
    """Bytes that this process may still allocate, limited by the system, its container and its own resource limit."""
    found = [_line("/proc/meminfo", "MemAvailable:")]
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        found.append(_number(limit) - _number(used))
    found.append(_own_limit() - _line("/proc/self/status", "VmSize:"))
    return min(value for value in found if not math.isnan(value))  # NaN: a limit that could not be read


def _own_limit() -> float:
    """The process's own limit in bytes; NaN without one, or on a system that has none."""
    try:
        import resource
    except ModuleNotFoundError:
        return math.nan
    soft = resource.getrlimit(resource.RLIMIT_AS)[0]
    return math.nan if soft == resource.RLIM_INFINITY else float(soft)


def check_memory(entries: int) -> None:
    """Raise an error for a program that does not fit into memory; the message states how much it needs."""
    needed, there = entries * BYTES_PER_ENTRY, available_memory()
    if needed > there:
        raise InputError(
            f"this program has about {entries:,} entries and needs about {needed / GIB:.1f} GiB of memory; "
            f"{max(there, 0.0) / GIB:.1f} GiB are free: choose fewer targets, types or layers, or a larger machine"
        )


def _line(path: str, name: str) -> float:
    """A value in kB from a file in /proc, in bytes. If it is missing: ∞ for the available memory, otherwise 0."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        return next(float(line.split()[1]) * 1024 for line in lines if line.startswith(name))
    except (OSError, StopIteration):
        return float("inf") if name == "MemAvailable:" else 0.0


def _number(path: str) -> float:
    try:
        return float(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # no container, or "max"
        return float("nan")
