"""What the strong tier adds to the paper's method, and what the trials say: rows and tables of their own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from certcore.common.rounding import percent_down, percent_up, rounded_down
from certcore.common.splits import deviation, mean
from experiments.measure import Ours, fewest, radius
from experiments.store import Result, Results
from experiments.trial_lists import JOINT, TEXT_WITH_PAPER_VOTES, TEXTS
from experiments.trials import Trial

Find = Callable[[Results], Ours | None]

TIERS = {"tight": "tight", "tight-multiclass": "tight, multi-class", "strong": "strong"}


def half_contour(source: str, paper: int | None = None) -> Find:
    """How far half of the targets are certified: paper's program, strong program, and what the best attack allows."""

    def find(results: Results) -> Ours | None:
        found = results.find("joint-contour", source, "strong")
        if not found:
            return None
        texts, reached = [], []
        for result in found:
            enough = result.settings["share"] * result.targets
            rows = result.values["rows"]
            strong = max([result.values["paper"], *(row["value"] for row in rows if row["certified"] >= enough)])
            reached.append(strong)
            broken = [row["value"] for row in rows if result.targets - (row["attack"] or 0) < enough]
            reach = f"; an attack breaks more than half at {min(broken)}" if broken else ""
            texts.append(f"paper's and tight program {result.values['paper']}, strong {strong} deletions{reach}")
        holds = None if paper is None else min(reached) >= paper
        return Ours(None, " / ".join(texts), None, len(found), found[0].samples, holds)

    return find


def over_splits(experiment: str, source: str, budget: int, variants: dict[str, str]) -> Find:
    """Certified ratio of several variants at one budget, each with its deviation over splits."""

    def find(results: Results) -> Ours | None:
        parts = {name: results.find(experiment, source, variant) for name, variant in variants.items()}
        if not all(parts.values()):
            return None
        told = [f"{name} {_over_splits(found, budget)}" for name, found in parts.items()]
        naive = _over_splits(next(iter(parts.values())), budget, "naive")
        splits, samples = fewest(*parts.values())
        return Ours(None, ", ".join([*told, f"naive {naive}"]), None, splits, samples)

    return find


def classifiers_at(
    dataset: str, budget: int, models: list[str], votes: int, paper: dict[str, float], tolerance: float
) -> Find:
    """Certified and naive ratio of the classifiers that have so many votes, each over its own splits; whether those the
    paper has a number for are within the tolerance."""

    def find(results: Results) -> Ours | None:
        parts = {model: results.find("classifiers", f"{dataset}-{model}-attr", "paper") for model in models}
        if not all(found and found[0].samples == votes for found in parts.values()):
            return None
        told = [
            f"{model.upper()} {_over_splits(found, budget)} (naive {_over_splits(found, budget, 'naive')}; "
            f"splits {', '.join(str(result.split) for result in found)})"
            for model, found in parts.items()
        ]
        shares = [_mean_at(parts[model], budget) / number for model, number in paper.items()]
        holds = all(abs(share - 1) <= tolerance for share in shares)
        return Ours(None, ", ".join(told), None, min(map(len, parts.values())), votes, holds)

    return find


def tiers_at(source: str, budget: int) -> Find:
    """Certified ratio of every tier at one budget, over splits."""

    def find(results: Results) -> Ours | None:
        parts = {name: results.find("tiers", source, variant) for variant, name in TIERS.items()}
        if not parts["strong"] or not parts["tight"]:
            return None
        told = [f"{name} {_over_splits(found, budget)}" for name, found in parts.items() if found]
        splits, samples = fewest(*(found for found in parts.values() if found))
        gain = _mean_at(parts["strong"], budget) - _mean_at(parts["tight"], budget)
        return Ours(None, ", ".join(told), None, splits, samples, bool(gain >= 0))

    return find


def _place(result: Result, budget: int) -> int:
    return int(result.values["budgets"].index(budget))


def _mean_at(found: list[Result], budget: int, key: str = "certified") -> float:
    return float(np.mean([result.ratios(key)[_place(result, budget)] for result in found]))


def _over_splits(found: list[Result], budget: int, key: str = "certified") -> str:
    """Mean and sample deviation; what an attack leaves is rounded up, as nothing may be said to be lost that is not."""
    numbers = [result.ratios(key)[_place(result, budget)] for result in found]
    spread = deviation(numbers)
    share = float(mean(numbers))
    text = percent_up(1 - share) if key == "attack" else percent_down(share)
    return text if spread is None else f"{text} ± {percent_up(float(spread))}"


TIER_HEADINGS = (
    "source", "deletions", "program", "splits", "certified", "certified accuracy", "naive", "left by the best attack",
)  # fmt: skip


def tier_lines(results: Results) -> list[tuple[str, ...]]:
    """The table of tiers: certified ratio and certified accuracy, mean ± sample deviation over splits."""
    lines = []
    for source in sorted({result.source for result in results.find("tiers")}):
        for budget in results.find("tiers", source)[0].values["budgets"]:
            for variant, name in TIERS.items():
                found = results.find("tiers", source, variant)
                if found:
                    cells = [_over_splits(found, budget, key) for key in ("certified", "accurate", "naive", "attack")]
                    lines.append((source, str(budget), name, str(len(found)), *cells))
    return lines


TEXT_HEADINGS = ("graph", "one change", "nodes", "edges", "naive r̄", "collective r̄", "smoothed accuracy")
JOINT_HEADINGS = ("change", "naive, 50 %", "collective, 50 %", "smoothed accuracy")


def text_lines(results: Results) -> list[tuple[str, ...]]:
    """The table of graphs that were tried for WebKB and Reuters."""
    lines = []
    for source in sorted({result.source for result in results.find("text-variants")}, reverse=True):
        for trial, result in _trials(results, "text-variants", source, TEXTS):
            radii = [radius([result], key) for key in ("naive", "certified")]
            lines.append(
                (
                    source.split("_")[0],
                    trial.says,
                    f"{result.facts['nodes']:,}",
                    f"{result.facts['edges']:,}",
                    *("–" if found is None else found.text for found in radii),
                    f"{result.facts['accuracy']['smoothed']:.3f}",
                )
            )
    return lines


def joint_lines(results: Results) -> list[tuple[str, ...]]:
    """The table of noises and schedules that were tried for the joint map."""
    return [
        (
            trial.says,
            *(str(_reaches_half(result, key)) for key in ("naive", "certified")),
            f"{result.facts['accuracy']['smoothed']:.3f}",
        )
        for trial, result in _trials(results, "joint-variants", "cora_ml-gcn-joint", JOINT)
    ]


def _trials(results: Results, experiment: str, source: str, trials: tuple[Trial, ...]) -> list[tuple[Trial, Result]]:
    found = {result.variant: result for result in results.find(experiment, source)}
    return [(trial, found[trial.name]) for trial in trials if trial.name in found]


def _reaches_half(result: Result, key: str) -> int:
    reached = np.flatnonzero(result.ratios(key) >= 0.5)
    return int(result.values["budgets"][reached[-1]]) if len(reached) else 0


def nearest_text(graph: str, naive: float, collective: float) -> Find:
    """Which of the graphs that were tried moves the collective radius most, and whether one meets both numbers.

    Trials rest on fewer votes than the paper's numbers, so what is compared is how far each moves from the first.
    """

    def find(results: Results) -> Ours | None:
        source = f"{graph}-gcn-attr"
        tried = _trials(results, "text-variants", source, TEXTS)
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

    return find


def meets_both(graph: str, naive: float, collective: float) -> Find:
    """Whether the trial that came closest meets the paper's two radii with the paper's votes, each within 15 %."""

    def find(results: Results) -> Ours | None:
        found = results.find("text-variants", f"{graph}-gcn-attr", TEXT_WITH_PAPER_VOTES.name)
        single, together = radius(found, "naive"), radius(found)
        if not found or single is None or together is None or not single.value or not together.value:
            return None
        shares = single.value / naive, together.value / collective
        ratio, wanted = (rounded_down(number, 1) for number in (together.value / single.value, collective / naive))
        text = (
            f"naive {single.text} ({shares[0]:.2f} of it), collective {together.text} ({shares[1]:.2f} of it); "
            f"collective / naive {ratio} (paper {wanted})"
        )
        met = all(abs(share - 1) <= 0.15 for share in shares)
        return Ours(None, text, None, len(found), found[0].samples, met)

    return find


def what_moves_the_contour() -> Find:
    """Which noise or schedule moves the 50 % contour of the joint map, and how far."""

    def find(results: Results) -> Ours | None:
        tried = _trials(results, "joint-variants", "cora_ml-gcn-joint", JOINT)
        if len(tried) < 2 or tried[0][0].label != "as-is":
            return None
        moved = [(trial, _reaches_half(result, "naive"), _reaches_half(result, "certified")) for trial, result in tried]
        _, naive, collective = moved[0]
        best = max(moved[1:], key=lambda entry: entry[2])
        worst = min(moved[1:], key=lambda entry: entry[2])
        text = (
            f"naive {naive}, collective {collective} with the appendix's settings; up to {best[1]} and {best[2]} with "
            f"{best[0].says}; down to {worst[1]} and {worst[2]} with {worst[0].says}"
        )
        return Ours(None, text, None, 1, tried[0][1].samples)

    return find
