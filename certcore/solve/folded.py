"""Division voting in a smaller model: symmetric rows and columns are merged (folded) into one.

In most groups a target has no edge. There a token at the target changes its one vote and nothing else, and all such
groups of a target are symmetric: their votes, tokens and rows are replaced by their sums. Additions of all groups share
one budget and are merged too. Dominated tokens are left out. By symmetry the optimum stays the same: a solution is
spread evenly over the merged columns, and every merged row gets the dual value of the sum.

Most targets need more than the budget. The model begins with the smallest thresholds (column generation); a target is
added when the dual values of tokens and deletions near it leave it a positive reduced cost.

Solution and dual values are evaluated on the whole program, so that soundness does not depend on this module.
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import highspy
import numpy as np
import scipy.sparse as sp

from certcore.domain.perturbations import ADJ_ADD
from certcore.program.division import DivisionStructure
from certcore.program.groups import undominated
from certcore.program.program import Program
from certcore.program.structure import Structure
from certcore.solve.engine import Method, quiet_highs
from certcore.solve.highs import HighsModel, Solution, needed_rows
from certcore.solve.status import Status

#: With so few groups hardly any are symmetric, and the whole model is as fast.
FEW_GROUPS = 3
#: The thresholds of the targets in the first model add up to this multiple of what the budget allows.
PLENTY = 2
#: Beyond this share of the targets all are added, which saves further rounds.
MOST = 0.8
#: If the model grows by more than this share at once, the next solve starts cold.
MANY = 0.1
#: Rounds in which the slack of the dual constraints is distributed among the votes.
PASSES = 3
#: Tolerance for positive reduced costs.
TOLERANCE = 1e-9


def can_be_folded(structure: Structure) -> bool:
    """Whether additions are in play, in many groups, without σ (who pays ties them together), not on a tiny graph."""
    rows = structure.rows
    if not isinstance(structure, DivisionStructure) or "tokens" not in rows or {"sigma", "group"} & set(rows):
        return False
    return sum(name.startswith("near") for name in rows) > FEW_GROUPS


class Fold:
    """Rows and columns of a structure, and those of the model that stand for them (−1: none)."""

    def __init__(self, structure: DivisionStructure) -> None:
        s = self.structure = structure
        count = len(s.groups)
        self.near = near = slice(s.rows["near0"].start, s.rows["voted"].start)
        votes = near.stop - near.start
        groups = votes // max(count, 1)
        inner = s.columns.inner.start
        self.tokens = slice(inner + s.first_token, inner + s.first_token + len(s.token_node))
        block = sp.csr_array(s.matrix[near])
        by_token = sp.csr_array(block[:, self.tokens])
        # A vote is alone if one token changes it, which changes no other, and no deletion does.
        alone = (np.diff(by_token.indptr) == 1) & (np.diff(block.indptr) == 2)
        token = np.full(votes, -1)
        token[alone] = by_token.indices[by_token.indptr[:-1][alone]]
        reach = np.bincount(by_token.indices, minlength=by_token.shape[1])
        alone[alone] = reach[token[alone]] == 1
        self.alone = alone.reshape(-1, count)
        self.shared = groups - self.alone.sum(axis=0)
        place = np.flatnonzero(alone)  # group by group, as the rows are
        target, group = place % max(count, 1), place // max(count, 1)
        first = np.full(count, -1)
        first[target[::-1]] = place[::-1]
        stands = first[target]

        # Votes × what changes them: deletions and tokens.
        self.site_columns = np.concatenate([np.arange(len(s.flips)), np.arange(self.tokens.start, self.tokens.stop)])
        self.sites = abs(sp.csr_array(block[:, self.site_columns]))
        rows, columns = np.arange(s.matrix.shape[0]), np.arange(s.columns.count)
        rows[near.start + place] = near.start + stands
        by_target, stands_by_target = target * groups + group, target * groups + stands // max(count, 1)
        rows[s.rows["voted"].start + by_target] = s.rows["voted"].start + stands_by_target
        rows[s.rows["tokens"]] = s.rows["tokens"].start
        columns[inner + by_target] = inner + stands_by_target
        columns[self.tokens.start + token[place]] = self.tokens.start + token[stands]
        self.added = np.flatnonzero(s.flips.kind == ADJ_ADD)
        columns[self.added] = self.added[0]
        kept = np.ones(s.columns.count, dtype=bool)
        if "local_adding" not in s.rows:  # a local budget may forbid the dominating token
            kept[self.tokens] = undominated(by_token, np.ones(by_token.shape[1], dtype=bool))
        needed = np.zeros(len(rows), dtype=bool)
        needed[needed_rows(s)] = True
        self.row_of, self.rows = _numbered(rows, needed)
        self.column_of, self.columns = _numbered(columns, kept)
        self.size = np.bincount(self.column_of[self.column_of >= 0], minlength=len(self.columns))
        inside = np.flatnonzero(self.row_of >= 0)
        ones = np.ones(len(inside), dtype=np.int64)
        self.sums = sp.csr_array(sp.coo_array((ones, (self.row_of[inside], inside)), (len(self.rows), len(rows))))

    def upper(self, program: Program) -> np.ndarray:
        return program.upper[self.columns].astype(np.float64) * self.size

    def rhs(self, program: Program) -> np.ndarray:
        return np.asarray(self.sums @ program.rhs, dtype=np.float64)

    def spread(self, x: np.ndarray) -> np.ndarray:
        """A solution of the whole program."""
        inside = self.column_of >= 0
        whole = np.zeros(len(self.column_of))
        whole[inside] = (x / self.size)[self.column_of[inside]]
        ends = self.structure.matrix[self.structure.rows["tokens"]][:, self.tokens] @ whole[self.tokens]
        whole[self.added] = ends / 2
        return whole

    def duals(self, y: np.ndarray) -> np.ndarray:
        inside = self.row_of >= 0
        whole = np.zeros(len(self.row_of))
        whole[inside] = y[self.row_of[inside]]
        return whole

    def pay(self, y: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Set the dual values of targets outside the model such that their reduced costs are at most 0.

        The row of a vote that one token alone changes gets the dual value of a token. The rest comes from the other
        votes, as far as the dual constraints of tokens and deletions near them have slack. Returns the targets whose
        reduced costs stay positive.
        """
        s, count = self.structure, len(self.structure.groups)
        price = float(y[s.rows["tokens"]].max(initial=0.0))
        need, shared = s.need[targets], self.shared[targets]
        own = np.where(need > shared, np.minimum(price, 1.0 / np.maximum(need - shared, 1)), 1.0 / need)
        missing = 1.0 - (need - shared) * own
        given = np.zeros((len(targets), self.alone.shape[0]))
        rows = (np.arange(self.alone.shape[0]) * count + targets[:, None]).ravel()
        open_ = ~self.alone[:, targets].T
        sites = self.sites[rows]
        ends = sites.indptr[:-1][np.diff(sites.indptr) > 0]
        left = np.maximum((s.steady_columns @ y)[self.site_columns], 0.0)
        for _ in range(PASSES):
            asking = open_ & (given.sum(axis=1) < missing - TOLERANCE)[:, None]
            among = np.maximum(sites.T @ asking.ravel().astype(np.float64), 1.0)
            room = np.full(len(rows), np.inf)
            room[np.diff(sites.indptr) > 0] = np.minimum.reduceat((left / among)[sites.indices], ends)
            more = np.where(asking, np.minimum(room.reshape(given.shape), own[:, None] - given), 0.0)
            total = np.maximum(more.sum(axis=1), 1e-300)
            more *= np.minimum((missing - given.sum(axis=1)) / total, 1.0)[:, None]
            given += np.maximum(more, 0.0)
            left = np.maximum(left - sites.T @ np.maximum(more, 0.0).ravel(), 0.0)
        near, voted = y[self.near].reshape(-1, count), y[s.rows["voted"]].reshape(count, -1)
        y[s.rows["need"].start + targets] = own
        near[:, targets] = np.where(open_, given, own[:, None]).T
        voted[targets] = np.where(open_, own[:, None] - given, 0.0)
        return targets[(given.sum(axis=1) < missing - TOLERANCE) | (own * need < 1.0 - TOLERANCE)]


class FoldedModel(HighsModel):
    """The model of a folded program; solutions and dual values are those of the whole one."""

    def __init__(self, program: Program) -> None:
        assert isinstance(program.structure, DivisionStructure)
        self._fold = Fold(program.structure)
        self._h = quiet_highs()
        self._integer = False
        self._inside = np.zeros(len(program.structure.groups), dtype=bool)
        self._choose(program)
        self._upper, self._rhs = self._bounds(program), self._fold.rhs(program)
        matrix = sp.csr_array((self._fold.sums @ program.matrix)[:, self._fold.columns])
        lp = highspy.HighsLp()
        lp.num_row_, lp.num_col_ = matrix.shape
        lp.col_cost_ = -program.objective[self._fold.columns].astype(np.float64)
        lp.col_lower_ = np.zeros(lp.num_col_)
        lp.col_upper_ = self._upper
        lp.row_lower_ = np.full(lp.num_row_, -highspy.kHighsInf)
        lp.row_upper_ = self._rhs
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = matrix.indptr.astype(np.int32)
        lp.a_matrix_.index_ = matrix.indices.astype(np.int32)
        lp.a_matrix_.value_ = matrix.data.astype(np.float64)
        self._h.passModel(lp)

    def _choose(self, program: Program) -> None:
        """Add the targets with the smallest thresholds."""
        s, amounts = self._fold.structure, program.amounts
        self._program = program
        self._open = np.flatnonzero(program.open)
        order = self._open[np.argsort(s.need[self._open], kind="stable")]
        enough = int(np.searchsorted(np.cumsum(s.need[order]), 2 * PLENTY * s.flips_at(amounts)))
        least = s.need[order[min(enough, len(order) - 1)]] if len(order) else 0
        self._inside[order[s.need[order] <= least]] = True

    def _bounds(self, program: Program) -> np.ndarray:
        """Upper bounds of the columns, 0 for targets that are left out."""
        upper = self._fold.upper(program)
        if self._inside[self._open].mean() > MOST:
            self._inside[:] = True
        upper[self._fold.column_of[self._fold.structure.columns.points]] *= self._inside
        return upper

    def update(self, program: Program) -> None:
        self._choose(program)
        rhs = self._fold.rhs(program)
        self._move(self._bounds(program))
        for row in np.flatnonzero(rhs != self._rhs).tolist():
            self._h.changeRowBounds(int(row), -highspy.kHighsInf, float(rhs[row]))
        self._rhs = rhs

    def _move(self, upper: np.ndarray) -> None:
        columns = np.flatnonzero(upper != self._upper)
        if len(columns):
            self._h.changeColsBounds(len(columns), columns.astype(np.int32), np.zeros(len(columns)), upper[columns])
        self._upper = upper

    def solve(
        self, *, time_limit: float, cancel: threading.Event | None = None, method: Method = Method.SIMPLEX
    ) -> Solution:
        """Solve, add the targets with positive reduced costs, and solve again."""
        deadline = time.perf_counter() + time_limit
        while True:
            found = super().solve(time_limit=deadline - time.perf_counter(), cancel=cancel, method=method)
            left_out = self._open[~self._inside[self._open]]
            y = found.duals
            if found.x is None or y is None:
                return found
            positive = self._fold.pay(y, left_out)
            if found.status is not Status.OPTIMAL or not len(positive):
                return replace(found, x=self._fold.spread(found.x))
            many = len(positive) > MANY * self._inside.sum()
            self._inside[positive] = True
            self._move(self._bounds(self._program))
            if many:
                self._h.clearSolver()  # cold, with presolve, which removes the targets that are left out

    def _row_duals(self, row_dual: object) -> np.ndarray:
        return self._fold.duals(-np.array(row_dual))


def _numbered(stands: np.ndarray, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each element the number of its representative (−1: left out), and the representatives."""
    chosen = np.flatnonzero((stands == np.arange(len(stands))) & kept)
    number = np.full(len(stands), -1)
    number[chosen] = np.arange(len(chosen))
    return number[stands], chosen
