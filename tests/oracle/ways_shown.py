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
from certcore import cli, figures, messages, report
from certcore.common.errors import InputError
from certcore.domain.base_rule import BaseRule
from certcore.figures.style import KINDS, axis_label
from certcore.figures.table import Table
from certcore.result.partition import partition_of
from certcore.result.states import TargetState
from certcore.sweep.attack_curve import best_attacks
from certcore.workbench.standing import workbench_content
from tests.oracle.ways import EFFORT, Ask, Count, left_by, of_certificate, of_json, of_proof, share_of, way

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
    for name, nodes in {"targets": threat.targets, "protect": threat.protected}.items():
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


@way("command certify", "cli.certify.run", "cli.verify.run")
def _cli_certify(ask: Ask) -> Iterator[Count]:
    threat, proof = spoken(ask), str(ask.folder / "proof.json")
    words = options(ask, threat)
    found = json.loads(run("certify", file_of(ask), *words, "--json", "--proof", proof))
    yield from of_json(found, threat)
    if Path(proof).exists():
        verdict = json.loads(run("verify", proof, file_of(ask), "--json"))
        yield Count(threat, verdict["certified"])
    said = run("certify", file_of(ask), *words)
    told = re.search(r"^certified +([\d,]+) of", said, flags=re.MULTILINE)
    assert told, said
    yield Count(threat, int(told[1].replace(",", "")))


@way("command curve", "cli.curve.run", "cli.sweeping.run_sweep", "cli.sweeping.write_table")
def _cli_curve(ask: Ask) -> Iterator[Count]:
    q, threat = ask.question, spoken(ask)
    words = ["--vary", q.vary.replace("_", "-"), "--values", listed(q.values), *options(ask, threat, (q.vary,))]
    for mark in ("first", "resumed"):
        kept = ["--checkpoint", str(ask.folder / "kept.npz")] if ask.warm else []
        found = json.loads(run("curve", file_of(ask), *words, *kept, "--json"))
        for point in found["points"]:
            here = threat.replace(**{q.vary: point["value"]})
            yield Count(here, point["certified"], sweep=mark)
            yield Count(here, point["naive_certified"])
        if not ask.warm:
            break


@way("command surface", "cli.surface.run")
def _cli_surface(ask: Ask) -> Iterator[Count]:
    q, threat = ask.question, spoken(ask)
    grid = ["--x", q.x, "--x-values", listed(q.x_values[:2]), "--y", q.y, "--y-values", listed(q.y_values[:2])]
    words = [*grid, *options(ask, threat, (q.x, q.y))]
    for row in csv.DictReader(io.StringIO(run("surface", file_of(ask), *words))):
        here = threat.replace(**{q.x: int(row["x"]), q.y: int(row["y"])})
        yield Count(here, int(row["certified"]), sweep="cells")
        yield Count(here, int(row["naive_certified"]))


@way("command radius", "cli.radius.run")
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
    yield Count(here, found["certified"])
    if found["value"] is not None:
        yield Count(here, found["needed"])


@way("command defend", "cli.defend.run")
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


@way("command curve --plot")
def _cli_plot(ask: Ask) -> Iterator[Count]:
    q, threat, file = ask.question, spoken(ask), ask.folder / "figure.csv"
    words = ["--vary", q.vary, "--values", listed(q.values), *options(ask, threat, (q.vary,))]
    run("curve", file_of(ask), *words, "--plot", str(file), "-o", str(ask.folder / "table.csv"))
    yield from of_table(read_csv(file), threat, "drawn")


@way("command surface --plot")
def _cli_plot_map(ask: Ask) -> Iterator[Count]:
    q, threat, file = ask.question, spoken(ask), ask.folder / "map.csv"
    grid = ["--x", q.x, "--x-values", listed(q.x_values[:2]), "--y", q.y, "--y-values", listed(q.y_values[:2])]
    run("surface", file_of(ask), *grid, *options(ask, threat, (q.x, q.y)), "--plot", str(file))
    yield from of_table(read_csv(file), threat, "drawn")


@contextlib.contextmanager
def numbers_only() -> Iterator[None]:
    """A report without its pictures, which take seconds to draw: all its numbers are written all the same."""
    plain = {".csv": lambda figure: figure.table().csv().encode()}

    def numbers(figure: Any, suffix: str, **_: Any) -> bytes:
        return plain[suffix](figure) if suffix in plain else b""

    with mock.patch.object(report, "file_bytes", numbers), mock.patch.object(report, "MAP_SIDE", 2):
        yield


def of_report(files: dict[str, bytes], ask: Ask, threat: cc.ThreatModel) -> Iterator[Count]:
    """Every table in a report, and its proof."""
    for name, data in files.items():
        if name.endswith("proof.json"):
            yield from of_proof(json.loads(data), ask, threat)
        table = parse_csv(data) if name.endswith(".csv") else None
        if table is None or "relaxed" in name:
            continue
        yield from (count for count in of_table(table, threat, name) if small(count.threat))


def small(threat: cc.ThreatModel) -> bool:
    """Axes that a command chooses itself may be longer than what can be enumerated."""
    return max(threat.budgets) <= 6 and threat.adj_add <= 2


@way("command report", "cli.report.run", "report.write", "report.files")
def _cli_report(ask: Ask) -> Iterator[Count]:
    threat, out = spoken(ask), ask.folder / "report"
    with numbers_only():
        found = json.loads(run("report", file_of(ask), "-o", str(out), "--json", *options(ask, threat)))
    yield Count(threat, found["certified"], found["attack_found"])
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
    axes = {axis_label(name): name for name in ("sigma", *cc.TYPES, *(f"local_{name}" for name in cc.TYPES))}
    swept = {label: name for label, name in axes.items() if label in table.columns}
    for row in rows if "certified ratio" in table.columns else []:
        if row["certified ratio"] in (None, ""):
            continue
        at = {name: int(float(row[label])) for label, name in swept.items()}
        kind = row.get("certificate", "")
        if kind == KINDS["control"].label:
            continue  # models that ignore edges, drawn beside the line
        here = threat.replace(**at)
        targets = row.get("targets")
        if targets in (None, ""):
            continue
        size = int(float(str(targets)))
        yield Count(here, share_of(float(row["certified ratio"]), size), sweep=(mark, row.get("line"), kind))
        if row.get("certified") not in (None, ""):
            yield Count(here, int(float(row["certified"])))
        for name in ("naive: certified", "paper's relaxation: certified"):
            if row.get(name) not in (None, ""):
                yield Count(here, int(float(row[name])))
        if row.get("certificate attack leaves") not in (None, ""):
            yield Count(here, None, attack=size - share_of(float(row["certificate attack leaves"]), size))
        if row.get("certificate attack") not in (None, ""):
            yield Count(here, None, attack=int(float(row["certificate attack"])))
    if "state" in table.columns and "element" in table.columns:
        lost = [row for row in rows if row["element"] == "node" and row["state"] in UNCERTIFIED]
        yield Count(threat, None, attack=len(lost))


@way("figure curve", "figures.curve.curve_figure", "figures.curve.lines_of", "figures.curve.mean_lines")
def _curve_figure(ask: Ask) -> Iterator[Count]:
    q, session = ask.question, ask.session()
    line = cc.curve(session, ask.threat, q.vary, q.values, **ask.effort)
    more: dict[str, Any] = {}
    if not q.vary.startswith("local_"):
        how = {"searched": q.values[-1:], "relaxation": ask.relaxation}
        more["attacks"] = best_attacks(session, ask.threat, q.vary, q.values, **how)
    if q.kind != "ballots" and ask.relaxation != "strong":
        more["paper"] = [cc.curve(session, ask.threat, q.vary, q.values, relaxation="paper")]
    figure = figures.curve_figure([line], vary=q.vary, **more)
    yield from of_table(figure.table(), ask.threat, "curve")


@way("figure map", "figures.contour.contour_figure")
def _map_figure(ask: Ask) -> Iterator[Count]:
    q, session = ask.question, ask.session()
    grid = (ask.threat, q.x, q.x_values[:2], q.y, q.y_values[:2])
    cells = cc.surface(session, *grid, **ask.effort)
    more: dict[str, Any] = {}
    if ask.warm and q.kind != "ballots":
        paper = cc.surface(session, *grid, relaxation="paper")
        more = {"reference": paper, "reference_kind": "paper", "show": "difference"}
    yield from of_table(figures.contour_figure(cells, x=q.x, y=q.y, **more).table(), ask.threat, "map")


@way("figure graph", "figures.graph.graph_figure")
def _graph_figure(ask: Ask) -> Iterator[Count]:
    certificate = ask.session().certify(ask.threat, **ask.effort)
    yield from of_table(figures.graph_figure(ask.instance, certificate).table(), ask.threat, "graph")


@way("report", "report.build")
def _report(ask: Ask) -> Iterator[Count]:
    with numbers_only():
        found = report.build(ask.instance, ask.threat, base_rule=str(ask.instance.base_rule), **ask.effort)
    yield from of_certificate(found.certificate, ask.threat)
    tables = {f"{name}.csv": one.table().csv().encode() for name, one in found.figures.items()}
    yield from of_report(tables, ask, ask.threat)


# Notebooks


@way("notebook frames", "notebook.frame")
def _frames(ask: Ask) -> Iterator[Count]:
    q, source = ask.question, ask.source()
    session = source if isinstance(source, cc.Session) else cc.Session(source)
    certificate = session.certify(ask.threat, **ask.effort)
    nodes = certificate.frame()
    lost = nodes["target"] & (nodes["loses"].eq(True) | nodes["uncertified_before"])
    yield Count(ask.threat, None, attack=int(lost.sum()))
    line = cc.curve(session, ask.threat, q.vary, q.values, **ask.effort).frame()
    for value, count in zip(line[q.vary], line["certified"]):
        yield Count(q.at(int(value)), int(count), sweep="line")
    cells = cc.surface(session, ask.threat, q.x, q.x_values[:2], q.y, q.y_values[:2], **ask.effort).frame()
    for x, y, count in zip(cells[q.x], cells[q.y], cells["certified"]):
        yield Count(q.cell(int(x), int(y)), int(count), sweep="cells")


@way("notebook card", "notebook.card")
def _card(ask: Ask) -> Iterator[Count]:
    certificate = ask.session().certify(ask.threat, **ask.effort)
    text = re.sub(r"<[^>]+>", " ", certificate._repr_html_())
    told = re.search(r"collective: ([\d,]+) of ([\d,]+) · naive: ([\d,]+) · left uncertified: (\S+) …", text)
    assert told, text
    attack = None if told[4] == "?" else int(told[4].replace(",", ""))
    yield Count(ask.threat, int(told[1].replace(",", "")), attack)
    yield Count(ask.threat, int(told[3].replace(",", "")))


@way("notebook plots", "figures.results.figure_of", "notebook.graph", relaxations=("tight", "strong"))
def _plots(ask: Ask) -> Iterator[Count]:
    q, session = ask.question, ask.session()
    line = cc.curve(session, ask.threat, q.vary, q.values, **ask.effort)
    yield from of_table(figures.figure_of(line).table(), ask.threat, "line")
    cells = cc.surface(session, ask.threat, q.x, q.x_values[:2], q.y, q.y_values[:2], **ask.effort)
    yield from of_table(figures.figure_of(cells).table(), ask.threat, "cells")
    certificate = session.certify(ask.threat, **ask.effort)
    yield from of_table(figures.figure_of(certificate).table(), ask.threat, "graph")
    states = [data.get("state") for _, data in certificate.graph().nodes(data=True)]  # new nodes have none
    yield Count(ask.threat, None, attack=sum(state in UNCERTIFIED for state in states))


@way(
    "notebook workbench",
    "workbench.message.parts",
    "workbench.message.bar",
    "workbench.message.answer",
    "workbench.message.curve_data",
    "workbench.message.map_data",
    "workbench.page.content",
    "workbench.standing.workbench_content",
    "result.partition.partition",
    relaxations=("tight",),
)
def _workbench(ask: Ask) -> Iterator[Count]:
    """Everything that the workbench of a notebook, or of a page that works offline, would draw."""
    content = workbench_content(ask.instance, ask.threat)
    parts, line, cells = content["bench"]["parts"], content["shelves"]["curve"], content["shelves"].get("map")
    yield Count(ask.threat, parts["naive"] + parts["collective"], attack=parts["lost"] + parts["none"])
    yield Count(ask.threat, parts["naive"])
    for value, certified, naive, left in zip(line["values"], line["certified"], line["naive"], line["left"]):
        at = ask.threat.replace(**{line["axis"]: value})
        yield Count(at, certified, attack=left, sweep="line")
        yield Count(at, naive)
    if cells is not None:
        corners = [(x, y) for x in cells["xs"] for y in cells["ys"]]
        for (x, y), certified in zip(corners, cells["certified"], strict=True):
            yield Count(ask.threat.replace(**{cells["x"]: x, cells["y"]: y}), certified, sweep="cells")


@way("guarantee")
def _guarantee(ask: Ask) -> Iterator[Count]:
    """The sentences themselves: the number in them is what people remember."""
    certificate = ask.session().certify(ask.threat, **ask.effort)
    sentences = messages.guarantee, messages.statement
    for text in (*(str(one(ask.instance, certificate)) for one in sentences), str(messages.summary(certificate))):
        match = re.search(r"([\d,]+) of (?:the )?([\d,]+)", text)
        if match:
            yield Count(ask.threat, number(match[1]))
        else:
            assert certificate.certified in (0, certificate.targets), text
    gain = re.match(r"([\d,]+) (more|fewer)", str(messages.gain(certificate)))
    more = 0 if gain is None else number(gain[1]) * (1 if gain[2] == "more" else -1)
    yield Count(ask.threat, certificate.naive_certified + more)


@way("bounds in words")
def _bounds(ask: Ask) -> Iterator[Count]:
    """Sentences about the most that an attack can take, and the bar that is drawn next to them."""
    certificate = ask.session().certify(ask.threat, **ask.effort)
    low, high = messages.bracket(certificate)[0].split(" … ")
    yield Count(ask.threat, certificate.targets - number(high), attack=None if low == "?" else number(low))
    match = re.match(r"at most ([\d,.]+)", str(messages.limit_words(certificate)))
    assert match, messages.limit_words(certificate)
    yield Count(ask.threat, left_by(float(match[1].replace(",", "")), certificate.targets))
    before = ask.question.truth.left(cc.ThreatModel(targets=ask.threat.targets))
    bar = partition_of(certificate, before)
    yield Count(ask.threat, bar.proven, attack=bar.lost + bar.none)
    yield Count(ask.threat, bar.naive)
    for most in re.findall(r"more than ([\d,]+)", str(messages.short_open(certificate, bar))):
        yield Count(ask.threat, certificate.targets - before - number(most))


def number(text: str) -> int:
    return int(text.replace(",", ""))
