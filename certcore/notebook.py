"""Results in notebooks: a short text in HTML, pandas frames, networkx graphs, plots and the workbench.

pandas, networkx, Plotly and matplotlib are imported when they are used. Names from files are escaped everywhere.
"""

from __future__ import annotations

import html
import io
import os
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from certcore import messages
from certcore.common.errors import InputError
from certcore.domain.fronts import Fronts
from certcore.domain.weights import shown_by
from certcore.figures import GraphFigure, figure_of, save
from certcore.figures.style import STATES, TOKENS
from certcore.figures.table import Table, make_table
from certcore.instance.instance import Instance
from certcore.messages.text import plain
from certcore.result.certificate import Certificate
from certcore.result.states import TargetState
from certcore.sweep.counts import Counts

if TYPE_CHECKING:
    import pandas as pd


def card(certificate: Certificate) -> str:
    """The HTML of a certificate: the guarantee, a bar of all targets, and three numbers."""
    sentences = [messages.summary(certificate, _asked(certificate)).html]
    if certificate.instance is not None:
        sentences = [messages.guarantee(certificate.instance, certificate, _asked(certificate)).html]
        sentences += [remark.html for remark in messages.remarks(certificate.instance, certificate.threat)]
    proven, lost = certificate.certified, certificate.attack_found or 0
    colours = TOKENS["proven"].light, TOKENS["line"].light, STATES[TargetState.LOST].colour
    bar = "".join(
        f'<span style="flex:{size} 0 0;background:{colour}"></span>'
        for size, colour in zip((proven, certificate.targets - proven - lost, lost), colours)
    )
    between, _ = messages.bracket(certificate)
    amount = partial(messages.amount, certificate.threat)
    numbers = (
        f"collective: {amount(proven)} of {amount(certificate.targets)}",
        f"naive: {amount(certificate.naive_certified)}",
        f"left uncertified: {between} (certificate attack … proven bound)",
    )
    return (
        '<div class="certcore" style="max-width:44em;line-height:1.4">'
        + "".join(f"<div>{sentence}</div>" for sentence in sentences)
        + f'<div style="display:flex;height:12px;margin:6px 0">{bar}</div>'
        + f"<div>{html.escape(' · '.join(numbers))}</div>"
        + f'<div style="opacity:.7">{html.escape(str(messages.status(certificate)))}</div></div>'
    )


def _asked(certificate: Certificate) -> int | None:
    """Among how many labels the targets are the correct ones: the instance's own, those of test nodes or all."""
    instance, targets = certificate.instance, certificate.threat.targets
    if instance is None or targets is None or instance.right is None or certificate.threat.weights is not None:
        return None
    for name in (None, "all") if instance.split is None else (None, "test", "all"):
        asked = instance.select_targets(name)
        correct = asked[instance.right[asked]]
        if len(correct) < len(asked) and np.array_equal(np.sort(targets), np.sort(correct)):
            return len(asked)
    return None


def frame(result: Certificate | Counts) -> pd.DataFrame:
    """The numbers of a result as a pandas frame: of a certificate a row per node, of a sweep a row per value or cell.

    Text is escaped as in CSV files, so that no spreadsheet reads a name as a formula.
    """
    if isinstance(result, Certificate):
        return _nodes(result).frame()
    columns = {name: np.asarray(column).tolist() for name, column in result.columns().items()}
    axes = dict(zip(("value",) if len(result.axes) == 1 else ("x", "y"), result.axes))
    return make_table([axes.get(name, name) for name in columns], list(zip(*columns.values()))).frame()


def _nodes(certificate: Certificate) -> Table:
    """One row per node under the best attack found.

    `loses` is whether the attack leaves a target uncertified (missing for nodes that are no targets). `received` are
    the flips inside its field. `needed` is the fewest flips in its field that its base certificate does not cover, of
    the types with a budget (missing if no number of flips suffices).
    """
    instance = _instance_of(certificate)
    fronts, n = instance.base.fronts(), instance.graph.n_nodes
    columns = certificate.node_columns(fronts, instance.graph.edges)
    is_target = np.zeros(n, dtype=bool)
    is_target[certificate.target_nodes] = True
    inside = [columns[name] for name in columns if name.startswith("inside_")]
    weights = certificate.threat.weights
    table: dict[str, Any] = {"node": columns["node"], "name": instance.node_names, "label": instance.labels}
    table |= {
        "prediction": instance.prediction,
        "target": is_target,
        "weight": None if weights is None else np.where(is_target, shown_by(weights)(weights.values), 0),
        "state": [str(state) for state in columns["state"]],
        "hit": columns["hit"],
        "loses": [None if value is None else bool(value) for value in columns["lost"]],
        "uncertified_before": ~fronts.clean & is_target,
        "received": [None if any(v is None for v in row) else int(sum(row)) for row in zip(*inside)],
        "needed": _needed(certificate, fronts),
        "attacker": np.asarray(columns["attacker"]).astype(bool),
    }
    table |= {name: column for name, column in columns.items() if name.startswith("spent_")}
    kept = {name: np.asarray(column).tolist() for name, column in table.items() if column is not None}
    return make_table(list(kept), list(zip(*kept.values())))


def _needed(certificate: Certificate, fronts: Fronts) -> list[int | None]:
    """Per node the smallest number of flips among its front points that only use types with a budget."""
    without = np.array(certificate.threat.budgets) == 0
    possible = (fronts.points[:, without] == 0).all(axis=1)
    owner = np.repeat(np.arange(fronts.n_fronts), np.diff(fronts.indptr))
    none = np.iinfo(np.int64).max
    smallest = np.full(fronts.n_fronts, none)
    np.minimum.at(smallest, owner[possible], fronts.points[possible].sum(axis=1))
    return [None if value == none else int(value) for value in smallest[fronts.front_of_node]]


def _instance_of(certificate: Certificate) -> Instance:
    """The instance of a certificate; certificates built by hand may have none."""
    if certificate.instance is None:
        raise InputError(
            "this certificate does not know its instance; make it with certify(instance, …), or put it in with "
            "dataclasses.replace(certificate, instance=instance)"
        )
    return certificate.instance


def graph(certificate: Certificate) -> Any:
    """The observed graph for networkx with the best attack found; edges run from sender to receiver if it is directed.

    Nodes have the columns of `certificate.frame()` as attributes where not missing, edges `deleted` and `added`;
    injected nodes come last. Values are plain numbers and text only, so that `networkx.write_graphml` and `write_gexf`
    can write it.
    """
    import networkx as nx

    instance, table = _instance_of(certificate), _nodes(certificate)
    made = nx.DiGraph() if instance.graph.directed else nx.Graph()
    for row in table.rows:
        known = {key: value for key, value in zip(table.columns, row) if value is not None}
        # Characters that XML does not allow are removed from names.
        made.add_node(known.pop("node"), **{k: plain(v, 200) if isinstance(v, str) else v for k, v in known.items()})
    attack = certificate.attack
    edges = instance.graph.edges
    deleted = np.zeros(len(edges), dtype=bool) if attack is None else np.asarray(attack.deleted) > 0
    # Rows are (receiver, sender).
    for (receiver, sender), gone in zip(edges.tolist(), deleted.tolist()):
        made.add_edge(sender, receiver, deleted=gone, added=False)
    if attack is not None:
        for new, receiver in attack.injected.tolist():
            made.add_node(new, name=f"new node {new - instance.graph.n_nodes + 1}")
            made.add_edge(new, receiver, deleted=False, added=True)
        for receiver, sender in np.asarray(attack.added).reshape(-1, 2).tolist():
            made.add_edge(sender, receiver, deleted=False, added=True)
    return made


def plot(
    result: Certificate | Counts,
    path: str | os.PathLike[str] | None = None,
    *,
    width: str | float = 8.5,
    font: str = "sans",
    dark: bool = False,
) -> Any:
    """Write the figure of a result to a file; without one, show a curve or a surface with Plotly, the graph as printed.

    Both are for print as `certcore.figures.figure_of(result).matplotlib(width, font)`.
    """
    figure = figure_of(result, note=note([] if result.instance is None else [result.instance]))
    if path is not None:
        save(figure, path, width=width, font=font)
        return None
    if not isinstance(figure, GraphFigure):
        return figure.plotly(dark=dark)
    printed = figure.matplotlib(width, font)
    # A matplotlib figure made without pyplot is otherwise not displayed in a notebook.
    setattr(printed, "_repr_png_", partial(_png, printed))  # noqa: B010
    return printed


def _png(printed: Any) -> bytes:
    data = io.BytesIO()
    printed.savefig(data, format="png", dpi=200)
    return data.getvalue()


def note(instances: Iterable[Instance], *, controls: bool = False) -> str:
    """The note that a figure of these instances needs: what its control lines mean, and the confidence with which all
    lines hold together."""
    confidence = messages.joint_confidence(instances)
    parts = [str(messages.why_controls())] if controls else []
    return " ".join(parts + ([] if confidence is None else [str(confidence)]))


class Workbench:
    """The workbench as a page of its own, shown in a frame; it needs no running kernel."""

    def __init__(self, page: bytes) -> None:
        self.page = page

    def _repr_html_(self) -> str:
        page = html.escape(self.page.decode(), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:680px;border:0"></iframe>'


def show(certificate: Certificate) -> Workbench:
    """The workbench of a certificate: number, bar, graph, curve and map, which update together."""
    from certcore.workbench.standing import workbench_page

    instance = _instance_of(certificate)
    return Workbench(workbench_page(instance, certificate.threat, str(certificate.relaxation)))
