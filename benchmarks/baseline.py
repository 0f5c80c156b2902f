"""The rows of the page several times over, stored with a commit: `python -m benchmarks.baseline [ROW …] [--times 5]`.

Later commits are compared with this one. Each round measures every row once, so that a change of the machine touches
all rows alike. What was measured is stored at once in baseline.json, and a row that has enough rounds is left out:
the command continues where it was stopped. Nothing else may run meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import time
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.measure import machine
from benchmarks.rows import all_rows, amount
from benchmarks.run import measured_apart

FILE = Path(__file__).with_name("baseline.json")


def read() -> dict[str, Any]:
    if FILE.exists():
        stored: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
        return stored
    commit = subprocess.run(["git", "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    return {"commit": commit, "machine": machine(load=False), "rows": {}}


def write(stored: dict[str, Any]) -> None:
    FILE.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def measure(names: list[str], times: int) -> None:
    """Bring every row to so many rounds."""
    known = all_rows()
    stored = read()
    for number in range(times):
        missing = [name for name in names if len(stored["rows"].get(name, {}).get("ours", [])) <= number]
        for _, together in groupby(missing, lambda name: known[name].group):
            for name, figure in measured_apart(list(together)):
                if figure is None:
                    continue
                row = stored["rows"].setdefault(name, {"ours": [], "reference": [], "load": []})
                row["ours"].append(figure.ours)
                row["reference"].append(figure.reference)
                row["load"].append(round(os.getloadavg()[0], 1))
                write(stored)
                print(
                    f"{time.strftime('%H:%M:%S')} {number + 1} {name} {amount(figure.ours, known[name].unit)}",
                    flush=True,
                )


def table() -> str:
    """Median and range of every row, as Markdown."""
    known = all_rows()
    lines = ["| row | median | range | rounds |", "|---|---|---|---|"]
    for name, row in read()["rows"].items():
        unit, ours = known[name].unit, row["ours"]
        between = f"{amount(min(ours), unit)} to {amount(max(ours), unit)}"
        lines.append(f"| `{name}` | {amount(statistics.median(ours), unit)} | {between} | {len(ours)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="names or their beginnings (default: all)")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--table", action="store_true", help="print what is stored and measure nothing")
    args = parser.parse_args()
    if not args.table:
        names = [n for n in all_rows() if not args.rows or any(n.startswith(begin) for begin in args.rows)]
        measure(names, args.times)
    print(table())


if __name__ == "__main__":
    main()
