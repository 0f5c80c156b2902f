"""Two visitors whose files differ in nothing but what is shown: neither finds anything of the other in a file."""

from __future__ import annotations

import io
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pypdf
import pytest

from certcore import ThreatModel
from certcore.common.plain import to_plain
from certcore.domain.base_rule import BaseRule
from certcore.figures.save import SUFFIXES, file_bytes
from certcore.instance.instance import Instance
from certcore.program.relaxation import Relaxation
from certcore.result.attack_effects import reach
from certcore.server.shelf import SHELF
from pages.background import engine, sweeps, work
from pages.background.jobs import Pool
from pages.canvas import attack, film
from pages.explore import drawers
from pages.parts import frames
from pages.state.state import View
from tests.pages import films
from tests.pages.toys import N, grid_instance
from tests.support import few_steps

THREAT = ThreatModel(attr_del=4)


def file_of(who: str, seed: int) -> Instance:
    """The instance as that person uploads it."""
    rng = np.random.default_rng(seed)
    meta = {key: f"{who}-{key}" for key in ("dataset", "model", "command", "group", "seed")} | {"split": seed}
    return grid_instance(
        node_names=tuple(f"{who}-node-{i}" for i in range(N)),
        class_names=tuple(f"{who}-{k}" for k in "xyz"),
        layout=rng.random((N, 2)),
        labels=rng.integers(0, 3, N),
        split=rng.integers(0, 3, N),
        meta=meta,
    )


def view_of(who: str, seed: int) -> View:
    return View(f"import-{who}", file_of(who, seed), THREAT, Relaxation.TIGHT, 0.3, BaseRule.BINARY)


def wait(ask: Callable[[], work.Work]) -> Any:
    """Ask as a page does until the result is there."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        task = ask()
        assert task.error is None, task.error
        if task.fresh:
            return task.result
        time.sleep(0.01)
    raise TimeoutError("the work did not come to an end")


def results(view: View) -> dict[str, Any]:
    """Everything that is asked of the engine in the background."""
    found = {"certificate": wait(lambda: engine.certificate(view))}
    found["attacked"] = wait(lambda: engine.attacked(view, found["certificate"]))
    for name, asked in {"proof": engine.proof(view), "suggest": engine.suggestions(view, 1)}.items():
        (found[name],) = asked.steps(threading.Event())
    found["strong"] = wait(lambda: engine.strengthened(view, found["certificate"]))
    found["film"] = wait(lambda: film.frames(view, "attr_del", 3, 5))
    member = sweeps.Member("", THREAT, (view.instance,))
    found["curves"] = wait(lambda: sweeps.curves([member], "attr_del", [0, 2], Relaxation.TIGHT, "curves", fine=False))
    found["map"] = wait(lambda: sweeps.map_over(view, "attr_add", "attr_del", (1, 1), Relaxation.TIGHT, "map"))
    (found["radius"],) = sweeps.largest(view, "attr_del", 50).steps(threading.Event())
    return found


def files(view: View, found: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Everything that somebody can take home from the map, and the report."""
    result, instance = found["attacked"], view.instance
    near = reach(instance, result)
    assert near is not None
    picture = drawers.graph(view, drawers.Picture(result, near, False, "one"), "class")
    for suffix in SUFFIXES:
        yield f"graph{suffix}", file_bytes(picture, suffix)
    for make in (attack.sites_table, attack.lost_table):
        yield f"{make.__name__}.csv", frames.csv(make(instance, result, near, relaxed=False))
    yield "film.html", films.page(instance, found["film"], "class")
    with zipfile.ZipFile(io.BytesIO(found["report"])) as archive:
        for name in archive.namelist():
            yield f"report/{name}", archive.read(name)


def text_of(name: str, data: bytes) -> str:
    if name.endswith("pdf"):
        reader = pypdf.PdfReader(io.BytesIO(data))
        return "".join(page.extract_text() for page in reader.pages) + str(reader.metadata)
    if name.endswith("npz"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            data = b"".join(archive.read(member).replace(b"\0", b"") for member in archive.namelist())
    return data.decode("utf-8", "replace")


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pool]:
    made = Pool()
    SHELF.sessions.clear()
    monkeypatch.setattr(work, "pool", lambda: made)
    yield made
    made.close()


def test_nothing_of_another_visitor_is_in_any_file(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = view_of("anneliese", 1), view_of("bartholomew", 2)
    assert first.instance.digest == second.instance.digest
    with few_steps():
        for view in (first, second):
            monkeypatch.setattr(work.st, "session_state", {})
            found = results(view)
        (found["report"],) = engine.report(second, "bartholomew.npz", []).steps(threading.Event())
        made = {name: text_of(name, data).lower() for name, data in files(second, found)}
    assert [name for name, text in made.items() if "anneliese" in text] == []
    own = {name for name, text in made.items() if "bartholomew" in text}
    assert {"graph.csv", "graph.pdf", "film.html", "report/report/report.html"} <= own
    # Also what a page might show tomorrow of a result.
    for name, result in found.items():
        assert "anneliese" not in str(to_plain(result)).lower(), name


def test_files_that_are_equal_in_all_share_their_work(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work.st, "session_state", {})
    first, again = view_of("anneliese", 1), view_of("anneliese", 1)
    assert first.key == again.key
    assert engine.session(first.instance) is engine.session(again.instance)


@pytest.mark.parametrize("part", ["node_names", "class_names", "layout", "labels", "split", "meta"])
def test_every_part_that_is_shown_is_in_the_key(part: str) -> None:
    """Sessions, results and curves are kept by keys: none of them may be another's in any part."""
    mine, theirs = file_of("anneliese", 1), file_of("bartholomew", 2)
    mixed = replace(mine, **{part: getattr(theirs, part)})
    assert mixed.digest == mine.digest
    assert mixed.full_digest != mine.full_digest
    views = [replace(view_of("anneliese", 1), instance=one) for one in (mine, mixed)]
    assert views[0].key != views[1].key
    assert sweeps.Member("", THREAT, (mine,)).key != sweeps.Member("", THREAT, (mixed,)).key
