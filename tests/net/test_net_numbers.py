"""The numbers that were recorded do not move: bounds bit for bit where they are deterministic, counts always."""

from __future__ import annotations

import json
import os
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.net import ask, prune

FILES = ("toys-certificates", "toys-sweeps", "bundles", "strong-and-large")
#: Bounds whose last bits depend on the way they were asked may move by this much.
CLOSE = Fraction(1, 10**6)
#: With CERTCORE_NET=strict they must not: whatever came out the same in two processes must come out again.
STRICT = os.environ.get("CERTCORE_NET") == "strict"


def _groups() -> list[Any]:
    found = []
    for name in FILES:
        for group in json.loads((ask.NUMBERS / f"{name}.json").read_text(encoding="utf-8"))["groups"]:
            about = group[0]["question"]
            rule = about.get("rule", "binary")
            found.append(pytest.param(group, id=f"{name}:{about['instance']}:{about['kind']}:{rule}"))
    return found


@pytest.mark.parametrize("group", _groups())
def test_numbers_do_not_move(group: list[dict[str, Any]]) -> None:
    answers = ask.ask_group([entry["question"] for entry in group])
    moved = [line for entry, now in zip(group, answers, strict=True) for line in differences(entry, now)]
    assert not moved, f"{len(moved)} numbers moved:\n" + "\n".join(moved[:20])


def test_the_net_is_wide_enough() -> None:
    """At least 400 bounds, over all bundles, types and parts of a threat model, most of them exact."""
    entries = [entry for parameter in _groups() for entry in parameter.values[0]]
    bounds = [entry for entry in entries if "bound" in entry["answer"]]
    total = sum(_count(entry) for entry in bounds)
    exact = sum(_count(entry) if entry["exact"] is True else sum(entry["exact"]) for entry in bounds)
    assert total >= 1000
    assert exact >= total / 2
    asked = {entry["question"]["instance"] for entry in entries}
    assert {path.stem for path in ask.BUNDLES.glob("*.npz")} <= asked
    assert {path.stem for path in ask.INSTANCES.glob("*.npz")} <= asked
    parts = {key for entry in bounds for key, value in entry["question"].get("threat", {}).items() if value}
    types = {"attr_add", "attr_del", "adj_add", "adj_del"}
    assert types | {"local", "sigma", "protected"} <= parts
    assert {"binary", "multiclass"} == {entry["question"].get("rule", "binary") for entry in entries}
    assert {"tight", "paper", "strong"} == {entry["question"].get("relaxation", "tight") for entry in entries}


def test_pruning_deletes_entries_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left is the same text line by line; without anything to delete, the same file."""
    before = {name: (ask.NUMBERS / f"{name}.json").read_text(encoding="utf-8") for name in FILES}
    for name, text in before.items():
        (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
    monkeypatch.setattr(ask, "NUMBERS", tmp_path)
    for without in ("draw", "exact,costs,base"):
        monkeypatch.setattr(sys, "argv", ["prune", "--without", without])
        prune.main()
        for name, text in before.items():
            lines = (tmp_path / f"{name}.json").read_text(encoding="utf-8").splitlines()
            words = [word for word in ('"relaxation":"exact"', "_costs", '["base"') if word in "\n".join(lines)]
            assert without == "draw" or not words
            assert {line.rstrip(",") for line in lines} <= {line.rstrip(",") for line in text.splitlines()}
            assert without != "draw" or lines == text.splitlines()


def test_a_moved_number_is_seen() -> None:
    """The comparison itself: one more certified node, one more bit, another status."""
    entry = {
        "question": {"kind": "certify", "instance": "dels"},
        "answer": {"bound": "5/2", "certified": 7, "status": "optimal", "attack": 2},
        "exact": True,
        "repeats": True,
    }
    same = dict(entry["answer"])
    assert differences(entry, same) == []
    for change in ({"certified": 8}, {"bound": "2748779069441/1099511627776"}, {"status": "failed"}, {"attack": 1}):
        assert differences(entry, same | change), change
    loose = entry | {"exact": [False], "repeats": [False]}
    assert differences(loose, same | {"bound": "2500000001/1000000000"}) == []
    assert differences(loose, same | {"bound": "2500002/1000000"})
    assert differences(loose | {"unsteady": ["attack"]}, same | {"attack": 1}) == []
    assert differences(loose | {"unsteady": ["attack"]}, same | {"attack": 3})


def differences(entry: dict[str, Any], now: ask.Answer) -> list[str]:
    """What moved, one line each."""
    then, unsteady = entry["answer"], entry.get("unsteady", ())
    lines = []
    for key, value in then.items():
        if key in ("verified", "proven"):  # recorded while a count could be a claim
            assert value in (True, [True], then["certified"])
        elif key == "bound":
            lines += _moved_bounds(entry, value, now[key])
        elif key == "attack" and value is not None and now[key] is not None:
            # A better attack is welcome, a weaker one is not (unless it was unsteady), one beyond the bound is wrong.
            if now[key] < value and key not in unsteady:
                lines.append(f"{key} was {value}, is {now[key]}")
            if now[key] > Fraction(now["bound"]):
                lines.append(f"the attack breaks {now[key]}, more than the bound {now['bound']}")
        elif key not in unsteady and now[key] != value:
            lines.append(f"{key} was {value}, is {now[key]}")
    asked = json.dumps(entry["question"])[:300]
    return [f"{line} in {asked}" for line in lines]


def _moved_bounds(entry: dict[str, Any], then: Any, now: Any) -> list[str]:
    lines = []
    before, after = _listed(then), _listed(now)
    if len(before) != len(after):
        return [f"there were {len(before)} bounds, there are {len(after)}"]
    flags = entry["repeats"] if STRICT else entry["exact"]
    exact = [True] * len(before) if flags is True else flags
    for i, (a, b) in enumerate(zip(before, after)):
        if a == b:
            continue
        old, new = Fraction(a), Fraction(b)
        if exact[i] or abs(old - new) >= CLOSE or old.__floor__() != new.__floor__():
            lines.append(f"bound {i} was {a} ({float(old):.9f}), is {b} ({float(new):.9f})")
    return lines


def _listed(bound: Any) -> list[str]:
    return bound if isinstance(bound, list) else [bound]


def _count(entry: dict[str, Any]) -> int:
    return len(_listed(entry["answer"]["bound"]))
