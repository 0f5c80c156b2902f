"""The paper's figures drawn from our results, with what goes beyond them in the same axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from certcore.common.errors import InputError
from certcore.figures import ContourFigure, CurveFigure, Figure, Line, Recipe
from certcore.figures.kinds.curve_lines import mean_line
from certcore.figures.style import Kind
from certcore.reproduce.findings import FEWEST
from certcore.reproduce.measure import map_ratio, sub_curve
from certcore.reproduce.store import Result, Results

NAMES = {
    "citeseer": "Citeseer",
    "cora_ml": "Cora-ML",
    "cora": "Cora (LINQS)",
    "pubmed": "PubMed",
    "webkb_knn3": "WebKB",
    "webkb_knn3_directed": "WebKB, directed",
    "reuters_knn3_d200": "Reuters",
    "reuters_knn3_d200_directed": "Reuters, directed",
}
MODELS = {"gcn": "GCN", "gcn_mean": "GCN (mean)", "gat": "GAT", "appnp": "APPNP", "rgcn": "RGCN", "sma": "SMA"}


@dataclass(frozen=True)
class Picture:
    """A figure, the label it has in the paper, and the experiment behind it."""

    label: str
    title: str
    caption: str
    figure: Figure
    experiment: str


def pictures(results: Results) -> list[Picture]:
    """Every figure for which there are results."""
    made = [
        _datasets(results),
        _rules(results),
        *(_joint(results, source) for source in ("cora_ml", "cora", "citeseer")),
        *(_classifiers(results, dataset) for dataset in ("cora_ml", "citeseer")),
        _convex(results),
        _fields(results),
        _local(results),
        _attackers(results),
        _texts(results),
        *(_additions(results, source) for source in ("cora_ml", "citeseer")),
        _gap(results, "gap-attributes", "fig_milp_attr", "attr_del"),
        _gap(results, "gap-edges", "fig_milp_adj", "adj_del"),
    ]
    return [
        replace(picture, figure=replace(picture.figure, recipe=Recipe("paper", (picture.figure.name,))))
        for picture in made
        if picture is not None
    ]


def split_lines(
    found: Sequence[Result], name: str, group: int, kind: str = Kind.COLLECTIVE, naive: bool = True
) -> list[Line]:
    """Mean over splits with a band of one sample deviation; shorter curves have ended at their last value."""
    lines = []
    budgets = np.array(max((result.values["budgets"] for result in found), key=len))
    for which, key in ((kind, "certified"), (Kind.NAIVE, "naive"))[: 2 if naive else 1]:
        rows = np.array([_padded(result.ratios(key), len(budgets)) for result in found])
        lines.append(mean_line(budgets, rows, which, name, group))
    return lines


def _padded(row: np.ndarray, length: int) -> np.ndarray:
    return np.pad(row, (0, length - len(row)), mode="edge")


def _label(result: Result) -> tuple[str, str]:
    dataset, model, _ = result.source.split("-")
    return NAMES.get(dataset, dataset), MODELS.get(model, model)


def _behind(found: Iterable[Result]) -> str:
    """Splits and votes behind a figure, in words."""
    parts: dict[str, tuple[int, int | None]] = {}
    for result in found:
        name = result.source
        parts[name] = (parts.get(name, (0, None))[0] + 1, result.samples)
    words = [
        f"{name}: {splits} split{'s' if splits > 1 else ''}" + (f" × {samples:,} votes" if samples else "")
        for name, (splits, samples) in parts.items()
    ]
    return "; ".join(words) + "."


def _datasets(results: Results) -> Picture | None:
    lines: list[Line] = []
    behind: list[Result] = []
    parts = [("datasets", f"{name}-gcn-attr") for name in ("citeseer", "cora_ml", "cora")] + [
        ("pubmed", "pubmed-gcn-attr")
    ]
    for group, (experiment, source) in enumerate(parts):
        found = results.find(experiment, source, "tight" if experiment == "pubmed" else "paper")
        if found:
            lines += split_lines(found, _label(found[0])[0], group)
            behind += found
    if not lines:
        return None
    figure = CurveFigure(vary="attr_del", lines=tuple(lines), log=True, name="datasets")
    return Picture(
        "fig_datasets", "Attribute deletions: Cora-ML, Citeseer, PubMed", _behind(behind), figure, "datasets"
    )


def _rules(results: Results) -> Picture | None:
    """Beyond the paper: the multi-class base certificate on the same votes."""
    binary = results.find("datasets", "citeseer-gcn-attr", "paper")
    many = results.find("datasets", "citeseer-gcn-attr", "tight-multiclass")
    if not binary or not many:
        return None
    lines = split_lines(binary, "binary rule (paper)", 0) + split_lines(many, "multi-class rule", 1)
    figure = CurveFigure(vary="attr_del", lines=tuple(lines), log=True, name="rules")
    title = "Beyond the paper: the multi-class base certificate, Citeseer"
    return Picture("fig_datasets", title, _behind(binary), figure, "datasets")


def _fields(results: Results) -> Picture | None:
    """Corrected: what the receptive field of edges does to edge certificates."""
    lines: list[Line] = []
    behind: list[Result] = []
    for group, (name, source, variant) in enumerate(
        (
            ("GCN, the paper's field (not sound)", "cora_ml-gcn-adj", "tight-messages"),
            ("GCN, sound field", "cora_ml-gcn-adj", "tight-degrees"),
            ("row-normalised GCN, sound field", "cora_ml-gcn_mean-adj", "tight-messages"),
        )
    ):
        found = results.find("local", source, variant)
        free = [part for result in found if (part := sub_curve(result, "local", None))]
        if free:
            lines += split_lines(free, name, group, naive=group != 1)
            behind += [result for result in found if result.source not in {known.source for known in behind}]
    if len({line.group for line in lines}) < 2:
        return None
    figure = CurveFigure(vary="adj_del", lines=tuple(lines), log=True, name="fields")
    caption = "No local budgets, tight program. " + _behind(behind)
    return Picture("fig_local_budget", "Corrected: the edge field, Cora-ML", caption, figure, "local")


def _texts(results: Results) -> Picture | None:
    lines: list[Line] = []
    behind: list[Result] = []
    for group, name in enumerate(
        ("webkb_knn3", "reuters_knn3_d200", "webkb_knn3_directed", "reuters_knn3_d200_directed")
    ):
        found = results.find("texts", f"{name}-gcn-attr", "paper")
        if found:
            lines += split_lines(found, _label(found[0])[0], group)
            behind += found
    if not lines:
        return None
    figure = CurveFigure(vary="attr_del", lines=tuple(lines), log=True, name="texts")
    return Picture("nlp_graphs", "Attribute deletions: WebKB and Reuters", _behind(behind), figure, "texts")


def _classifiers(results: Results, dataset: str) -> Picture | None:
    lines: list[Line] = []
    behind: list[Result] = []
    for group, model in enumerate(("gcn", "gat", "appnp", "rgcn", "sma")):
        found = results.find("classifiers", f"{dataset}-{model}-attr", f"paper-{FEWEST}")
        if found:
            lines += split_lines(found, MODELS[model], group)
            behind += found
    if len({line.group for line in lines}) < 2:
        return None
    figure = CurveFigure(vary="attr_del", lines=tuple(lines), name=f"classifiers-{dataset}")
    title = f"Classifiers on {NAMES[dataset]}"
    return Picture("fig_models, robust_models", title, _behind(behind), figure, "classifiers")


def _convex(results: Results) -> Picture | None:
    found = results.find("convex", "citeseer-gcn-convex", "paper")
    if not found:
        return None
    figure = CurveFigure(vary="attr_add", lines=tuple(split_lines(found, "Citeseer", 0)), log=True, name="convex")
    return Picture("fig_certs", "Convex base certificate on Citeseer", _behind(found), figure, "convex")


def _map(results: Results, experiment: str, source: str, ours: str, reference: str | None) -> ContourFigure | None:
    found = results.find(experiment, source, ours)
    if not found:
        return None
    values = found[0].values
    other = results.find(experiment, source, reference) if reference else []
    return ContourFigure(
        x=values["x"],
        y=values["y"],
        x_values=np.array(values["x_values"]),
        y_values=np.array(values["y_values"]),
        ratio=map_ratio(found),
        reference=map_ratio(other) if other else map_ratio(found, "naive"),
        reference_kind=Kind.PAPER if other else Kind.NAIVE,
        name=f"{experiment}-{source}",
    )


def _joint(results: Results, dataset: str) -> Picture | None:
    source = f"{dataset}-gcn-joint"
    figure = _map(results, "joint", source, "tight-degrees", None)
    if figure is None:
        return None
    caption = "GCN with the sound edge field (`degrees`), tight program; thin lines: naive. "
    found = results.find("joint", source, "tight-degrees")
    return Picture(
        "fig_joint", f"Attribute × edge deletions on {NAMES[dataset]}", caption + _behind(found), figure, "joint"
    )


def _additions(results: Results, dataset: str) -> Picture | None:
    source = f"{dataset}-gcn-attr"
    figure = _map(results, "attributes", source, "tight", "paper")
    if figure is None:
        return None
    caption = "Tight program; second set of lines: the paper's program on the same votes. "
    found = results.find("attributes", source, "tight")
    title = f"Attribute additions × deletions on {NAMES[dataset]}"
    return Picture("fig_joint_attr", title, caption + _behind(found), figure, "attributes")


def _several(result: Result, name: str, label: str, none: str) -> list[Line]:
    lines = []
    for group, curve in enumerate(result.values["curves"]):
        part = Result(**{**vars(result), "values": curve})
        title = none if curve[name] is None else f"{label} {curve[name]}"
        lines += split_lines([part], title, group, naive=group == 0)
    return lines


def _local(results: Results) -> Picture | None:
    found = results.find("local", "cora_ml-gcn-adj", "tight-degrees")
    if not found:
        return None
    lines = _several(found[0], "local", "per node at most", "no local budget")
    figure = CurveFigure(vary="adj_del", lines=tuple(lines), log=True, name="local")
    caption = "GCN with the sound edge field (`degrees`), tight program. " + _behind(found[:1])
    return Picture("fig_local_budget", "Edge deletions under local budgets, Cora-ML", caption, figure, "local")


def _attackers(results: Results) -> Picture | None:
    found = results.find("attackers", "cora_ml-gcn-adj", "tight-degrees")
    if not found:
        return None
    lines = _several(found[0], "sigma", "σ =", "no σ")
    figure = CurveFigure(vary="adj_del", lines=tuple(lines), log=True, name="attackers")
    caption = "At most 16 deletions per node; sound edge field, tight program. " + _behind(found[:1])
    return Picture("fig_num_attackers", "Edge deletions by few attackers, Cora-ML", caption, figure, "attackers")


def _gap(results: Results, experiment: str, label: str, vary: str) -> Picture | None:
    found = results.find(experiment)
    if not found:
        return None
    rows = found[0].values["rows"]
    values = np.array([row["value"] for row in rows])
    targets = found[0].targets

    def line(kind: str, key: str, name: str, group: int) -> Line:
        return Line(
            values=values, ratio=np.array([row[key] for row in rows]) / targets, kind=kind, name=name, group=group
        )

    lines = [line("exact", "exact", "integer program", 0), line("paper", "relaxed", "relaxed", 1)]
    if all(row["attack"] is not None for row in rows):
        attacked = np.array([targets - row["attack"] for row in rows]) / targets
        lines.append(Line(values=values, ratio=attacked, kind=Kind.NAIVE, name="what the best attack leaves", group=2))
    figure = CurveFigure(vary=vary, lines=tuple(lines), plateaus=False, name=experiment)
    caption = f"Time limit {found[0].settings['time_limit']:g} s per budget. " + _behind(found[:1])
    what = "attribute deletions" if vary == "attr_del" else "edge deletions"
    return Picture(label, f"Integrality gap, {what}, Cora-ML", caption, figure, experiment)


def make(recipe: Recipe) -> Figure:
    """The figure of a recipe of kind `paper`, by its name."""
    made = {picture.figure.name: picture.figure for picture in pictures(Results())}
    if len(recipe.instances) != 1 or recipe.instances[0] not in made:
        raise InputError(f"there is no such figure of the paper; expected one of {', '.join(made)}")
    return made[recipe.instances[0]]
