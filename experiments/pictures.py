"""The paper's figures drawn from our results, with what goes beyond them in the same axes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from certcore.domain.edge_field import EdgeField
from certcore.figures import ContourFigure, CurveFigure, Line
from certcore.figures.curve import mean_line
from certcore.figures.save import save
from experiments.look_up import on_equal_terms
from experiments.measure import map_ratio, sub_curve
from experiments.store import Result, Results

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


#: Lines of so many budgets are drawn with all of them.
FEW = 64
#: The programs that a figure can be drawn with, where their results are there.
FORMS = ("paper", "tight", "strong")
#: What the results of edges rest on in each of them: the paper's rule for fields, or the sound one.
_EDGES = {"paper": EdgeField.MESSAGES, "tight": EdgeField.DEGREES, "strong": EdgeField.DEGREES}

#: The figures of the paper in its order: the labels that one section is about, and what it is called.
SECTIONS = {
    ("fig_datasets",): "Attribute deletions",
    ("fig_joint",): "Attribute and edge deletions",
    ("fig_models", "robust_models"): "Classifiers",
    ("fig_certs",): "The convex base certificate",
    ("fig_local_budget",): "Local budgets",
    ("fig_num_attackers",): "Few attackers",
    ("nlp_graphs",): "Graphs of texts",
    ("fig_joint_attr",): "Attribute additions and deletions",
    ("fig_milp_attr",): "Integrality gap, attributes",
    ("fig_milp_adj",): "Integrality gap, edges",
}


@dataclass(frozen=True)
class Picture:
    """A figure, the label it has in the paper, and the experiment behind it."""

    label: str
    title: str
    caption: str
    figure: CurveFigure | ContourFigure
    experiment: str


@dataclass(frozen=True)
class FigureSpec:
    """A figure that may be drawn with several programs; one that compares programs itself has a single form."""

    name: str
    short: str
    """What tells it from the others of its section."""
    build: Callable[[Results, str], Picture | None]
    first: str = "paper"
    """The form it is shown in at first: the paper's, unless that one is not sound."""
    forms: tuple[str, ...] = FORMS

    def file(self, form: str) -> str:
        """Its name in this form, in links."""
        return self.name if form == self.first else f"{self.name}-{form}"

    def picture(self, results: Results, form: str) -> Picture | None:
        """The figure in one form, or None where nothing was computed."""
        made = self.build(results, form) if form in self.forms else None
        if made is None:
            return None
        return replace(made, figure=replace(made.figure, name=self.file(form)))


@dataclass(frozen=True)
class Display:
    """A figure with what there is of it, by form."""

    spec: FigureSpec
    pictures: dict[str, Picture] = field(default_factory=dict)


def shelf(results: Results) -> dict[tuple[str, ...], list[Display]]:
    """All that can be drawn, by section."""
    found: dict[tuple[str, ...], list[Display]] = {labels: [] for labels in SECTIONS}
    for spec in FIGURES:
        made = {form: spec.picture(results, form) for form in spec.forms}
        known = {form: picture for form, picture in made.items() if picture is not None}
        if known:
            labels = section_of(next(iter(known.values())).label)
            found[labels].append(Display(spec, known))
    return found


def draw(results: Results, folder: Path) -> Iterator[Path]:
    """Write every figure in every form it has, and give the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    for shown in (one for part in shelf(results).values() for one in part):
        for picture in shown.pictures.values():
            path = folder / f"{picture.figure.name}.svg"
            save(picture.figure, path, width="17.5cm")
            yield path


def section_of(text: str) -> tuple[str, ...]:
    """The section whose labels are named in a text; the empty one if there is none."""
    said = re.findall(r"\w+", text)
    return next((labels for labels in SECTIONS if any(label in said for label in labels)), ())


def mean_lines(
    found: Sequence[Result], name: str, group: int, kind: str = "collective", naive: bool = True
) -> list[Line]:
    """Mean over splits with a band of one sample deviation; shorter curves have ended at their last value."""
    lines = []
    budgets = np.array(max((result.values["budgets"] for result in found), key=len))
    for which, key in ((kind, "certified"), ("naive", "naive"))[: 2 if naive else 1]:
        known = [result.ratios(key) for result in found]
        rows = np.array([np.pad(row, (0, len(budgets) - len(row)), mode="edge") for row in known])
        line = mean_line(budgets, rows, which, name, group)
        bands = [part for part in (line.ratio, line.low, line.high) if part is not None]
        kept = _steps(np.stack(bands))
        low, high = (None if part is None else part[kept] for part in (line.low, line.high))
        lines.append(replace(line, values=budgets[kept], ratio=line.ratio[kept], low=low, high=high))
    return lines


def _steps(rows: np.ndarray) -> np.ndarray:
    """Which budgets are drawn: between two, a line has the ratio of the larger, so the last of a step is enough.

    Thousands of budgets would only make a figure slow.
    """
    rows = np.atleast_2d(rows)
    kept = np.ones(rows.shape[1], dtype=bool)
    if len(kept) > FEW:
        kept[1:-1] = (np.diff(rows, axis=1) != 0).any(axis=0)[1:]
    return kept


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


def _several_sources(
    results: Results, form: str, parts: Iterable[tuple[str, str, str]]
) -> tuple[list[Line], list[Result], list[str]]:
    """Lines of one form for several sources (experiment, source, name), what is behind them, and who has none."""
    lines: list[Line] = []
    behind: list[Result] = []
    absent: list[str] = []
    for group, (experiment, source, name) in enumerate(parts):
        found = results.find(experiment, source, form)
        lines += mean_lines(found, name, group) if found else []
        behind += found
        absent += [] if found else [name]
    return lines, behind, absent


def _of_attributes(form: str) -> str:
    """Whose curves are drawn in a form where attributes alone are perturbed: there the tight program is the paper's."""
    return "paper" if form == "tight" else form


def _attributes_alone(form: str, absent: Sequence[str], known: str) -> str:
    """What a caption says about such curves."""
    said = known
    if form == "tight":
        said = f"Where attributes alone are perturbed the tight program is the paper's: the same curves. {said}"
    return said + (f" Not computed: {', '.join(absent)}." if absent else "")


def _datasets(results: Results, form: str) -> Picture | None:
    experiment = "tiers" if form == "strong" else "datasets"
    parts = [(experiment, f"{name}-gcn-attr", NAMES[name]) for name in ("citeseer", "cora_ml", "cora")]
    lines, behind, absent = _several_sources(results, _of_attributes(form), parts)
    if not lines:
        return None
    large = results.find("pubmed", "pubmed-gcn-attr", "strong" if form == "strong" else "tight")
    lines += mean_lines(large, NAMES["pubmed"], len(parts)) if large else []
    behind += large
    absent += [] if large else [NAMES["pubmed"]]
    caption = _attributes_alone(form, absent, _behind(behind))
    if form == "strong":
        caption = _few_budgets(behind[0]) + caption
    figure = CurveFigure(vary="attr_del", lines=tuple(lines), log=True)
    title = "Attribute deletions: " + ("Cora-ML, Citeseer" if form == "strong" else "Cora-ML, Citeseer, PubMed")
    return Picture("fig_datasets", title, caption, figure, experiment)


def _few_budgets(result: Result) -> str:
    """What a caption says where single budgets were searched, each for a limited time."""
    budgets = ", ".join(f"{value:,}" for value in result.values["budgets"])
    return f"Computed at {budgets} deletions only, {result.settings['time_limit']:g} s each. "


def _rules(results: Results, form: str) -> Picture | None:
    """Beyond the paper: the multi-class base certificate on the same votes."""
    binary = results.find("datasets", "citeseer-gcn-attr", "paper")
    many = results.find("datasets", "citeseer-gcn-attr", "tight-multiclass")
    if not binary or not many:
        return None
    lines = mean_lines(binary, "binary rule (paper)", 0) + mean_lines(many, "multi-class rule", 1)
    figure = CurveFigure(vary="attr_del", lines=tuple(lines), log=True)
    title = "Beyond the paper: the multi-class base certificate, Citeseer"
    return Picture("fig_datasets", title, _behind(binary), figure, "datasets")


def _fields(results: Results, form: str) -> Picture | None:
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
            lines += mean_lines(free, name, group, naive=group != 1)
            behind += [result for result in found if result.source not in {known.source for known in behind}]
    if len({line.group for line in lines}) < 2:
        return None
    figure = CurveFigure(vary="adj_del", lines=tuple(lines), log=True)
    caption = "No local budgets, tight program. " + _behind(behind)
    return Picture("fig_local_budget", "Corrected: the edge field, Cora-ML", caption, figure, "local")


def _texts(results: Results, form: str) -> Picture | None:
    names = ("webkb_knn3", "reuters_knn3_d200", "webkb_knn3_directed", "reuters_knn3_d200_directed")
    parts = [("texts", f"{name}-gcn-attr", NAMES[name]) for name in names]
    lines, behind, absent = _several_sources(results, _of_attributes(form), parts)
    if not lines:
        return None
    figure = CurveFigure(vary="attr_del", lines=tuple(lines), log=True)
    caption = _attributes_alone(form, absent, _behind(behind))
    return Picture("nlp_graphs", "Attribute deletions: WebKB and Reuters", caption, figure, "texts")


def _classifiers(results: Results, form: str, dataset: str) -> Picture | None:
    """All on the splits and the number of votes that all of them have."""
    models = ("gcn", "gat", "appnp", "rgcn", "sma")
    lists = (
        on_equal_terms(results, [f"classifiers/{dataset}-{model}-attr/paper" for model in models])
        if form != "strong"
        else []
    )
    if not lists:
        return None
    lines = [line for k, found in enumerate(lists) for line in mean_lines(found, MODELS[models[k]], k)]
    figure = CurveFigure(vary="attr_del", lines=tuple(lines))
    title = f"Classifiers on {NAMES[dataset]}"
    caption = _attributes_alone(form, (), _behind(result for found in lists for result in found))
    return Picture("fig_models, robust_models", title, caption, figure, "classifiers")


def _convex(results: Results, form: str) -> Picture | None:
    found = results.find("convex", "citeseer-gcn-convex", _of_attributes(form))
    if not found:
        return None
    figure = CurveFigure(vary="attr_add", lines=tuple(mean_lines(found, "Citeseer", 0)), log=True)
    caption = _attributes_alone(form, (), _behind(found))
    return Picture("fig_certs", "Convex base certificate on Citeseer", caption, figure, "convex")


def _map(results: Results, experiment: str, source: str, ours: str, reference: str | None) -> ContourFigure | None:
    found = results.find(experiment, source, ours)
    if not found:
        return None
    values = found[0].values
    other = results.find(experiment, source, reference) if reference else []
    if {(r.split, r.samples) for r in other} != {(r.split, r.samples) for r in found}:
        other = []  # a difference between other votes would say nothing about the programs
    return ContourFigure(
        x=values["x"], y=values["y"], x_values=np.array(values["x_values"]), y_values=np.array(values["y_values"]),
        ratio=map_ratio(found), reference=map_ratio(other) if other else map_ratio(found, "naive"),
        reference_kind="paper" if other else "naive", kind="paper" if ours.startswith("paper") else "collective",
    )  # fmt: skip


def _field_words(form: str) -> str:
    if form == "paper":
        return (
            "The paper's program and its edge field (`messages`), which is not sound for this GCN: it claims too much. "
        )
    return f"GCN with the sound edge field (`degrees`), {form} program. "


def _field_title(title: str, form: str) -> str:
    return f"{title}: the paper's field, not sound" if form == "paper" else title


def _joint(results: Results, form: str, dataset: str) -> Picture | None:
    source, variant = f"{dataset}-gcn-joint", f"{form}-{_EDGES[form]}"
    figure = _map(results, "joint", source, variant, None)
    if figure is None:
        return None
    title = _field_title(f"Attribute × edge deletions on {NAMES[dataset]}", form)
    caption = (
        f"{_field_words(form)}Dotted lines: naive. Computed at a few budgets: a line ends at the last of them that has "
        f"enough, the rows beside it know those between. {_behind(results.find('joint', source, variant))}"
    )
    return Picture("fig_joint", title, caption, replace(figure, title=title), "joint")


def _additions(results: Results, form: str, dataset: str) -> Picture | None:
    source = f"{dataset}-gcn-attr"
    figure = _map(results, "attributes", source, form, None if form == "paper" else "paper")
    if figure is None:
        return None
    other = "the paper's program on the same votes" if figure.reference_kind == "paper" else "naive"
    caption = f"{form.capitalize()} program; dotted lines: {other}. "
    title = f"Attribute additions × deletions on {NAMES[dataset]}"
    found = results.find("attributes", source, form)
    return Picture("fig_joint_attr", title, caption + _behind(found), figure, "attributes")


def _several(result: Result, form: str, name: str, label: str, none: str) -> list[Line]:
    """One line per curve of a result; a legend travels further than a caption, so it says what is not sound."""
    lines = []
    doubt = ", field not sound" if form == "paper" else ""
    for group, curve in enumerate(result.values["curves"]):
        part = Result(**{**vars(result), "values": curve})
        title = none if curve[name] is None else f"{label} {curve[name]}"
        lines += mean_lines([part], title + doubt, group, naive=group == 0)
    return lines


def _local(results: Results, form: str) -> Picture | None:
    found = results.find("local", "cora_ml-gcn-adj", f"{form}-{_EDGES[form]}")
    if not found:
        return None
    lines = _several(found[0], form, "local", "per node at most", "no local budget")
    figure = CurveFigure(vary="adj_del", lines=tuple(lines), log=True)
    caption = _field_words(form) + _behind(found[:1])
    title = _field_title("Edge deletions under local budgets, Cora-ML", form)
    return Picture("fig_local_budget", title, caption, figure, "local")


def _attackers(results: Results, form: str) -> Picture | None:
    found = results.find("attackers", "cora_ml-gcn-adj", f"{form}-{_EDGES[form]}")
    if not found:
        return None
    lines = _several(found[0], form, "sigma", "σ =", "no σ")
    figure = CurveFigure(vary="adj_del", lines=tuple(lines), log=True)
    caption = "At most 16 deletions per node. " + _field_words(form) + _behind(found[:1])
    title = _field_title("Edge deletions by few attackers, Cora-ML", form)
    return Picture("fig_num_attackers", title, caption, figure, "attackers")


def _gap(results: Results, form: str, experiment: str, label: str, vary: str, field: str) -> Picture | None:
    """The paper's program next to the strong search and to what the best attack leaves."""
    found = next(iter(results.find(experiment, None, f"strong{field}")), None)
    if found is None:
        return None
    doubt = ", field not sound" if field == "-messages" else ""
    relaxed = _of_rows(found, f"relaxed{doubt}", 1, "relaxed", "paper")
    lines = (_searched(found, f"strong program{doubt}", 0, "exact"), relaxed)
    figure = CurveFigure(vary=vary, lines=lines)
    caption = f"Time limit {found.settings['time_limit']:g} s per budget. " + _behind([found])
    what = "attribute deletions" if vary == "attr_del" else "edge deletions"
    title = f"Integrality gap, {what}, Cora-ML" + (": the paper's field, not sound" if doubt else "")
    return Picture(label, title, caption, figure, experiment)


def _of_rows(found: Result, name: str, group: int, key: str, kind: str) -> Line:
    """One number of every budget as a line."""
    values = np.array([row["value"] for row in found.values["rows"]])
    ratio = np.array([row[key] for row in found.values["rows"]]) / found.targets
    return Line(values=values, ratio=ratio, kind=kind, name=name, group=group)


def _searched(found: Result, name: str, group: int, key: str) -> Line:
    """The same with what the best attack leaves as the other edge of a bracket, where one was tried at every budget."""
    broken = [row["attack"] for row in found.values["rows"]]
    leaves = None if None in broken else (found.targets - np.array(broken)) / found.targets
    return replace(_of_rows(found, name, group, key, "collective"), leaves=leaves)


def _contour(results: Results, form: str, dataset: str) -> Picture | None:
    """Beyond the paper: how much further the strong search certifies half of the targets, on the same votes."""
    source = f"{dataset}-gcn-joint"
    found = next(iter(results.find("joint-contour", source, "strong")), None)
    votes = None if found is None else found.provenance.get("instance")
    plain = [r for r in results.find("joint-edge", source, "paper") if r.provenance.get("instance") == votes]
    if found is None or not plain or not found.values["rows"]:
        return None
    strong = _searched(found, "strong program", 1, "certified")
    length = int(np.searchsorted(plain[0].values["budgets"], strong.values[-1], side="right"))
    near = {key: plain[0].values[key][:length] for key in ("budgets", "certified", "naive")}
    lines = mean_lines([replace(plain[0], values=near)], "paper's program, as tight", 0)
    figure = CurveFigure(vary="attr_del", lines=(*lines, strong))
    caption = (
        "Smoothing attributes and edges, deleting attributes alone. The strong search begins at the first budget at "
        "which the paper's program certifies fewer than half, and ends at its own first one; "
        f"{found.settings['time_limit']:g} s per budget. {_behind([found])}"
    )
    title = f"Beyond the paper: the 50 % contour, {NAMES[dataset]}"
    return Picture("fig_joint", title, caption, figure, "joint-contour")


def _tiers(results: Results, form: str, dataset: str) -> Picture | None:
    """Beyond the paper: what the strong search and the multi-class rule add at a few budgets, over splits."""
    names = (("tight", "tight"), ("strong", "strong"), ("tight-multiclass", "multi-class rule"))
    lines: list[Line] = []
    behind: list[Result] = []
    for group, (variant, name) in enumerate(names):
        found = results.find("tiers", f"{dataset}-gcn-attr", variant)
        lines += mean_lines(found, name, group, naive=group == 0) if found else []
        behind = behind or found
    if len({line.group for line in lines}) < 2:
        return None
    figure = CurveFigure(vary="attr_del", lines=tuple(lines))
    title = f"Beyond the paper: tight, strong and multi-class, {NAMES[dataset]}"
    return Picture("fig_datasets", title, _behind(behind), figure, "tiers")


FIGURES = (
    FigureSpec("datasets", "Graphs", _datasets),
    FigureSpec("rules", "Multi-class rule, Citeseer", _rules, forms=("paper",)),
    *(
        FigureSpec(f"tiers-{dataset}", f"Strong, {NAMES[dataset]}", partial(_tiers, dataset=dataset), forms=("paper",))
        for dataset in ("citeseer", "cora_ml")
    ),
    *(
        FigureSpec(f"joint-{dataset}-gcn-joint", NAMES[dataset], partial(_joint, dataset=dataset), first="tight")
        for dataset in ("cora_ml", "cora", "citeseer")
    ),
    *(
        FigureSpec(
            f"contour-{dataset}", f"Strong, {NAMES[dataset]}", partial(_contour, dataset=dataset), forms=("paper",)
        )
        for dataset in ("cora_ml", "citeseer")
    ),
    *(
        FigureSpec(f"classifiers-{dataset}", NAMES[dataset], partial(_classifiers, dataset=dataset))
        for dataset in ("cora_ml", "citeseer")
    ),
    FigureSpec("convex", "Citeseer", _convex),
    FigureSpec("local", "Local budgets", _local, first="tight"),
    FigureSpec("fields", "Corrected: the edge field", _fields, forms=("paper",)),
    FigureSpec("attackers", "Cora-ML", _attackers, first="tight"),
    FigureSpec("texts", "WebKB and Reuters", _texts),
    *(
        FigureSpec(
            f"attributes-{dataset}-gcn-attr", NAMES[dataset], partial(_additions, dataset=dataset), first="tight"
        )
        for dataset in ("cora_ml", "citeseer")
    ),
    *(
        FigureSpec(name, short, partial(_gap, experiment=work, label=label, vary=vary, field=rule), forms=("paper",))
        for name, short, work, label, vary, rule in (
            ("gap-attributes", "Cora-ML", "gap-attributes", "fig_milp_attr", "attr_del", ""),
            ("gap-edges", "The paper's field", "gap-edges", "fig_milp_adj", "adj_del", "-messages"),
            ("gap-edges-sound", "Sound field", "gap-edges", "fig_milp_adj", "adj_del", "-degrees"),
        )
    ),
)
