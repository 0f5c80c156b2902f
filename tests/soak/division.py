"""Division voting against enumeration, for as many graphs as one likes; goes on where it stopped.

python -m tests.soak.division --graphs 6000 --state FILE [--seconds 540]      from graph 0 on, or from where FILE is
python -m tests.soak.division --wrong NAME                                    with a mistake made on purpose

Graph number k is the same in every run with the same seed, so a finding is repeated by `--from k --graphs k+1`. With
`--wrong` the run must end with a finding.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import certcore.instance.division as fields_of_votes
import certcore.instance.fields as fields
from certcore import ThreatModel, certify
from certcore.base.division import ABSTAINS, DivisionBase
from certcore.common.files import atomic_write
from certcore.domain.perturbations import UNLIMITED
from certcore.program.division import DivisionBuilder
from tests.division.enumeration import Counts, Hub, Violation, enumerate_graph, holds

#: So often what is done is written down.
EVERY = 25


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=3000, help="up to this number")
    parser.add_argument("--from", type=int, default=0, dest="first", help="first graph (default: where the state is)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=540, help="stop after so many; run again to go on")
    parser.add_argument("--state", type=Path, help="file in which counts are kept")
    parser.add_argument("--wrong", choices=list(MISTAKES), help="make this mistake and see it caught")
    args = parser.parse_args()
    if args.wrong:
        MISTAKES[args.wrong]()
    try:
        print(json.dumps(run(args.first, args.graphs, args.seed, args.seconds, args.state)))
    except Violation as found:
        print(f"finding: {found}")
        sys.exit(1)


def run(first: int, graphs: int, seed: int, seconds: float, state: Path | None) -> dict[str, Any]:
    """Counts so far, with the number of the next graph and the processor seconds they took."""
    counts, before, number = Counts(), 0.0, first
    if state is not None and state.exists():
        kept = json.loads(state.read_text(encoding="utf-8"))
        if kept["seed"] != seed:
            raise SystemExit(f"{state} was made with the seed {kept['seed']}; give that one, or another file")
        number, before, counts = kept["next"], kept["cpu_seconds"], Counts(**kept["counts"])
    started, cpu = time.perf_counter(), time.process_time()
    hub()
    while number < graphs and time.perf_counter() - started < seconds:
        try:
            enumerate_graph(number, seed, counts)
        except Violation as found:
            raise Violation(f"graph {number} of seed {seed}: {found}") from found
        number += 1
        done = {
            "seed": seed,
            "next": number,
            "cpu_seconds": round(before + time.process_time() - cpu, 1),
            "counts": dataclasses.asdict(counts),
        }
        if state is not None and (number % EVERY == 0 or number == graphs):
            with atomic_write(state, "w") as file:
                json.dump(done, file)
    return done


def hub() -> None:
    """One addition at a hub changes all its leaves where degrees of senders are read."""
    bound = certify(Hub().instance("degrees"), ThreatModel(adj_add=1)).bound
    holds(bound >= Hub().worst, f"{Hub().worst} leaves of the hub change, the bound is {bound}")


# Mistakes: each of them claims too much somewhere.


def _field() -> None:
    """One hop too few where degrees of senders are read."""
    near = fields_of_votes._near
    fields_of_votes._near = lambda graph, chosen, targets, hops: near(graph, chosen, targets, max(hops - 1, 0))


def _thresholds(change: Callable[[DivisionBase, np.ndarray], np.ndarray]) -> Callable[[], None]:
    def make() -> None:
        right = DivisionBase.thresholds.func
        wrong = cached_property(lambda self: change(self, right(self)))
        wrong.__set_name__(DivisionBase, "thresholds")
        DivisionBase.thresholds = wrong

    return make


def _abstentions(base: DivisionBase, right: np.ndarray) -> np.ndarray:
    """An abstention is taken for a vote that cannot be won."""
    lost = (base.votes == ABSTAINS).any(axis=0) & (right < UNLIMITED)
    return np.where(lost & (right == base.n_groups), UNLIMITED, right)


def _rivals(base: DivisionBase, right: np.ndarray) -> np.ndarray:
    """Classes nobody voted for are no rivals."""
    counted = [len(set(column[column != ABSTAINS])) for column in base.votes.T]
    return np.where(np.array(counted) < 2, UNLIMITED, right)


def _replaced(owner: Any, name: str, change: Callable[[Any], Any]) -> Callable[[], None]:
    return lambda: setattr(owner, name, change(getattr(owner, name)))


def _one_end(right: Any) -> Any:
    """An added edge counts at one of its ends."""

    def rows(self: DivisionBuilder) -> None:
        add = self.blocks.add

        def fewer(name: str, rhs: np.ndarray, *entries: Any) -> None:
            if name == "tokens" and not self.has_sigma:
                entries = (*entries[:-1], (*entries[-1][:2], -1))
            add(name, rhs, *entries)

        self.blocks.add = fewer
        right(self)
        self.blocks.add = add

    return rows


def _own_edges(right: Any) -> Any:
    """Who pays for a deleted edge must be its first end."""

    def rows(self: DivisionBuilder) -> None:
        columns = self.flip_columns[self.is_edge]
        row, ends = np.arange(len(columns)), self.attacker_column[self.graph.edges[self.flips.site[self.is_edge]]]
        self.blocks.add("pair", np.zeros(len(row)), (row, columns, 1), (row, ends[:, 0], -1))

    return rows


def _node_costs(right: Any) -> Any:
    """The cost of an attribute flip is the price of an added edge."""

    def coefficients(self: DivisionBuilder, nodes: np.ndarray, payers: np.ndarray, matrix: Any) -> Any:
        return dataclasses.replace(right(self, nodes, payers, matrix), costs=self.problem.node_costs[payers[1]])

    return coefficients


def _receivers(right: Any) -> Any:
    """A node that only sends has no edge (with an attribute budget beside)."""
    return lambda *args, either_end=False, **more: right(*args, **more)


MISTAKES: dict[str, Callable[[], None]] = {
    "field": _field,
    "threshold": _thresholds(lambda _, right: np.where(right < UNLIMITED, right + 1, right)),
    "abstentions": _thresholds(_abstentions),
    "rivals": _thresholds(_rivals),
    "one-end": _replaced(DivisionBuilder, "_token_rows", _one_end),
    "first-end": _replaced(DivisionBuilder, "_end_rows", _own_edges),
    "node-costs": _replaced(DivisionBuilder, "_coefficients", _node_costs),
    "receivers": _replaced(fields, "hop_fields", _receivers),
}


if __name__ == "__main__":
    main()
