"""Results of checking a declared or derived receptive field."""

from __future__ import annotations

from typing import TYPE_CHECKING

from certcore.domain.edge_field import EdgeField
from certcore.messages.registry import sentence, template
from certcore.messages.text import Text, count, filled, listing
from certcore.models.field import Fault

if TYPE_CHECKING:
    from certcore.pipeline.check_field import FieldCheck


def field_words(check: FieldCheck) -> Text:
    """The outcome of an attempt to falsify a field."""
    if check.fault is not None:
        return field_chance() if check.fault is Fault.CHANCE else field_memory()
    if check.violation is None and not check.comparisons:
        return field_everything(check.layers, check.edge_field, check.derived)
    if check.violation is None:
        return field_passed(check.layers, check.edge_field, check.comparisons, check.graphs, check.derived)
    found = check.violation
    return field_violated(
        check.layers, check.edge_field, found.node, list(found.flips), found.n_flips, f"{found.change:.3g}",
        found.graph, check.derived,
    )  # fmt: skip


def _field(layers: int, rule: str, derived: bool) -> Text:
    text = "{kind} field ({layers:layer|layers}, rule `{rule}`)"
    return filled(text, kind="derived" if derived else "declared", layers=layers, rule=str(rule))


@sentence(
    "field.passed", "an attempt to falsify the declared or derived field found nothing", 2, EdgeField.DEGREES, 36, 2,
    others=((2, EdgeField.DEGREES, 36, 2, True),),
)  # fmt: skip
def field_passed(layers: int, rule: str, comparisons: int, graphs: int, derived: bool = False) -> Text:
    return filled(
        "No flip outside the {field} was found to change a score, in {comparisons:comparison|comparisons} on "
        "{graphs:graph|graphs}. This was an attempt to falsify it, not a proof of it.",
        field=_field(layers, rule, derived), comparisons=comparisons, graphs=graphs,
    )  # fmt: skip


@sentence("field.everything", "the field leaves nothing outside that could be flipped", 4, EdgeField.DEGREES)
def field_everything(layers: int, rule: str, derived: bool = False) -> Text:
    return filled(
        "The {field} is the whole graph for every node that was looked at: there is nothing outside to compare, and "
        "nothing was checked.", field=_field(layers, rule, derived),
    )  # fmt: skip


@sentence(
    "field.violated", "a flip outside the declared or derived field changes a score",
    2, EdgeField.MESSAGES, 0, ["deleting the edge 2 – 3"], 1, "0.0132", "the clean graph",
    others=((1, EdgeField.MESSAGES, 4, ["adding attribute 7 of node 2", "adding attribute 9 of node 5"], 31, "0.5",
             "noisy graph 1"),),
)  # fmt: skip
def field_violated(
    layers: int, rule: str, node: int, flips: list[str], number: int, change: str, graph: str, derived: bool = False
) -> Text:
    what = listing(flips) if number == len(flips) else f"{count(number)} flips together, {listing(flips)} among them"
    return filled(
        "The model reads more than the {field}: on {graph}, {what} changes the scores of node {node} by {change}, "
        "although it lies outside the field of that node. A certificate on this field would claim too much: declare "
        "more layers or the rule `degrees`, put the model into evaluation mode, or take out what reads the whole graph "
        "(pooling, virtual nodes, normalisation over all nodes).",
        field=_field(layers, rule, derived), graph=graph, what=what, node=str(node), change=change,
    )  # fmt: skip


field_chance = template(
    "field.chance", "a model gives different scores for the same graph",
    "The model gives different scores for the same graph, so it has no field and no votes of its own: call "
    "`model.eval()`, which turns off dropout, and take other chance out of it.",
)  # fmt: skip
field_memory = template(
    "field.memory", "what a model says about a graph depends on the graphs it has seen before",
    "What the model says about a graph depends on the graphs it has seen before (a layer with `cached=True`, or "
    "running statistics in training mode), so its votes would be about other graphs than they were asked for: turn "
    "that off.",
)  # fmt: skip
