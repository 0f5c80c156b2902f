"""The judge, and the walk over all ways: every count is held against the truth."""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import certcore.solve.solver as solver
import certcore.solve.strong as strong
from certcore import ThreatModel
from certcore.common.errors import InputError
from certcore.program.structure import Structure
from tests.oracle import ways_pages, ways_server, ways_shown  # noqa: F401 - they put themselves into the list
from tests.oracle.instances import KINDS, LENGTHS, Question, question, weighted
from tests.oracle.ways import WAYS, Ask, Count, Way
from tests.support import few_steps


class AboveTheTruth(Exception):
    """A count is claimed that an admissible attack refutes, or an attack that nobody can make."""


def judge(asked: Question, counts: list[Count], where: str) -> Counter[str]:
    """Hold each count against the truth; tell how many were tried, and how many of them are the truth."""
    tally: Counter[str] = Counter()
    left = {id(threat): asked.truth.left(threat) for threat in {id(one.threat): one.threat for one in counts}.values()}
    for count in counts:
        broken = left[id(count.threat)]
        most = sum(asked.truth.world.weights(count.threat)) - broken
        said = f"{where}: {count} where {most} is the truth; {asked.number} {asked.kind}"
        if count.certified is not None:
            tally["counts"] += 1
            tally["equal"] += count.certified == most
            if count.certified > most:
                raise AboveTheTruth(said)
            if count.closed and count.certified != most:
                raise AboveTheTruth(f"closed, and not the truth: {said}")
        if count.attack is not None:
            tally["attacks"] += 1
            if count.attack > broken:
                raise AboveTheTruth(f"no attack can do that: {said}")
    for mark in {repr(count.sweep) for count in counts if count.sweep is not None}:
        mine = [count for count in counts if repr(count.sweep) == mark]
        for small, large in itertools.permutations(mine, 2):
            assert small.certified is not None
            assert large.certified is not None
            if small.certified < large.certified and within(small.threat, large.threat):
                raise AboveTheTruth(f"more is certified against a stronger attacker: {where}: {small}, {large}")
    return tally


def within(small: ThreatModel, large: ThreatModel) -> bool:
    """Whether the one attacker can do no more than the other, where both differ in budgets and σ only."""
    if str(small.local) != str(large.local) or (small.sigma is None) != (large.sigma is None):
        return False
    fewer = small.sigma is None or large.sigma is None or small.sigma <= large.sigma
    # Without an instance all lengths above 0 have the same budget in units.
    return fewer and small.attr_l2 <= large.attr_l2 and all(a <= b for a, b in zip(small.budgets, large.budgets))


@contextlib.contextmanager
def large_path(forced: bool) -> Iterator[None]:
    """Every program with something to decide goes to the machine for large ones."""
    usual = solver.is_large

    def always(structure: Structure, *, once: bool) -> bool:
        return len(structure.groups) > 0

    solver.is_large = always if forced else usual
    tuning = strong.STRONG
    strong.STRONG = replace(tuning, large_groups=0) if forced else tuning
    try:
        yield
    finally:
        solver.is_large, strong.STRONG = usual, tuning


@dataclass
class Tally:
    """What a walk has tried."""

    questions: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    ways: dict[str, Counter[str]] = field(default_factory=dict)
    met: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Way, relaxation and kind of base certificate of counts that were judged."""
    silent: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """The same of those that claimed nothing, because they refused or had nothing to say."""
    refused: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)

    def summary(self) -> dict[str, Any]:
        return {
            "questions": self.questions,
            **dict(self.counts),
            "above_the_truth": 0,
            "ways": {name: dict(tally) for name, tally in sorted(self.ways.items())},
            "refused": sum(self.refused.values()),
        }


def go(asked: Question, one: Way, relaxation: str, *, warm: bool, large: bool, tally: Tally) -> None:
    """Go one way with one question, and judge what it claims."""
    where = f"{one.name}, {relaxation}, {'warm' if warm else 'cold'}{', large' if large else ''}"
    counts: list[Count] = []
    with tempfile.TemporaryDirectory() as folder, large_path(large), few_steps():
        try:
            counts.extend(one.go(Ask(asked, relaxation, warm, Path(folder))))
        except InputError as error:
            tally.refused[one.name, relaxation, asked.kind, str(error)] += 1
    found = judge(asked, counts, where)
    tally.counts += found
    tally.ways.setdefault(one.name, Counter()).update(found)
    met = found["counts"] + found["attacks"]
    (tally.met if met else tally.silent)[one.name, relaxation, asked.kind] += 1


#: Every question is answered by one in so many of the ways, and after so many turns by all.
PORTION = 18


def schedule(turn: int, place: int) -> Iterator[tuple[Way, str, bool, bool]]:
    """The ways, relaxations, warm or cold, large or not, of one turn for the kind of base certificate at this place."""
    pairs = [(one, relaxation) for one in WAYS.values() for relaxation in one.relaxations]
    for number, (one, relaxation) in enumerate(pairs):
        if (number + place + turn) % PORTION == 0:
            bits = turn // PORTION + number + place
            yield one, relaxation, bits % 2 == 0, bits % 4 == 3


def walk(seed: int, turns: Iterable[int], tally: Tally) -> Tally:
    """Each turn is one question of each kind; over `PORTION` turns every way meets every relaxation and every kind."""
    for turn in turns:
        for place, kind in enumerate(KINDS):
            asked = question(seed, turn, kind)
            tally.questions += 1
            for one, relaxation, warm, large in schedule(turn, place):
                go(asked, one, relaxation, warm=warm, large=large, tally=tally)
    return tally


#: Ways that write or read budgets as whole numbers, and so cannot tell lengths.
WHOLE_NUMBERS = {
    "radius", "report", "figure base", "figure curve", "figure map", "page curves", "page largest", "page report",
    "notebook workbench",
}  # fmt: skip


def walk_lengths(seed: int, turns: Iterable[int], tally: Tally) -> Tally:
    """One question about Gaussian noise each turn, along all ways that can tell lengths."""
    for turn in turns:
        asked = question(seed, turn, LENGTHS)
        tally.questions += 1
        for one, relaxation, warm, large in schedule(turn, len(KINDS)):
            if one.name not in WHOLE_NUMBERS and not one.name.startswith("command "):
                go(asked, one, relaxation, warm=warm, large=large, tally=tally)
    return tally


#: Ways that ask the engine itself, which knows weights.
ENGINE = (
    "certify", "certify, plain arguments", "session, any order", "preview", "session's proof", "cancelled", "curve",
    "curve, resumed", "surface", "surface as it grows, and resumed", "radius", "defend",
)  # fmt: skip


def walk_weights(seed: int, turns: Iterable[int], tally: Tally) -> Tally:
    """One weighted question each turn, of each kind in turn, along all ways that know weights."""
    for turn in turns:
        kind = (*KINDS, LENGTHS)[turn % (len(KINDS) + 1)]
        asked = weighted(seed, turn, kind)
        tally.questions += 1
        for number, name in enumerate(ENGINE):
            if kind == LENGTHS and name in WHOLE_NUMBERS:
                continue
            relaxations = WAYS[name].relaxations
            relaxation = relaxations[(turn + number) % len(relaxations)]
            go(
                asked,
                WAYS[name],
                relaxation,
                warm=(turn + number) % 2 == 0,
                large=(turn + number) % 5 == 4,
                tally=tally,
            )
    return tally
