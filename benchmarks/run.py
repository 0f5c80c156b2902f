"""The page of benchmarks: `make bench`, or `python -m benchmarks.run [ROW …]` for some of its rows (`--list`: names).

The rows of one file share a process. What it found is stored, and the page at the top of RESULTS.md is drawn again
after each row, so an interrupted run keeps its rows.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import traceback
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

from benchmarks.measure import machine
from benchmarks.rows import Figure, all_rows, cells, page, store, stored

RESULTS = Path(__file__).resolve().parent / "RESULTS.md"
END = "<!-- /page -->"
HEAD = """# Benchmarks

Times are processor seconds of one process, so that other work on the machine does not count, unless a row says “wall”.
*CVXPY* is the paper's program (`benchmarks/reference.py`), built once with the budgets as parameters and solved by the
same HiGHS; its compilation is not counted, each of its solves stands alone, and it is timed at a few budgets. *Before*
is this project before the change that the row shows. Ours includes building the program, solving, and the exact
verification of every answer.
"""


def measured_apart(names: list[str]) -> Iterator[tuple[str, Figure | None]]:
    """Figures of the rows of one file as they come, from a process of its own; None for a row that failed."""
    command = [sys.executable, "-m", "benchmarks.run", "--here", *names]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=RESULTS.parents[1]) as process:
        assert process.stdout is not None
        for line in process.stdout:
            name, found = json.loads(line)
            yield name, found and Figure(**found)


def measure_here(names: list[str]) -> None:
    """Measure rows in this process and print a line of JSON for each."""
    for name in names:
        found = None
        try:
            found = asdict(all_rows()[name].measure())
        except Exception:
            traceback.print_exc()
        print(json.dumps([name, found]), flush=True)


def write_page() -> None:
    """Draw the page at the top of RESULTS.md; what follows its end mark stays."""
    rest = RESULTS.read_text(encoding="utf-8").partition(END)[2]
    text = f"{HEAD}\n`make bench` on {machine(load=False)}. {page()}\n{END}{rest}"
    RESULTS.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="names or their beginnings (default: all)")
    parser.add_argument("--list", action="store_true", help="show the names and measure nothing")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    known = all_rows()
    names = [name for name in known if not args.rows or any(name.startswith(begin) for begin in args.rows)]
    if args.here:
        measure_here(args.rows)
        return
    if args.list:
        print(*names, sep="\n")
        return
    failed = []
    for _, together in groupby(names, lambda name: known[name].group):
        for name, figure in measured_apart(list(together)):
            if figure is None:
                failed.append(name)
                continue
            store(name, figure)
            write_page()
            print(name, *cells(known[name], stored()[name]), sep=" | ", flush=True)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
