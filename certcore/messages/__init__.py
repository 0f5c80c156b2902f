"""All sentences about a guarantee, for the terminal, the dashboard, reports and files.

A sentence is a `Text`: `str(text)` is plain text, `text.markdown` the same with emphasis and with names from files
escaped. Each is made by a function registered in `SENTENCES`, with the condition under which it is printed. The page
"Every sentence" of the documentation is generated from that list. No module that computes results imports this package.
"""

# ruff: noqa: F401
from __future__ import annotations

from certcore.messages.accuracy import (
    Accuracy,
    accuracy,
    accuracy_words,
    certified_accuracy,
    has_training_nodes,
    not_for_training,
    share_of_right,
)
from certcore.messages.attacker import attacks_nothing, short_threat, threat_words
from certcore.messages.ballots import ballots_of, how_it_sums, why_accuracy, why_control_columns, why_controls
from certcore.messages.field import field_words
from certcore.messages.model_attack import changed_words, jointly, short_changed
from certcore.messages.nodes import node_words, state_words
from certcore.messages.promises import (
    accepted,
    base_kind,
    bracket,
    confidence,
    dataset_title,
    gain,
    guarantee,
    known_already,
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
from certcore.messages.registry import SENTENCES, Sentence
from certcore.messages.short import (
    short_head,
    short_most,
    short_open,
    short_remarks,
    short_sub,
    short_sure,
    short_uncovered,
)
from certcore.messages.sites import attack_words, named_sites, why_larger
from certcore.messages.solve import defence_ended, limit_words, radius, status, strengthening
from certcore.messages.text import Text, budget_words
