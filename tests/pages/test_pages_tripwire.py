"""The dashboard shows no number that a known attack refutes: the message stands in its place."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from certcore import ThreatModel, certify
from certcore.common.errors import SoundnessError
from certcore.domain.base_rule import BaseRule
from certcore.program.relaxation import Relaxation
from certcore.result import tripwire
from certcore.result.certificate import Certificate
from certcore.solve.status import Status
from certcore.sweep import Defence, Session
from pages.background import engine, work
from pages.background.jobs import Job, Pool
from pages.canvas import film
from pages.state.state import View
from tests.pages.conftest import drawer, sent
from tests.pages.toys import grid_instance, votes_instance
from tests.sweep.test_sweep_tripwire import wrong

Open = Callable[..., AppTest]


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(tripwire, "_memories", OrderedDict())
    yield
    st.cache_resource.clear()  # the pool holds wrong results, and other tests open the same pages


def view_of(attr_del: int, instance: Any = None) -> View:
    instance = grid_instance(seed=5) if instance is None else instance
    return View("x", instance, ThreatModel(attr_del=attr_del), Relaxation.TIGHT, 30.0, BaseRule.BINARY)


def straight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Background work without pages and threads: asked for and done."""

    def ask(slot: str, key: Any, run: Callable[[Job], Any], label: str, **more: Any) -> work.Work:
        return work.Work(slot, key, run(Job(key, label, run)), True)

    monkeypatch.setattr(engine, "ask", ask)
    monkeypatch.setattr(film, "ask", ask)


@pytest.mark.parametrize("asked", [engine.certificate, lambda view: list(engine.proof(view).steps(threading.Event()))])
def test_the_engine_behind_the_pages_stops(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    straight(monkeypatch)
    view = view_of(4)
    known = Session(view.instance)
    monkeypatch.setattr(engine, "session", lambda instance: known)
    for targets in (None, *([view.targets[view.instance.prediction[view.targets] == k] for k in range(3)])):
        known.certify(ThreatModel(attr_del=3, local_attr_del=1, sigma=2, targets=targets))
    with wrong(), pytest.raises(SoundnessError):
        asked(view)


def test_while_it_strengthens_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    straight(monkeypatch)
    view = view_of(5)
    known = Session(view.instance)
    monkeypatch.setattr(engine, "session", lambda instance: known)
    tight = known.certify(view.threat, attack=False)
    known.certify(view.threat.replace(attr_del=4))
    with wrong(), pytest.raises(SoundnessError):
        engine.strengthened(view, tight)


def test_failed_work_tells_the_contradiction_and_keeps_no_part_of_the_result() -> None:
    def run(job: Job) -> Certificate:
        found = certify(view.instance, view.threat, attack=False)
        job.report(0.5, "", found)
        with wrong():
            return certify(view.instance, view.threat)

    view, pool = view_of(6), Pool(workers=1)
    job = pool.submit("somebody", "certificate", "key", run, "Solving")
    assert job.wait(20)
    assert job.error is not None
    assert view.instance.digest in job.error
    assert job.partial is None
    assert pool.result("key") is None


def test_the_page_shows_the_message_instead_of_the_number(open_page: Open) -> None:
    """The number comes first; as soon as the attack is there that refutes it, it is gone."""
    with wrong():
        at = open_page("overview", instance="ring-gcn-attr-s0", attr_del="4")
    assert any("internal error" in box.value and "targets were certified" in box.value for box in at.error)
    now = sent(at)
    assert not now["fresh"]
    assert now["parts"] is None
    assert now["api"] is None, "nor does the browser show one that it has asked for itself"
    assert [piece["text"] for piece in now["head"] if piece["kind"] == "strong"] == ["…"], "no number in its place"
    assert not any(re.search(r"\d+ of", str(now[place])) for place in ("head", "sub", "said"))
    lines = [block.value for block in at.markdown]
    assert not any("keep their labels" in line or "stay as they are" in line or "At least" in line for line in lines)


def test_every_frame_of_a_film_is_the_certificate_of_its_own_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    straight(monkeypatch)
    known = Session(votes_instance())
    monkeypatch.setattr(film, "session", lambda instance: known)
    frames = film.frames(view_of(6, known.instance), "attr_del", 0, 6).result
    assert sorted(frame.value for frame in frames) == list(range(7))
    assert [frame.result.threat.attr_del for frame in frames] == [frame.value for frame in frames]


def test_the_page_tells_why_fewer_nodes_are_suggested(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    def failed(*args: Any, **more: Any) -> Defence:
        return Defence(40, 10, 30.0, (), ThreatModel(attr_del=4), "tight", Status.FAILED, 0.1)

    monkeypatch.setattr(engine, "defend", failed)
    at = drawer(open_page("attack_map", instance="ring-gcn-attr-s0", attr_del="4"), "all")
    next(button for button in at.button if button.label == "Suggest five").click().run(timeout=60)
    for _ in range(20):
        if any("no usable answer" in caption.value for caption in at.caption):
            break
        at.run(timeout=60)
    assert any("no usable answer" in caption.value for caption in at.caption)
    assert not any("time limit" in caption.value.lower() for caption in at.caption)
