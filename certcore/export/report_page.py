"""The report as one self-contained HTML page."""

from __future__ import annotations

import base64
import html
import json

from certcore import __version__, messages
from certcore.common.plain import to_plain
from certcore.common.rounding import share_down
from certcore.export.citation import bibtex
from certcore.export.html import chart, facts_table, page
from certcore.export.report import Report
from certcore.export.vector import printed
from certcore.figures.escape import for_file_name, for_html
from certcore.figures.figure import Figure
from certcore.figures.print_style import PrintStyle
from certcore.figures.table import Table

_MOST_ROWS = 60
_MOST_PROOF = 300_000


def report_html(report: Report) -> str:
    """The page: guarantee, parameters, figures, the attack, the proof, and the commands that reproduce it."""
    what = "Certified accuracy" if report.accuracy else "Robustness report"
    title = f"{what}: {for_html(_subject(report), 120)}"
    sentences = [report.accuracy, report.guarantee] if report.accuracy else [report.guarantee]
    parts = [f"<h1>{title}</h1>", *(f'<p class="guarantee">{for_html(one)}</p>' for one in sentences), _numbers(report)]
    for k, figure in enumerate(report.figures):
        parts.append(_section(figure, k))
    parts += [_attack(report), _parameters(report), _proof(report), _again(report)]
    return page(title, "\n".join(parts), plotly_script=True)


def _subject(report: Report) -> str:
    meta = report.instance.meta
    known = [str(meta[key]) for key in ("dataset", "model") if meta.get(key)]
    return ", ".join(known) if known else report.source


def _numbers(report: Report) -> str:
    c = report.certificate
    correct = "" if report.asked is None else "correct and "
    rows = [(f"{correct}certified together, proven", _share(c.verified_certified, report))]
    if c.unproven:
        rows.append(("on the solver's claim, not verified", _share(c.certified, report)))
    rows += [
        (f"{correct}certified one by one (naive)", _share(c.naive_certified, report)),
        ("targets left uncertified", str(messages.limit_words(c))),
    ]
    if c.attack_found is not None:
        rows.append(("best attack found", f"leaves {c.attack_found:,} targets uncertified (replayed)"))
    if report.changed:
        rows.append(("attack on the model", report.changed))
    rows += [
        ("relaxation", c.relaxation if c.rounds is None else f"{c.relaxation} ({c.rounds:,} rounds of search)"),
        ("status", f"{c.status}: {messages.status(c)}"),
        ("time", f"{c.seconds:.2f} s"),
    ]
    right = messages.accuracy(report.instance)
    if right is not None:
        rows.append(("accuracy", str(messages.accuracy_words(right))))
    sentences = [messages.not_per_node()]
    if report.instance.controls and not report.accuracy and c.threat.adj_add + c.threat.adj_del:
        sentences.append(messages.why_accuracy())
    note = "".join(f"<p>{for_html(str(one))}</p>" for one in sentences)
    return f'<div class="scroll">{Table(("what", "value"), tuple(rows)).html()}</div>{note}'


def _share(part: int, report: Report) -> str:
    """A count as a fraction of all labels asked about: the targets, or all nodes whose correct labels are targets."""
    whole = report.certificate.targets if report.asked is None else report.asked
    return f"{part:,} of {whole:,} ({share_down(part, whole, 2)})"


def _section(figure: Figure, k: int) -> str:
    """One figure: interactive where that helps; of the graph an image (the interactive one is a separate file)."""
    head = f"<h2>{for_html(figure.title or figure.name)}</h2>"
    if figure.TALL:
        picture = base64.b64encode(printed(figure, "png", PrintStyle("two-column"), dpi=130)).decode()
        name = for_file_name(figure.name)
        return (
            f'{head}<figure><img alt="{for_html(figure.description())}" src="data:image/png;base64,{picture}">'
            f"<figcaption>Interactive in figures/{name}.html.</figcaption></figure>"
        )
    short = figure.summary()
    below = "" if short is None else f'<div class="scroll">{short.html(limit=_MOST_ROWS)}</div>'
    return f"{head}{chart(figure, f'chart-{k}')}{below}"


def _attack(report: Report) -> str:
    if report.allocation is None or not report.allocation.rows:
        return ""
    note = (
        "An attack breaks base certificates: it shows what they leave uncertified, not that the model's label flips. "
        "A node is hit if flips are spent at it; a target loses its certificate if what lies inside its field reaches "
        "its front. Nodes at which most is spent come first. All rows are in data/allocation.csv."
    )
    rows = report.allocation.html(limit=_MOST_ROWS)
    return f"<h2>What the attack does</h2><p>{note}</p><div class='scroll'>{rows}</div>"


def _parameters(report: Report) -> str:
    shown = {key: value for key, value in report.provenance.items() if key not in ("certificate", "guarantee")}
    shown["threat"] = report.certificate.threat.to_json()
    if isinstance(shown.get("meta"), dict) and "accuracy" in shown["meta"]:
        # The file's own accuracy uses the majority vote of nodes that abstain, which differs from ours.
        meta = dict(shown["meta"])
        accuracy = meta.pop("accuracy")
        shown["meta"] = meta | {"accuracy, according to the file (abstaining nodes count by their label)": accuracy}
    return f"<h2>Parameters and provenance</h2>{facts_table(shown)}"


def _proof(report: Report) -> str:
    proof = report.certificate.proof
    if proof is None:
        return "<h2>Proof</h2><p>No proof was written for this certificate.</p>"
    text = json.dumps(to_plain(proof), ensure_ascii=False)
    inside = (
        f"<details><summary>Show the proof</summary><pre>{for_html(text, len(text) + 1)}</pre></details>"
        if len(text) < _MOST_PROOF
        else f"<p>It has {len(text):,} characters and is in proof.json.</p>"
    )
    check = for_html(f"python -m certcore verify proof.json {report.source}")
    return (
        f"<h2>Proof</h2><p>Digest <code>{for_html(proof.get('digest', ''))}</code>, instance digest "
        f"<code>{for_html(report.instance.digest)}</code>. It is checked without a solver, on any machine:</p>"
        f"<pre>{check}</pre>{inside}"
    )


def _again(report: Report) -> str:
    commands = "\n".join(for_html(command, 100_000) for command in report.commands)
    cite = html.escape(bibtex(smoothing="alpha" in report.instance.base.facts))  # our own text: its indentation is kept
    return (
        f"<h2>Computing it again</h2><pre>{commands}</pre>"
        f"<h2>How to cite</h2><pre>{cite}</pre><p>Made with certcore {__version__}.</p>"
    )
