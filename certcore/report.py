"""The report on one certificate: a page that explains itself, figures for print, numbers, and the proof."""

from __future__ import annotations

import base64
import html
import io
import platform
import threading
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from certcore import __version__, messages
from certcore.common.errors import InputError
from certcore.common.files import atomic_write
from certcore.common.interrupt import limited
from certcore.common.numbers import write_nodes, write_numbers
from certcore.common.plain import to_plain
from certcore.common.rounding import share_down
from certcore.domain.commands import command, current_spelling
from certcore.domain.perturbations import LABELS, TYPES
from certcore.domain.threat import ThreatModel
from certcore.domain.weights import refuse_decimals, refuse_weights
from certcore.figures.contour import contour_figure
from certcore.figures.curve import controls_for, curve_figure
from certcore.figures.escape import for_html
from certcore.figures.figure import Figure
from certcore.figures.graph import graph_figure
from certcore.figures.save import file_bytes
from certcore.figures.table import Meaning, Table, make_table
from certcore.instance.instance import Instance, accuracy_of, before_correct, instance_to_arrays
from certcore.instance.local_limits import within_base
from certcore.model_attack.along import attacks_along
from certcore.model_attack.ballots import changed_by_ballots
from certcore.model_attack.stored import ModelAttack, largest
from certcore.notebook import note
from certcore.program.relaxation import Relaxation
from certcore.result.attack_text import attack_text
from certcore.result.certificate import Certificate
from certcore.result.states import NOTHING
from certcore.sweep import Session, curve, surface
from certcore.sweep.attack_curve import best_below
from certcore.sweep.ranges import (
    axes_in_play,
    end_of,
    first_budget,
    first_end,
    map_end,
    map_values,
    refined,
    stops,
    unit_of,
)
from certcore.sweep.session import certify
from certcore.verify.proof import proof_bytes

#: Shares of the time limit for the certificate, the curve and the map; what is proven by then is reported, and the
#: rest is for drawing.
SHARES = {"certificate": 0.3, "curve": 0.2, "map": 0.2}
#: Cells of a map along each axis.
MAP_SIDE = 8
#: Rows of the table of sites on the page; the file has all of them.
MOST_SITES = 15

#: Even if escaping failed, the page could load and run nothing.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_STYLE = """
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 1.5rem 1rem 4rem; color: #1f2328; background: #fff;
  font: 16px/1.5 "Source Sans 3", "Segoe UI", "DejaVu Sans", Helvetica, Arial, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.2; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
.guarantee { border-left: 5px solid #0072b2; background: #f5f6f8; padding: 0.8rem 1.2rem; font-size: 1.1rem; }
.bars { display: grid; grid-template-columns: max-content 1fr; gap: 0.3rem 1rem; align-items: center; }
.bars div div { height: 1.1rem; }
figure { margin: 1rem 0; } figure img { max-width: 100%; height: auto; } figcaption { font-size: 0.9rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: 0.92rem; } th { text-align: left; }
th, td { padding: 0.2rem 0.75rem; border-bottom: 1px solid #d9dce0; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
pre { background: #f5f6f8; padding: 0.8rem 1rem; overflow-x: auto; font-size: 0.85rem; }
code { overflow-wrap: anywhere; }
"""


@dataclass(frozen=True, eq=False)
class Report:
    """What is reported; `files` writes it, and nothing is computed later."""

    instance: Instance
    certificate: Certificate
    source: str
    """The instance's file as it was given."""
    figures: dict[str, Figure]
    """Curve, map and graph, as far as there is one."""
    commands: tuple[str, ...]
    accuracy: str
    """The sentence on certified accuracy, if only right labels are targets."""
    asked: int | None
    """The number of labels among which those are the right ones."""
    changed: str
    """The sentence on attacks on the model."""

    @property
    def guarantee(self) -> str:
        return str(messages.statement(self.instance, self.certificate, self.asked))


def default_threat(instance: Instance, targets: np.ndarray | None = None) -> ThreatModel:
    """The first budget of a view, with the local budgets that the base certificate covers."""
    budget = first_budget(instance)
    if not budget:
        raise InputError("the base certificate speaks about no perturbation type; there is nothing to report on")
    return within_base(ThreatModel(**budget, targets=targets), instance)


def build(
    instance: Instance,
    threat: ThreatModel | None = None,
    *,
    source: str = "instance.npz",
    targets: str | None = None,
    base_rule: str = "binary",
    attacks: Sequence[ModelAttack] = (),
    session: Session | None = None,
    counted: np.ndarray | None = None,
    seconds: float = 60.0,
    cancel: threading.Event | None = None,
    progress: Callable[[float, str], None] | None = None,
    relaxation: str = "tight",
    rounds: int | None = None,
) -> Report:
    """Certify, sweep and draw, each within its share of the time limit.

    `source` and `targets` are the names of the file and of the targets, for the commands. `attacks` are stored attacks
    on the model. `counted`: the targets are the right labels among these nodes, and ratios are certified accuracies.
    """
    if counted is None and accuracy_of(instance, targets) is not None:
        counted = instance.select_targets(before_correct(targets))
    chosen = None if targets is None else instance.select_targets(targets)
    threat = default_threat(instance, chosen) if threat is None else threat
    if chosen is not None and threat.targets is None:
        threat = threat.replace(targets=chosen)
    if threat.weights is not None:
        threat = threat.weighed(instance.graph, np.asarray(instance.targets))
        refuse_decimals([threat.weights])
        if counted is not None:
            refuse_weights(threat.weights, "a certified accuracy")
        chosen = None if chosen is None else chosen[threat.weights.values[chosen] > 0]
    if chosen is not None and set(chosen.tolist()) != set(np.asarray(threat.targets).tolist()):
        raise InputError(f"the threat model counts other nodes than the targets {targets!r}; give one of both")
    tell = progress or (lambda share, what: None)
    tell(0.0, "certificate")
    # A number of rounds is for the same certificate every time: no clock ends it.
    limit = SHARES["certificate"] * seconds if rounds is None else threading.TIMEOUT_MAX / 2
    timed: Any = {"time_limit": limit} if rounds is None and Relaxation(relaxation).is_timed else {"rounds": rounds}
    with limited(limit + 5 * ("time_limit" in timed), cancel) as stop:
        asked: Any = {"relaxation": relaxation, **timed, "proof": True, "cancel": stop}
        # Without a session as the command certifies, so that it finds the same attack.
        certificate = certify(instance, threat, **asked) if session is None else session.certify(threat, **asked)
    maker = _Maker(
        session or Session(instance), certificate, source, targets, base_rule, counted, attacks, seconds, cancel
    )
    for share, name, make in ((0.4, "curve", maker.curve), (0.6, "map", maker.map), (0.8, "graph", maker.graph)):
        if cancel is not None and cancel.is_set():
            raise InputError("the report was cancelled; nothing was written")
        tell(share, name)
        make()
    tell(1.0, "done")
    found = changed_by_ballots(instance, certificate) or largest(attacks, instance, threat)
    of = None if counted is None else len(counted)
    proven = certificate.certified
    said = "" if counted is None else messages.certified_accuracy(instance, threat, proven, counted)
    commands, changed = tuple(maker.commands), str(messages.changed_words(found, of))
    return Report(instance, certificate, source, maker.figures, commands, str(said), of, changed)


@dataclass
class _Maker:
    """The figures of a report, each with the command that makes it."""

    session: Session
    certificate: Certificate
    source: str
    targets: str | None
    base_rule: str
    counted: np.ndarray | None
    attacks: Sequence[ModelAttack]
    seconds: float
    cancel: threading.Event | None
    figures: dict[str, Figure] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.instance, self.threat = self.session.instance, self.certificate.threat
        self.of = None if self.counted is None else len(self.counted)
        # Sweeps use the relaxed program: one integer program or strong search is enough.
        self.relaxation = str(Relaxation(self.certificate.relaxation).relaxed)
        nodes = self.threat.targets
        own = nodes is None or np.array_equal(nodes, np.asarray(self.instance.targets))
        if self.targets is None and not own:
            chosen = write_nodes(np.asarray(nodes if self.counted is None else self.counted))
            self.targets = chosen if self.counted is None else f"correct:{chosen}"
        self.x, self.y = axes_in_play(self.instance, self.threat)

    def add(self, name: str, figure: Figure | None, what: str, **options: Any) -> None:
        if figure is not None:
            self.figures[name] = figure
        plot = {} if figure is None else {"plot": f"{name}.pdf"}
        asked: Any = {"targets": self.targets, "base_rule": self.base_rule}
        said = command(what, self.source, self.threat, **asked, **options, **plot)
        self.commands += [] if said is None else [said]

    def curve(self) -> None:
        """The curve over the main budget, with the attack found at its present value, which also is one at more."""
        given: Any = getattr(self.threat, self.x)
        here = given or 0
        end = first_end(here, end_of(self.instance, self.x))
        values = refined(stops(end, unit_of(self.instance, self.x)), self.x)
        with limited(SHARES["curve"] * self.seconds, self.cancel) as stop:
            line = curve(self.session, self.threat, self.x, values, relaxation=self.relaxation, cancel=stop)
        found = self.certificate.attack_found
        # Without a σ the attacker may control all nodes: that attack is at no place of an axis of σ.
        nowhere = found is None or given is None
        known = None if nowhere else best_below(line.values, np.array([float(here)]), np.array([found]))
        along = None
        if self.attacks and self.threat.weights is None:  # they change labels, and the line is about weight
            along = attacks_along(self.attacks, self.instance, self.threat, self.x)
        controls = controls_for(self.instance, self.threat, self.x, self.of)
        figure = curve_figure(
            [line],
            vary=self.x,
            marker=None if given is None else float(here),
            attacks=None if known is None else np.where(line.values >= float(here), known, np.nan),
            changed=None if along is None else along.changed(line.values.tolist()),
            accuracy_of=self.of,
            controls=controls,
            note=note([self.instance], controls=bool(controls)),
        )
        self.add("curve", figure, "curve", vary=self.x, values=write_numbers(values), relaxation=self.relaxation)

    def map(self) -> None:
        """The map over what the certificate is about."""
        if self.y is None:
            return
        ends = {name: max(map_end(self.instance, name), getattr(self.threat, name)) for name in (self.x, self.y)}
        xs, ys = (map_values(ends[name], MAP_SIDE) for name in (self.x, self.y))
        options: Any = {"relaxation": self.relaxation}
        with limited(SHARES["map"] * self.seconds, self.cancel) as stop:
            cells = surface(self.session, self.threat, self.x, xs, self.y, ys, cancel=stop, **options)
        figure = contour_figure(cells, x=self.x, y=self.y, accuracy_of=self.of)
        axes = {"x": self.x, "x_values": write_numbers(xs), "y": self.y, "y_values": write_numbers(ys)}
        self.add("map", figure, "surface", **axes, **options)

    def graph(self) -> None:
        """The graph with the best attack found."""
        ballots = changed_by_ballots(self.instance, self.certificate)
        changed = None if ballots is None else ballots.changed_nodes
        drawn = (
            None if self.certificate.attack is None else graph_figure(self.instance, self.certificate, changed=changed)
        )
        how = {"relaxation": self.certificate.relaxation, "rounds": self.certificate.rounds}
        self.add("graph", drawn, "certify", **how, proof="proof.json")


def files(report: Report) -> dict[str, bytes]:
    """Every file of a report by its name."""
    found = {"report.html": page(report).encode(), "instance.npz": _instance(report.instance)}
    if report.certificate.proof is not None:
        found["proof.json"] = proof_bytes(report.certificate.proof, packed=False)
    for name, figure in report.figures.items():
        found |= {f"{name}{suffix}": file_bytes(figure, suffix) for suffix in (".pdf", ".csv")}
    if report.certificate.attack is not None:
        found["sites.csv"] = sites(report.instance, report.certificate).csv().encode()
    return found


def _instance(instance: Instance) -> bytes:
    """The instance itself, without which the proof cannot be checked."""
    buffer = io.BytesIO()
    arrays: dict[str, Any] = instance_to_arrays(instance)
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def write(report: Report, folder: str | Path) -> list[Path]:
    """Write every file of a report into `folder`; returns what was written."""
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise InputError(f"{target} is a file; give a folder for the report")
    for name, data in (made := files(report)).items():
        with atomic_write(target / name) as file:
            file.write(data)
    return [target / name for name in made]


def packed(report: Report, folder: str = "report") -> bytes:
    """The same files in one zip, for a download."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        for name, data in files(report).items():
            target.writestr(zipfile.ZipInfo(f"{folder}/{name}"), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def sites(instance: Instance, certificate: Certificate) -> Table:
    """Where the best attack found spends its budget and what its fields receive, most first."""
    nodes = certificate.node_columns(instance.base.fronts(), instance.graph.edges)
    numbers = {key: np.asarray(nodes[key], dtype=float) for key in nodes if key not in ("node", "state", "hit")}
    used = [key for key, column in numbers.items() if (column > NOTHING).any()]
    touched = np.any([numbers[key] > NOTHING for key in used], axis=0) if used else nodes["hit"]
    spent = np.sum([numbers[key] for key in numbers if key.startswith("spent")], axis=0)
    order = np.lexsort((np.arange(len(spent)), -np.nan_to_num(numbers["lost"]), -spent))
    names = instance.node_names
    rows = [
        [i, *([] if names is None else [names[i]]), str(nodes["state"][i]), *(_whole(nodes[key][i]) for key in used)]
        for i in order[touched[order]].tolist()
    ]
    columns = ["node", *([] if names is None else ["name"]), "state", *map(_heading, used)]
    plain = [Meaning.PLAIN] * (len(columns) - 1 - len(used))
    return make_table(columns, rows, [Meaning.INDEX, *plain, *[Meaning.ATTACKED] * len(used)])


def _heading(column: str) -> str:
    """A column in words: `inside_attr_del` counts the attribute deletions in the receptive field."""
    where, _, name = column.partition("_")
    if name not in TYPES:
        return {"lost": "loses its certificate", "attacker": "attacked"}.get(column, column)
    return f"{LABELS[name]} {'at it' if where == 'spent' else 'in its field'}"


def _whole(value: Any) -> Any:
    return int(value) if value is not None and float(value).is_integer() else value


def page(report: Report) -> str:
    """The page: sentence, bars, figures, sites, settings, commands, and how the proof is checked."""
    meta = report.instance.meta
    subject = ", ".join(str(meta[key]) for key in ("dataset", "model") if meta.get(key)) or report.source
    title = for_html(f"Robustness of {subject}", 120)
    guarantee = str(messages.guarantee(report.instance, report.certificate, report.asked))
    sentences = [report.accuracy, guarantee] if report.accuracy else [guarantee]
    remarks = [str(remark) for remark in messages.remarks(report.instance, report.certificate.threat)]
    body = [f"<h1>{title}</h1>", *(f'<p class="guarantee">{for_html(one, 10_000)}</p>' for one in sentences)]
    body += [f"<p>{for_html(remark, 2000)}</p>" for remark in remarks]
    body += [_bars(report), *(f"<p>{for_html(said, 2000)}</p>" for said in (messages.not_per_node(), report.changed))]
    body += [_picture(name, figure) for name, figure in report.figures.items()]
    if report.certificate.attack is not None:
        table = sites(report.instance, report.certificate).html(limit=MOST_SITES)
        note = "An attack breaks base certificates: what they leave uncertified, not labels that flip."
        text = attack_text(report.instance, report.certificate.threat, report.certificate.attack)
        again = f"<p>As text, which <code>read_attack</code> replays:</p><pre>{for_html(text, 2000)}</pre>"
        body.append(f'<h2>Sites of the attack</h2><p>{note}</p><div class="scroll">{table}</div>{again}')
    body += [_settings(report), _again(report)]
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<link rel="icon" href="data:,">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n" + "\n".join(body) + "\n</body>\n</html>\n"
    )


def _bars(report: Report) -> str:
    """Certified all at once and one by one, and what the best attack leaves, as shares of the labels asked about."""
    c = report.certificate
    whole = c.targets if report.asked is None else report.asked
    counts = [("collective (all at once), proven", c.certified, "#0072b2")]
    counts.append(("naive (one by one)", c.naive_certified, "#767b83"))
    if c.attack_found is not None:
        counts.append(("left by the best attack found", c.targets - c.attack_found, "#b04a00"))
    unit = f" {messages.counted(c.threat)}" if c.threat.weights is not None else ""
    cells = [
        f'<span>{name}: {count:,} of {whole:,}{unit} ({share_down(count, whole, 1)})</span><div><div style="width: '
        f'{100 * count / max(whole, 1):.2f}%; background: {colour}"></div></div>'
        for name, count, colour in counts
    ]
    return f'<div class="bars">{"".join(cells)}</div>'


def _picture(name: str, figure: Figure) -> str:
    data = base64.b64encode(file_bytes(figure, ".png", width=14.0)).decode()
    alt = for_html(figure.description(), 2000)
    return (
        f'<h2>{name.capitalize()}</h2><figure><img alt="{alt}" src="data:image/png;base64,{data}">'
        f"<figcaption>{alt} The numbers are in {name}.csv.</figcaption></figure>"
    )


def _settings(report: Report) -> str:
    c = report.certificate
    # The file's own accuracy counts nodes that abstain by their label, which ours does not.
    meta = {
        "accuracy (abstaining nodes count by their label)" if key == "accuracy" else str(key): value
        for key, value in report.instance.meta.items()
    }
    if isinstance(meta.get("command"), str):
        meta["command"] = current_spelling(meta["command"])
    versions = {"certcore": __version__, "python": platform.python_version(), "numpy": np.__version__}
    shown = {
        "relaxation": c.relaxation if c.rounds is None else f"{c.relaxation} ({c.rounds:,} rounds of search)",
        "status": f"{c.status}: {messages.status(c)}",
        "left uncertified": str(messages.limit_words(c)),
        "threat model": c.threat.to_json(),
        "instance": report.instance.facts(),
        "file": meta,
        "versions": versions,
    }
    rows: list[tuple[str, str]] = []

    def walk(prefix: str, value: object) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                walk(f"{prefix} · {key}" if prefix else str(key), item)
        elif isinstance(value, list):
            rows.append((prefix, ", ".join(map(str, value[:20])) + (" …" if len(value) > 20 else "")))
        elif value is not None:
            whole = isinstance(value, int) and not isinstance(value, bool)
            rows.append((prefix, f"{value:,}" if whole else str(value)))

    walk("", to_plain(shown))
    return f'<h2>Settings</h2><div class="scroll">{Table(("what", "value"), tuple(rows)).html()}</div>'


def _again(report: Report) -> str:
    commands = html.escape("\n".join(report.commands))
    proof = report.certificate.proof
    checked = (
        "<p>No proof was written: the time limit ended the computation before one was complete.</p>"
        if proof is None
        else f"<p>The proof <code>{for_html(proof.get('digest', ''))}</code> is about the instance <code>"
        f"{for_html(report.instance.digest)}</code>. It is checked in exact integers, without a solver:</p>"
        "<pre>certcore verify proof.json instance.npz</pre>"
    )
    return f"<h2>How to check the proof</h2>{checked}<h2>How to compute it again</h2><pre>{commands}</pre>"
