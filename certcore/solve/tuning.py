"""Tuning values: they affect the time and quality of a bound, never its validity.

A value with a recorded measurement has it in its comment. The others name in brackets the commit that introduced them;
nothing else is recorded about their choice. They may be changed after running `python -m benchmarks`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SolverTuning:
    """Solve loop of `solver.py`: choice of the start, and how much is kept."""

    #: Maximum number of stored bases [20f4553]. Bounds the memory of a session.
    max_bases: int = 128
    #: Maximum number of stored dual values for previews [895b152].
    max_known: int = 32
    #: Maximum number of stored results without their allocation [895b152].
    max_answers: int = 4096
    #: Maximum number of stored results with their allocation [895b152].
    max_allocations: int = 8
    #: Beyond this distance from every known basis a cold start is faster [20f4553].
    far: float = 3.0
    #: `far` for programs with σ, which are larger and gain less from a basis [3c4529a].
    far_with_sigma: float = 1.0
    #: With more cuts than this in the model, it is rebuilt without cuts [3c4529a].
    max_cuts: int = 20_000
    #: Maximum number of rounds of cuts; more do not pay off [35f1ea8].
    max_rounds: int = 60
    #: Feasibility tolerance relative to the right-hand side, somewhat above that of the solvers [895b152].
    tolerance: float = 1e-5
    #: With more entries than this and several types, a cold start uses interior point (but see `dense_row`). With the
    #: options of `master.py`, simplex takes 0.19 instead of 0.33 s at 60,000 entries, 1.2 instead of 1.5 s at 262,000
    #: (Citeseer), and 0.9 to 1.9 instead of 1.8 s at 448,000 (Cora joint).
    ipm_entries: int = 500_000
    #: With more entries per row than this, `ipm_entries` is ignored and simplex is used: long rows (fields of edges)
    #: are slower with interior point (cold edge certificates became three times faster, 0317df6).
    dense_row: int = 100
    #: With more rows than this, a cold start always uses interior point [0317df6].
    ipm_rows: int = 15_000
    #: Programs with more groups than this use a restricted master. Smaller ones are as fast as a whole from the second
    #: budget on, because a basis of the whole program is known then (measured break-even, 9aa235a).
    large_groups: int = 5_000
    #: Programs against ballots with more groups than this use a restricted master. PubMed at 20 deletions (5,023
    #: groups) takes 0.03 instead of 1.3 s, 5 controlled nodes 0.5 s instead of minutes.
    large_ballots: int = 3_000
    #: Programs with σ and more entries than this use a restricted master (measured break-even, 9aa235a).
    large_entries_with_sigma: int = 1_000_000
    #: Programs with several types and more entries than this use a restricted master, and so do those of one type that
    #: are solved at one budget point only; whole curves of one type are faster from basis to basis. Cold, in processor
    #: seconds: Cora joint, 21 attribute and 8 edge deletions (448,000 entries) 1.8 with the whole program, 0.28 with a
    #: restricted master; Citeseer, 8 additions and 21 deletions (61,000) 0.34 and 0.08; Cora-ML, 50 edge deletions
    #: (1.3 million) 1.1 and 0.23. Steps take the same time or less, curves of two types 0.87 to 1.25 of the time.
    large_entries: int = 50_000


@dataclass(frozen=True)
class FirstOrderTuning:
    """The first-order method of `first_order.py`."""

    #: Iterations between two computations of the gap [bf8868e].
    check_every: int = 8
    #: Dual values are reported once the gap is below this [bf8868e].
    report_gap: float = 0.25
    #: Stop after this many iterations in which the gap has not shrunk by a tenth [12b0a5c].
    stalled: int = 400
    #: A product over part of the matrix is used if the part has at most 1/`few` of the entries [60aa960].
    few: int = 3
    #: Inner iterations for the dual values of a group with several points [bf8868e].
    inner_steps: int = 6
    #: Initial dual values, as a share of the largest possible ones. On PubMed (20, 200 and 900 deletions, 8 additions
    #: with 21 deletions) and 20,000 synthetic nodes 0.1 to 0.3 hardly differ.
    start_price: float = 0.3
    #: Initial primal weight, as a share of the one that moving each budget to its best flips would need. On the
    #: instances of `start_price` 0.1 to 0.3 hardly differ; steps that ignore the budgets take up to twice as long.
    #: Starting from the state at other budgets takes as long or longer, unless they are nearly the same.
    start_balance: float = 0.2


@dataclass(frozen=True)
class LargeTuning:
    """Restricted master problems (`large.py`)."""

    #: Relative gap between bound and solution at which the program counts as solved [9919698].
    close: float = 1e-7
    #: `close` for real amounts once no column is missing: dual values per unit are small compared with the solver's
    #: tolerances (measured with `attr_l2`).
    close_real: float = 1e-5
    #: Reduced costs and gaps below this are rounding errors [bf8868e].
    rounding: float = 1e-9
    #: Relative gap at which the first-order method hands over to the restricted master; one type, or σ [12b0a5c].
    handover: float = 0.03
    #: `handover` with several types, where the first-order method is slower and the simplex method is not. Cora joint
    #: (21 attribute, 8 edge deletions) takes 1.19, 0.33, 0.25 and 0.33 s with 0.03, 0.1, 0.2 and 0.4; PubMed (8, 21)
    #: 2.3, 1.4, 1.5 and 1.7 s. One type on 50,000 synthetic nodes: 1.0, 1.7, 3.1 and 2.6 s.
    handover_types: float = 0.15
    #: `handover` of lengths with σ, where the first-order method is slow and simplex is not. PubMed, length 0.2 and
    #: σ = 3 (on a busy machine): 82 s with 0.03, 58 s with 0.25, 42 s with 0.5, 37 s with 0.9.
    handover_lengths: float = 0.5
    #: Maximum number of stored restricted masters; each stays at its last budgets, and the nearest is moved [60aa960].
    max_models: int = 6
    #: Beyond this distance (`budget_distance`) a new restricted master is faster than moving one; one type [12b0a5c].
    far: float = 0.3
    #: `far` with several types or σ. 24 jumps on Cora-ML (0.24 million entries) take 6.4 s with 1.2, 8.8 s with 0.4; a
    #: point of its curve over σ on edges (2.7 million) 0.55 to 0.61 s with 1.2, 0.67 to 0.74 s with 0.6.
    far_types: float = 1.2
    #: `far` with several types and more than `many_entries`, where moving costs more. 14 jumps in two types on PubMed
    #: (1.8 million) take 137, 77 and 68 s with 1.2, 0.6 and 0.4; 32 cells of a map take 47, 41 and 57 s.
    far_many: float = 0.6
    #: Number of entries above which `far_many` applies; lies between the instances measured above.
    many_entries: int = 1_000_000
    #: A moved restricted master is discarded if its relative gap is larger than this; with one type [bf8868e].
    astray: float = 0.05
    #: `astray` with several types or σ. On a map of Cora-ML 0.05 starts anew 71 times, in 20 of 36 s; 0.2 does so 11
    #: times, and the map takes 24 s.
    astray_types: float = 0.2
    #: Sites with a value this close to the best one, and groups this close to a kink, are included from the start
    #: [9919698].
    near: float = 0.02
    #: A group counts as decided if the error of its tangent is at most this share of its weight. PubMed at (5,
    #: 12), (3, 30) and (10, 9) additions and deletions: between 0.001 and 0.01 it hardly matters.
    decided: float = 0.002
    #: Maximum number of sites added in one round [9919698].
    max_sites: int = 2_000
    #: Maximum number of rounds; more do not pay off [bf8868e].
    max_rounds: int = 100


@dataclass(frozen=True)
class SigmaTuning:
    """Attackers in large programs with σ (`large_sigma.py`) [all 65fc0ed]."""

    #: Attackers with at least this share of the dual value of σ are included from the start.
    near_value: float = 0.85
    #: Flips of these attackers with at least this share of the attacker's threshold are included from the start.
    near_gain: float = 0.9
    #: When attackers are missing, those with at least this share of the dual value of σ are added as well.
    more_value: float = 0.97
    #: When attackers are missing, their flips with at least this share of the threshold are added.
    more_gain: float = 0.98
    #: A first restricted master with more rows than this is solved by interior point. PubMed at 100 attribute deletions
    #: and σ = 10 (18,600 rows): 2.3 s, primal simplex 5.9 s.
    ipm_rows: int = 12_000
    #: Maximum number of attackers added in one round that are needed in reach cuts only.
    only_reaching: int = 300
    #: Weights of the newest dual values in convex combinations with the best known ones, which often prove more.
    blends: tuple[float, ...] = (0.75, 0.5, 0.25)


@dataclass(frozen=True)
class BallotsTuning:
    """Restricted master problems against ballots (`large_ballots.py`)."""

    #: Relative gap between bound and solution at which the program counts as solved.
    close: float = 1e-6
    #: Reduced costs below this are rounding errors.
    rounding: float = 1e-7
    #: A round adds at most this many changes of a type, ... PubMed, 5 and 20 controlled nodes: 0.45 and 1.4 s; with 500
    #: changes 1.1 and 3.5 s.
    least_changes: int = 150
    #: ... or this many times its budget, if that is more.
    times_budget: int = 5
    #: Maximum number of rounds.
    max_rounds: int = 200


@dataclass(frozen=True)
class SeparationTuning:
    """The search for strong rows (`separate.py`) [all da7a31c]."""

    #: Rows with a smaller violation are not added.
    least_violation: float = 1e-3
    #: Sites with fewer flips than this are not in the support.
    used: float = 1e-7
    #: Minimum score of a set that gets levels.
    least_score: float = 1e-2
    #: Of two sets whose flips differ by less than this share, only one gets levels.
    alike: float = 0.15
    #: Maximum number of rows of one family for a target and an amount in one round.
    rows_each: int = 3
    #: Maximum number of candidate sets in one round.
    max_candidates: int = 1500
    #: Levels above one of these marks are subtracted, in all combinations for two types; 2.0 subtracts nothing.
    marks: tuple[float, ...] = (2.0, 0.999, 0.75, 0.5, 0.25)


@dataclass(frozen=True)
class StrongTuning:
    """The strong search (`strong.py`, `pricing.py`) [da7a31c unless noted]."""

    #: Reduced costs below this are rounding errors [8b250da].
    rounding: float = 1e-7
    #: Maximum number of flips added per attacker, averaged over a round [8b250da].
    flips_each: int = 4
    #: Maximum number of new rows in one round [e86cb2e].
    max_rows: int = 500
    #: Maximum number of new covers in one round; in practice all of them, because they matter most with local budgets
    #: or capacities of one. Together with `new_sets` = 20 and `attack_share` = 0.12, Citeseer at 50 edge deletions with
    #: one per node closes 72 instead of 55 % of the gap in 10 s (99afb2d).
    max_covers: int = 2000
    #: New sets are added if fewer violated rows than this are found.
    few_rows: int = 100
    #: Number of new sets for each type (measured with `max_covers`).
    new_sets: int = 20
    #: Programs with more groups than this get many sets and rows at once. Twenty sets a round leave the attacker
    #: hundreds of other sites worth nearly as much: PubMed at 100 deletions came from 7,978 to 7,938 in 60 s, and comes
    #: to 7,252 in 44 s.
    large_groups: int = 5_000
    #: `max_rows` for these programs.
    max_rows_large: int = 4000
    #: `new_sets` for these programs: what fields have of the sites in use or with nearly the price of a flip.
    new_sets_large: int = 150
    #: Largest reduced cost of these sites, as a share of the dual value of the budget.
    near_price: float = 0.2
    #: New sets are also added after a round that closed less than this share of the gap [e86cb2e].
    slow: float = 0.05
    #: Minimum number of rounds between new sets after slow rounds: every set has a row per level and target, added over
    #: several rounds. Cora-ML at 21 attribute deletions, 10 s: 813 with 0, 752 with 2, 699 with 4.
    settle: int = 4
    #: `settle` for edge deletions, whose rounds are slower and fewer (Citeseer at 50: 729 with 2, 739 with 4).
    settle_edges: int = 2
    #: A round that closed less than this share of the gap adds new sets at once. Citeseer at 21 attribute deletions
    #: then closes the gap after five seconds (362; without it 361 after sixty, c773b99).
    stuck: float = 0.005
    #: Rows whose dual value was 0 for this many rounds can be dropped [e86cb2e].
    idle_rounds: int = 2
    #: Such rows are dropped once there are this many [e86cb2e].
    idle_rows: int = 100
    #: Number of sites in the restricted master from the start, per type.
    first_sites: int = 100
    #: Maximum number of sites added in a round, per type.
    new_sites: int = 40
    #: A round with a smaller relative gain counts as a round without gain.
    least_gain: float = 1e-4
    #: The search ends after this many consecutive rounds without gain.
    patience: int = 12
    #: Maximum number of rounds.
    max_rounds: int = 5000
    #: A bound is proven if it is estimated to certify a further target or to improve by this much.
    worth_proving: float = 0.25
    #: Share of the time used by the attack (an eighth instead of a fifth, measured with `max_covers`).
    attack_share: float = 0.12
    #: Maximum number of seconds for the attack before the first round [99afb2d].
    first_attack: float = 0.5
    #: Steps of the attack in a round when no clock is used.
    attack_steps: int = 150


#: Factor on distances towards larger budgets, which take longer than towards smaller ones [20f4553].
UPWARDS = 1.6

SOLVER = SolverTuning()
FIRST_ORDER = FirstOrderTuning()
LARGE = LargeTuning()
SIGMA = SigmaTuning()
BALLOTS = BallotsTuning()
SEPARATION = SeparationTuning()
STRONG = StrongTuning()
