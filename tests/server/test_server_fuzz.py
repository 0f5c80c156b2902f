"""Any text in any parameter: one sentence or a view, never a failure."""

from __future__ import annotations

import random
from pathlib import Path
from urllib.parse import urlencode

import pytest

import certcore as cc
from certcore.common.errors import InputError
from certcore.workbench.view import OPTIONS, parameters, read_values, read_view
from tests.hardening.mutate import NUMBERS, TEXTS
from tests.server.client import Client

BUNDLES = Path(__file__).resolve().parents[2] / "precomputed"
NAMES = ("citeseer-gcn-attr-s0", "citeseer-decoupled-ballots-s0", "digits-gcn-l2_joint-s0", "citeseer-gcn-convex-s0")
WORDS = [
    *TEXTS,
    *map(str, NUMBERS),
    "0",
    "1",
    "2",
    "3",
    "0.5",
    "1e5",
    "absolute",
    "relative",
    "all",
    "test",
    "class",
    "chosen",
    "3,5-9",
    "paper",
    "multiclass",
    "\0",
    "🦊",
    "٣",
    "../../etc/passwd",
    "sigma",
    "attr_del",
    "local_attr_del",
    "-",
]


def given(rng: random.Random, what: str) -> list[tuple[str, str]]:
    names = [one.name for one in parameters(what)]
    return [(rng.choice(names), rng.choice(WORDS)[:300]) for _ in range(rng.randrange(1, 5))]


@pytest.mark.parametrize("name", NAMES)
def test_every_text_is_read_or_refused_in_one_sentence(name: str) -> None:
    instance, rng, read = cc.load_instance(BUNDLES / f"{name}.npz"), random.Random(name), 0
    for number in range(4000):
        what = sorted(OPTIONS)[number % len(OPTIONS)]
        try:
            view = read_view(what, name, instance, read_values(what, given(rng, what)))
        except InputError:
            continue
        assert len(view.of) == 32
        read += 1
    assert read > 200


def test_nonsense_over_http_is_no_fault_of_the_server(client: Client) -> None:
    rng = random.Random(7)
    for number in range(60):
        what = ("words", "certificate", "description")[number % 3]
        query = urlencode(given(rng, what))
        path = f"/api/instances/{NAMES[0]}" + ("" if what == "description" else f"/{what}") + f"?{query}"
        answer = client.open(path)
        assert answer.status in (200, 422), (path, answer.read())
        client.close()
