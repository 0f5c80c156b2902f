"""All sentences about a guarantee, for the terminal, the dashboard, reports and files.

A sentence is a `Text`: `str(text)` is plain text, `text.markdown` the same with emphasis and with names from files
escaped. No module that computes results imports this package.
"""

# ruff: noqa: F401
from __future__ import annotations

from certcore.messages.attack import attack_words, named_sites, node_words, state_words, why_larger
from certcore.messages.attacker import attacks_nothing, ballots_of, short_threat, threat_words
from certcore.messages.guarantee import (
    accepted,
    base_kind,
    bracket,
    confidence,
    dataset_title,
    gain,
    guarantee,
    joint_confidence,
    not_covered,
    not_per_node,
    promise,
    remarks,
    said_convex,
    statement,
    subject,
    summary,
    uncovered,
)
from certcore.messages.headline import (
    short_head,
    short_most,
    short_open,
    short_remarks,
    short_sub,
    short_sure,
    short_uncovered,
    where_ballots,
)
from certcore.messages.model import (
    Accuracy,
    accuracy,
    accuracy_words,
    certified_accuracy,
    changed_words,
    field_words,
    has_training_nodes,
    how_it_sums,
    jointly,
    not_for_training,
    share_of_right,
    short_changed,
    why_accuracy,
    why_control_columns,
    why_controls,
)
from certcore.messages.status import defence_ended, limit_words, radius, status, strengthening
from certcore.messages.text import Text, budget_words
from certcore.messages.weights import amount, counted
