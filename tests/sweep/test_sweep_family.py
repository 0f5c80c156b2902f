"""The key of a question: equal only where results are equal, in all that is shown of them."""

from __future__ import annotations

from dataclasses import replace

from certcore import ThreatModel
from certcore.sweep.family import Question
from certcore.sweep.solve_options import SolveOptions
from tests.sweep.cases import smoothed_like


def test_questions_with_other_answers_have_other_keys() -> None:
    instance = smoothed_like(1, n=30)
    threat = ThreatModel(attr_del=3)
    asked = [
        Question(instance, threat),
        Question(instance, threat.replace(attr_del=4)),
        Question(instance, threat.replace(local_attr_del=1)),
        Question(instance, threat.replace(sigma=2)),
        Question(instance, threat.replace(targets=[0, 1])),
        Question(instance, threat.replace(protected=[0])),
        Question(instance, threat, (), SolveOptions.read("paper", None)),
        Question(instance, threat, (), SolveOptions.read("strong", None, 3)),
        Question(instance, threat, ("sigma",)),
        Question(smoothed_like(2, n=30), threat),
        Question(replace(instance, meta={**instance.meta, "dataset": "another name"}), threat),
    ]
    assert len({question.key for question in asked}) == len(asked)


def test_what_varies_is_no_part_of_the_key() -> None:
    instance = smoothed_like(1, n=30)
    small, large = (
        Question(instance, ThreatModel(attr_del=d, sigma=s), ("attr_del", "sigma")) for d, s in ((1, 2), (9, 4))
    )
    assert small.key == large.key
    assert small.key != Question(instance, ThreatModel(attr_del=1, attr_add=1, sigma=2), ("attr_del", "sigma")).key
