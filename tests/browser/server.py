"""A dashboard of our own on a free port, and a Chromium that looks at it."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

#: Address, heading and a parameter of its own of every page.
PAGES = {
    "workbench": ("", "Workbench", ""),
    "curves": ("curves", "Curves", ""),
    "contours": ("contours", "Contours", ""),
    "node": ("node", "One node", "node=5"),
    "base": ("base", "All nodes", ""),
    "compare": ("compare", "Compare", ""),
    "bring": ("bring", "Your data", ""),
    "check": ("check", "Check a proof", ""),
    "learn": ("learn", "Learn", ""),
}
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
READY = "[data-testid=stApp][data-test-script-state=notRunning]"


def chromium() -> str | None:
    """Debian's Chromium, or another one that is installed."""
    return next(
        (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
    )


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextlib.contextmanager
def dashboard(bundles: Path | None = None, imports: Path | None = None, log: Path | None = None) -> Iterator[str]:
    """Start the dashboard and give its address; it is stopped at the end."""
    port = free_port()
    environment = dict(os.environ)
    if bundles is not None:
        environment["CERTCORE_BUNDLES"] = str(bundles)
    if imports is not None:
        environment["CERTCORE_IMPORTS"] = str(imports)
    command = [sys.executable, "app.py", "--server.port", str(port)]
    with open(log or os.devnull, "w") as output:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT)
        try:
            address = f"http://127.0.0.1:{port}"
            wait_for_health(address, process)
            yield address
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()  # else its end is reported later as a warning, in another test


def wait_for_health(address: str, process: subprocess.Popen[bytes], patience: float = 60.0) -> None:
    """Unknown paths answer 200 as well, so the body is what counts."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError(f"the dashboard stopped with code {process.returncode}")
        with contextlib.suppress(urllib.error.URLError, OSError):
            if urllib.request.urlopen(f"{address}/_stcore/health", timeout=2).read() == b"ok":
                return
        time.sleep(0.05)
    raise RuntimeError("the dashboard did not answer within a minute")


@contextlib.contextmanager
def browser(*more: str) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium(), args=[*ARGUMENTS, *more])
        try:
            yield opened
        finally:
            opened.close()


def ready(page: Any, heading: str, patience: float = 120.0) -> None:
    """Wait until the page's own heading is there and no script runs."""
    page.get_by_role("heading", name=heading, level=1, exact=True).wait_for(timeout=patience * 1000)
    page.wait_for_selector(READY, timeout=patience * 1000)


def settled(page: Any, patience: float = 180.0) -> None:
    """Wait until no background work is on show any more and the charts are drawn."""
    until = time.monotonic() + patience
    quiet = 0
    while quiet < 4:
        busy = page.evaluate(
            """() => Boolean(document.querySelector('[data-testid=stApp]:not([data-test-script-state=notRunning])')
              || document.querySelector('[class*=st-key-cancel_]')
              || Object.values(window.certcore?.bench?.()?.progress ?? {}).some((share) => share !== null)
              || document.querySelector('[data-testid=stSkeleton]'))"""
        )
        quiet = 0 if busy else quiet + 1
        if time.monotonic() > until:
            raise TimeoutError("background work did not finish")
        page.wait_for_timeout(150)
