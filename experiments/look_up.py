"""What a claim rests on: which results are looked up, and which reading of them gives our number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from experiments.measure import Ours, fewest, sub_curve
from experiments.store import Result, Results

#: Numbers of votes that more splits, and all classifiers, have.
FEWER, FEWEST = 10**5, 10**4

Lists = Sequence[list[Result]]


@dataclass(frozen=True)
class Find:
    """What a claim rests on, as claims.toml tells it: the results that are compared, and how."""

    how: str
    of: tuple[str, ...] = ()
    """Results, each as `look_up` takes them; without one of them nothing is found."""
    beside: tuple[str, ...] = ()
    """Results that a remark mentions where they are there; {votes} is the number of votes of the first ones."""
    equal: bool = False
    """Compare on the splits and the number of votes that all have."""
    counted: bool = True
    """Whether the row states splits and votes: the fewest of those compared."""
    arguments: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(
        cls, how: str, of: Any = (), beside: Any = (), *, equal: bool = False, counted: bool = True, **rest: Any
    ) -> Find:
        """From the entries of claims.toml, where a single path needs no list."""
        paths, more = ((entry,) if isinstance(entry, str) else tuple(entry) for entry in (of, beside))
        return cls(how, paths, more, equal, counted, rest)

    def __call__(self, results: Results) -> Ours | None:
        lists = on_equal_terms(results, self.of) if self.equal else [look_up(results, path) for path in self.of]
        if not all(lists) or bool(lists) != bool(self.of):
            return None
        votes = lists[0][0].samples if lists else None
        beside = [look_up(results, path.format(votes=votes)) for path in self.beside]
        ours: Ours | None = READINGS[self.how](lists, **self.arguments, **({"beside": beside} if beside else {}))
        if ours is None or not self.counted or not lists:
            return ours
        splits, samples = fewest(*lists)
        return replace(ours, splits=ours.splits or splits, samples=ours.samples or samples)


def look_up(results: Results, path: str) -> list[Result]:
    """Results by `experiment/source/variant`; `*` for all of them.

    What is left out matches anything, `paper|tight` takes the first variant that is there, and `#local=1` the curve of
    that local budget (`none`: without one) of each result.
    """
    path, _, part = path.partition("#")
    if path == "*":
        return list(results)
    experiment, source, variants = (*path.split("/"), "", "")[:3]
    known = (results.find(experiment, source or None, variant or None) for variant in variants.split("|"))
    found = next((found for found in known if found), [])
    if not part:
        return found
    name, _, value = part.partition("=")
    wanted = None if value == "none" else int(value)
    return [curve for result in found if (curve := sub_curve(result, name, wanted))]


def on_equal_terms(results: Results, paths: Sequence[str]) -> list[list[Result]]:
    """Results of several classifiers on the splits that all of them have, with the largest number of votes for which
    there are such splits; empty if there is none."""
    for number in (FEWER, FEWEST):
        if lists := shared_splits([look_up(results, f"{path}-{number}") for path in paths]):
            return lists
    return []


def shared_splits(lists: Lists) -> list[list[Result]]:
    common = set.intersection(*({result.split for result in found} for found in lists))
    return [[result for result in found if result.split in common] for found in lists] if common else []


READINGS: dict[str, Callable[..., Ours | None]] = {}


def reading(function: Callable[..., Ours | None]) -> Callable[..., Ours | None]:
    """Makes a function known to claims.toml by its name."""
    READINGS[function.__name__] = function
    return function
