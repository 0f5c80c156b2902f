"""The paper's program as one would write it in CVXPY: built once, budgets as parameters, solved by HiGHS.

Every target has its own rows; nothing is merged, dropped or started warm. Points beyond the budgets are switched off
by a parameter, because the set L of the paper depends on the budgets.
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from certcore import Instance, ThreatModel
from certcore.domain.perturbations import ADJ_DEL, TYPES
from certcore.program.problem import Problem


class PaperProgram:
    """Collective certificate for arbitrary perturbations, with local budgets and σ as in the paper's appendix."""

    def __init__(self, instance: Instance, threat: ThreatModel) -> None:
        problem = Problem(instance, threat)
        graph = instance.graph
        self.types = problem.in_play
        self.targets = len(problem.targets)
        fronts, fields = problem.fronts, problem.fields
        front = fronts.front_of_node[problem.targets]
        sizes = np.diff(fronts.indptr)[front]
        owner = np.repeat(np.arange(self.targets), sizes)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        points = fronts.points[fronts.indptr[front][owner] + within]
        zero = (points == 0).all(axis=1)
        others = [k for k in range(len(TYPES)) if k not in self.types]
        useful = ~zero & (points[:, others] == 0).all(axis=1)
        self.fallen = len(np.unique(owner[zero]))
        useful &= ~np.isin(owner, owner[zero])
        self.points, owner = points[useful], owner[useful]

        self.budget = {k: cp.Parameter(nonneg=True) for k in self.types}
        self.open = cp.Parameter(len(owner), nonneg=True)
        reached = cp.Variable(len(owner), nonneg=True)
        broken = cp.Variable(self.targets, nonneg=True)
        members = sp.csr_array((np.ones(len(owner)), (owner, np.arange(len(owner)))), (self.targets, len(owner)))
        rows = [broken <= members @ reached, broken <= 1, reached <= self.open]
        caps = problem.capacities
        self.sigma = None
        attackers = None
        if threat.sigma is not None:
            self.sigma = cp.Parameter(nonneg=True)
            attackers = cp.Variable(graph.n_nodes, nonneg=True)
            rows += [attackers <= 1, cp.sum(attackers) <= self.sigma]
        for k in self.types:
            field = fields.edges if k == ADJ_DEL else fields.nodes
            assert field is not None
            flips = cp.Variable(field.shape[1], nonneg=True)
            amount = flips
            if k == ADJ_DEL:
                ends = graph.edges
                count = len(ends)
                at = [
                    sp.csr_array((np.ones(count), (ends[:, e], np.arange(count))), (graph.n_nodes, count))
                    for e in (0, 1)
                ]
                if attackers is not None:
                    paid = [flips, cp.Variable(count, nonneg=True)]
                    amount = paid[0] + paid[1]
                    rows += [at[0] @ paid[0] + at[1] @ paid[1] <= cp.multiply(attackers, caps[k].astype(float))]
                rows += [amount <= 1]
                if problem.limited(k):
                    rows += [(at[0] + at[1]) @ amount <= problem.local_limits[k].astype(float)]
            else:
                if problem.limited(k) or attackers is not None:
                    rows += [flips <= caps[k].astype(float)]
                if attackers is not None:
                    rows += [flips <= cp.multiply(attackers, caps[k].astype(float))]
            rows += [cp.sum(amount) <= self.budget[k]]
            need = np.flatnonzero(self.points[:, k] > 0)
            inside = field.astype(np.float64) @ amount
            rows += [inside[owner[need]] >= cp.multiply(self.points[need, k].astype(float), reached[need])]
        self.problem = cp.Problem(cp.Maximize(cp.sum(broken)), rows)

    def attacked(self, budgets: tuple[int, ...], sigma: int | None = None, *, cold: bool = False) -> float:
        """The relaxed optimum: how many targets can be attacked. CVXPY starts from its last solution unless cold."""
        for k in self.types:
            self.budget[k].value = budgets[k]
        if self.sigma is not None:
            self.sigma.value = sigma
        self.open.value = (self.points <= np.array(budgets)).all(axis=1).astype(float)
        self.problem.solve(solver=cp.HIGHS, warm_start=not cold, highs_options={"threads": 1})
        return self.fallen + float(self.problem.value)
