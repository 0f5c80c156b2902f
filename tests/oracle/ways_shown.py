"""Ways to a count that people read: commands, figures, reports and notebooks."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import certcore as cc
from certcore import cli
from certcore.common.errors import InputError
from certcore.common.numbers import write_nodes
from certcore.domain.base_rule import BaseRule
from certcore.domain.view_spec import PLAIN
from certcore.export import build_report, guarantee, report_files
from certcore.export.making import make
from certcore.figures import ViewSpec
from certcore.figures.table import Table
from certcore.notebook.cards import card
from certcore.notebook.networks import attacked_graph
from certcore.notebook.plots import figure
from certcore.notebook.tables import frame
from certcore.notebook.widget import show
from certcore.result.states import TargetState
from certcore.workbench.standing import workbench_content
from tests.oracle.ways import EFFORT, PROVEN, Ask, Count, of_certificate, of_proof, share_of, way

UNCERTIFIED = (str(TargetState.LOST), str(TargetState.BEFORE))


def file_of(ask: Ask) -> str:
    """The instance in a file."""
    path = ask.folder / "instance.npz"
    if not path.exists():
        cc.save_instance(path, ask.instance)
    return str(path)


# Commands


def spoken(ask: Ask) -> cc.ThreatModel:
    """The threat model as far as the options of a command can tell it: local budgets are one number for all nodes."""
    changes: dict[str, Any] = {}
    for name in cc.TYPES:
        value = getattr(ask.threat, f"local_{name}")
        if isinstance(value, np.ndarray):
            changes[f"local_{name}"] = value[0] if ask.threat.local_mode == "relative" else int(value[0])
    if ask.threat.edge_costs is not None and len(ask.threat.edge_costs) < 2:
        changes["edge_costs"] = None  # a single number would be read as a file's name
    return ask.threat.replace(**changes)


def options(ask: Ask, threat: cc.ThreatModel, without: tuple[str, ...] = ()) -> list[str]:
    """A threat model as options."""
    words = ["--relaxation", ask.relaxation]
    for name, value in EFFORT[ask.relaxation].items():
        words += [f"--{name.replace('_', '-')}", str(value)]
    for name, budget in zip(cc.TYPES, threat.budgets):
        if budget and name not in without:
            words += [f"--{name.replace('_', '-')}", str(budget)]
    for name in cc.TYPES:
        value = getattr(threat, f"local_{name}")
        if value is not None and f"local_{name}" not in without:
            words += [f"--local-{name.replace('_', '-')}", str(value)]
    words += ["--local-mode", str(threat.local_mode)]
    if threat.sigma is not None and "sigma" not in without:
        words += ["--sigma", str(threat.sigma)]
    lists = {"targets": threat.targets, "protect": threat.protected, "node-costs": threat.node_costs}
    for name, nodes in {**lists, "edge-costs": threat.edge_costs}.items():
        if nodes is not None and len(nodes):
            words += [f"--{name}", ",".join(str(node) for node in np.asarray(nodes).tolist())]
    if ask.instance.base_rule is not BaseRule.BINARY:
        words += ["--base-rule", str(ask.instance.base_rule)]
    return words


def run(*words: str) -> str:
    """What a command prints on standard output."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.main(list(words))
    if code == 2:
        raise InputError(err.getvalue())
    assert not code, err.getvalue()
    return out.getvalue()


def listed(values: tuple[Any, ...]) -> str:
    return ",".join(str(value) for value in values)


@way("command certify", "cli certify", "cli verify", "certcore.load_instance")
def _cli_certify(ask: Ask) -> Iterator[Count]:
    threat, proof = spoken(ask), str(ask.folder / "proof.json")
    words = options(ask, threat)
    found = json.loads(run("certify", file_of(ask), *words, "--json", "--proof", proof))
    yield Count(threat, found["certified"], found["verified"], found["attack_found"])
    yield Count(threat, found["verified_certified"], True, found["attack_found"], found["closed"])
    yield Count(threat, found["naive_certified"])
    if Path(proof).exists():
        verdict = json.loads(run("verify", proof, file_of(ask), "--json"))
        yield Count(threat, verdict["certified"])
    if ask.proven:
        said = run("certify", file_of(ask), *words)
        told = re.search(r"^certified +([\d,]+) of", said, flags=re.MULTILINE)
        assert told, said
        yield Count(threat, int(told[1].replace(",", "")))


@way("command curve", "cli curve")
def _cli_curve(ask: Ask) -> Iterator[Count]:
    q, threat = ask.question, spoken(ask)
    words = ["--vary", q.vary.replace("_", "-"), "--values", listed(q.values), *options(ask, threat, (q.vary,))]
    for mark in ("first", "resumed"):
        kept = ["--checkpoint", str(ask.folder / "kept.npz")] if ask.warm else []
        found = json.loads(run("curve", file_of(ask), *words, *kept, "--json"))
        for point in found["points"]:
            here = threat.replace(**{q.vary: point["value"]})
            yield Count(here, point["certified"], point["verified"], sweep=mark)
            yield Count(here, point["naive_certified"])
        if not ask.warm:
            break


@way("command surface", "cli surface")
def _cli_surface(ask: Ask) -> Iterator[Count]:
    q, threat = ask.question, spoken(ask)
    grid = ["--x", q.x, "--x-values", listed(q.x_values[:2]), "--y", q.y, "--y-values", listed(q.y_values[:2])]
    for tolerance in ("0", "0.4"):
        words = [*grid, *options(ask, threat, (q.x, q.y)), "--tolerance", tolerance]
        for row in csv.DictReader(io.StringIO(run("surface", file_of(ask), *words))):
            here = threat.replace(**{q.x: int(row["x"]), q.y: int(row["y"])})
            yield Count(here, int(row["certified"]), row["verified"] == "True", sweep=("cells", tolerance))
            yield Count(here, int(row["naive_certified"]))


@way("command radius", "cli radius")
def _cli_radius(ask: Ask) -> Iterator[Count]:
    vary, threat = ask.question.vary.removeprefix("local_"), spoken(ask)
    if ask.instance.base.local is not None:
        return
    found = json.loads(
        run("radius", file_of(ask), "--vary", vary, "--at-least", "0.4", "--json", *options(ask, threat, (vary,)))
    )
    top = max(threat.budgets) + 40
    value = 0 if found["value"] is None else top if found["unbounded"] else min(found["value"], top)
    here = threat.replace(**{vary: value})
    yield Count(here, found["certified"], found["verified"])
    if found["value"] is not None:
        yield Count(here, found["needed"], found["verified"])


@way("command defend", "cli defend", relaxations=PROVEN)
def _cli_defend(ask: Ask) -> Iterator[Count]:
    threat = spoken(ask)
    if ask.question.truth.world.whole_graph(threat):
        return
    found = json.loads(run("defend", file_of(ask), "--nodes", "1", "--json", *options(ask, threat)))
    yield Count(threat, found["certified"])
    protected = np.asarray(threat.protected)
    for step in found["steps"]:
        protected = np.append(protected, step["node"])
        yield Count(threat.replace(protected=protected), step["certified"])


@way("command draw", "cli draw", relaxations=PROVEN)
def _cli_draw(ask: Ask) -> Iterator[Count]:
    q, threat, file = ask.question, spoken(ask), ask.folder / "figure.csv"
    words = ["--vary", q.vary, "--values", listed(q.values), *options(ask, threat, (q.vary,)), "-o", str(file)]
    run("draw", "curve", file_of(ask), *words)
    yield from of_table(read_csv(file), threat, "drawn")


@contextlib.contextmanager
def numbers_only() -> Iterator[None]:
    """A report without its pictures, which take seconds to draw: all its numbers are written all the same."""
    with (
        mock.patch.object(report_files, "_FIGURES", ()),
        mock.patch.object(report_files, "_DATA", ("csv",)),
        mock.patch.object(report_files, "printed_pages", return_value=b""),
        mock.patch.object(report_files, "report_html", return_value=""),
    ):
        yield


def of_report(files: dict[str, bytes], ask: Ask, threat: cc.ThreatModel) -> Iterator[Count]:
    """Every table in a report, and its proof."""
    for name, data in files.items():
        if name.endswith("proof.json"):
            yield from of_proof(json.loads(data), ask, threat)
        table = parse_csv(data) if name.endswith(".csv") else None
        if table is None or "relaxed" in name:
            continue
        if Path(name).name.startswith("base"):
            yield from alone(of_table(table, cc.ThreatModel(targets=threat.targets), name), ask)
        else:
            yield from (count for count in of_table(table, threat, name) if small(count.threat))


def small(threat: cc.ThreatModel) -> bool:
    """Axes that a command chooses itself may be longer than what can be enumerated."""
    return max(threat.budgets) <= 6 and threat.adj_add <= 2


def alone(counts: Iterator[Count], ask: Ask) -> Iterator[Count]:
    """Counts node by node, without any local budget: true of all nodes together, where the base certificate is."""
    if ask.instance.base.local is None:
        yield from (count for count in counts if small(count.threat))


@way("command report", "cli report", "export.write_report", relaxations=PROVEN)
def _cli_report(ask: Ask) -> Iterator[Count]:
    threat, out = spoken(ask), ask.folder / "report"
    with numbers_only():
        found = json.loads(run("report", file_of(ask), "-o", str(out), "--quick", "--json", *options(ask, threat)))
    yield Count(threat, found["certified"], found["verified"], found["attack_found"])
    files = {str(path): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}
    yield from of_report(files, ask, threat)


# Tables of figures


def read_csv(path: Path) -> Table:
    return parse_csv(path.read_bytes())


def parse_csv(data: bytes) -> Table:
    rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))
    return Table(tuple(rows[0]), tuple(tuple(row) for row in rows[1:]))


def of_table(table: Table, threat: cc.ThreatModel, mark: str) -> Iterator[Count]:
    """Whatever a table of a figure claims: lines of curves, cells of maps, states of the nodes of a graph."""
    rows = [dict(zip(table.columns, row)) for row in table.rows]
    swept = [name for name in table.columns if name in (*cc.TYPES, "sigma") or name.startswith("local_")]
    for row in rows if "certified_ratio" in table.columns else []:
        if row["certified_ratio"] in (None, ""):
            continue
        at = {name: int(float(row[name])) for name in swept}
        kind = row.get("kind", "")
        if kind in ("control", "reference"):
            continue  # models that ignore edges, drawn beside the line
        here = threat.replace(**at)
        targets = row.get("targets")
        if targets in (None, ""):
            continue
        size = int(float(str(targets)))
        yield Count(here, share_of(float(row["certified_ratio"]), size), sweep=(mark, row.get("line"), kind))
        if row.get("certified") not in (None, ""):
            yield Count(here, int(float(row["certified"])))
        for name in ("naive_certified", "paper_certified"):
            if row.get(name) not in (None, ""):
                yield Count(here, int(float(row[name])))
        if row.get("attack_leaves") not in (None, ""):
            yield Count(here, None, attack=size - share_of(float(row["attack_leaves"]), size))
        if row.get("attack_found") not in (None, ""):
            yield Count(here, None, attack=int(float(row["attack_found"])))
    if "state" in table.columns and "element" in table.columns:
        lost = [row for row in rows if row["element"] == "node" and row["state"] in UNCERTIFIED]
        yield Count(threat, None, attack=len(lost))


def drawn(ask: Ask, kind: str, threat: cc.ThreatModel, **more: Any) -> Iterator[Count]:
    yield from of_table(make(view(ask, kind, threat, **more)).table(), threat, kind)


def view(ask: Ask, kind: str, threat: cc.ThreatModel, **more: Any) -> ViewSpec:
    """The view, from an address every other time."""
    own = {} if "rounds" not in EFFORT[ask.relaxation] else EFFORT[ask.relaxation]
    spec = ViewSpec.of(
        kind,
        file_of(ask),
        threat=threat,
        targets=None if threat.targets is None else write_nodes(threat.targets),
        relaxation=ask.relaxation,
        rule=str(ask.instance.base_rule),
        **(PLAIN | own | more),
    )
    return ViewSpec.from_query(spec.query()) if ask.warm else spec


@way("figure curve", "figure curve", "export.make", relaxations=PROVEN)
def _curve_figure(ask: Ask) -> Iterator[Count]:
    q = ask.question
    more: dict[str, Any] = {"bracket": list(q.values[-1:])} if not q.vary.startswith("local_") else {}
    paper = ask.question.kind != "ballots" and ask.relaxation != "strong"
    yield from drawn(ask, "curve", ask.threat, vary=q.vary, values=list(q.values), paper=paper, **more)


@way("figure compare", "figure compare", relaxations=PROVEN)
def _compare_figure(ask: Ask) -> Iterator[Count]:
    q = ask.question
    yield from drawn(ask, "compare", ask.threat, vary=q.vary, values=list(q.values))


@way("figure map", "figure map", relaxations=PROVEN)
def _map_figure(ask: Ask) -> Iterator[Count]:
    q = ask.question
    grid = {"x": q.x, "y": q.y, "x_values": list(q.x_values[:2]), "y_values": list(q.y_values[:2])}
    show = "paper" if ask.warm and q.kind != "ballots" else "bracket"
    yield from drawn(ask, "map", ask.threat, show=show, **grid)


@way("figure graph", "figure graph")
def _graph_figure(ask: Ask) -> Iterator[Count]:
    yield from drawn(ask, "graph", ask.threat)


@way("figure base", "figure base", relaxations=("tight",))
def _base_figure(ask: Ask) -> Iterator[Count]:
    yield from alone(drawn(ask, "base", cc.ThreatModel(targets=ask.threat.targets)), ask)


@way("figure classes", "figure classes", relaxations=PROVEN)
def _classes(ask: Ask) -> Iterator[Count]:
    if ask.instance.prediction is None:
        return
    table = make(view(ask, "classes", ask.threat)).table()
    yield from of_classes(ask, [dict(zip(table.columns, row)) for row in table.rows])


def of_classes(ask: Ask, rows: list[dict[str, Any]]) -> Iterator[Count]:
    """Bars: one threat model for each predicted class, whose nodes alone are targets."""
    targets = np.asarray(ask.instance.targets if ask.threat.targets is None else ask.threat.targets)
    labels = np.asarray(ask.instance.prediction)[targets]
    for label, row in zip(np.unique(labels).tolist(), rows):
        here = ask.threat.replace(targets=targets[labels == label])
        for name, value in row.items():
            if name.endswith("(count)") and value is not None:
                yield Count(here, int(value))


@way("report", "export.build_report", relaxations=PROVEN)
def _report(ask: Ask) -> Iterator[Count]:
    rule = str(ask.instance.base_rule)
    found = build_report(ask.instance, ask.threat, source="x.npz", base_rule=rule, quick=True, **ask.effort)
    yield from of_certificate(found.certificate, ask.threat)
    tables = {f"{one.name}.csv": one.table().csv().encode() for one in found.figures}
    yield from of_report(tables, ask, ask.threat)


# Notebooks


@way("notebook frames", "notebook frame", "notebook nodes_frame")
def _frames(ask: Ask) -> Iterator[Count]:
    q, source = ask.question, ask.source()
    session = source if isinstance(source, cc.Session) else cc.Session(source)
    certificate = session.certify(ask.threat, **ask.effort)
    row = frame(certificate).iloc[0]
    yield Count(ask.threat, int(row["certified"]), bool(row["verified"]), int(row["attack_found"]))
    yield Count(ask.threat, int(row["verified_certified"]), True, int(row["attack_found"]), bool(row["closed"]))
    nodes = certificate.nodes
    lost = nodes["target"] & (nodes["loses"].fillna(False) | nodes["uncertified_before"])
    yield Count(ask.threat, None, attack=int(lost.sum()))
    line = frame(cc.curve(session, ask.threat, q.vary, q.values, **ask.effort))
    for value, count, verified in zip(line[q.vary], line["certified"], line["verified"]):
        yield Count(q.at(int(value)), int(count), bool(verified), sweep="line")
    cells = frame(cc.surface(session, ask.threat, q.x, q.x_values[:2], q.y, q.y_values[:2], **ask.effort))
    for x, y, count in zip(cells[q.x], cells[q.y], cells["certified"]):
        yield Count(q.cell(int(x), int(y)), int(count), ask.proven, sweep="cells")


@way("notebook cards", "notebook card")
def _cards(ask: Ask) -> Iterator[Count]:
    certificate = ask.session().certify(ask.threat, **ask.effort)
    text = re.sub(r"<[^>]+>", " ", card(certificate))
    told = re.search(
        r"certified\s+([\d,]+) of ([\d,]+)(?: correct)?\s+node by node\s+([\d,]+)\s+left uncertified\s+(\S+) …", text
    )
    assert told, text
    attack = None if told[4] == "?" else int(told[4].replace(",", ""))
    yield Count(ask.threat, int(told[1].replace(",", "")), True, attack)
    yield Count(ask.threat, int(told[3].replace(",", "")))


@way("notebook pictures", "notebook figure", "notebook attacked_graph", relaxations=("tight", "strong"))
def _pictures(ask: Ask) -> Iterator[Count]:
    q, session = ask.question, ask.session()
    line = cc.curve(session, ask.threat, q.vary, q.values, **ask.effort)
    yield from of_table(figure(line).table(), ask.threat, "line")
    cells = cc.surface(session, ask.threat, q.x, q.x_values[:2], q.y, q.y_values[:2], **ask.effort)
    yield from of_table(figure(cells).table(), ask.threat, "cells")
    certificate = session.certify(ask.threat, **ask.effort)
    yield from of_table(figure(certificate).table(), ask.threat, "graph")
    states = [data.get("state") for _, data in attacked_graph(certificate).nodes(data=True)]  # new nodes have none
    yield Count(ask.threat, None, attack=sum(state in UNCERTIFIED for state in states))


@way("notebook workbench", "notebook show", relaxations=("tight",))
def _workbench(ask: Ask) -> Iterator[Count]:
    """Everything that the workbench of a notebook, or of a page that works offline, would draw."""
    certificate = ask.session().certify(ask.threat, **ask.effort)
    try:
        content = show(certificate).content
    except InputError:  # the package that draws it is optional; what it would draw is not
        content = workbench_content(ask.instance, ask.threat)
    parts, line, cells = content["bench"]["parts"], content["shelves"]["curve"], content["shelves"].get("map")
    yield Count(ask.threat, parts["each"] + parts["together"], attack=parts["lost"] + parts["none"])
    yield Count(ask.threat, parts["each"])
    for value, certified, naive, left in zip(line["values"], line["certified"], line["naive"], line["left"]):
        at = ask.threat.replace(**{line["axis"]: value})
        yield Count(at, certified, attack=left, sweep="line")
        yield Count(at, naive)
    if cells is not None:
        corners = [(x, y) for x in cells["xs"] for y in cells["ys"]]
        for (x, y), certified in zip(corners, cells["certified"], strict=True):
            yield Count(ask.threat.replace(**{cells["x"]: x, cells["y"]: y}), certified, sweep="cells")


@way("guarantee", "export.guarantee")
def _guarantee(ask: Ask) -> Iterator[Count]:
    """The sentence itself: the number in it is what people remember."""
    certificate = ask.session().certify(ask.threat, **ask.effort)
    said = str(guarantee(ask.instance, certificate))
    told = re.search(r"([\d,]+) of (?:the )?([\d,]+)", said)
    if told:
        yield Count(ask.threat, int(told[1].replace(",", "")), certificate.verified)
    else:
        assert certificate.certified in (0, certificate.targets), said
