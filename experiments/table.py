"""The page "The paper, reproduced", written from the stored results; no number in it is typed by hand."""

from __future__ import annotations

from collections.abc import Sequence

from certcore.common.rounding import percent_up, rounded_up
from experiments.claims import CLAIMS, EXTENSIONS, Row, rows
from experiments.definitions import EXPERIMENTS, command
from experiments.findings import by_trial, over_splits, reaches_half
from experiments.measure import Ours, radius
from experiments.store import Result, Results
from experiments.trial_lists import JOINT, TEXTS

VERDICTS = ("reproduced", "better", "corrected", "bracketed", "differs", "not run")
HEADINGS = ("what the paper reports", "paper", "ours", "ours / paper", "verdict", "splits", "votes", "remark", "where")

TIERS = {"tight": "tight", "tight-multiclass": "tight, multi-class", "strong": "strong"}
TIER_NOTE = """\
GCN, attribute deletions, mean ± sample deviation over splits. Here the tight program is the paper's.
*Certified accuracy* counts test nodes that are certified and have the right label, certified among themselves. What the
best attack found leaves is rounded up: no certificate can say more."""
TEXT_NOTE = """\
One change each to the first line of a graph; split 0, {text-variants} votes, the paper's program. The paper's numbers
rest on 10⁶ votes, so lines are compared with each other only. Graphs are made anew from the attributes (a word occurs
or does not). For WebKB the first line is the graph of the rows above. For Reuters it is not: the neighbours there came
with the data, by a TF-IDF cosine that the attributes alone do not give again, and a third of them are the same (1,868
edges, here 1,973)."""
JOINT_NOTE = """\
The largest number of attribute deletions at which at least half of the targets are certified, Cora-ML, split 0,
{joint-variants} votes, the paper's program; one change each to the first line. Compared with each other only."""

INTRODUCTION = """\
# The paper, reproduced

Every number and every checkable sentence of the experiments in "Collective Robustness Certificates: Exploiting
Interdependence in Graph Neural Networks", next to ours. This page is made from the
files in `docs/results/`; each line of those names the command, the seed, the votes, the split, the versions and the
digest of the instance it was computed from. No number of the column *ours* is typed by hand; remarks are.

- *ours* is a mean over splits, ± the sample standard deviation, where there is more than one split. r̄ is computed from
  the averaged ratios, as in the paper; its ± is that of the splits' own r̄. Numbers from different numbers of votes are
  never averaged. Certified numbers are rounded down, deviations and what an attack reaches up.
- *verdict*: `reproduced` (within 10 % or the tolerance that `experiments/claims.toml` states, or the sentence
  holds), `better` (outside of it, in the certificate's or the clock's favour, or beyond the paper), `corrected` (what
  may be claimed where the paper's rule is not sound), `bracketed` (the paper's value lies within our proven bracket, or
  what the paper solved to the end is bracketed by ours), `differs`, `not run` (the remark says why).
- Rows of the paper's method use its relaxation (`paper`); rows marked "tight" or "sound" are ours.
- Graphs that may not travel with the project (Cora-ML, WebKB, Reuters) are read from a local folder (`--data DIR`);
  their vote counts and results are kept, the graphs are not.
"""


def cells(row: Row) -> tuple[str, ...]:
    """A row of the table as text."""
    claim, ours = row.claim, row.ours
    number = splits = votes = ratio = "–"
    if ours is not None:
        number = _number(ours)
        splits = str(ours.splits) if ours.splits else "–"
        votes = _votes(ours.samples) if ours.samples else "–"
    if row.ratio is not None:
        ratio = f"{row.ratio:.2f}" if row.ratio >= 0.01 else f"{row.ratio:.4f}"
    return (claim.says, claim.paper, number, ratio, row.verdict, splits, votes, row.sentence or "–", claim.where)


def page(results: Results) -> tuple[str, list[Row]]:
    """The page, and the rows of the paper's claims."""
    found = rows(CLAIMS, results)
    beyond = rows(EXTENSIONS, results)
    counts = {verdict: sum(row.verdict == verdict for row in found) for verdict in VERDICTS}
    summary = ", ".join(f"{number} {verdict}" for verdict, number in counts.items() if number)
    parts = [
        INTRODUCTION,
        f"Of {len(found)} rows: {summary}.\n",
        "## Claims\n",
        markdown_table(HEADINGS, [cells(row) for row in found]),
        "## Beyond the paper, and corrected\n",
        markdown_table(HEADINGS, [cells(row) for row in beyond]),
        "## Average certifiable radii, all variants\n",
        markdown_table(
            ("source", "variant", "splits", "votes", "naive r̄", "collective r̄", "smoothed accuracy"), _radii(results)
        ),
        *_sections(results),
        "## What was computed\n",
        markdown_table(("experiment", "figure", "results", "command"), _computed(results)),
    ]
    return "\n".join(parts), found


def _sections(results: Results) -> list[str]:
    """Tables of their own: tiers over splits, and what was tried where numbers differ."""
    votes = {
        name: _votes(found[0].samples or 0)
        for name in ("text-variants", "joint-variants")
        if (found := results.find(name))
    }
    parts = (
        ("Tiers over splits", TIER_NOTE, TIER_HEADINGS, tier_lines(results)),
        ("What was tried: graphs made from words", TEXT_NOTE, TEXT_HEADINGS, text_lines(results)),
        ("What was tried: the 50 % contour of the joint map", JOINT_NOTE, JOINT_HEADINGS, joint_lines(results)),
    )
    told: list[str] = []
    for title, note, headings, lines in parts:
        if lines:
            told += [f"## {title}\n", note.format(**votes) + "\n", markdown_table(headings, lines)]
    return told


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
                    cells = [over_splits(found, budget, key) for key in ("certified", "accurate", "naive", "attack")]
                    lines.append((source, str(budget), name, str(len(found)), *cells))
    return lines


TEXT_HEADINGS = ("graph", "one change", "nodes", "edges", "naive r̄", "collective r̄", "smoothed accuracy")
JOINT_HEADINGS = ("change", "naive, 50 %", "collective, 50 %", "smoothed accuracy")


def text_lines(results: Results) -> list[tuple[str, ...]]:
    """The table of graphs that were tried for WebKB and Reuters."""
    lines = []
    for source in sorted({result.source for result in results.find("text-variants")}, reverse=True):
        for trial, result in by_trial(results.find("text-variants", source), TEXTS):
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
            *(str(reaches_half(result, key)) for key in ("naive", "certified")),
            f"{result.facts['accuracy']['smoothed']:.3f}",
        )
        for trial, result in by_trial(results.find("joint-variants", "cora_ml-gcn-joint"), JOINT)
    ]


def _radii(results: Results) -> list[tuple[str, ...]]:
    lines: list[tuple[str, ...]] = []
    for experiment in ("datasets", "texts", "convex"):
        places = sorted({(result.source, result.variant) for result in results.find(experiment)})
        for source, variant in places:
            same: dict[int | None, list[Result]] = {}
            for result in results:
                if (result.experiment, result.source, result.variant) == (experiment, source, variant):
                    same.setdefault(result.samples, []).append(result)
            for samples, found in sorted(same.items(), key=lambda item: item[0] or 0):
                naive, collective = (radius(found, key) for key in ("naive", "certified"))
                accuracy = [r.facts["accuracy"].get("smoothed", r.facts["accuracy"].get("clean")) for r in found]
                known = [number for number in accuracy if number is not None]
                lines.append(
                    (
                        source,
                        variant,
                        str(len(found)),
                        _votes(samples) if samples else "–",
                        "–" if naive is None else _number(naive),
                        "does not reach 0" if collective is None else _number(collective),
                        f"{sum(known) / len(known):.3f}" if known else "–",
                    )
                )
    return lines


def _computed(results: Results) -> list[tuple[str, ...]]:
    lines: list[tuple[str, ...]] = []
    for experiment in EXPERIMENTS:
        found = [result for result in results if result.experiment == experiment.name]
        number = str(len(found)) if found else "none yet"
        lines.append((experiment.title, experiment.figure, number, command(experiment.name)))
    return lines


def markdown_table(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""

    def line(values: Sequence[str]) -> str:
        return "| " + " | ".join(value.replace("|", "\\|").replace("\n", " ") for value in values) + " |"

    return "\n".join([line(headings), line(["---"] * len(headings)), *(line(values) for values in lines)]) + "\n"


def _votes(number: int) -> str:
    digits = str(number)
    if len(digits) > 3 and digits.rstrip("0") == "1":
        return "10" + str(len(digits) - 1).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{number:,}"


def _number(ours: Ours) -> str:
    """Our number and how far splits spread around it."""
    if ours.spread is None:
        return ours.text
    return f"{ours.text} ± {percent_up(ours.spread) if ours.text.endswith('%') else rounded_up(ours.spread, 2)}"
