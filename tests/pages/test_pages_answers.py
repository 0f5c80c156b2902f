"""Plain loops over results: they grow, are shared when finished, end with the loop, and are never shown refuted."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator

import pytest
import streamlit as st

from certcore import ThreatModel, certify
from certcore.common.errors import InputError, SoundnessError
from certcore.domain.base_rule import BaseRule
from certcore.program.relaxation import Relaxation
from certcore.result import tripwire
from pages.background import answers as module
from pages.background import engine, sweeps
from pages.background.answers import Asked, answer, answers, kept
from pages.state.state import View
from tests.pages.toys import grid_instance
from tests.sweep.test_sweep_tripwire import wrong


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(tripwire, "_memories", OrderedDict())
    st.cache_resource.clear()
    yield
    st.cache_resource.clear()


def counting(upto: int, seconds: float = 0.0, key: str = "counting") -> tuple[Asked, list[int]]:
    """Numbers from 1 on, one after the other; and how far it came."""
    taken: list[int] = []

    def steps(cancel: threading.Event) -> Iterator[int]:
        for k in range(1, upto + 1):
            time.sleep(seconds)
            taken.append(k)
            yield k

    return Asked(key, steps, "Counting"), taken


def test_the_last_result_is_the_answer_and_is_computed_once() -> None:
    asked, taken = counting(5)
    assert answer(asked) == 5
    assert answer(asked) == 5
    assert taken == [1, 2, 3, 4, 5]


def test_what_grows_is_shown_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.1)
    monkeypatch.setattr(module, "REFRESH", 0.15)
    asked, _ = counting(30, 0.02)
    shown = list(answers(asked))
    assert shown == sorted(set(shown))
    assert shown[-1] == 30
    assert 2 <= len(shown) <= 8


def test_leaving_the_loop_ends_the_work_and_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    monkeypatch.setattr(module, "REFRESH", 0.0)
    asked, taken = counting(1000, 0.01)
    for _ in answers(asked):
        break
    time.sleep(0.1)
    reached = len(taken)
    time.sleep(0.2)
    assert len(taken) == reached < 100
    assert kept().get(asked.key) is None


def test_two_steps_at_a_time_for_all_visitors() -> None:
    busy, most = [0], [0]

    def steps(cancel: threading.Event) -> Iterator[int]:
        for k in range(3):
            busy[0] += 1
            most[0] = max(most[0], busy[0])
            time.sleep(0.02)
            busy[0] -= 1
            yield k

    threads = [threading.Thread(target=answer, args=(Asked(("visitor", k), steps, "Working"),)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert most[0] <= module.AT_ONCE
    assert all(kept().get(("visitor", k)) == 2 for k in range(6))


def test_bad_input_is_told_in_place_and_asked_again() -> None:
    def steps(cancel: threading.Event) -> Iterator[int]:
        raise InputError("this cannot be; give something else")
        yield 1

    asked = Asked("wrong", steps, "Working")
    assert answer(asked) is None
    assert kept().get("wrong") is None


def test_other_faults_reach_the_page() -> None:
    def steps(cancel: threading.Event) -> Iterator[int]:
        yield 1
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        answer(Asked("fault", steps, "Working"))


def test_a_kept_answer_that_an_attack_refutes_since_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    logged: list[str] = []
    monkeypatch.setattr(module._log, "exception", lambda event, **more: logged.append(event))
    instance, threat = grid_instance(), ThreatModel(attr_del=5)
    with wrong():
        bad = certify(instance, threat, attack=False)

    def steps(cancel: threading.Event) -> Iterator[object]:
        yield {"lines": [bad]}

    asked = Asked("bound one too high", steps, "Solving")
    assert answer(asked) == {"lines": [bad]}, "nothing is known against it"
    with contextlib.suppress(SoundnessError):
        certify(instance, threat)
    with pytest.raises(SoundnessError):
        answer(asked)
    assert logged == ["a count and an attack contradict each other"]


@pytest.mark.parametrize(
    "ask", [lambda view: sweeps.largest(view, "attr_del", 30), lambda view: engine.suggestions(view, 2), engine.proof]
)
def test_nor_are_counts_that_stand_alone(ask: Callable[[View], Asked]) -> None:
    """Largest budgets, suggestions and proofs hold no certificate: their counts are compared one by one."""
    view = View("x", grid_instance(seed=5), ThreatModel(attr_del=5), Relaxation.TIGHT, 30.0, BaseRule.BINARY)
    found = answer(ask(view))
    assert found is not None
    assert answer(ask(view)) is found
    with contextlib.suppress(SoundnessError):
        tripwire.remember(view.instance, ThreatModel(), len(view.targets))
    with pytest.raises(SoundnessError):
        answer(ask(view))


def test_few_answers_are_kept() -> None:
    for k in range(module.MOST_KEPT + 10):
        answer(counting(1, key=f"number {k}")[0])
    assert kept().get("number 9") is None
    assert kept().get("number 10") == 1
