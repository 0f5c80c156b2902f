"""Models that read other nodes: a certificate of their ballots would count labels that one added attribute changes."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import certcore_check as small
import numpy as np
import pytest
import torch
from torch import Tensor, nn

import certcore as cc
from certcore import InputError, messages
from certcore.base.ballots import UNIT, BallotsBase
from certcore.instance.instance import instance_from_arrays, instance_to_arrays
from tests.ballots import readers
from tests.ballots.readers import Model, attacked, dormant, labels, ring, shown, staying, turns

#: Model, graph, conversion, labels that would be certified against one added attribute, and those that stay.
READERS: dict[str, tuple[Model, cc.Graph, str | None, int, int]] = {
    "whole numbers that a softmax makes equal": (readers.saturated, turns(61), None, 58, 2),
    "a difference below 0.001": (readers.faint, ring(40), "shares", 37, 0),
    "rows outside eight evenly spaced ones": (readers.rare, ring(40), "shares", 37, 20),
    "attributes that no node has": (readers.dormant, ring(40), "shares", 38, 0),
    "what one attribute of one node starts": (readers.lone, ring(40), "shares", 38, 0),
}


def certified(ballots: np.ndarray, graph: cc.Graph) -> int:
    base = BallotsBase(ballots, 1)
    return cc.certify(cc.Instance(graph, base, layers=1, edge_field="messages"), attr_add=1).certified


pipeline = import_module("certcore.ballots")  # `certcore.ballots` itself is the function


@pytest.mark.parametrize("name", READERS)
def test_a_model_that_reads_other_nodes_is_refused(name: str) -> None:
    model, graph, conversion, claimed, stay = READERS[name]
    assert certified(shown(model, graph), graph) == claimed, "what was certified while it was accepted"
    assert staying(lambda other: shown(model, other), graph) == stay < claimed
    with pytest.raises(InputError, match="reads other nodes"):
        cc.ballots(model, graph, conversion=conversion)


def accepted(name: str) -> bool:
    model, graph, conversion, _, _ = READERS[name]
    try:
        cc.ballots(model, graph, conversion=conversion)
    except InputError:
        return False
    return True


def test_each_weaker_check_accepts_one_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The earlier check in parts: compared after a softmax, tolerance 0.001, eight rows, clean attributes only."""
    names = list(READERS)
    assert not any(map(accepted, names))
    whole, every = pipeline._whole, pipeline._evaluations

    def after_softmax(scores: np.ndarray, conversion: str | None) -> tuple[np.ndarray, str]:
        return whole(scores.astype(float), "softmax") if scores.dtype.kind == "i" else whole(scores, conversion)

    def tolerant(model: Model, clean: np.ndarray, n_classes: int) -> Any:
        for rows, answers, why, _ in every(model, clean, n_classes):
            yield rows, answers, why, True

    def eight_rows(model: Model, clean: np.ndarray, n_classes: int) -> Any:
        some = np.linspace(0, len(clean) - 1, 8).astype(int)
        for rows, answers, *rest in every(model, clean, n_classes):
            keep = np.isin(rows, some)
            yield rows[keep], answers[keep], *rest

    def clean_values(model: Model, clean: np.ndarray, n_classes: int) -> Any:
        found = every(model, clean, n_classes)
        yield next(found)
        yield next(found)

    def no_single_row(model: Model, clean: np.ndarray, n_classes: int) -> Any:
        for rows, answers, *rest in every(model, clean, n_classes):
            if len(rows) != len(clean) - 1:
                yield rows, answers, *rest

    mistakes = (
        ("_whole", after_softmax),
        ("_evaluations", tolerant),
        ("_evaluations", eight_rows),
        ("_evaluations", clean_values),
        ("_evaluations", no_single_row),
    )
    for name, (what, mistake) in zip(names, mistakes, strict=True):
        with monkeypatch.context() as patch:
            patch.setattr(pipeline, what, mistake)
            if mistake is tolerant:
                patch.setattr(pipeline, "UNITS", UNIT // 1000)
                patch.setattr(pipeline, "_need_clear_labels", lambda *_: None)
            also = names[4:] if mistake is clean_values else []  # that one is about changed attributes as well
            assert [one for one in names if accepted(one)] == [name, *also], "accepts this model and no other"


def test_rows_alone_and_replaced_rows_are_both_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One model reads how many rows there are, another one row that only one other row reads."""
    graph = ring(300)

    def counts(x: Tensor) -> Tensor:
        return torch.stack([500 + x[:, 0] * 100, torch.full((len(x),), float(len(x)))], dim=1).long()

    def one_reads_one(x: Tensor) -> Tensor:
        answers = torch.stack([x[:, 0], 1 - x[:, 0]], dim=1).long()
        if len(x) > 1:
            answers[217, 0] += x[118, 3].long()
        return answers

    for model in (counts, one_reads_one):
        with pytest.raises(InputError, match="reads other nodes"):
            cc.ballots(model, graph)
    monkeypatch.setattr(pipeline, "ALONE", 20)
    with pytest.raises(InputError, match="reads other nodes"):
        cc.ballots(one_reads_one, graph)
    instance = cc.ballots(lambda x: (5 * x[:, :2]).long(), graph)
    assert instance.base.facts["ballots_checked"] == 20


def test_what_a_module_stores_and_more_rows_are_seen_through() -> None:
    graph = ring(40)
    with pytest.raises(InputError, match="reads other nodes"):
        cc.ballots(readers.Remembers().eval(), graph, conversion="shares")

    def more_rows(x: Tensor) -> Tensor:
        return torch.stack([5 + x[:, 0], torch.full((len(x),), 9 * float(len(x) > 40))], dim=1).long()

    with pytest.raises(InputError, match="absent, changed or added"):
        cc.ballots(more_rows, graph)
    linear = nn.Linear(4, 2).eval()
    linear.known = (torch.ones(2, requires_grad=True) * 2,)
    with pytest.raises(InputError, match="the model cannot be copied"):
        cc.ballots(linear, graph, conversion="softmax")


def test_a_few_units_are_rounding_unless_a_label_depends_on_them() -> None:
    graph = ring(40)

    def off(units: int, lead: float) -> Model:
        def model(x: Tensor) -> Tensor:
            own = 0.5 + lead / 2 + units / UNIT * float(len(x) == 40)
            shares = torch.tensor([own, 1 - own], dtype=torch.float64)
            return torch.where(x[:, :1] > 0.5, shares.flip(0), shares)

        return model

    assert cc.ballots(off(2, 0.5), graph, conversion="shares").base.facts["ballots_checked"] == 40
    with pytest.raises(InputError, match="differs by 3 units of 2²⁰ and 2 are allowed"):
        cc.ballots(off(3, 0.5), graph, conversion="shares")
    with pytest.raises(
        InputError, match="differ by 1 units of 2²⁰ between evaluations, and 40 labels may depend on that"
    ):
        cc.ballots(off(1, 0), graph, conversion="shares")
    with pytest.raises(InputError, match="differs by 1 units of 2²⁰ and 0 are allowed"):  # of as many rows
        cc.ballots(lambda x: off(0, 0.5)(x) - (x[:, 3] > 0.5).any() / UNIT, graph, conversion="shares")
    floats = cc.ballots(
        lambda x: 7 * x[:, :2], graph, conversion="whole"
    )  # whole numbers in floats are compared exactly
    assert np.asarray(floats.base.arrays()["ballots"]).max() == 7
    with pytest.raises(InputError, match="differs by 1 units of 2²⁰ and 0 are allowed"):
        cc.ballots(lambda x: 7 * x[:, :2] + (x[:, 1:2].sum() > 4), graph, conversion="whole")


def test_one_odd_row_changes_no_other_ballot() -> None:
    """Earlier all rows went through a softmax as soon as one was no row of shares: 39 of 42 certified, 0 stayed."""
    graph = turns(42)
    for conversion, model in (("shares", readers.linear), ("softmax", readers.uneven)):
        instance = cc.ballots(model, graph, conversion=conversion)
        found = cc.certify(instance, attr_add=1).certified
        assert found == 39

        def show(other: cc.Graph, model: Model = model, conversion: str = conversion) -> np.ndarray:
            made = cc.ballots(readers.answers(model, other), other, conversion=conversion)
            return np.asarray(made.base.arrays()["ballots"])

        assert staying(show, graph) >= found
    odd = next(one for one in attacked(graph) if one.attributes.toarray()[:, 3].any())
    with pytest.raises(InputError, match=r'no shares: a row sums to 4 .*conversion="softmax"'):
        cc.ballots(readers.uneven, odd, conversion="shares")


def test_what_scores_are_is_not_guessed() -> None:
    graph = ring(12)
    floats = np.full((12, 2), 0.5)
    with pytest.raises(InputError, match=r'not guessed; give conversion="whole" .*"shares" .*"softmax"'):
        cc.ballots(floats, graph)
    with pytest.raises(InputError, match="conversion is 'logits'; expected one of whole, shares, softmax"):
        cc.ballots(floats, graph, conversion="logits")
    for wrong, conversion, match in (
        (floats, "whole", "not all whole"),
        (floats * 2, "shares", "no shares: a row sums to 2"),
        (floats * [[3, -1]], "shares", "least entry is -0.5"),
        (floats > 0, "shares", "type bool"),
        (floats * np.nan, "softmax", "not all finite"),
        (np.full((12, 2), -1), None, "-1"),
        (floats[:-1], "shares", "11 rows; expected one for each of 12 nodes"),
    ):
        with pytest.raises(InputError, match=match):
            cc.ballots(wrong, graph, conversion=conversion)
    assert (labels(cc.ballots(floats, graph, conversion="softmax").base.arrays()["ballots"], graph) == 0).all()


def test_exceptions_chance_and_training_mode_get_one_sentence() -> None:
    graph = ring(12)
    norm = nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 2))
    for part in (norm, norm.eval().requires_grad_()):
        part[0].train()
        with pytest.raises(InputError, match=r"training mode.*call model\.eval\(\) first"):
            cc.ballots(part, graph, conversion="softmax")
    with pytest.raises(InputError, match=r"raised ValueError .*more than 1 value per channel.*call eval\(\) first"):
        cc.ballots(lambda x: norm.train()(x), graph, conversion="softmax")
    assert cc.ballots(norm.eval(), graph, conversion="softmax").base.facts["ballots_checked"] == 12
    with pytest.raises(InputError, match="raised RuntimeError"):
        cc.ballots(nn.Linear(3, 2).eval(), graph, conversion="softmax")
    with pytest.raises(InputError, match="called twice, so it depends on chance or on earlier calls"):
        cc.ballots(lambda x: torch.rand(len(x), 2), graph, conversion="softmax")
    with pytest.raises(InputError, match=r"shape \(1, 1\); expected a row of scores of 2"):
        cc.ballots(lambda x: x[:, : min(2, len(x))], graph, conversion="softmax")


def test_an_array_is_taken_as_given_and_a_model_says_on_how_many_rows_it_was_checked(tmp_path: Path) -> None:
    """An array of a model that reads other nodes: 22 of 24 certified, 0 stay, so the sentence names the assumption."""
    graph = ring(24)
    array = cc.ballots(shown(dormant, graph), graph)
    model = cc.ballots(lambda x: 9 * x[:, :2].long(), graph)
    assert cc.certify(array, attr_add=1).certified == 22
    assert staying(lambda other: shown(dormant, other), graph) == 0
    assumed = "provided that every ballot is made from its node's own attributes alone"
    for instance, known in (
        (array, "taken as given"),
        (model, "checked on a model on 24 of 24 rows, according to the file"),
    ):
        cc.save_instance(tmp_path / "a.npz", instance)
        instance = cc.load_instance(tmp_path / "a.npz")
        seen = small.Instance(small.Arrays.read(str(tmp_path / "a.npz")), "binary")
        assert seen.digest == instance.digest
        found = cc.certify(instance, attr_add=1)
        assert found.proof is not None
        said = [
            str(messages.guarantee(instance, found)),
            str(messages.accepted(instance, found.threat, found.certified, found.targets)),
            small.check(found.proof, seen),
        ]
        assert all(f"{assumed} ({known})" in one for one in said)
        short = str(messages.short_sub(instance, found.threat, found.certified))
        assert "provided that ballots read no other node" in short
        assert "certain" not in " ".join([*said, short])
    arrays = instance_to_arrays(model)
    assert "ballots_checked" not in instance_to_arrays(array)
    without = {key: value for key, value in arrays.items() if key != "ballots_checked"}
    assert instance_from_arrays(without).digest != model.digest, "a claim about a check cannot be added to a proof"
    for wrong in (0, 25, -1):
        claim = arrays | {"ballots_checked": np.array(wrong)}
        with pytest.raises(InputError, match="ballots_checked"):
            instance_from_arrays(claim)
        with pytest.raises(ValueError, match="ballots_checked"):
            small.Instance(small.Arrays(claim), "binary")
