"""Figures computed again from their recipes: a recipe is loaded, its certificates are computed, the figure is made.

The figures themselves (`certcore.figures`) only draw results; what computes them for `certcore draw` is here.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from certcore.common.errors import InputError
from certcore.domain.local_mode import LocalMode
from certcore.domain.perturbations import TYPES
from certcore.domain.threat import ThreatModel
from certcore.figures.escape import clean
from certcore.figures.figure import Figure
from certcore.figures.kinds.bars import class_figure, votes_figure
from certcore.figures.kinds.base import base_figure
from certcore.figures.kinds.compare import CompareEntry, compare_figure
from certcore.figures.kinds.contour import MapOf, contour_figure
from certcore.figures.kinds.curve_lines import controls_beside, curve_figure
from certcore.figures.kinds.distribution import distribution_figure
from certcore.figures.kinds.front import front_figure, two_axes
from certcore.figures.kinds.graph import Palette, graph_figure, read_states
from certcore.figures.paper import paper_figure
from certcore.figures.recipe import Recipe, member_name
from certcore.figures.style import Kind
from certcore.instance.instance import Instance, accuracy_of, load_instance
from certcore.instance.local_limits import within_base
from certcore.program.relaxation import Relaxation
from certcore.result.attack_text import read_attack
from certcore.result.certificate import Certificate
from certcore.sweep import Curve, Session, Surface, curve, surface
from certcore.sweep.attack_curve import attacks_over, best_attacks, best_below, best_within
from certcore.sweep.axis import Axis
from certcore.sweep.classes import certify_classes

#: Every kind of figure that can be made again, and what it shows; `paper` is read from a file, the others are computed.
KINDS_OF_FIGURES = {"paper": "a figure of the paper from the stored results"}


class LoadedRecipe:
    """A recipe with its instances loaded."""

    def __init__(self, recipe: Recipe, instances: list[Instance]) -> None:
        self.recipe = recipe
        self.instances = instances
        self.instance = instances[0]
        self.options = dict(recipe.options)
        # The strong search by time and the integer program serve single certificates; sweeps then use their relaxation.
        self.rounds: int | None = self.options.get("rounds")
        self.swept = recipe.relaxation if self.rounds is not None else str(Relaxation(recipe.relaxation).relaxed)

    def need(self, name: str) -> Any:
        value = self.options.get(name)
        if value is None or value == []:
            raise InputError(f"a figure of kind {self.recipe.kind} needs --{name.replace('_', '-')}")
        return value

    def targets(self, instance: Instance) -> np.ndarray | None:
        """The chosen targets; None: the instance's own."""
        if self.recipe.targets is not None:
            return instance.select_targets(self.recipe.targets)
        return None if self.recipe.nodes is None else np.array(self.recipe.nodes, dtype=np.int64)

    def target_nodes(self) -> np.ndarray:
        chosen = self.targets(self.instance)
        return np.asarray(self.instance.targets if chosen is None else chosen)

    def threat(self, instance: Instance) -> ThreatModel:
        return ThreatModel.from_json(dict(self.recipe.threat), targets=self.targets(instance))

    def marker(self, threat: ThreatModel, name: str) -> float | None:
        """Where the threat model itself stands on an axis."""
        value: Any = getattr(threat, name)
        shares = name.startswith("local_") and threat.local_mode == LocalMode.RELATIVE
        return None if value is None or isinstance(value, np.ndarray) or shares else float(value)

    def node(self) -> int:
        node = int(self.need("node"))
        if node >= self.instance.graph.n_nodes:
            raise InputError(f"there is no node {node:,}; expected 0 to {self.instance.graph.n_nodes - 1:,}")
        return node

    def node_name(self, node: int) -> str:
        names = self.instance.node_names
        return clean(names[node], 60) if names is not None else f"node {node}"

    def class_name(self, k: int) -> str:
        known = self.instance.class_names
        return known[k] if known is not None and k < len(known) else f"class {k}"

    def certificate(self) -> Certificate:
        """The certificate with the attack that the recipe lists; without one an attack is searched for."""
        threat = self.threat(self.instance)
        text = self.options.get("attack")
        session = Session(self.instance)  # among several optimal solutions, the one that the dashboard found
        if text is None:
            return session.certify(threat, relaxation=self.recipe.relaxation, rounds=self.rounds)
        attack = read_attack(self.instance, threat, text)
        found = session.certify(threat, relaxation=self.swept, rounds=self.rounds, attack=False)
        return dataclasses.replace(found, attack=attack)

    def curve(self, instance: Instance, threat: ThreatModel, relaxation: str) -> Curve:
        rounds = self.rounds if relaxation == Relaxation.STRONG else None
        values = self.need("values")
        return curve(Session(instance), threat, self.need("vary"), values, relaxation=relaxation, rounds=rounds)


_Maker = Callable[[LoadedRecipe], Figure]
MAKERS: dict[str, tuple[_Maker, bool]] = {}


def makes(kind: str, what: str, *, several: bool = False) -> Callable[[_Maker], _Maker]:
    """Register how one kind of figure is made from one instance, or from several."""

    def register(maker: _Maker) -> _Maker:
        KINDS_OF_FIGURES[kind] = what
        MAKERS[kind] = maker, several
        return maker

    return register


def make(recipe: Recipe) -> Figure:
    """The figure of a recipe, with that recipe: the same numbers as where it was taken from."""
    if recipe.kind == "paper":
        return paper_figure(recipe.instances)
    if recipe.kind not in MAKERS:
        raise InputError(f"there is no figure {recipe.kind!r}; expected one of {', '.join(KINDS_OF_FIGURES)}")
    maker, several = MAKERS[recipe.kind]
    if not recipe.instances or (len(recipe.instances) > 1 and not several):
        wanted = "at least one instance" if several else "one instance"
        raise InputError(f"a figure of kind {recipe.kind} takes {wanted}; {len(recipe.instances)} are given")
    loaded = LoadedRecipe(recipe, [load_instance(path, base_rule=recipe.base_rule) for path in recipe.instances])
    return dataclasses.replace(maker(loaded), recipe=recipe)


@makes("curve", "certified ratio against one budget, for one or several lines and splits", several=True)
def _make_curve(loaded: LoadedRecipe) -> Figure:
    options = loaded.options
    axis = options.get("family")
    family = None if axis is None else Axis.parse(axis)
    members: list[Any] = loaded.need("members") if family else [None]
    kinds = [loaded.swept] + ([Relaxation.PAPER] if options.get("paper") and loaded.swept != Relaxation.PAPER else [])
    found: dict[str, list[list[Curve]]] = {}
    for kind in kinds:
        found[kind] = []
        for value in members:
            line = []
            for instance in loaded.instances:
                threat = loaded.threat(instance)
                if family is not None:
                    threat = family.at(threat, value)
                line.append(loaded.curve(instance, threat, kind))
            found[kind].append(line)
    vary = Axis.parse(loaded.need("vary")).name
    attacks, known = None, options.get("bracket")
    if known:
        attacks = _attacks_at(loaded, vary, known)
    return curve_figure(
        found[kinds[0]],
        vary=vary,
        names=[] if family is None else [member_name(family.name, value) for value in members],
        paper=found.get(Relaxation.PAPER, []) if len(kinds) > 1 else [],
        naive=not options.get("no_naive"),
        log=bool(options.get("log")),
        marker=loaded.marker(loaded.threat(loaded.instance), vary),
        attacks=attacks,
        accuracy_of=options.get("accuracy_of"),
        controls=_mean_controls(loaded, vary, options.get("accuracy_of")),
    )


def _mean_controls(loaded: LoadedRecipe, vary: str, accuracy_of: int | None) -> dict[str, float]:
    """Over the splits, as the line itself; none if one of them does not know them all."""
    found = [controls_beside(one, loaded.threat(one), vary, accuracy_of) for one in loaded.instances]
    if any(one.keys() != found[0].keys() for one in found):
        return {}
    return {label: sum(one[label] for one in found) / len(found) for label in found[0]}


def _attacks_at(loaded: LoadedRecipe, vary: str, values: list[Any]) -> np.ndarray:
    """Targets that the best attacks known leave at each value: those listed in the recipe, or else searched for now.

    The recipe lists them because which attack is found depends on what was solved before.
    """
    left = loaded.options.get("left")
    if left is None:
        threat, all_values = loaded.threat(loaded.instance), loaded.need("values")
        return best_attacks(loaded.instance, threat, vary, all_values, searched=values, relaxation=loaded.swept)
    listed = str(left)
    if not re.fullmatch(r"\d{1,9}(,\d{1,9})*", listed, flags=re.ASCII) or listed.count(",") + 1 != len(values):
        raise InputError(f"--left is {listed[:40]!r}; expected {len(values)} whole numbers, one for each of --bracket")
    return best_below(loaded.need("values"), np.array(values), np.array([int(part) for part in listed.split(",")]))


@makes("compare", "several instances over the same budget", several=True)
def _make_compare(loaded: LoadedRecipe) -> Figure:
    """Instances of the same name are splits of one line; each has the local budgets that its base certificate knows."""
    vary = Axis.parse(loaded.need("vary")).name
    names = [str(name) for name in loaded.options.get("names") or ()]
    names = names or [Path(path).stem for path in loaded.recipe.instances]
    if len(names) != len(loaded.instances):
        raise InputError(f"{len(names)} names for {len(loaded.instances)} instances; give each of them one --name")
    lines: dict[str, list[Curve]] = {}
    asked: dict[str, int | None] = {}
    for name, instance in zip(names, loaded.instances):
        asked[name] = accuracy_of(instance, loaded.recipe.targets)
        threat = within_base(loaded.threat(instance), instance)
        lines.setdefault(name, []).append(loaded.curve(instance, threat, loaded.swept))
    return compare_figure(
        [CompareEntry(name, curves, accuracy_of=asked[name]) for name, curves in lines.items()],
        vary=vary,
        log=bool(loaded.options.get("log")),
        marker=loaded.marker(loaded.threat(loaded.instance), vary),
    )


@makes("map", "certified ratio over two budgets")
def _make_map(loaded: LoadedRecipe) -> Figure:
    options = loaded.options
    show = options.get("show", "ratio")
    if show not in ("ratio", "naive", "paper", "bracket"):
        raise InputError(f"--show is {show!r}; expected ratio, naive, paper or bracket")
    x, y = (Axis.parse(loaded.need(name), local=False).name for name in ("x", "y"))
    threat = loaded.threat(loaded.instance)
    session = Session(loaded.instance)

    def over(relaxation: str) -> Surface:
        xs, ys = loaded.need("x_values"), loaded.need("y_values")
        rounds = loaded.rounds if relaxation == Relaxation.STRONG else None
        return surface(session, threat, x, xs, y, ys, relaxation=relaxation, rounds=rounds)

    across, up = loaded.marker(threat, x), loaded.marker(threat, y)
    main = over(Relaxation.TIGHT if show == "paper" else loaded.swept)
    attacks = None
    if options.get("left") is not None or show == "bracket":
        left = options.get("left")
        known = _attacks_now(session, main, loaded.swept) if left is None else _attacks_listed(str(left))
        attacks = best_within(main.x_values, main.y_values, known)
    return contour_figure(
        main,
        x=x,
        y=y,
        show=MapOf.parse({"naive": "difference", "paper": "difference"}.get(show, show), "show"),
        attacks=attacks,
        reference=over(Relaxation.PAPER) if show == "paper" else None,
        reference_kind=Kind.PAPER if show == "paper" else Kind.NAIVE,
        kind=Kind.PAPER if loaded.swept == Relaxation.PAPER and show != "paper" else Kind.COLLECTIVE,
        levels=tuple(float(level) for level in options.get("levels", (0.5, 0.7))),
        marker=None if across is None or up is None else (across, up),
        accuracy_of=options.get("accuracy_of"),
    )


def _attacks_listed(text: str) -> list[tuple[int, int, int]]:
    """The attacks listed in the recipe, as (x, y, uncertified targets): a new search may find others."""
    if not re.fullmatch(r"\d{1,9}/\d{1,9}/\d{1,9}(,\d{1,9}/\d{1,9}/\d{1,9})*", text, flags=re.ASCII):
        raise InputError(f"--left is {text[:40]!r}; expected X/Y/N,… : attacks at (X, Y) that left N uncertified")
    return [tuple(int(part) for part in one.split("/")) for one in text.split(",")]  # type: ignore[misc]


def _attacks_now(session: Session, found: Surface, relaxation: str) -> list[tuple[int, int, int]]:
    cells = [(int(x), int(y)) for x in found.x_values for y in found.y_values]
    return list(attacks_over(session, found.threat, found.x, found.y, cells, relaxation=relaxation))


@makes("base", "share certified node by node")
def _make_base(loaded: LoadedRecipe) -> Figure:
    axes = [str(loaded.options[name]) for name in ("x", "y") if loaded.options.get(name)]
    axes = axes or [str(name) for name in TYPES if name in loaded.instance.base.axes][:2]
    return base_figure(loaded.instance.base.fronts(), *axes, nodes=loaded.target_nodes())


@makes("classes", "certified ratio of each predicted class")
def _make_classes(loaded: LoadedRecipe) -> Figure:
    threat, targets = loaded.threat(loaded.instance), loaded.target_nodes()
    found = certify_classes(loaded.instance, threat, targets, relaxation=loaded.swept, rounds=loaded.rounds)
    labels, *counts = zip(*found)
    return class_figure([loaded.class_name(k) for k in labels], *counts)


@makes("votes", "the votes for one node")
def _make_votes(loaded: LoadedRecipe) -> Figure:
    votes = loaded.instance.base.arrays().get("votes")
    prediction = loaded.instance.prediction
    if votes is None or prediction is None:
        raise InputError("this base certificate does not rest on votes; there are none to draw")
    node = loaded.node()
    counts = np.asarray(votes)[node]
    names = [loaded.class_name(k) for k in range(len(counts))]
    return votes_figure(counts, names, int(np.asarray(prediction)[node]), loaded.node_name(node))


@makes("front", "the front of one node, with what it receives in an attack")
def _make_front(loaded: LoadedRecipe) -> Figure:
    node = loaded.node()
    certificate = loaded.certificate()
    where = np.flatnonzero(certificate.target_nodes == node)
    attack = certificate.attack
    received = None if attack is None or not len(where) else [float(v) for v in attack.inside[where[0]]]
    x, y = two_axes(loaded.instance, certificate.threat)
    return front_figure(
        loaded.instance.base.fronts().of_node(node),
        str(loaded.options.get("x") or x),
        str(loaded.options.get("y") or y),
        received=received,
        budgets=certificate.threat.budgets,
        node=loaded.node_name(node),
    )


@makes("graph", "the graph with an attack")
def _make_graph(loaded: LoadedRecipe) -> Figure:
    certificate = loaded.certificate()
    relaxed = bool(loaded.options.get("relaxed"))
    if relaxed and certificate.fractional is None:
        raise InputError(
            "there is no relaxed adversary here: with whole-graph fields and votes over groups its flips have no places"
        )
    palette, only = str(loaded.options.get("palette", Palette.STATE)), read_states(loaded.options.get("only") or "")
    zoomed = bool(loaded.options.get("zoomed"))
    return graph_figure(loaded.instance, certificate, relaxed=relaxed, palette=palette, only=only, zoomed=zoomed)


@makes("distribution", "distribution of p over the targets")
def _make_distribution(loaded: LoadedRecipe) -> Figure:
    p = getattr(loaded.instance.base, "probability", None)
    if p is None:
        raise InputError("this base certificate does not rest on votes; there is no p to draw")
    return distribution_figure(np.asarray(p)[loaded.target_nodes()])
