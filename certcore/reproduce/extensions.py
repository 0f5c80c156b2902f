"""What goes beyond the paper, or corrects it, shown next to the paper's own figures."""

from __future__ import annotations

import numpy as np

from certcore.reproduce import findings
from certcore.reproduce.claim import Claim
from certcore.reproduce.claims import CITESEER, CORA, JOINT, LOCAL_DATA, RULE
from certcore.reproduce.measure import Ours, gain_text
from certcore.reproduce.store import Results


def _gain(experiment: str, source: str, better: str, worse: str) -> findings.Find:
    """Mean and largest gain of one variant over another, over all budgets both have."""

    def find(results: Results) -> Ours | None:
        high, low = results.find(experiment, source, better), results.find(experiment, source, worse)
        if not high or not low:
            return None
        gains = []
        for one in high:
            for other in low:
                if one.split == other.split:
                    a, b = one.ratios(), other.ratios()
                    if a.ndim == 1:
                        n = min(len(a), len(b))
                        a, b = a[:n], b[:n]
                    known = np.isfinite(a) & np.isfinite(b)
                    gains.append((a - b)[known])
        if not gains:
            return None
        all_gains = np.concatenate(gains)
        text = (
            f"{gain_text(all_gains.mean())} certified on average, {gain_text(all_gains.max(), up=True)} at most, "
            f"{gain_text(all_gains.min())} at least"
        )
        return Ours(None, text, None, len(high), high[0].samples, bool(all_gains.min() >= 0))

    return find


BEYOND = (
    Claim(
        "tight-additions",
        "fig_joint_attr",
        "Tight instead of the paper's program, additions × deletions, Cora-ML",
        "reference",
        _gain("attributes", CORA, "tight", "paper"),
        how="attributes",
        missing=f"Cora-ML {LOCAL_DATA}.",
        label="better",
    ),
    Claim(
        "tight-additions-citeseer",
        "fig_joint_attr",
        "The same on Citeseer",
        "reference",
        _gain("attributes", CITESEER, "tight", "paper"),
        how="attributes",
        label="better",
    ),
    Claim(
        "tight-joint",
        "fig_joint",
        "Tight instead of the paper's program, attribute × edge deletions, Cora-ML",
        "reference",
        _gain("joint", JOINT, "tight-messages", "paper-messages"),
        how="joint",
        missing=f"The joint map on Cora-ML {LOCAL_DATA}.",
        label="better",
    ),
    Claim(
        "one-dimension",
        "fig_datasets, nlp_graphs",
        "One type of perturbation: the tight program certifies what the paper's does",
        "same program",
        findings.same_in_one_dimension,
        how="datasets",
        why="With one type there is one point per node, and both programs are the same; curves are computed once.",
    ),
    Claim(
        "multiclass",
        "fig_datasets",
        "Multi-class base certificate: r̄, collective, Citeseer",
        "binary rule",
        findings.rules_of_the_base(CITESEER),
        how="datasets",
        why="α is split between two bounds, so it is not better for every node; both rules are offered.",
        label="better",
    ),
    Claim(
        "proofs",
        "everywhere",
        "Bounds that do not rest on the solver's word: verified in exact arithmetic, provable by a file",
        "solver's word",
        findings.proven,
        how="all",
        why="`certcore verify` checks a proof without any solver.",
        label="better",
    ),
    Claim(
        "corrected-edges",
        "fig_local_budget",
        "Certified ratio at 10 edge deletions on Cora-ML, by rule for the edge field",
        "paper's field only",
        findings.edge_rules(10),
        how="local",
        why=RULE,
        missing=f"Edge certificates on Cora-ML: {LOCAL_DATA}.",
        label="corrected",
    ),
    Claim(
        "corrected-joint",
        "fig_joint",
        "Price of the sound edge field for GCN (`messages` minus `degrees`), joint map",
        "not noticed",
        _gain("joint", JOINT, "tight-messages", "tight-degrees"),
        how="joint",
        why=RULE,
        missing=f"The joint map on Cora-ML {LOCAL_DATA}.",
        label="corrected",
    ),
)
