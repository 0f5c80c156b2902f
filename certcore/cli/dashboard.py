"""certcore dashboard: the dashboard on some instances, from the shell, a script or a notebook."""

from __future__ import annotations

import argparse
import atexit
import html
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from certcore.cli.parser import Parser
from certcore.common.errors import InputError
from certcore.common.reading import whole_number
from certcore.figures.escape import for_file_name
from certcore.instance.instance import Instance, load_instance, save_instance

#: Seconds within which the server must respond.
PATIENCE = 60.0
_PACKAGE = Path(__file__).resolve().parents[1]


def add(subparsers: argparse._SubParsersAction[Parser]) -> None:
    parser = subparsers.add_parser(
        "dashboard",
        description="Open the dashboard in a browser, on this machine only; Ctrl-C ends it.",
        epilog="example: certcore dashboard mine.npz --port 8502",
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="instance files (default: the bundles of the clone)")
    parser.add_argument("--port", type=int, default=None, help="port on 127.0.0.1 (default: a free one)")
    parser.add_argument("--no-browser", action="store_true", help="print the address, open nothing")


def run(args: argparse.Namespace) -> int:
    shown = dashboard(*args.files, port=args.port, browser=not args.no_browser)
    print(f"The dashboard: {shown.url} (Ctrl-C ends it)", flush=True)
    try:
        return shown.wait()
    finally:
        shown.stop()


def dashboard(*sources: Instance | str | os.PathLike[str], port: int | None = None, browser: bool = True) -> Dashboard:
    """Open the dashboard on instances or instance files, and return when its server responds.

    It listens on 127.0.0.1 only, on a free port if none is given, and ends with this process or with `.stop()`.
    """
    if importlib.util.find_spec("streamlit") is None:
        raise InputError("the dashboard needs Streamlit; install it with: pip install 'certcore[dashboard]'")
    chosen = free_port() if port is None else whole_number(port, "the port", 1, 65535)
    folder = Path(tempfile.mkdtemp(prefix="certcore-dashboard-"))
    try:
        environment = os.environ | {"CERTCORE_DASHBOARD_PARENT": str(os.getpid())}
        script, settings = _parts()
        (folder / ".streamlit").mkdir()
        shutil.copyfile(settings, folder / ".streamlit" / "config.toml")
        environment.setdefault("CERTCORE_IMPORTS", str(folder / "imported"))
        if sources or script.name != "app.py":
            (folder / "instances").mkdir()
            environment["CERTCORE_BUNDLES"] = str(folder / "instances")
        for source in sources:
            _put(source, folder / "instances")
        options = ["--server.address", "127.0.0.1", "--server.port", str(chosen), "--server.headless", "true"]
        with open(folder / "log.txt", "wb") as log:
            process = subprocess.Popen(
                [sys.executable, str(script), *options],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shown = Dashboard(process, f"http://127.0.0.1:{chosen}", folder)
    try:
        shown.await_answer()
    except BaseException:
        shown.stop()
        raise
    if browser:
        import webbrowser

        webbrowser.open(shown.url)
    return shown


class Dashboard:
    """A running dashboard: its address, and how to end it."""

    def __init__(self, process: subprocess.Popen[bytes], url: str, folder: Path) -> None:
        self.url = url
        self._process, self._folder = process, folder
        atexit.register(self.stop)

    def __repr__(self) -> str:
        return f"<Dashboard {self.url}{'' if self.running else ', stopped'}>"

    def _repr_html_(self) -> str:
        url = html.escape(self.url)
        return f'The dashboard: <a href="{url}" target="_blank">{url}</a> (<code>.stop()</code> ends it)'

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def wait(self) -> int:
        """Wait until it ends; returns its exit code."""
        return self._process.wait()

    def stop(self) -> None:
        """End it and remove its temporary files."""
        if self.running:
            self._process.terminate()
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
        atexit.unregister(self.stop)

    def await_answer(self) -> None:
        """Return when the server responds; raises an `InputError` with the reason if it does not."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if not self.running:
                lines = (self._folder / "log.txt").read_text(errors="replace").strip().splitlines()
                raise InputError(f"the dashboard did not start: {lines[-1][:200] if lines else 'it ended at once'}")
            try:
                with urllib.request.urlopen(f"{self.url}/api/health", timeout=30):
                    return
            except (urllib.error.URLError, OSError):
                pass
            time.sleep(0.1)
        raise InputError(f"the dashboard did not answer within {PATIENCE:.0f} seconds; try again, or another port")


def _parts() -> tuple[Path, Path]:
    """The script and Streamlit's settings: from the repository of this package, or installed inside the package."""
    clone = _PACKAGE.parent
    if (clone / "app.py").is_file() and (clone / "pages" / "frame").is_dir():
        return clone / "app.py", clone / ".streamlit" / "config.toml"
    inside = _PACKAGE / "_dashboard" / "start" / "installed.py", _PACKAGE / "_streamlit" / "config.toml"
    if not all(path.is_file() for path in inside):
        raise InputError("this installation has no dashboard in it; install certcore from a wheel, or use a clone")
    return inside


def _put(source: Instance | str | os.PathLike[str], folder: Path) -> None:
    """Write an instance as a file that the dashboard lists by its name; it is validated first."""
    if isinstance(source, Instance):
        instance, name = source, str(source.meta.get("dataset") or "instance")
    else:
        instance, name = load_instance(source), Path(source).stem
    stem = for_file_name(name, "instance")
    path, number = folder / f"{stem}.npz", 2
    while path.exists():
        path, number = folder / f"{stem}-{number}.npz", number + 1
    save_instance(path, instance)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
