"""Which test notices which wrong line: sixty mutants of the engine, drawn by a seed (`stress/places.py`).

`python -m stress mutants [--only NUMBER …] [--jobs 2]` runs those without a verdict and stores each at once, so that a
second call goes on, with the commit of the first. First all tests but those of `browser` run once in a clone in which
every function with a mutant records the test that calls it, also from other processes: no other test can notice a
mutant. Each mutant is then applied in the clone and runs these tests, those of its area's folders and quick files
first, until one fails; a survivor runs all tests of their files, whose fixtures may have called it for them. `--list`
shows them, `--equivalent NUMBER REASON` notes by hand that no test can notice one. `--again` looks for the same mutants
in the newest commit, by function and text, and runs them anew; `file`, `function`, `before` and `after` of those that
it does not find (`lost`) are edited in the stored file.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import fcntl
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, fields
from pathlib import Path
from threading import Lock
from typing import Any

from certcore.common.files import atomic_write, cache_folder
from stress.places import DEFINITIONS, Place, applied, draw, found_again, span

ROOT = Path(__file__).resolve().parents[1]
STORED = ROOT / "benchmarks" / "mutants.json"
#: Test folders of each area.
FIRST = {
    "base": "base engine oracle net",
    "program": "engine ballots checker oracle net",
    "verify": "checker engine oracle net",
    "solve": "engine sweep oracle net",
    "sweep": "sweep oracle net",
    "result": "engine sweep oracle net",
    "smooth": "pipeline votes",
    "ballots": "ballots base checker pipeline engine oracle",
    "standalone": "checker oracle",
}
DATA = 10 * 2**30  # bytes that a process of tests may allocate: a wrong size must not stop the machine
RESULTS = ("verdict", "test", "seconds", "tests", "flaky")

Record = dict[str, Any]
#: Modules of the clone's environment: one records which test calls a function, one selects and sorts tests.
RECORDING = """
import builtins, os

seen = set()


def called(number):
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    if test and (number, test) not in seen:
        seen.add((number, test))
        with open({path!r}, "a") as file:
            file.write(f"{{number}}\\t{{test}}\\n")


builtins.mutant_called = called
"""
SELECTING = """
import json, os

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    with open(os.environ["MUTANT_TESTS"]) as file:
        place = {test: k for k, test in enumerate(json.load(file))}
    items[:] = sorted((item for item in items if item.nodeid in place), key=lambda item: place[item.nodeid])
"""


class Copy:
    """A clone of the repository with an environment of its own; one mutant at a time is applied in it."""

    def __init__(self, root: Path, commit: str, folder: Path) -> None:
        self.folder, self.root = folder, folder / "copy"
        self.process: subprocess.Popen[str] | None = None
        self.stopped = False
        shutil.rmtree(self.root, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", str(root), str(self.root)], check=True)
        subprocess.run(["git", "-C", str(self.root), "checkout", "-q", commit], check=True)
        shared = root.parent / "shared"
        if shared.is_dir() and not (folder / "shared").exists():
            (folder / "shared").symlink_to(shared)
        self._environment()

    def _environment(self) -> None:
        """Packages of this interpreter, but the engine of the copy: also where a test starts an interpreter."""
        venv, python = self.root / ".venv", Path(sys.executable).resolve()
        packages = [path for path in sys.path if path.endswith("site-packages")]
        site = venv / "lib" / f"python3.{sys.version_info[1]}" / "site-packages"
        site.mkdir(parents=True)
        (venv / "bin").mkdir()
        (venv / "bin" / "python").symlink_to(python)
        for script in (path for package in packages for path in (Path(package).parents[2] / "bin").glob("*")):
            with contextlib.suppress(FileExistsError):
                (venv / "bin" / script.name).symlink_to(script)
        (venv / "pyvenv.cfg").write_text(f"home = {python.parent}\ninclude-system-site-packages = false\n")
        self.calls = self.folder / "calls"
        (site / "mutant_recording.py").write_text(RECORDING.format(path=str(self.calls)))
        (site / "mutant_selecting.py").write_text(SELECTING)
        (site / "copy.pth").write_text("\n".join([str(self.root), *packages, "import mutant_recording"]))
        find = "import importlib.util; print(importlib.util.find_spec('certcore').origin)"
        words = [str(venv / "bin" / "python"), "-c", find]
        origin = subprocess.run(words, cwd=self.folder, check=True, capture_output=True, text=True).stdout.strip()
        assert Path(origin).parent.samefile(self.root / "certcore"), f"tests would import {origin}"

    def pytest(self, what: Sequence[str], limit: float, only: Sequence[str] = (), *more: str) -> tuple[int | None, str]:
        """Exit code (None: out of time) and output; tables of an earlier mutant are not read."""
        for name in ("tables", "tmp"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
            (self.folder / name).mkdir()
        own = {"CERTCORE_CACHE": "tables", "TMPDIR": "tmp", "NUMBA_CACHE_DIR": "numba"}
        environment = os.environ | {key: str(self.folder / name) for key, name in own.items()}
        words = [".venv/bin/python", "-m", "pytest", "-q", "-rfE", "--tb=line", "-p", "no:cacheprovider", *more]
        if only:
            environment["MUTANT_TESTS"] = str(self.folder / "tests.json")
            (self.folder / "tests.json").write_text(json.dumps(list(only)))
            words += ["-p", "mutant_selecting"]
        words += what
        with (self.folder / "output").open("w+", encoding="utf-8") as output:
            self.process = subprocess.Popen(
                words, cwd=self.root, env=environment, stdout=output, stderr=output, start_new_session=True, text=True
            )
            code = None
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = self.process.wait(limit)
            self.stop()
            if self.stopped:  # its exit code says nothing about the mutant
                raise SystemExit("stopped")
            output.seek(0)
            return code, output.read()

    def stop(self) -> None:
        """End the tests and what they started."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def write(self, file: str, source: str) -> None:
        """A source without its compiled form, which Python takes for valid if size and second are the same."""
        path = self.root / file
        path.write_text(source, encoding="utf-8")
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()


class Calls:
    """The tests that call each mutant's function, the seconds of every test, and tests that fail anyway."""

    def __init__(self, path: Path) -> None:
        self.path = path
        known = json.loads(path.read_text()) if path.is_file() else {}
        self.seconds: dict[str, float] = known.get("seconds", {})
        self.failing: list[str] = known.get("failing", [])
        self.by_number: dict[str, list[str]] = known.get("by_number", {})

    def measure(self, copy: Copy, records: list[Record], jobs: int) -> None:
        """Run all tests once with a call at the start of every function that has a mutant."""
        if self.seconds:
            return
        copy.calls.unlink(missing_ok=True)
        there = sorted(path.name for path in (copy.root / "tests").iterdir() if any(path.glob("test_*.py")))
        folders = [f"tests/{name}" for name in there if name != "browser"]
        changed: dict[str, str] = {}
        for record in records:
            source = changed.get(record["file"]) or (copy.root / record["file"]).read_text(encoding="utf-8")
            changed[record["file"]] = with_call(source, record["function"], record["number"])
        clean = {file: (copy.root / file).read_text(encoding="utf-8") for file in changed}
        for file, source in changed.items():
            copy.write(file, source)
        report, parallel = copy.folder / "report.xml", ["-n", str(jobs), "--dist", "loadfile"] if jobs > 1 else []
        code, output = copy.pytest(folders, 7200, (), f"--junitxml={report}", *parallel)
        for file, source in clean.items():
            copy.write(file, source)
        if code not in (0, 1):
            raise SystemExit(f"the tests do not run without a mutant: {output[-1500:]}")
        for case in xml.parse(report).iter("testcase"):
            file, *owner = case.attrib["classname"].split(".")[2:]
            folder = case.attrib["classname"].split(".")[1]
            test = "::".join([f"tests/{folder}/{file}.py", *owner, case.attrib["name"]])
            self.seconds[test] = float(case.attrib["time"])
        # A call in the text of a function may itself be noticed, by a test that reads the source.
        self.failing = [test for test in failures(output) if copy.pytest([test], 900)[0] != 0]
        for line in copy.calls.read_text(encoding="utf-8").splitlines() if copy.calls.exists() else []:
            number, _, test = line.partition("\t")
            self.by_number.setdefault(number, []).append(test)
        with atomic_write(self.path, "w") as handle:
            json.dump({"seconds": self.seconds, "failing": self.failing, "by_number": self.by_number}, handle)

    def batches(self, record: Record) -> list[list[str]]:
        """The tests that call the function, in the order in which they run, and then all tests of their files."""
        first = [f"tests/{name}/" for name in FIRST[record["area"]].split()]
        calling = {test for test in self.by_number.get(str(record["number"]), []) if test not in self.failing}
        cost: dict[str, float] = {}
        for test in calling:
            cost[_file(test)] = cost.get(_file(test), 0.0) + self.seconds.get(test, 0.0)
        standalone = {"tests/checker"} if record["area"] == "standalone" else set()  # run without an environment
        order = sorted(cost, key=lambda file: (not file.startswith(tuple(first)), cost[file]))
        known = [test for test in self.seconds if test not in self.failing]
        files = [*order, *sorted({_file(test) for test in known if str(Path(test).parent) in standalone} - set(order))]
        place = {file: k for k, file in enumerate(files)}
        one = sorted((test for test in known if test in calling), key=lambda test: place[_file(test)])
        rest = [test for test in known if test not in calling and _file(test) in place]
        return [batch for batch in (one, sorted(rest, key=lambda test: place[_file(test)])) if batch]


def _file(test: str) -> str:
    return test.partition("::")[0]


def with_call(source: str, function: str, number: int) -> str:
    """The source with a call at the start of a function, which does nothing outside the clone's environment."""
    where = span(source, function)
    node = next(
        child
        for child in ast.walk(ast.parse(source))
        if isinstance(child, DEFINITIONS) and (child.lineno - 1, child.end_lineno) == (where.start, where.stop)
    )
    documented = isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)
    body = node.body[1 if documented and len(node.body) > 1 else 0]
    lines = source.split("\n")
    first = min([body.lineno, *(one.lineno for one in getattr(body, "decorator_list", []))]) - 1
    indent = " " * body.col_offset
    lines.insert(first, f'{indent}__import__("builtins").__dict__.get("mutant_called", int)({number})')
    return "\n".join(lines)


def failures(output: str) -> list[str]:
    return re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output, re.MULTILINE)


def judged(copy: Copy, calls: Calls, batch: list[str], flaky: list[str]) -> tuple[str, str | None]:
    """`killed` and the first test that fails twice on the code as it stands in the copy, or `survived`."""
    usual = sum(calls.seconds[test] for test in batch)
    limit = min(max(60.0, 5 * usual), max(900.0, 2 * usual))
    while True:
        tests = [test for test in batch if test not in flaky]
        files = list(dict.fromkeys(map(_file, tests)))
        code, output = copy.pytest(files, limit, tests, "-x")
        if code in (0, 5):
            return "survived", None
        if code is None:
            return "killed by time", None
        test = next(iter(failures(output)), output[-300:])
        if "::" not in test or copy.pytest([test], limit)[0] != 0:
            return "killed", test
        flaky.append(test)


def run_one(copy: Copy, calls: Calls, record: Record) -> Record:
    """The record with its verdict."""
    place = found_again(copy.root, Place(**{field.name: record[field.name] for field in fields(Place)}))
    if place is None:
        return record | {"verdict": "lost"}
    source = (copy.root / place.file).read_text(encoding="utf-8")
    changed = applied(source, place)
    assert changed is not None
    flaky, verdict, test, began = list[str](), "survived", None, time.monotonic()
    batches = calls.batches(record)
    copy.write(place.file, changed)
    try:
        for batch in batches:
            if verdict == "survived":
                verdict, test = judged(copy, calls, batch, flaky)
    finally:
        copy.write(place.file, source)
    seconds = round(time.monotonic() - began, 1)
    result = {"verdict": verdict, "test": test, "seconds": seconds, "tests": sum(map(len, batches)), "flaky": flaky}
    return record | asdict(place) | result


def write(path: Path, stored: Record) -> None:
    """One mutant a line."""
    head = {key: value for key, value in stored.items() if key != "mutants"}
    lines = ",\n".join(json.dumps(record, ensure_ascii=False) for record in stored["mutants"])
    with atomic_write(path, "w") as handle:
        handle.write(json.dumps(head, ensure_ascii=False)[:-1] + f', "mutants": [\n{lines}\n]}}\n')


def head_of(root: Path) -> str:
    return subprocess.run(
        ["git", "-C", str(root), "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()


def once_more(stored: Record, commit: str) -> Record:
    """The same mutants without verdicts, for another commit."""
    for record in stored["mutants"]:
        known = {name: record.pop(name) for name in RESULTS if name in record}
        record["earlier"] = [*record.get("earlier", []), {"commit": stored["commit"], **known}]
    return stored | {"commit": commit}


def run(root: Path, path: Path, work: Path, args: argparse.Namespace) -> Record:
    """Run all mutants that have no verdict; each is stored at once."""
    stored = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    if stored is not None and args.again:
        stored = once_more(stored, head_of(root))
    commit = head_of(root) if stored is None else stored["commit"]
    copies = [Copy(root, commit, work / str(job)) for job in range(args.jobs)]
    if stored is None:
        drawn = enumerate(draw(copies[0].root, args.seed, args.count), 1)
        stored = {
            "seed": args.seed,
            "commit": commit,
            "mutants": [{"number": k, **asdict(one)} for k, one in drawn],
        }
    write(path, stored)
    calls, lock, free = Calls(work / f"calls-{commit[:12]}.json"), Lock(), list(copies)
    calls.measure(copies[0], stored["mutants"], args.jobs)

    def work_on(place: int) -> None:
        with lock:
            copy = free.pop()
        found = run_one(copy, calls, stored["mutants"][place])
        with lock:
            free.append(copy)
            stored["mutants"][place] = found
            write(path, stored)
            print(json.dumps({key: found.get(key) for key in ("number", *RESULTS)}), flush=True)

    wanted = [
        place
        for place, record in enumerate(stored["mutants"])
        if record.get("verdict") in (None, "lost") and (not args.only or record["number"] in args.only)
    ]
    with ThreadPoolExecutor(args.jobs) as pool:
        try:
            for future in [pool.submit(work_on, place) for place in wanted]:
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for copy in copies:
                copy.stopped = True
                copy.stop()
            raise
    return stored


def parsed(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m stress mutants", description=__doc__)
    parser.add_argument("--only", type=int, nargs="+", default=[], metavar="NUMBER")
    parser.add_argument("--list", action="store_true", help="show the mutants, stored or those that would be drawn")
    parser.add_argument("--jobs", type=int, default=1, choices=(1, 2))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--again", action="store_true", help="the same mutants in the newest commit")
    parser.add_argument("--equivalent", nargs=2, metavar=("NUMBER", "REASON"))
    return parser.parse_args(argv)


def main(argv: Sequence[str] = ()) -> None:
    args = parsed(argv)
    if args.list:
        known = json.loads(STORED.read_text(encoding="utf-8"))["mutants"] if STORED.is_file() else None
        for k, one in enumerate(known or map(asdict, draw(ROOT, args.seed, args.count)), 1):
            where = f"{one['file']}:{one['line']} {one['function']}"
            print(f"{k} {one['area']}, {one['operator']}, {where}: {one.get('verdict', 'not run')}")
            print(f"    {one['before']}\n    {one['after']}")
        return
    work = cache_folder() / "mutants"
    work.mkdir(parents=True, exist_ok=True)
    with (work / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit("mutants are running already; wait for them, or end them") from None
        if args.equivalent:
            stored = json.loads(STORED.read_text(encoding="utf-8"))
            stored["mutants"][int(args.equivalent[0]) - 1]["equivalent"] = args.equivalent[1]
            write(STORED, stored)
            return
        os.nice(10)
        resource.setrlimit(resource.RLIMIT_DATA, (DATA, resource.getrlimit(resource.RLIMIT_DATA)[1]))
        signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped; call again to go on"))
        stored = run(ROOT, STORED, work, args)
    counts = Counter(
        "equivalent" if one.get("equivalent") else one.get("verdict", "not run") for one in stored["mutants"]
    )
    print(json.dumps(counts))
