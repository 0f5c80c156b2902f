"""HTML cards of results for notebooks: the sentence, its numbers and a small picture. Names are escaped."""

from __future__ import annotations

import html
from functools import singledispatch

import numpy as np

from certcore import messages
from certcore.domain.perturbations import LABELS
from certcore.instance.instance import Instance
from certcore.messages.model_attack import size_words
from certcore.messages.text import plain
from certcore.model_attack.stored import ModelAttack
from certcore.notebook import pictures
from certcore.pipeline.check_field import FieldCheck
from certcore.result.certificate import Certificate
from certcore.sweep.axis import Axis
from certcore.sweep.curves import Curve
from certcore.sweep.surface_maps import Surface


@singledispatch
def card(result: object) -> str:
    """The HTML of a certificate, a curve, a surface or an instance."""
    raise TypeError(f"there is no card for a {type(result).__name__}")


@card.register
def _certificate(certificate: Certificate) -> str:
    """The guarantee, the bracket (best attack found, proven bound) and the solver status."""
    of = None if certificate.instance is None else _asked(certificate.instance, certificate.threat.targets)
    said = [messages.summary(certificate, of).html]
    if certificate.instance is not None:
        sentence = messages.guarantee(certificate.instance, certificate, of)
        said = [sentence.html, *(remark.html for remark in messages.remarks(certificate.instance, certificate.threat))]
    between, meaning = messages.bracket(certificate)
    rows = [
        (
            "certified",
            f"{certificate.verified_certified:,} of {certificate.targets:,}{'' if of is None else ' correct'}",
        ),
        ("node by node", f"{certificate.naive_certified:,}"),
        ("left uncertified", f"{between} (best attack found … proven)"),
        ("relaxation", f"{certificate.relaxation}, {certificate.seconds:.2f} s"),
    ]
    picture = pictures.bracket_bar(
        certificate.targets, certificate.verified_certified, certificate.naive_certified, certificate.attack_found
    )
    ended = str(messages.status(certificate))
    return _card("Collective certificate", said, picture, rows, f"{ended} {meaning}")


def _asked(instance: Instance, targets: np.ndarray | None) -> int | None:
    """Among how many labels the targets are the correct ones: the instance's own, those of test nodes or all."""
    if targets is None or instance.right is None:
        return None
    names = (None, "all") if instance.split is None else (None, "test", "all")
    for asked in (instance.select_targets(name) for name in names):
        correct = asked[instance.right[asked]]
        if len(correct) < len(asked) and np.array_equal(np.sort(targets), np.sort(correct)):
            return len(asked)
    return None


@card.register
def _model_attack(attack: ModelAttack) -> str:
    """The number of labels that an attack on the model changes."""
    spent = ", ".join(f"{kind} {count:,.6g}" for kind, count in attack.spent(attack.levels[-1]).items() if count)
    rows = [("flips", f"{spent} (by {attack.meta.get('method', '?')})"), ("test", "none" if attack.plain else "Holm")]
    found = None if attack.instance is None else attack.found(attack.instance, attack.threat)
    if found is None or attack.instance is None:
        return _card("Attack on the model", [], "", rows)
    said = messages.changed_words(found, _asked(attack.instance, attack.threat.targets))
    counts = [(level, attack.count(attack.instance, level, found.count.targets).n_changed) for level in attack.levels]
    if len(counts) > 1:
        rows.append(
            (
                "changed at",
                "; ".join(
                    f"{size_words(level.flips, attack.distance(level))}: {changed:,}" for level, changed in counts
                ),
            )
        )
    return _card("Attack on the model", [said.html], "", rows)


@card.register
def _instance(instance: Instance) -> str:
    """The graph, the targets and the base certificate."""
    facts = instance.facts()
    base = facts["base"]
    assert instance.targets is not None
    rows = [
        ("graph", f"{facts['nodes']:,} nodes, {facts['edges']:,} edges, {facts['attributes']:,} attributes"),
        ("targets", f"{len(instance.targets):,}"),
        ("field", f"{facts['fields']} ({instance.meta['field']})" if "field" in instance.meta else facts["fields"]),
        ("base certificate", ", ".join(f"{key} {_short(value)}" for key, value in base.items())),
    ]
    accuracy = instance.meta.get("accuracy")
    if isinstance(accuracy, dict):
        rows.append(("accuracy in its file", ", ".join(f"{key} {_short(value)}" for key, value in accuracy.items())))
    values = [instance.meta[key] for key in ("dataset", "model") if key in instance.meta]
    name = " · ".join(html.escape(plain(value)) for value in values)
    line = "Ready to be certified: <code>certcore.certify(instance, attr_del=10)</code>"
    return _card(f"Instance {name}" if name else "Instance", [line], "", rows)


@card.register
def _curve(curve: Curve) -> str:
    """The curve, and the guarantee at the largest value that keeps half of the targets certified."""
    axis = Axis.parse(curve.vary)
    said = []
    half = np.flatnonzero(2 * curve.certified >= curve.targets)
    proven = bool(curve.verified.all())
    if curve.instance is not None and proven and len(half) and curve.targets:
        at = int(half[-1])
        count = int(curve.certified[at])
        threat = axis.at(curve.threat, curve.values[at].item())
        of = _asked(curve.instance, curve.threat.targets)
        said.append(messages.promise(curve.instance, threat, curve.targets, count, count, of).html)
    rows = [
        ("values", f"{len(curve.values):,}, from {curve.values[0]:g} to {curve.values[-1]:g}"),
        ("targets", f"{curve.targets:,}"),
    ]
    if curve.average_radius is not None:
        rows.append(
            ("average radius", f"{curve.average_radius:.2f} (node by node {_number(curve.naive_average_radius)})")
        )
    rows.append(("relaxation", f"{curve.relaxation}, {curve.seconds:.2f} s"))
    open_points = int((~np.asarray(curve.final)).sum())
    note = "Every count is proven by a bound of its own." if proven else "These counts are the solver's claim."
    if open_points:
        note += f" At {open_points:,} values the sweep was stopped: the count is sound there but weak."
    picture = pictures.lines(curve.values.astype(float), curve.ratio, curve.naive_ratio, _label(curve.vary))
    return _card("Certified ratio", said, picture, rows, note)


@card.register
def _surface(surface: Surface) -> str:
    """A small version of the map."""
    rows = [
        (_label(surface.x), f"{surface.x_values[0]:g} … {surface.x_values[-1]:g}"),
        (_label(surface.y), f"{surface.y_values[0]:g} … {surface.y_values[-1]:g}"),
        ("targets", f"{surface.targets:,}"),
        ("relaxation", f"{surface.relaxation}, {surface.seconds:.2f} s"),
    ]
    done = surface.share_done
    note = "Every count is proven." if surface.verified.all() else "These counts are the solver's claim."
    if done < 1:
        note += f" {done:.0%} of the cells are computed; the others carry a sound bound from their neighbours."
    picture = pictures.cells(surface.ratio, _label(surface.x), _label(surface.y))
    return _card("Certified ratio over two budgets", [], picture, rows, note)


def _card(title: str, said: list[str], picture: str, rows: list[tuple[str, str]], note: str = "") -> str:
    """Escapes everything except title, sentences and picture, which are HTML already."""
    cell = "padding:1px 14px 1px 0;text-align:left;border:0;background:none;vertical-align:top"
    table = "".join(
        f'<tr style="background:none"><td style="{cell};opacity:.7">{html.escape(key)}</td>'
        f'<td style="{cell}">{html.escape(value)}</td></tr>'
        for key, value in rows
    )
    parts = [f'<div style="font-weight:600;margin-bottom:4px">{title}</div>']
    parts += [f'<div style="margin:4px 0">{sentence}</div>' for sentence in said]
    parts += [f'<div style="margin:8px 0">{picture}</div>'] if picture else []
    parts += [f'<table style="border:0;margin:0;font-size:inherit;border-collapse:collapse">{table}</table>']
    parts += [f'<div style="margin-top:4px;opacity:.7;font-size:85%">{html.escape(note)}</div>'] if note else []
    style = "border:1px solid rgba(128,128,128,.4);border-radius:6px;padding:10px 14px;max-width:44em;line-height:1.4"
    return f'<div class="certcore" style="{style}">{"".join(parts)}</div>'


def _label(name: str) -> str:
    """Display name of the varied parameter."""
    if name == "sigma":
        return "nodes the attacker controls (σ)"
    return f"{LABELS[name.removeprefix('local_')]}{' per node' if name.startswith('local_') else ''}"


def _short(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, list | tuple):
        return " ".join(_short(part) for part in value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else plain(value)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def field_text(check: FieldCheck) -> str:
    """Result of an attempt to falsify a field."""
    return str(messages.field_words(check))
