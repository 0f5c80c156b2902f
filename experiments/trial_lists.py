"""What was tried where the paper's numbers and ours differ: one change at a time, then what worked together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from experiments.trials import Documents, Trial

#: Enough to rank trials; never compared with results from more votes.
VOTES = 10**4
#: The paper's number, for the trial that came closest; none of its samples is one that chose it.
PAPER_VOTES = 10**6


def _text(label: str, says: str, per_class: int = 20, **documents: Any) -> Trial:
    return Trial(
        "paper", samples=VOTES, label=label, says=says, per_class=per_class, documents=Documents(**documents)
    )  # fmt: skip


#: One change each to how WebKB's and Reuters' graphs are made from words.
TEXTS = (
    _text("as-is", "three nearest by TF-IDF cosine, made symmetric"),
    _text("named", "directed the other way: from those whose nearest it is", direction="named"),
    _text("two-named", "two nearest, directed the other way", neighbours=2, direction="named"),
    _text("nearest", "directed: a document receives from its three nearest", direction="nearest"),
    _text("two", "two nearest, made symmetric", neighbours=2),
    _text("two-nearest", "two nearest, directed (three with the document itself)", neighbours=2, direction="nearest"),
    _text("mutual", "only pairs that name each other", direction="mutual"),
    _text("cosine", "cosine of plain words", similarity="cosine"),
    _text("words-100", "the 100 most frequent words", words=100),
    _text("informative-100", "the 100 words that tell most about the class", words=100, chosen="informative"),
    _text("long-only", "documents with at least 10 words", at_least=10),
    _text("split-10", "10 instead of 20 nodes per class to train and to stop on", per_class=10),
)

#: The trial whose ratio of collective to naive radius was nearest to the paper's on both graphs, with its votes.
TEXT_WITH_PAPER_VOTES = replace(
    next(trial for trial in TEXTS if trial.label == "two-nearest"), samples=PAPER_VOTES, first=VOTES
)


def _joint(label: str, says: str, theta: tuple[str, str, str, str] | None = None, **schedule: Any) -> Trial:
    return Trial("paper", samples=VOTES, label=label, says=says, theta=theta, schedule=schedule)


#: One change each to noise and training of the joint map's classifier on Cora-ML.
JOINT = (
    _joint("as-is", "the appendix's settings: θ = 0.002, 0.6, 0, 0.4; patience 50"),
    _joint("edges-0.2", "θ for edge deletions 0.2", ("0.002", "0.6", "0", "0.2")),
    _joint("edges-0.1", "θ for edge deletions 0.1", ("0.002", "0.6", "0", "0.1")),
    _joint("words-0.7", "θ for attribute deletions 0.7", ("0.002", "0.7", "0", "0.4")),
    _joint("patience-300", "patience 300", patience=300),
    _joint("words-0.4", "θ for attribute deletions 0.4", ("0.002", "0.4", "0", "0.4")),
    _joint("rate-0.01", "learning rate 0.01", learning_rate=0.01),
    _joint("adds-0.01", "θ for attribute additions 0.01", ("0.01", "0.6", "0", "0.4")),
    _joint("decay-0.0005", "weight decay 0.0005", weight_decay=5e-4),
    _joint("to-the-end", "3,000 epochs without early stopping", patience=3000),
)
