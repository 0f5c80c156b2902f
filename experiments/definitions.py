"""The paper's experiments, by figure: which models on which graphs, under which budgets."""

from __future__ import annotations

from typing import Any

from certcore.common.errors import InputError
from certcore.domain.edge_field import EdgeField
from experiments import computations, look_up
from experiments.source import Source
from experiments.trial_lists import JOINT, TEXT_WITH_PAPER_VOTES, TEXTS
from experiments.unit import Experiment, Variant, Work

PAPER, TIGHT, STRONG = Variant("paper"), Variant("tight"), Variant("strong")
MULTICLASS = Variant("tight", rule="multiclass")
FEWER, FEWEST = (Variant("paper", samples=number) for number in (look_up.FEWER, look_up.FEWEST))
#: With the edge field of the paper, which is not sound for a GCN, and with the sound one.
TIGHT_MESSAGES, TIGHT_DEGREES = Variant("tight", EdgeField.MESSAGES), Variant("tight", EdgeField.DEGREES)
PAPER_MESSAGES = Variant("paper", EdgeField.MESSAGES)
_CLASSIFIERS = ("gcn", "gat", "appnp", "rgcn", "sma")
_SMALL = [*range(0, 10), *range(10, 31, 2)]
_LOG = [
    0, 1, 2, 4, 6, 8, 10, 15, 21, 30, 50, 75, 100, 150, 200, 300, 500, 750, 1000, 1500, 2000, 3000, 5000, 7500, 10000,
]  # fmt: skip


def _experiment(
    name: str, title: str, figure: str, work: Work, sources: tuple[Source, ...], variants: tuple[Variant, ...],
    first_split_only: bool = False, **settings: Any,
) -> Experiment:  # fmt: skip
    return Experiment(name, title, figure, work, sources, variants, settings, first_split_only)


# fmt: off
EXPERIMENTS = (
    _experiment("datasets", "Certified ratio over attribute deletions", "fig_datasets", computations.radius_curve,
        (Source("citeseer"), Source("cora_ml"), Source("cora")), (PAPER, FEWER, MULTICLASS), vary="attr_del",
        most=8192),
    _experiment("pubmed", "Certified ratio over attribute deletions, PubMed", "fig_datasets", computations.log_curve,
        (Source("pubmed"),), (TIGHT,), vary="attr_del", values=_LOG),
    _experiment("texts", "Certified ratio over attribute deletions, WebKB and Reuters", "nlp_graphs",
        computations.radius_curve,
        tuple(Source(name + way) for name in ("webkb_knn3", "reuters_knn3_d200") for way in ("", "_directed")),
        (PAPER, FEWER, MULTICLASS), vary="attr_del", most=8192),
    _experiment("joint", "Attribute deletions × edge deletions", "fig_joint", computations.budget_map,
        (Source("cora_ml", types="joint"), Source("cora", types="joint"), Source("citeseer", types="joint")),
        (TIGHT_MESSAGES, TIGHT_DEGREES, PAPER_MESSAGES),
        x="attr_del", x_values=[0, 4, 8, 12, 20, 30, 40, 60], y="adj_del", y_values=[0, 2, 4, 8, 14, 20]),
    _experiment("joint-edge",
        "The edge of the joint map: attribute deletions alone, smoothing both attributes and edges", "fig_joint",
        computations.log_curve,
        (Source("cora_ml", types="joint"), Source("cora", types="joint"), Source("citeseer", types="joint")),
        (PAPER, TIGHT, FEWER), vary="attr_del", values=list(range(0, 121))),
    _experiment("edges", "Certified ratio over edge deletions, with the paper's field and the sound one, over splits",
        "fig_local_budget", computations.log_curve, (Source("citeseer", types="adj"),),
        (TIGHT_MESSAGES, TIGHT_DEGREES), vary="adj_del",
        values=[0, 1, 2, 5, 10, 20, 50]),
    _experiment("text-variants",
        "What the graphs of WebKB and Reuters may have been: one change each, trained and voted again", "nlp_graphs",
        computations.radius_curve, (Source("webkb_knn3"), Source("reuters_knn3_d200")),
        (*TEXTS, TEXT_WITH_PAPER_VOTES), first_split_only=True, vary="attr_del", most=8192),
    _experiment("joint-variants",
        "What moves the 50 % contour: noise and training changed one at a time, trained and voted again", "fig_joint",
        computations.log_curve, (Source("cora_ml", types="joint"),), JOINT, first_split_only=True, vary="attr_del",
        values=list(range(0, 81))),
    _experiment("attributes", "Attribute additions × attribute deletions", "fig_joint_attr", computations.budget_map,
        (Source("cora_ml"), Source("citeseer")), (TIGHT, PAPER), first_split_only=True, x="attr_add",
        x_values=[0, 1, 2, 4, 8, 14, 20], y="attr_del", y_values=[0, 4, 8, 14, 21, 30, 40]),
    _experiment("classifiers", "GCN, GAT, APPNP, RGCN and SMA over attribute deletions", "fig_models, robust_models",
        computations.log_curve,
        tuple(Source(dataset, model) for dataset in ("cora_ml", "citeseer") for model in _CLASSIFIERS),
        (PAPER, FEWER, FEWEST), vary="attr_del", values=[*_SMALL[:-5], 21, *_SMALL[-5:]]),
    _experiment("convex", "Attribute additions with the convex base certificate", "fig_certs",
        computations.radius_curve, (Source("citeseer", types="convex"),), (PAPER, TIGHT), vary="attr_add", most=16384,
        local=21),
    _experiment("local", "Edge deletions under local budgets", "fig_local_budget", computations.local_curves,
        (Source("cora_ml", types="adj"), Source("cora_ml", "gcn_mean", "adj")),
        (TIGHT_MESSAGES, TIGHT_DEGREES, PAPER_MESSAGES),
        first_split_only=True, vary="adj_del", values=[0, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000],
        local=[1, 2, 5, None]),
    _experiment("attackers", "Edge deletions by a limited number of attackers", "fig_num_attackers",
        computations.attacker_curves, (Source("cora_ml", types="adj"),),
        (PAPER_MESSAGES, TIGHT_DEGREES), first_split_only=True,
        vary="adj_del", values=[0, 5, 16, 64, 160, 400, 600], local=16, sigma=[1, 10, 25]),
    _experiment("gap-attributes", "Integrality gap, attribute deletions", "fig_milp_attr", computations.brackets,
        (Source("cora_ml"),), (STRONG,), first_split_only=True, vary="attr_del", values=list(range(1, 13)),
        time_limit=60.0),
    _experiment("gap-edges", "Integrality gap, edge deletions", "fig_milp_adj", computations.brackets,
        (Source("cora_ml", types="adj"),),
        (Variant("strong", EdgeField.MESSAGES), Variant("strong", EdgeField.DEGREES)), first_split_only=True,
        vary="adj_del", values=list(range(1, 13)), time_limit=60.0),
    _experiment("tiers", "Tight, strong and multi-class certificates, and certified accuracy, over splits",
        "fig_datasets", computations.tiers, (Source("citeseer"), Source("cora_ml")), (TIGHT, MULTICLASS, STRONG),
        vary="attr_del", values=[5, 10, 20, 100], time_limit=8.0),
    _experiment("joint-contour", "The 50 % contour of the joint map: paper's program, strong program, best attack",
        "fig_joint", computations.contour, (Source("cora_ml", types="joint"), Source("citeseer", types="joint")),
        (STRONG,), vary="attr_del", share=0.5, most=80, time_limit=20.0),
    _experiment("seconds-attributes", "Seconds per certificate, attribute deletions", "section 5, appendix",
        computations.clock,
        tuple(Source(name) for name in ("cora_ml", "citeseer", "pubmed", "webkb_knn3", "reuters_knn3_d200")),
        (PAPER, TIGHT), first_split_only=True, threats=[{"attr_del": value} for value in (1, 10, 100, 1000)]),
    _experiment("seconds-joint", "Seconds per certificate, attribute and edge deletions", "section 5",
        computations.clock, (Source("cora_ml", types="joint"),),
        (PAPER_MESSAGES, TIGHT_MESSAGES, TIGHT_DEGREES),
        first_split_only=True,
        threats=[{"attr_del": a, "adj_del": e} for a, e in ((4, 4), (12, 8), (24, 12), (40, 20))]),
    _experiment("seconds-additions", "Seconds per certificate, attribute additions and deletions", "appendix",
        computations.clock, (Source("cora_ml"),), (PAPER, TIGHT), first_split_only=True,
        threats=[{"attr_add": a, "attr_del": d} for a, d in ((2, 8), (8, 21), (12, 30), (20, 40))]),
    _experiment("seconds-convex", "Seconds per certificate, convex base certificate", "section 5", computations.clock,
        (Source("citeseer", types="convex"),), (PAPER, TIGHT), first_split_only=True,
        threats=[{"attr_add": value, "local_attr_add": 21} for value in (1, 10, 100, 1000)]),
)
# fmt: on

BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}


def chosen(name: str) -> tuple[Experiment, ...]:
    """An experiment by its name or by the label of its figure in the paper; `all` for every one."""
    if name == "all":
        return EXPERIMENTS
    found = tuple(e for e in EXPERIMENTS if name == e.name or name in e.figure.split(", "))
    if not found:
        labels = sorted(
            {label for e in EXPERIMENTS for label in e.figure.split(", ") if label.startswith(("fig", "nlp", "rob"))}
        )
        raise InputError(
            f"there is no experiment {name!r}; expected all, {', '.join(BY_NAME)}, or a figure ({', '.join(labels)})"
        )
    return found


def command(name: str) -> str:
    """What computes an experiment again; graphs that are not part of the project come from a folder."""
    local = any(source.local for experiment in chosen(name) for source in experiment.sources)
    return f"`python -m experiments {name}{' --data DIR' if local else ''}`"
