"""How claims in words, and numbers that need more than one result, are read off the results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from certcore.common.rounding import percent_down, rounded_down, rounded_up, share_down
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
from experiments.store import Result, Results

Find = Callable[[Results], Ours | None]
#: Numbers of votes that more splits, and all classifiers, have.
FEWER, FEWEST = 10**5, 10**4


def radius_of(experiment: str, source: str, variant: str = "paper", key: str = "certified") -> Find:
    """r̄ of an experiment; more splits with fewer votes are mentioned, never mixed in."""

    def find(results: Results) -> Ours | None:
        ours = radius(results.find(experiment, source, variant), key)
        less = radius(results.find(experiment, source, f"{variant}-{FEWER}"), key)
        if ours is None or less is None or less.splits <= ours.splits:
            return ours
        spread = f" ± {rounded_up(less.spread, 2)}" if less.spread is not None else ""
        return replace(ours, also=f"With {FEWER:,} votes on {less.splits} splits: {less.text}{spread}.")

    return find


def ratio_at(source: str, budget: int, variant: str = "paper", key: str = "certified") -> Find:
    """Certified ratio of a classifier at one budget; where it has fewer votes, what they make of GCN is told too."""
    dataset, model, types = source.split("-")

    def find(results: Results) -> Ours | None:
        ours = at_budget(results.find("classifiers", source, variant), budget, key)
        if ours is None or model == "gcn":
            return ours
        gcn = f"{dataset}-gcn-{types}"
        few = at_budget(results.find("classifiers", gcn, f"{variant}-{ours.samples}"), budget, key)
        most = at_budget(results.find("classifiers", gcn, variant), budget, key)
        if few is None or most is None or few.samples == most.samples:
            return ours
        told = f"GCN has {few.text} with as many votes and {most.text} with {most.samples:,} ({most.splits} splits)."
        return replace(ours, also=f"What the votes do: {told}")

    return find


def seconds_of(experiment: str, source: str, variant: str = "paper", tight: str = "tight") -> Find:
    """Seconds per certificate of the paper's program, from scratch; those of the tight one are told beside them."""

    def find(results: Results) -> Ours | None:
        ours = mean_seconds(results.find(experiment, source, variant))
        other = mean_seconds(results.find(experiment, source, tight))
        if ours is None or other is None:
            return ours
        return replace(ours, also=f"The tight program{_field_of(tight)}: {other.text}.")

    return find


def _field_of(variant: str) -> str:
    return " with the sound field" if variant.endswith("-degrees") else ""


def largest_at(level: float, source: str, key: str = "certified", variant: str = "paper") -> Find:
    """The largest budget at which at least `level` of the targets are certified, on the edge of the joint map."""

    def find(results: Results) -> Ours | None:
        found = results.find("joint-edge", source, variant)
        if not found:
            return None
        reached = np.flatnonzero(mean_ratio(found, key) >= level)
        if not len(reached):
            return None
        value = int(found[0].values["budgets"][reached[-1]])
        ours = Ours(float(value), str(value), None, len(found), found[0].samples)
        less = results.find("joint-edge", source, f"{variant}-{FEWER}")
        if not less or less[0].samples == ours.samples or not (mean_ratio(less, key) >= level).any():
            return ours
        last = np.flatnonzero(mean_ratio(less, key) >= level)[-1]
        return replace(ours, also=f"With {FEWER:,} votes: {less[0].values['budgets'][last]}.")

    return find


def order_of_datasets(results: Results) -> Ours | None:
    """Cora-ML first for the base certificate, PubMed first for the collective one."""
    parts = {
        "Cora-ML": results.find("datasets", "cora_ml-gcn-attr", "paper"),
        "Citeseer": results.find("datasets", "citeseer-gcn-attr", "paper"),
        "PubMed": results.find("pubmed", "pubmed-gcn-attr", "tight"),
    }
    if not all(parts.values()):
        return None
    single = {name: at_budget(found, 2, "naive") for name, found in parts.items()}
    shared = {name: at_budget(found, 500, "certified") for name, found in parts.items()}
    if None in single.values() or None in shared.values():
        return None
    base = {name: ours.value or 0.0 for name, ours in single.items() if ours}
    together = {name: ours.value or 0.0 for name, ours in shared.items() if ours}
    best_base, best_together = max(base, key=base.__getitem__), max(together, key=together.__getitem__)
    text = (
        f"naive at 2 deletions: {_list(base)}; collective at 500: {_list(together)}; "
        f"{best_base} and {best_together} lead"
    )
    splits, samples = fewest(*parts.values())
    return Ours(None, text, None, splits, samples, best_base == "Cora-ML" and best_together == "PubMed")


def never_below_naive(results: Results) -> Ours | None:
    """The collective certificate is at least the naive one at every budget of every stored result."""
    points = broken = 0
    for result in results:
        for values in [result.values, *result.values.get("curves", []), *result.values.get("rows", [])]:
            for key in ("certified", "relaxed", "exact"):
                if key in values and "naive" in values:
                    certified, naive = np.array(values[key], float), np.array(values["naive"], float)
                    points += certified.size
                    broken += int((certified < naive).sum())
    if not points:
        return None
    return Ours(None, f"at {points - broken:,} of {points:,} computed budgets", None, 0, None, broken == 0)


def reach(source: str, experiment: str, level: int) -> Find:
    """The largest budget that still certifies something."""

    def find(results: Results) -> Ours | None:
        found = results.find(experiment, source, "paper") or results.find(experiment, source, "tight")
        if not found:
            return None
        ratio = mean_ratio(found)
        budgets = np.array(max((r.values["budgets"] for r in found), key=len))
        last = int(budgets[np.flatnonzero(ratio > 0)[-1]]) if (ratio > 0).any() else 0
        text = f"{last:,}" + (f" (the farthest of {len(found)} splits)" if len(found) > 1 else "")
        return Ours(float(last), text, None, len(found), found[0].samples, last >= level)

    return find


def on_equal_terms(results: Results, dataset: str, models: tuple[str, ...]) -> list[list[Result]]:
    """Results of several classifiers on the splits that all of them have, with the largest number of votes for which
    there are such splits; empty if there is none."""
    return next((lists for number in (FEWER, FEWEST) if (lists := _with_votes(results, dataset, models, number))), [])


def _with_votes(results: Results, dataset: str, models: tuple[str, ...], number: int) -> list[list[Result]]:
    """The same with one number of votes."""
    lists = [results.find("classifiers", f"{dataset}-{model}-attr", f"paper-{number}") for model in models]
    common = set.intersection(*({result.split for result in found} for found in lists))
    return [[result for result in found if result.split in common] for found in lists] if common else []


def better_base_better_collective(dataset: str) -> Find:
    """Whether classifiers stand in the same order in naive and collective r̄ over the budgets shown."""

    def find(results: Results) -> Ours | None:
        models = ("gat", "gcn", "appnp")
        scores = {}
        lists = on_equal_terms(results, dataset, models)
        if not lists:
            return None
        for model, found in zip(models, lists):
            shown = np.array(found[0].values["budgets"]) <= 20
            scores[model.upper()] = (mean_ratio(found, "naive")[shown].mean(), mean_ratio(found)[shown].mean())
        naive = sorted(scores, key=lambda name: -scores[name][0])
        collective = sorted(scores, key=lambda name: -scores[name][1])
        splits, samples = fewest(*lists)
        text = f"naive: {' > '.join(naive)}; collective: {' > '.join(collective)} (mean ratio up to 20 deletions)"
        return Ours(None, text, None, splits, samples, naive == collective)

    return find


def robust_order(dataset: str) -> Find:
    """SMA above GCN above RGCN at 21 deletions."""

    def find(results: Results) -> Ours | None:
        models = ("sma", "gcn", "rgcn")
        at = {}
        lists = on_equal_terms(results, dataset, models)
        for model, found in zip(models, lists):
            ours = at_budget(found, 21)
            if ours is None or ours.value is None:
                return None
            at[model.upper()] = ours.value
        if not at:
            return None
        splits, samples = fewest(*lists)
        return Ours(None, _list(at), None, splits, samples, at["SMA"] > at["GCN"] > at["RGCN"])

    return find


def where_singles_end(dataset: str, paper: list[float], tolerance: float) -> Find:
    """SMA, GCN and RGCN at the last budget at which some node alone is certified, with the votes all three have."""

    def find(results: Results) -> Ours | None:
        models = ("sma", "gcn", "rgcn")
        at, ends, close = {}, [], []
        lists = on_equal_terms(results, dataset, models)
        if not lists:
            return None
        for model, value, found in zip(models, paper, lists, strict=True):
            end = _singles_end(found)
            ours = at_budget(found, end)
            if ours is None or ours.value is None:
                return None
            at[model.upper()] = ours.value
            ends.append(end)
            close.append(abs(ours.value / value - 1) <= tolerance)
        splits, samples = fewest(*lists)
        text = f"{_list(at)} at {min(ends)} deletions"
        return Ours(None, text, None, splits, samples, all(close) and at["SMA"] > at["GCN"] > at["RGCN"])

    return find


def _singles_end(found: list[Result]) -> int:
    """The largest budget at which the naive certificate still has something."""
    budgets = np.array(found[0].values["budgets"])
    return int(budgets[np.flatnonzero(mean_ratio(found, "naive") > 0)[-1]])


def base_close_to_collective(dataset: str, almost: float) -> Find:
    """SMA's naive curve against RGCN's collective one, up to where single certificates end and beyond."""

    def find(results: Results) -> Ours | None:
        lists = on_equal_terms(results, dataset, ("sma", "rgcn"))
        if not lists:
            return None
        end = _singles_end(lists[0])
        near, whole = _base_gap(lists, end), _base_gap(lists, 21)
        splits, samples = fewest(*lists)
        text = (
            f"RGCN collective − SMA naive: {gain_text(near.mean())} on average up to {end} deletions, between "
            f"{gain_text(near.min())} and {gain_text(near.max(), up=True)}; {gain_text(whole.mean())} up to 21"
        )
        return Ours(None, text, None, splits, samples, bool(abs(near.mean()) <= almost))

    return find


def _base_gap(lists: list[list[Result]], most: int) -> np.ndarray:
    """How far RGCN's collective certificate is above SMA's single ones at the budgets from 1 to `most`."""
    sma, rgcn = lists
    budgets = np.array(sma[0].values["budgets"])
    return (mean_ratio(rgcn) - mean_ratio(sma, "naive"))[(budgets >= 1) & (budgets <= most)]


def base_gap_by_votes(dataset: str) -> Find:
    """The same difference at the same budgets with few votes and with ten times as many: is it the votes?"""

    def find(results: Results) -> Ours | None:
        few, many = (_with_votes(results, dataset, ("sma", "rgcn"), number) for number in (FEWEST, FEWER))
        if not few or not many:
            return None
        end = _singles_end(few[0])
        before, after = (gain_text(_base_gap(lists, end).mean()) for lists in (few, many))
        splits, samples = fewest(*many)
        text = f"on average up to {end} deletions: {before} with {FEWEST:,} votes, {after} with {FEWER:,}"
        return Ours(None, text, None, splits, samples)

    return find


def local_factor(source: str, variant: str, budget: int = 1000) -> Find:
    """Certified ratio with one deletion per node over that without a local budget."""

    def find(results: Results) -> Ours | None:
        found = results.find("local", source, variant)
        if not found:
            return None
        strict = [part for result in found if (part := sub_curve(result, "local", 1))]
        free = [part for result in found if (part := sub_curve(result, "local", None))]
        high, low = at_budget(strict, budget), at_budget(free, budget)
        if high is None or low is None or high.value is None or low.value is None:
            return None
        factor = high.value / low.value if low.value else float("inf")
        times = f"factor {rounded_down(factor, 2)}" if low.value else "from nothing"
        text = f"{high.text} against {low.text}, {times}"
        return Ours(factor, text, None, len(found), found[0].samples, factor > 2)

    return find


def plateaus(source: str, variant: str) -> Find:
    """For each number of attackers the curve must end in a constant above zero."""

    def find(results: Results) -> Ours | None:
        found = results.find("attackers", source, variant)
        if not found:
            return None
        texts, flat = [], True
        for curve in found[0].values["curves"]:
            counts = np.array(curve["certified"])
            start = int(np.flatnonzero(counts == counts[-1])[0])
            share = share_down(counts[-1], found[0].targets)
            texts.append(f"σ={curve['sigma']}: {share} from {curve['budgets'][start]:,} on")
            flat = flat and bool(start < len(counts) - 1 and counts[-1] > 0)
        return Ours(None, "; ".join(texts), None, len(found), found[0].samples, flat)

    return find


def where_naive_is_nothing(source: str, variant: str) -> Find:
    """Certified ratios in the part of the additions × deletions map where the naive certificate has nothing."""

    def find(results: Results) -> Ours | None:
        found = results.find("attributes", source, variant)
        if not found:
            return None
        ratio, naive = map_ratio(found), map_ratio(found, "naive")
        there = ratio[(naive == 0) & np.isfinite(ratio)]
        if not there.size:
            return Ours(
                None, "the naive certificate has something everywhere on the map", None, len(found), None, False
            )
        low, high, middle = (percent_down(float(part), 0) for part in (there.min(), there.max(), np.median(there)))
        spread = f"{low} to {high} (median {middle})"
        inside = int(((there >= 0.3) & (there <= 0.6)).sum())
        text = f"{spread} on {there.size} of {ratio.size} cells, 30 % to 60 % on {inside} of them"
        return Ours(None, text, None, len(found), found[0].samples, inside > 0)

    return find


def largest_gap(experiment: str, source: str, variant: str, most: int, paper: float | None = None) -> Find:
    """The largest difference between integer and relaxed certificate in per cent of the targets, as a bracket.

    The integer optimum lies between the solver's bound and the best attack found, so the gap does, too. "Relative to
    the certified ratio" can also mean a share of the certified targets, which is told beside it.
    """

    def find(results: Results) -> Ours | None:
        found = _brackets(results, experiment, source, variant)
        if not found:
            return None
        rows = [row for row in found[0].values["rows"] if row["value"] <= most]
        targets = found[0].targets
        low, high = _gaps(rows, targets)
        known = [row for row in rows if _solved(row)]
        text = f"{_ends(low, high)} of the targets, {_ends(*_shares(rows, targets))} of those the integer program "
        text += f"certifies ({len(known)} of {len(rows)} budgets solved to the end"
        if known:
            most_known = max(row["value"] for row in known)
            largest = rounded_down(_gaps(known, targets)[0], 2)
            text += f", the largest {most_known}; largest gap among them {largest} % of the targets"
        if paper is None:
            return Ours(None, text + ")", None, len(found), found[0].samples)
        # The paper says "at most": below it the sentence holds, around it our bracket holds the paper's number.
        label = "reproduced" if high <= paper else "bracketed"
        return Ours(None, text + ")", None, len(found), found[0].samples, low <= paper, label=label)

    return find


def _brackets(results: Results, experiment: str, source: str, variant: str) -> list[Result]:
    """The strong form's brackets; those of the integer program where there are no others."""
    return results.find(experiment, source, variant) or results.find(
        experiment, source, variant.replace("strong", "exact")
    )


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


def integer_seconds(experiment: str, source: str, variant: str, most: int) -> Find:
    """From the fastest to the slowest integer certificate."""

    def find(results: Results) -> Ours | None:
        found = _brackets(results, experiment, source, variant)
        if not found:
            return None
        rows = [row for row in found[0].values["rows"] if row["value"] <= most]
        times = [row["exact_seconds"] for row in rows]
        solved = sum(_solved(row) for row in rows)
        limit = found[0].settings["time_limit"]
        text = (
            f"{min(times):.2f} s to {max(times):.1f} s (limit {limit:g} s; {solved} of {len(rows)} solved to the end)"
        )
        label = "better" if solved == len(rows) else "bracketed"
        return Ours(None, text, None, len(found), found[0].samples, label=label)

    return find


def program_size(source: str) -> Find:
    """Rows and columns we solve next to the paper's formula."""

    def find(results: Results) -> Ours | None:
        found = results.find("seconds-attributes", source, "paper")
        if not found:
            return None
        row = max(found[0].values["rows"], key=lambda row: (row["size"] or {"rows": 0})["rows"])
        size = row["size"]
        text = (
            f"{size['rows']:,} rows and {size['columns']:,} columns against {size['paper_rows']:,} and "
            f"{size['paper_columns']:,} by the formula"
        )
        return Ours(size["rows"] / size["paper_rows"], text, None, len(found), found[0].samples)

    return find


def rules_of_the_base(source: str) -> Find:
    """r̄ with the multi-class and with the binary rule on the same votes."""

    def find(results: Results) -> Ours | None:
        many = radius(results.find("datasets", source, "tight-multiclass"))
        two = radius(results.find("datasets", source, "paper"))
        if many is None or two is None or many.value is None or two.value is None:
            return None
        text = f"{many.text} against {two.text} with the binary rule on the same votes"
        return Ours(None, text, None, many.splits, many.samples, many.value >= two.value)

    return find


def same_in_one_dimension(results: Results) -> Ours | None:
    """Attributes alone: where both were computed, the tight program gives what the paper's gives; edges beside it."""
    points = equal = 0
    for experiment in ("datasets", "texts", "convex"):
        for one in results.find(experiment, variant="tight"):
            for other in results.find(experiment, one.source, "paper"):
                if one.split == other.split and one.facts == other.facts:
                    a, b = np.array(one.values["certified"]), np.array(other.values["certified"])
                    points += len(a)
                    equal += int((a == b[: len(a)]).sum())
    if not points:
        return None
    ours = Ours(None, f"at {equal:,} of {points:,} budgets", None, 0, None, equal == points)
    gains = []
    for one in results.find("local", variant="tight-messages"):
        for other in results.find("local", one.source, "paper-messages"):
            for curve in one.values["curves"]:
                same = sub_curve(other, "local", curve["local"])
                if same is not None and one.provenance["instance"] == other.provenance["instance"]:
                    gains += (np.array(curve["certified"]) - np.array(same.values["certified"])).tolist()
    if not gains:
        return ours
    higher = f"higher at {sum(gain > 0 for gain in gains)} of {len(gains)} budgets, by at most {max(gains)} targets"
    told = f"there the tight program is {higher} (with and without local budgets)"
    return replace(ours, also=f"Not so for edge deletions alone: {told}.")


def edge_rules(budget: int) -> Find:
    """Certified ratio at one number of edge deletions: the paper's field, the sound one, and the remedy."""

    def find(results: Results) -> Ours | None:
        numbers = {}
        lists = []
        for name, source, variant in (
            ("GCN, paper's field", "cora_ml-gcn-adj", "tight-messages"),
            ("GCN, sound field", "cora_ml-gcn-adj", "tight-degrees"),
            ("row-normalised GCN, sound", "cora_ml-gcn_mean-adj", "tight-messages"),
        ):
            found = results.find("local", source, variant)
            free = [part for result in found if (part := sub_curve(result, "local", None))]
            ours = at_budget(free, budget) if free else None
            if ours is None or ours.value is None:
                return None
            numbers[name] = ours.value
            lists.append(found)
        splits, samples = fewest(*lists)
        return Ours(None, _list(numbers), None, splits, samples)

    return find


def proven(results: Results) -> Ours | None:
    """How many of the stored counts rest on a bound that was verified in exact arithmetic."""
    points = checked = 0
    for result in results:
        for values in [result.values, *result.values.get("curves", [])]:
            if "verified" in values and "budgets" in values:
                points += len(values["budgets"])
                checked += len(values["budgets"]) if values["verified"] else 0
        if result.experiment.startswith("seconds"):
            points += len(result.values["rows"])
            checked += sum(row["verified"] for row in result.values["rows"])
    if not points:
        return None
    return Ours(None, f"{checked:,} of {points:,} bounds that record it", None, 0, None, checked == points)


def counts(source: str, experiment: str, nodes: int, edges: int) -> Find:
    """Nodes and edges of a graph, and whether they are the paper's."""

    def find(results: Results) -> Ours | None:
        found = results.find(experiment, source)
        if not found:
            return None
        facts = found[0].facts
        text = f"{facts['nodes']:,} nodes, {facts['edges']:,} edges"
        return Ours(None, text, None, 0, None, facts["nodes"] == nodes and facts["edges"] == edges)

    return find


def high_degrees(source: str) -> Find:
    """The share of nodes with a degree above 16."""

    def find(results: Results) -> Ours | None:
        found = results.find("datasets", source)
        if not found:
            return None
        share = float(found[0].facts["degree_over_16"])
        return Ours(share, f"{100 * share:.1f} %")

    return find


def gain(experiment: str, source: str, better: str, worse: str) -> Find:
    """Mean and largest gain of one variant over another, over all budgets both have."""

    def find(results: Results) -> Ours | None:
        high, low = results.find(experiment, source, better), results.find(experiment, source, worse)
        if not high or not low:
            return None
        gains = []
        for one in high:
            for other in low:
                if one.split == other.split:
                    a, b = one.ratios(), other.ratios()
                    if a.ndim == 1:
                        n = min(len(a), len(b))
                        a, b = a[:n], b[:n]
                    known = np.isfinite(a) & np.isfinite(b)
                    gains.append((a - b)[known])
        if not gains:
            return None
        all_gains = np.concatenate(gains)
        text = (
            f"{gain_text(all_gains.mean())} certified on average, {gain_text(all_gains.max(), up=True)} at most, "
            f"{gain_text(all_gains.min())} at least"
        )
        return Ours(None, text, None, len(high), high[0].samples, bool(all_gains.min() >= 0))

    return find


def stated(text: str, holds: bool) -> Find:
    """What needs no result: a remark on the paper's own text."""
    return lambda results: Ours(None, text, holds=holds)


def _list(numbers: dict[str, float]) -> str:
    return ", ".join(f"{name} {percent_down(number)}" for name, number in numbers.items())
