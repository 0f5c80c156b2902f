"""Make a figure again from its recipe: the one place that knows how each kind of figure is computed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from certcore.common.errors import InputError
from certcore.domain.perturbations import TYPES
from certcore.domain.threat import ThreatModel
from certcore.figures import build
from certcore.figures.data import Figure
from certcore.figures.escape import clean
from certcore.figures.recipe import KINDS_OF_FIGURES, Recipe, member_name
from certcore.instance.instance import Instance, load_instance
from certcore.instance.limits import within_base
from certcore.program.relaxation import Relaxation
from certcore.result.attack_text import read_attack
from certcore.result.certificate import Certificate
from certcore.sweep import Curve, Session, Surface, curve, surface
from certcore.sweep.axis import Axis


def make(recipe: Recipe) -> Figure:
    """The figure of a recipe, with that recipe: the same numbers as on the screen where it was taken from."""
    if recipe.kind not in KINDS_OF_FIGURES:
        raise InputError(f"there is no figure {recipe.kind!r}; expected one of {', '.join(KINDS_OF_FIGURES)}")
    if recipe.kind == "paper":
        return _paper(recipe)
    several = recipe.kind in ("curve", "compare")
    if not recipe.instances or (len(recipe.instances) > 1 and not several):
        wanted = "at least one instance" if several else "one instance"
        raise InputError(f"a figure of kind {recipe.kind} takes {wanted}; {len(recipe.instances)} are given")
    kitchen = _Kitchen(recipe, [load_instance(path, base_rule=recipe.base_rule) for path in recipe.instances])
    return dataclasses.replace(_KINDS[recipe.kind](kitchen), recipe=recipe)


class _Kitchen:
    """A recipe with its instances loaded."""

    def __init__(self, recipe: Recipe, instances: list[Instance]) -> None:
        self.recipe = recipe
        self.instances = instances
        self.instance = instances[0]
        self.options = dict(recipe.options)
        # A search or an integer program answers one certificate, not a whole sweep of them.
        self.swept = str(Relaxation(recipe.relaxation).relaxed)

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
        shares = name.startswith("local_") and threat.local_mode == "relative"
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
        """With the attack of the recipe replayed; without one an attack is looked for."""
        threat = self.threat(self.instance)
        text = self.options.get("attack")
        session = Session(self.instance)  # as everywhere else: equal programs find equal solutions among several
        if text is None:
            return session.certify(threat, relaxation=self.recipe.relaxation, rounds=self.options.get("rounds"))
        attack = read_attack(self.instance, threat, text)
        found = session.certify(threat, relaxation=self.swept, attack=False)
        return dataclasses.replace(found, attack=attack)

    def curve(self, instance: Instance, threat: ThreatModel, relaxation: str) -> Curve:
        return curve(Session(instance), threat, self.need("vary"), self.need("values"), relaxation=relaxation)


def _curve(kitchen: _Kitchen) -> Figure:
    options = kitchen.options
    axis = options.get("family")
    family = None if axis is None else Axis.parse(axis)
    members: list[Any] = kitchen.need("members") if family else [None]
    kinds = [kitchen.swept] + (["paper"] if options.get("paper") and kitchen.swept != "paper" else [])
    found: dict[str, list[list[Curve]]] = {}
    for kind in kinds:
        found[kind] = []
        for value in members:
            line = []
            for instance in kitchen.instances:
                threat = kitchen.threat(instance)
                if family is not None:
                    threat = family.at(threat, value)
                line.append(kitchen.curve(instance, threat, kind))
            found[kind].append(line)
    vary = Axis.parse(kitchen.need("vary")).name
    return build.curve_figure(
        found[kinds[0]],
        vary=vary,
        names=[] if family is None else [member_name(family.name, value) for value in members],
        paper=found.get("paper", []) if len(kinds) > 1 else [],
        naive=not options.get("no_naive"),
        log=bool(options.get("log")),
        marker=kitchen.marker(kitchen.threat(kitchen.instance), vary),
    )


def _map(kitchen: _Kitchen) -> Figure:
    options = kitchen.options
    show = options.get("show", "ratio")
    if show not in ("ratio", "naive", "paper"):
        raise InputError(f"--show is {show!r}; expected ratio, naive or paper")
    x, y = (Axis.parse(kitchen.need(name), local=False).name for name in ("x", "y"))
    threat = kitchen.threat(kitchen.instance)
    session = Session(kitchen.instance)

    def over(relaxation: str) -> Surface:
        xs, ys = kitchen.need("x_values"), kitchen.need("y_values")
        return surface(session, threat, x, xs, y, ys, relaxation=relaxation)

    across, up = kitchen.marker(threat, x), kitchen.marker(threat, y)
    return build.contour_figure(
        over("tight" if show == "paper" else kitchen.swept),
        x=x,
        y=y,
        show="ratio" if show == "ratio" else "difference",
        reference=over("paper") if show == "paper" else None,
        reference_kind="paper" if show == "paper" else "naive",
        kind="paper" if kitchen.swept == "paper" and show != "paper" else "collective",
        levels=tuple(float(level) for level in options.get("levels", (0.5, 0.7))),
        marker=None if across is None or up is None else (across, up),
    )


def _compare(kitchen: _Kitchen) -> Figure:
    """Instances of the same name are splits of one line; each has the local budgets that its base certificate knows."""
    vary = Axis.parse(kitchen.need("vary")).name
    names = [str(name) for name in kitchen.options.get("names") or ()]
    names = names or [Path(path).stem for path in kitchen.recipe.instances]
    if len(names) != len(kitchen.instances):
        raise InputError(f"{len(names)} names for {len(kitchen.instances)} instances; give each of them one --name")
    lines: dict[str, list[Curve]] = {}
    for name, instance in zip(names, kitchen.instances):
        threat = within_base(kitchen.threat(instance), instance)
        lines.setdefault(name, []).append(kitchen.curve(instance, threat, kitchen.swept))
    return build.compare_figure(
        [build.CompareEntry(name, curves) for name, curves in lines.items()],
        vary=vary,
        log=bool(kitchen.options.get("log")),
        marker=kitchen.marker(kitchen.threat(kitchen.instance), vary),
    )


def class_counts(
    session: Session, threat: ThreatModel, targets: np.ndarray, relaxation: str, **more: Any
) -> tuple[list[int], list[int], list[int], list[int]] | None:
    """Classes among the targets, and for each as its own target set: certified, naive and size; None: no labels."""
    prediction = session.instance.prediction
    if prediction is None:
        return None
    present = np.unique(np.asarray(prediction)[targets]).tolist()
    found = []
    for k in present:
        mine = np.asarray(targets)[np.asarray(prediction)[targets] == k]
        result = session.certify(threat.replace(targets=mine), relaxation=relaxation, attack=False, **more)
        found.append((result.certified, result.naive_certified, result.targets))
    certified, naive, sizes = (list(part) for part in zip(*found))
    return present, certified, naive, sizes


def _classes(kitchen: _Kitchen) -> Figure:
    session = Session(kitchen.instance)
    found = class_counts(session, kitchen.threat(kitchen.instance), kitchen.target_nodes(), kitchen.swept)
    if found is None:
        raise InputError("this instance has no predicted labels, so it cannot be split by class")
    present, certified, naive, sizes = found
    return build.class_figure([kitchen.class_name(k) for k in present], certified, naive, sizes)


def _graph(kitchen: _Kitchen) -> Figure:
    certificate = kitchen.certificate()
    relaxed = bool(kitchen.options.get("relaxed"))
    if relaxed and certificate.fractional is None:
        raise InputError("there is no relaxed adversary here: with whole-graph fields nothing is solved")
    palette = str(kitchen.options.get("palette", "state"))
    return build.graph_figure(kitchen.instance, certificate, relaxed=relaxed, palette=palette)


def _front(kitchen: _Kitchen) -> Figure:
    node = kitchen.node()
    certificate = kitchen.certificate()
    where = np.flatnonzero(certificate.target_nodes == node)
    attack = certificate.attack
    received = None if attack is None or not len(where) else [float(v) for v in attack.inside[where[0]]]
    x, y = two_axes(kitchen.instance, certificate.threat)
    return build.front_figure(
        kitchen.instance.base.fronts().of_node(node),
        str(kitchen.options.get("x") or x),
        str(kitchen.options.get("y") or y),
        received=received,
        budgets=certificate.threat.budgets,
        node=kitchen.node_name(node),
    )


def two_axes(instance: Instance, threat: ThreatModel) -> tuple[str, str]:
    """The two types to draw a front in: those in play first, then those the base certificate covers."""
    in_play = [name for name, budget in zip(TYPES, threat.budgets) if budget]
    ordered = [*in_play, *(name for name in instance.base.axes if name not in in_play), *TYPES]
    first, second = sorted(list(dict.fromkeys(ordered))[:2], key=TYPES.index)
    return first, second


def _votes(kitchen: _Kitchen) -> Figure:
    votes = kitchen.instance.base.arrays().get("votes")
    prediction = kitchen.instance.prediction
    if votes is None or prediction is None:
        raise InputError("this base certificate does not rest on votes; there are none to draw")
    node = kitchen.node()
    counts = np.asarray(votes)[node]
    names = [kitchen.class_name(k) for k in range(len(counts))]
    return build.votes_figure(counts, names, int(np.asarray(prediction)[node]), kitchen.node_name(node))


def _base(kitchen: _Kitchen) -> Figure:
    axes = [str(kitchen.options[name]) for name in ("x", "y") if kitchen.options.get(name)]
    axes = axes or [str(name) for name in TYPES if name in kitchen.instance.base.axes][:2]
    return build.base_figure(kitchen.instance.base.fronts(), *axes, nodes=kitchen.target_nodes())


def _distribution(kitchen: _Kitchen) -> Figure:
    p = getattr(kitchen.instance.base, "probability", None)
    if p is None:
        raise InputError("this base certificate does not rest on votes; there is no p to draw")
    return build.distribution_figure(np.asarray(p)[kitchen.target_nodes()])


def _paper(recipe: Recipe) -> Figure:
    from certcore.reproduce.pictures import pictures
    from certcore.reproduce.store import Results

    made = {picture.figure.name: picture.figure for picture in pictures(Results())}
    if len(recipe.instances) != 1 or recipe.instances[0] not in made:
        raise InputError(f"there is no such figure of the paper; expected one of {', '.join(made)}")
    return made[recipe.instances[0]]


_KINDS: dict[str, Callable[[_Kitchen], Figure]] = {
    "curve": _curve,
    "map": _map,
    "compare": _compare,
    "classes": _classes,
    "graph": _graph,
    "front": _front,
    "votes": _votes,
    "base": _base,
    "distribution": _distribution,
}
