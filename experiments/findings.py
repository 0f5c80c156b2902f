"""The readings that claims.toml names (`how`): each compares lists of results, one list per entry of `of`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from certcore.common.rounding import percent_down, percent_up, rounded_down, rounded_up, share_down
from certcore.common.statistics import deviation, mean
from experiments.look_up import Lists, reading, shared_splits
from experiments.measure import (
    Ours,
    at_budget,
    fewest,
    gain_text,
    map_ratio,
    mean_ratio,
    mean_seconds,
    radius,
    sub_curve,
)
from experiments.store import Result
from experiments.trial_lists import JOINT, TEXTS
from experiments.trials import Trial


@reading
def average_radius(lists: Lists, *, key: str = "certified", beside: Lists = ([],)) -> Ours | None:
    """r̄; more splits with fewer votes are mentioned, never mixed in."""
    ours, less = radius(lists[0], key), radius(beside[0], key)
    if ours is None or less is None or less.splits <= ours.splits:
        return ours
    spread = f" ± {rounded_up(less.spread, 2)}" if less.spread is not None else ""
    return replace(ours, also=f"With {less.samples:,} votes on {less.splits} splits: {less.text}{spread}.")


@reading
def ratio(lists: Lists, *, budget: int, beside: Lists = ()) -> Ours | None:
    """Certified ratio at one budget; what as many votes, and all of them, make of GCN is told beside it."""
    ours = at_budget(lists[0], budget)
    few, most = (at_budget(found, budget) for found in beside) if beside else (None, None)
    if ours is None or few is None or most is None or few.samples == most.samples:
        return ours
    text = f"GCN has {few.text} with as many votes and {most.text} with {most.samples:,} ({most.splits} splits)."
    return replace(ours, also=f"What the votes do: {text}")


@reading
def seconds(lists: Lists, *, beside: Lists) -> Ours | None:
    """Seconds per certificate of the paper's program, from scratch; those of the tight one are told beside them."""
    ours, other = mean_seconds(lists[0]), mean_seconds(beside[0])
    if ours is None or other is None:
        return ours
    rule = " with the sound field" if beside[0][0].variant.endswith("-degrees") else ""
    return replace(ours, also=f"The tight program{rule}: {other.text}.")


@reading
def largest(lists: Lists, *, level: float, key: str = "certified", beside: Lists) -> Ours | None:
    """The largest budget at which at least `level` of the targets are certified; with fewer votes beside it."""
    value, less = (_last(found, mean_ratio(found, key) >= level) if found else None for found in (lists[0], beside[0]))
    if value is None:
        return None
    ours = Ours(float(value), str(value))
    if less is None or beside[0][0].samples == lists[0][0].samples:
        return ours
    return replace(ours, also=f"With {beside[0][0].samples:,} votes: {less}.")


def _last(found: list[Result], there: np.ndarray) -> int | None:
    """The last budget at which something is so."""
    budgets = max((result.values["budgets"] for result in found), key=len)
    return int(budgets[np.flatnonzero(there)[-1]]) if there.any() else None


@reading
def reach(lists: Lists, *, level: int) -> Ours | None:
    """The largest budget that still certifies something."""
    last = _last(lists[0], mean_ratio(lists[0]) > 0) or 0
    text = f"{last:,}" + (f" (the farthest of {len(lists[0])} splits)" if len(lists[0]) > 1 else "")
    return Ours(float(last), text, holds=last >= level)


@reading
def leaders(lists: Lists, *, names: list[str], single: int, shared: int, paper: list[str]) -> Ours | None:
    """Which graph leads in the naive certificate at one budget, and which in the collective one at another."""
    naive, collective = (
        [at_budget(found, budget, key) for found in lists] for budget, key in ((single, "naive"), (shared, "certified"))
    )
    if None in (*naive, *collective):
        return None
    best = [
        max(zip(names, part), key=lambda pair: (pair[1] and pair[1].value) or 0.0)[0] for part in (naive, collective)
    ]
    listed = [
        ", ".join(f"{name} {ours.text}" for name, ours in zip(names, part) if ours) for part in (naive, collective)
    ]
    text = (
        f"naive at {single} deletions: {listed[0]}; collective at {shared}: {listed[1]}; {best[0]} and {best[1]} lead"
    )
    return Ours(None, text, holds=best == paper)


@reading
def never_below_naive(lists: Lists) -> Ours | None:
    """The collective certificate is at least the naive one at every budget of every stored result."""
    points = broken = 0
    for result in lists[0]:
        for values in [result.values, *result.values.get("curves", []), *result.values.get("rows", [])]:
            for key in ("certified", "relaxed", "exact"):
                if key in values and "naive" in values:
                    certified, naive = np.array(values[key], float), np.array(values["naive"], float)
                    points += certified.size
                    broken += int((certified < naive).sum())
    return Ours(None, f"at {points - broken:,} of {points:,} computed budgets", holds=broken == 0) if points else None


@reading
def proven(lists: Lists) -> Ours | None:
    """How many of the stored counts rest on a bound that was verified in exact arithmetic."""
    points = checked = 0
    for result in lists[0]:
        for values in [result.values, *result.values.get("curves", [])]:
            if "verified" in values and "budgets" in values:
                points += len(values["budgets"])
                checked += len(values["budgets"]) if values["verified"] else 0
        if result.experiment.startswith("seconds"):
            points += len(result.values["rows"])
            checked += sum(row["verified"] for row in result.values["rows"])
    return Ours(None, f"{checked:,} of {points:,} bounds that record it", holds=checked == points) if points else None


@reading
def same_order(lists: Lists, *, most: int) -> Ours | None:
    """Whether classifiers stand in the same order in the naive and in the collective ratio, averaged over budgets."""
    shown = np.array(lists[0][0].values["budgets"]) <= most
    orders = [
        sorted((model_of(found) for found in lists), key=lambda name: -scores[name])
        for key in ("naive", "certified")
        if (scores := {model_of(found): mean_ratio(found, key)[shown].mean() for found in lists})
    ]
    naive, collective = (" > ".join(order) for order in orders)
    text = f"naive: {naive}; collective: {collective} (mean ratio up to {most} deletions)"
    return Ours(None, text, holds=naive == collective)


def model_of(found: list[Result]) -> str:
    return found[0].source.split("-")[1].upper()


@reading
def several(
    lists: Lists,
    *,
    budget: int,
    names: list[str] | None = None,
    naive: str = "",
    votes: int | None = None,
    falling: Sequence[str] = (),
    paper: dict[str, float] | None = None,
    tolerance: float = 0.0,
) -> Ours | None:
    """Certified ratios at one budget, each over its splits: in a falling order, or near the paper's, if it names one.

    The naive count is told of `each`, or of the first one as the `last`; `votes` asks for so many.
    """
    if votes is not None and any(found[0].samples != votes for found in lists):
        return None
    known = dict(zip(names or [model_of(found) for found in lists], lists, strict=True))
    texts = [f"{name} {over_splits(found, budget)}" for name, found in known.items()]
    if naive == "each":
        singles = [f"naive {over_splits(found, budget, 'naive')}" for found in lists]
        splits = [", ".join(str(result.split) for result in found) for found in lists]
        texts = [f"{text} ({single}; splits {which})" for text, single, which in zip(texts, singles, splits)]
    elif naive == "last":
        texts.append(f"naive {over_splits(lists[0], budget, 'naive')}")
    holds = None
    if falling:
        holds = all(mean_at(known[high], budget) > mean_at(known[low], budget) for high, low in pairwise(falling))
    if paper:
        holds = all(abs(mean_at(known[name], budget) / number - 1) <= tolerance for name, number in paper.items())
    return Ours(None, ", ".join(texts), holds=holds)


def _index(result: Result, budget: int) -> int:
    return int(result.values["budgets"].index(budget))


def mean_at(found: list[Result], budget: int, key: str = "certified") -> float:
    return float(np.mean([result.ratios(key)[_index(result, budget)] for result in found]))


def over_splits(found: list[Result], budget: int, key: str = "certified") -> str:
    """Mean and sample deviation; what an attack leaves is rounded up, as nothing may be said to be lost that is not."""
    numbers = [result.ratios(key)[_index(result, budget)] for result in found]
    spread = deviation(numbers)
    share = float(mean(numbers))
    text = percent_up(1 - share) if key == "attack" else percent_down(share)
    return text if spread is None else f"{text} ± {percent_up(float(spread))}"


@reading
def where_singles_end(lists: Lists, *, paper: list[float], tolerance: float) -> Ours | None:
    """The same where each naive certificate has something for the last time; all near the paper's, and falling."""
    ends = [singles_end(found) for found in lists]
    values = [mean_at(found, end) for found, end in zip(lists, ends)]
    close = all(abs(value / number - 1) <= tolerance for value, number in zip(values, paper, strict=True))
    text = ", ".join(f"{model_of(found)} {percent_down(value)}" for found, value in zip(lists, values))
    falling = all(high > low for high, low in pairwise(values))
    return Ours(None, f"{text} at {min(ends)} deletions", holds=close and falling)


def singles_end(found: list[Result]) -> int:
    """The largest budget at which the naive certificate still has something."""
    return _last(found, mean_ratio(found, "naive") > 0) or 0


@reading
def base_close_to_collective(lists: Lists, *, almost: float) -> Ours | None:
    """One's naive curve against the other's collective one, up to where single certificates end and beyond."""
    end = singles_end(lists[0])
    near, whole = _base_gap(lists, end), _base_gap(lists, 21)
    base, other = map(model_of, lists)
    text = (
        f"{other} collective − {base} naive: {gain_text(near.mean())} on average up to {end} deletions, between "
        f"{gain_text(near.min())} and {gain_text(near.max(), up=True)}; {gain_text(whole.mean())} up to 21"
    )
    return Ours(None, text, holds=bool(abs(near.mean()) <= almost))


def _base_gap(lists: Lists, most: int) -> np.ndarray:
    """How far the second's collective certificate is above the first's single ones at the budgets from 1 to `most`."""
    base, other = lists
    budgets = np.array(base[0].values["budgets"])
    return (mean_ratio(other) - mean_ratio(base, "naive"))[(budgets >= 1) & (budgets <= most)]


@reading
def base_gap_by_votes(lists: Lists) -> Ours | None:
    """The same difference at the same budgets with few votes (the first two) and with more: is it the votes?"""
    few, many = shared_splits(lists[:2]), shared_splits(lists[2:])
    if not few or not many:
        return None
    end = singles_end(few[0])
    gains = [f"{gain_text(_base_gap(part, end).mean())} with {part[0][0].samples:,}" for part in (few, many)]
    splits, samples = fewest(*many)
    return Ours(None, f"on average up to {end} deletions: {gains[0]} votes, {gains[1]}", None, splits, samples)


@reading
def local_factor(lists: Lists, *, budget: int) -> Ours | None:
    """Certified ratio with one deletion per node over that without a local budget."""
    high, low = (at_budget(found, budget) for found in lists)
    if high is None or low is None or high.value is None or low.value is None:
        return None
    factor = high.value / low.value if low.value else float("inf")
    times = f"factor {rounded_down(factor, 2)}" if low.value else "from nothing"
    return Ours(factor, f"{high.text} against {low.text}, {times}", holds=factor > 2)


@reading
def plateaus(lists: Lists) -> Ours | None:
    """For each number of attackers the curve must end in a constant above zero."""
    result = lists[0][0]
    texts, flat = [], True
    for curve in result.values["curves"]:
        counts = np.array(curve["certified"])
        start = int(np.flatnonzero(counts == counts[-1])[0])
        share = share_down(counts[-1], result.targets)
        texts.append(f"σ={curve['sigma']}: {share} from {curve['budgets'][start]:,} on")
        flat = flat and bool(start < len(counts) - 1 and counts[-1] > 0)
    return Ours(None, "; ".join(texts), holds=flat)


@reading
def where_naive_is_nothing(lists: Lists, *, low: float, high: float) -> Ours | None:
    """Certified ratios in the part of a map where the naive certificate has nothing."""
    certified, naive = map_ratio(lists[0]), map_ratio(lists[0], "naive")
    there = certified[(naive == 0) & np.isfinite(certified)]
    if not there.size:
        return Ours(None, "the naive certificate has something everywhere on the map", holds=False)
    least, most, middle = (percent_down(float(part), 0) for part in (there.min(), there.max(), np.median(there)))
    inside = int(((there >= low) & (there <= high)).sum())
    text = (
        f"{least} to {most} (median {middle}) on {there.size} of {certified.size} cells, "
        f"{100 * low:.0f} % to {100 * high:.0f} % on {inside} of them"
    )
    return Ours(None, text, holds=inside > 0)


@reading
def largest_gap(lists: Lists, *, most: int, paper: float | None = None) -> Ours | None:
    """The largest difference between integer and relaxed certificate in per cent of the targets, as a bracket.

    The integer optimum lies between the solver's bound and the best attack found, so the gap does, too. "Relative to
    the certified ratio" can also mean a share of the certified targets, which is told beside it.
    """
    rows = [row for row in lists[0][0].values["rows"] if row["value"] <= most]
    targets = lists[0][0].targets
    low, high = _gaps(rows, targets)
    known = [row for row in rows if _solved(row)]
    text = f"{_ends(low, high)} of the targets, {_ends(*_shares(rows, targets))} of those the integer program "
    text += f"certifies ({len(known)} of {len(rows)} budgets solved to the end"
    if known:
        most_known = max(row["value"] for row in known)
        gap = rounded_down(_gaps(known, targets)[0], 2)
        text += f", the largest {most_known}; largest gap among them {gap} % of the targets"
    if paper is None:
        return Ours(None, text + ")")
    # The paper says "at most": below it the sentence holds, around it our bracket holds the paper's number.
    return Ours(None, text + ")", holds=low <= paper, label="reproduced" if high <= paper else "bracketed")


def _solved(row: dict[str, Any]) -> bool:
    return bool(row.get("solved", row.get("status") == "optimal"))


def _gaps(rows: list[dict[str, Any]], targets: int) -> tuple[float, float]:
    """The largest gap lies between these two, in per cent."""
    low = max(row["exact"] - row["relaxed"] for row in rows)
    high = max(targets - (row["attack"] or 0) - row["relaxed"] for row in rows)
    return 100 * low / targets, 100 * high / targets


def _shares(rows: list[dict[str, Any]], targets: int) -> tuple[float, float]:
    """The same in per cent of the targets that the integer program certifies, at the ends of its bracket."""
    pairs = [(row["relaxed"], row["exact"], targets - (row["attack"] or 0)) for row in rows]
    shares = [[1 - relaxed / whole if whole else 0.0 for whole in ends] for relaxed, *ends in pairs]
    return 100 * max(low for low, _ in shares), 100 * max(high for _, high in shares)


def _ends(low: float, high: float) -> str:
    if low == high:
        return f"{rounded_down(low, 2)} %"
    return f"between {rounded_down(low, 2)} % and {rounded_up(high, 2)} %"


@reading
def integer_seconds(lists: Lists, *, most: int) -> Ours | None:
    """From the fastest to the slowest integer certificate."""
    result = lists[0][0]
    rows = [row for row in result.values["rows"] if row["value"] <= most]
    times = [row["exact_seconds"] for row in rows]
    solved = sum(_solved(row) for row in rows)
    limit = result.settings["time_limit"]
    text = f"{min(times):.2f} s to {max(times):.1f} s (limit {limit:g} s; {solved} of {len(rows)} solved to the end)"
    return Ours(None, text, label="better" if solved == len(rows) else "bracketed")


@reading
def program_size(lists: Lists) -> Ours | None:
    """Rows and columns we solve next to the paper's formula."""
    rows = lists[0][0].values["rows"]
    size = max(rows, key=lambda row: (row["size"] or {"rows": 0})["rows"])["size"]
    text = (
        f"{size['rows']:,} rows and {size['columns']:,} columns against {size['paper_rows']:,} and "
        f"{size['paper_columns']:,} by the formula"
    )
    return Ours(size["rows"] / size["paper_rows"], text)


@reading
def rules_of_the_base(lists: Lists) -> Ours | None:
    """r̄ with the multi-class and with the binary rule on the same votes."""
    many, two = (radius(found) for found in lists)
    if many is None or two is None or many.value is None or two.value is None:
        return None
    text = f"{many.text} against {two.text} with the binary rule on the same votes"
    return Ours(None, text, holds=many.value >= two.value)


@reading
def same_program(lists: Lists, *, beside: Lists) -> Ours | None:
    """Whether tight and paper's program certify the same where both were computed on the same votes; the curves
    `beside` (tight, then paper) tell where they do not."""
    everything = [result for found in lists for result in found]
    tight, paper = ([result for result in everything if result.variant == name] for name in ("tight", "paper"))
    points = equal = 0
    for one in tight:
        for other in paper:
            if (one.experiment, one.source, one.split, one.facts) == (
                other.experiment, other.source, other.split, other.facts,
            ):  # fmt: skip
                a, b = np.array(one.values["certified"]), np.array(other.values["certified"])
                points += len(a)
                equal += int((a == b[: len(a)]).sum())
    if not points:
        return None
    ours = Ours(None, f"at {equal:,} of {points:,} budgets", holds=equal == points)
    gains = []
    for one in beside[0]:
        for other in beside[1]:
            for curve in one.values["curves"]:
                same = sub_curve(other, "local", curve["local"])
                if same is not None and one.provenance["instance"] == other.provenance["instance"]:
                    gains += (np.array(curve["certified"]) - np.array(same.values["certified"])).tolist()
    if not gains:
        return ours
    higher = f"higher at {sum(gain > 0 for gain in gains)} of {len(gains)} budgets, by at most {max(gains)} targets"
    text = f"there the tight program is {higher} (with and without local budgets)"
    return replace(ours, also=f"Not so for edge deletions alone: {text}.")


@reading
def counts(lists: Lists, *, nodes: int, edges: int) -> Ours | None:
    """Nodes and edges of a graph, and whether they are the paper's."""
    facts = lists[0][0].facts
    text = f"{facts['nodes']:,} nodes, {facts['edges']:,} edges"
    return Ours(None, text, holds=(facts["nodes"], facts["edges"]) == (nodes, edges))


@reading
def high_degrees(lists: Lists) -> Ours | None:
    """The share of nodes with a degree above 16."""
    share = float(lists[0][0].facts["degree_over_16"])
    return Ours(share, f"{100 * share:.1f} %")


@reading
def gain(lists: Lists) -> Ours | None:
    """Mean and largest gain of one variant over another, over all budgets both have."""
    gains = []
    for one in lists[0]:
        for other in lists[1]:
            if one.split == other.split:
                a, b = one.ratios(), other.ratios()
                if a.ndim == 1:
                    n = min(len(a), len(b))
                    a, b = a[:n], b[:n]
                gains.append((a - b)[np.isfinite(a) & np.isfinite(b)])
    if not gains:
        return None
    every = np.concatenate(gains)
    text = (
        f"{gain_text(every.mean())} certified on average, {gain_text(every.max(), up=True)} at most, "
        f"{gain_text(every.min())} at least"
    )
    return Ours(None, text, holds=bool(every.min() >= 0))


@reading
def stated(lists: Lists, *, text: str, holds: bool) -> Ours | None:
    """What needs no result: a remark on the paper's own text."""
    return Ours(None, text, holds=holds)


@reading
def half_contour(lists: Lists, *, paper: int | None = None) -> Ours | None:
    """How far half of the targets are certified: paper's program, strong program, and what the best attack allows."""
    texts, reached = [], []
    for result in lists[0]:
        enough = result.settings["share"] * result.targets
        rows = result.values["rows"]
        strong = max([result.values["paper"], *(row["value"] for row in rows if row["certified"] >= enough)])
        reached.append(strong)
        broken = [row["value"] for row in rows if result.targets - (row["attack"] or 0) < enough]
        limit = f"; an attack breaks more than half at {min(broken)}" if broken else ""
        texts.append(f"paper's and tight program {result.values['paper']}, strong {strong} deletions{limit}")
    return Ours(None, " / ".join(texts), holds=None if paper is None else min(reached) >= paper)


def by_trial(found: list[Result], trials: tuple[Trial, ...]) -> list[tuple[Trial, Result]]:
    """Trials with their results, in the order of the trials."""
    known = {result.variant: result for result in found}
    return [(trial, known[trial.name]) for trial in trials if trial.name in known]


def reaches_half(result: Result, key: str) -> int:
    return _last([result], result.ratios(key) >= 0.5) or 0


@reading
def nearest_text(lists: Lists, *, naive: float, collective: float) -> Ours | None:
    """Which of the graphs that were tried moves the collective radius most, and whether one meets both numbers.

    Trials rest on fewer votes than the paper's numbers, so what is compared is how far each moves from the first.
    """
    tried = by_trial(lists[0], TEXTS)
    radii: dict[str, tuple[float, float, str]] = {}
    for trial, result in tried:
        single, together = radius([result], "naive"), radius([result])
        if single and together:
            radii[trial.label] = (single.value or 0.0, together.value or 0.0, trial.says)
    if "as-is" not in radii or len(radii) < 2:
        return None
    base_low, base_high, _ = radii.pop("as-is")
    up = [entry for entry in radii.values() if entry[1] > base_high]
    low, high, says = max(radii.values(), key=lambda entry: entry[1])
    wanted = collective / naive
    met = [entry[2] for entry in radii.values() if abs(entry[1] / entry[0] / wanted - 1) <= 0.15]
    text = (
        f"{len(up)} of {len(radii)} changes raise it; most: {says}, "
        f"{rounded_down(base_high, 2)} → {rounded_down(high, 2)} (naive {rounded_down(base_low, 2)} → "
        f"{rounded_down(low, 2)})"
    )
    if met:
        text += f"; collective / naive as in the paper ({rounded_down(wanted, 1)}): {'; '.join(met)}"
    return Ours(None, text, None, 1, tried[0][1].samples)


@reading
def meets_both(lists: Lists, *, naive: float, collective: float) -> Ours | None:
    """Whether a trial meets the paper's two radii, each within 15 %."""
    single, together = radius(lists[0], "naive"), radius(lists[0])
    if single is None or together is None or not single.value or not together.value:
        return None
    shares = single.value / naive, together.value / collective
    quotient, wanted = (rounded_down(number, 1) for number in (together.value / single.value, collective / naive))
    text = (
        f"naive {single.text} ({shares[0]:.2f} of it), collective {together.text} ({shares[1]:.2f} of it); "
        f"collective / naive {quotient} (paper {wanted})"
    )
    return Ours(None, text, holds=all(abs(share - 1) <= 0.15 for share in shares))


@reading
def what_moves_the_contour(lists: Lists) -> Ours | None:
    """Which noise or schedule moves the 50 % contour of the joint map, and how far."""
    tried = by_trial(lists[0], JOINT)
    if len(tried) < 2 or tried[0][0].label != "as-is":
        return None
    moved = [(trial, reaches_half(result, "naive"), reaches_half(result, "certified")) for trial, result in tried]
    _, naive, collective = moved[0]
    best, worst = (choose(moved[1:], key=lambda entry: entry[2]) for choose in (max, min))
    text = (
        f"naive {naive}, collective {collective} with the appendix's settings; up to {best[1]} and {best[2]} with "
        f"{best[0].says}; down to {worst[1]} and {worst[2]} with {worst[0].says}"
    )
    return Ours(None, text, None, 1, tried[0][1].samples)
