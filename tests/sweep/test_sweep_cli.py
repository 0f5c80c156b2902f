"""The commands curve, surface, radius and defend."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certcore import ThreatModel, certify, save_instance
from certcore.cli import main
from certcore.common.errors import InputError
from certcore.common.numbers import read_numbers
from certcore.sweep import Sweep, curve, surface
from tests.sweep.cases import smoothed_like
from tests.waiting import until

INSTANCE = smoothed_like(1, n=60)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("cli") / "instance.npz"
    save_instance(path, INSTANCE)
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    code = main(list(args))
    out, err = capsys.readouterr()
    return code, out, err


def as_json(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, Any]:
    code, out, err = run(capsys, *args, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)  # type: ignore[no-any-return]


def test_curve(capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path) -> None:
    args = ("curve", file, "--vary", "attr-del", "--values", "0:20:5", "--attr-add", "2")
    found = as_json(capsys, *args)
    line = curve(INSTANCE, ThreatModel(attr_add=2), "attr_del", range(0, 21, 5))
    assert [p["value"] for p in found["points"]] == [0, 5, 10, 15, 20]
    assert [p["certified"] for p in found["points"]] == line.certified.tolist()
    assert [p["naive_certified"] for p in found["points"]] == line.naive.tolist()
    assert all(isinstance(p["bound"], float) for p in found["points"])
    assert found["average_radius"] is None
    assert {"naive_average_radius", "solves", "seconds"} <= set(found)
    code, out, _ = run(capsys, *args)
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [int(r["certified"]) for r in rows] == line.certified.tolist()
    code, out, _ = run(capsys, *args, "-o", str(tmp_path / "curve.csv"))
    assert out == ""
    assert (tmp_path / "curve.csv").read_text().startswith("value,certified,naive_certified,bound\n")


def test_curve_over_sigma_local_budgets_and_splits(capsys: pytest.CaptureFixture[str], file: str) -> None:
    found = as_json(capsys, "curve", file, "--vary", "sigma", "--values", "0:2", "--attr-del", "5")
    for point in found["points"]:
        real = certify(INSTANCE, ThreatModel(attr_del=5, sigma=point["value"]), attack=False)
        assert point["certified"] == real.certified
    args = ("--vary", "local-attr-del", "--values", "0:0.5:0.25", "--attr-del", "5", "--local-mode", "relative")
    found = as_json(capsys, "curve", file, *args)
    assert [p["value"] for p in found["points"]] == [0, 0.25, 0.5]
    both = as_json(capsys, "curve", file, "--splits", file, "--vary", "attr_del", "--values", "0:3")
    assert both["splits"] == 2
    assert [p["ratio_deviation"] for p in both["points"]] == [0, 0, 0, 0]
    assert both["points"][2]["ratio_mean"] == both["curves"][0]["points"][2]["certified"] / 60


def test_every_split_has_its_own_test_nodes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    files = []
    for name, size in (("a", 20), ("b", 45)):
        instance = dataclasses.replace(INSTANCE, split=np.where(np.arange(60) < size, 2, 0))
        files.append(str(tmp_path / f"{name}.npz"))
        save_instance(files[-1], instance)
    options = ("--targets", "test", "--vary", "attr_del", "--values", "0:4:4")
    found = as_json(capsys, "curve", files[0], "--splits", files[1], *options)
    assert [c["targets"] for c in found["curves"]] == [20, 45]
    for path, line in zip(files, found["curves"]):
        assert line["points"] == as_json(capsys, "curve", path, *options)["points"]


def test_surface(capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path) -> None:
    args = ("surface", file, "--x", "attr_add", "--x-values", "0:2", "--y", "attr_del", "--y-values", "0:6:3")
    kept = ("--checkpoint", str(tmp_path / "cells.npz"))
    found = as_json(capsys, *args, *kept)
    grid = surface(INSTANCE, ThreatModel(), "attr_add", range(3), "attr_del", range(0, 7, 3))
    assert [(p["x"], p["y"]) for p in found["points"]] == [(x, y) for x in range(3) for y in (0, 3, 6)]
    assert [p["certified"] for p in found["points"]] == grid.certified.ravel().tolist()
    assert as_json(capsys, *args, *kept)["solves"] == 0


def test_radius_and_defend(capsys: pytest.CaptureFixture[str], file: str) -> None:
    found = as_json(capsys, "radius", file, "--vary", "attr_del", "--at-least", "0.5")
    value = found["value"]
    assert certify(INSTANCE, ThreatModel(attr_del=value), attack=False).certified >= 30
    assert certify(INSTANCE, ThreatModel(attr_del=value + 1), attack=False).certified < 30
    _, out, _ = run(capsys, "radius", file, "--vary", "attr_del", "--at-least", "0.5")
    assert f"up to {value} keep" in out
    found = as_json(capsys, "defend", file, "--attr-del", "8", "--nodes", "2")
    step = found["steps"][0]
    real = certify(INSTANCE, ThreatModel(attr_del=8, protected=[step["node"]]), attack=False)
    assert step["certified"] == real.certified
    assert run(capsys, "defend", file, "--attr-del", "8", "--nodes", "1")[0] == 0


@pytest.mark.parametrize(
    "args",
    [
        ("curve", "--vary", "colour", "--values", "0:3"),
        ("curve", "--vary", "attr_del", "--values", "3:0"),
        ("curve", "--vary", "attr_del", "--values", "0:1:0"),
        ("curve", "--vary", "attr_del", "--values", "0:99999999999"),
        ("curve", "--vary", "attr_del", "--values", "0:1e999999999"),
        ("curve", "--vary", "local-attr-del", "--values", "0:1:1e-9999999", "--local-mode", "relative"),
        ("curve", "--vary", "attr_del", "--values", "a:b"),
        ("curve", "--vary", "attr_del", "--values", "0:0.5"),
        ("curve", "--vary", "attr_del", "--values", "1:2:3:4"),
        ("curve", "--vary", "attr_del", "--values", "0:3", "--splits", "missing.npz"),
        ("curve", "--vary", "attr_del", "--values", "0:3", "--scheduler", "tcp://127.0.0.1:1", "--splits", "FILE"),
        ("surface", "--x", "attr_del", "--x-values", "0:3", "--y", "attr_del", "--y-values", "0:3"),
        ("surface", "--x", "local-attr-del", "--x-values", "0:3", "--y", "attr_del", "--y-values", "0:3"),
        ("radius", "--vary", "attr_del", "--at-least", "200"),
        ("radius", "--vary", "attr_del", "--at-least", "1e999999999"),
        ("radius", "--vary", "attr_del", "--at-least", "1e-99999999"),
        ("radius", "--vary", "local-attr-del", "--at-least", "0.5"),
        ("defend", "--nodes", "0"),
        ("defend", "--nodes", "1", "--adj-add", "2"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_bad_options_get_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, file: str, args: tuple[str, ...]
) -> None:
    monkeypatch.setattr("certcore.common.executor.CONNECT_SECONDS", 0.5)
    args = tuple(file if a == "FILE" else a for a in args)
    code, out, err = run(capsys, args[0], file, *args[1:])
    assert code == 2
    assert out == ""
    assert len(err.strip().splitlines()) == 1


def test_ranges_include_both_ends() -> None:
    assert read_numbers("0:3", "--values") == [0, 1, 2, 3]
    assert read_numbers("2:9:3", "--values") == [2, 5, 8, 9]
    assert read_numbers("7", "--values") == [7]
    assert read_numbers("0:1:0.1", "--values", shares=True)[3] == "0.3"
    with pytest.raises(InputError):
        read_numbers("", "--values")


def test_interrupted_surfaces_continue(tmp_path: Path) -> None:
    """Ctrl-C in the middle: exit code 130, and the finished cells are not solved again."""
    instance = smoothed_like(2, n=300, sides=(8, 16))
    save_instance(tmp_path / "instance.npz", instance)
    cells = tmp_path / "cells.npz"
    command = [
        sys.executable, "-m", "certcore", "surface", str(tmp_path / "instance.npz"), "--x", "attr_add", "--x-values",
        "0:7", "--y", "attr_del", "--y-values", "0:15", "--checkpoint", str(cells), "--json",
    ]  # fmt: skip
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in shells' background jobs
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    until(lambda: cells.exists() or process.poll() is not None, patience=120)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out == ""
    assert "interrupted" in err
    axes = [("attr_add", range(8)), ("attr_del", range(16))]
    kept = int(next(Sweep(instance, None, axes, checkpoint=cells).run()).done.sum())
    assert 0 < kept < 8 * 16
    grid = Sweep(instance, None, axes, checkpoint=cells).finish()
    assert grid.done.all()
    assert 0 < grid.solves <= 8 * 16 - kept
