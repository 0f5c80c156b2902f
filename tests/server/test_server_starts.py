"""Every way to start: pages and API answer, below a base path too, and the first line comes at once."""

from __future__ import annotations

import http.client
import subprocess
import sys
import time
from pathlib import Path

import pytest

from certcore.cli.dashboard import free_port
from pages.start import serve
from tests.server.client import Client

ROOT = Path(__file__).resolve().parents[2]
BASE = "/instances/citeseer-gcn-attr-s0/certificate?attr_del="
WAYS = {
    "python app.py": ([sys.executable, "app.py", "--server.baseUrlPath=cert", "--server.port"], "/cert"),
    "streamlit run": (
        [sys.executable, "-m", "streamlit", "run", "app.py", "--server.baseUrlPath", "cert", "--server.port"],
        "/cert",
    ),
    "uvicorn": ([sys.executable, "-m", "uvicorn", "certcore.server:app", "--port"], ""),
}


def answered(client: Client, path: str) -> int:
    """The status, as soon as there is one."""
    until = time.monotonic() + 90
    while time.monotonic() < until:
        try:
            return client.open(path).status
        except OSError:
            time.sleep(0.2)
    raise TimeoutError(path)


@pytest.mark.parametrize("way", WAYS)
def test_pages_and_api_are_below_the_base_path(way: str) -> None:
    command, base = WAYS[way]
    port = free_port()
    process = subprocess.Popen([*command, str(port)], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    client = Client(port)
    try:
        assert answered(client, f"{base}/api/health") == 200
        if way != "uvicorn":
            page = client.open(f"{base}/", headers={"Accept": "text/html"})
            assert (page.status, page.headers["x-content-type-options"]) == (200, "nosniff")
            assert client.open("/api/health").status != 200
        # On one connection: a fresh one is acknowledged at once.
        connection, times = http.client.HTTPConnection("127.0.0.1", port, timeout=60), []
        for number in range(30):
            began = time.perf_counter()
            connection.request("GET", f"{base}/api{BASE}{number % 3}")
            answer = connection.getresponse()
            answer.readline()
            times.append(time.perf_counter() - began)
            answer.read()
        connection.close()
        assert sorted(times)[9] < 0.035, "40 ms where the listening socket has no TCP_NODELAY"
    finally:
        client.close()
        process.terminate()
        process.wait(30)


def test_options_of_streamlit_are_understood() -> None:
    words = ["--server.port", "8501", "--server.headless", "--server.address=127.0.0.1", "--client.x", "false"]
    assert serve.options(words) == {
        "server.port": 8501,
        "server.headless": True,
        "server.address": "127.0.0.1",
        "client.x": False,
    }
    for wrong in (["8501"], ["--port", "8501"]):
        with pytest.raises(SystemExit, match="expected options such as"):
            serve.options(wrong)


def test_an_unknown_option_ends_in_one_sentence() -> None:
    done = subprocess.run(
        [sys.executable, "app.py", "--server.prot", "1"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode != 0
    assert "server.prot" in done.stderr
    assert "Traceback" not in done.stderr
