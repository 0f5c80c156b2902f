"""The words of the method page."""

from __future__ import annotations

STEPS = (
    (
        "Naive: one by one",
        "For each node alone, the base certificate says which budgets cannot change its label. Counting the nodes that "
        "withstand the whole budget is sound, but pessimistic: every node is allowed its own worst attack, as if there "
        "were one attacked graph per node.",
    ),
    (
        "Collective: all at once",
        "In truth there is one graph, and all labels are read from the same changed graph. As long as every prediction "
        "sees every flip this gains nothing: a flip that hurts one node is there for all. The number stays.",
    ),
    (
        "Locality",
        "A message-passing network with k layers reads only k hops. A flip here does not reach a prediction far away, "
        "so the attacker has to choose. A linear program asks how many labels one allocation of the budget can break "
        "at most; the rest is certified.",
    ),
    (
        "Local budgets",
        "Often no single node can be changed without limit. With at most {local} the attacker cannot heap all flips on "
        "one well-connected node any more.",
    ),
    (
        "Few attacked nodes (σ)",
        "Finally the attacker may control only some nodes: {sigma}. Flips must happen at those.",
    ),
)

DETAILS = (
    (
        "The threat model",
        ":material/security:",
        """
The attacker changes the observed graph once, knowing everything, and may make at most $r_k$ flips of each type $k$:
attribute
additions, attribute deletions, edge additions, edge deletions. Optionally at most a local budget of flips per node,
and only
at $\\sigma$ nodes of its choice. Protected nodes cannot be touched. Targets $T$ are the nodes whose labels are
counted.
""",
    ),
    (
        "Base certificates and fronts",
        ":material/stairs:",
        """
For each node $n$ the base certificate is a set $K_n$ of budgets that provably cannot change its label. It is
monotone, so it
is described by its front $P_n$: the smallest budgets *outside* of it. Sparse randomised smoothing makes one from
votes: the
model is run on many randomly flipped graphs; with $p_n$ a lower confidence bound on how often the label wins, node
$n$ is
certified at budget $\\rho$ if

$$p_n > p^*(\\rho),$$

where the threshold $p^*(\\rho)$ comes from the Neyman–Pearson lemma and is computed in exact rational numbers.
""",
    ),
    (
        "The program",
        ":material/functions:",
        """
Let $b_{m,k}$ be the flips of type $k$ at node (or edge) $m$ and $u_{n,k}=\\sum_{m\\in\\psi(n)} b_{m,k}$ what falls
into the
receptive field $\\psi(n)$. The adversary solves

$$\\max \\sum_{n\\in T}\\sum_{p\\in P_n} s_{n,p}\\quad\\text{so that}\\quad
u_{n,k}\\ \\ge\\ \\sum_{p\\in P_n} p_k\\,s_{n,p},\\qquad
\\sum_{p\\in P_n} s_{n,p}\\le 1,\\qquad \\sum_m b_{m,k}\\le r_k .$$

An integral attack on $n$ reaches at least one front point; put $s=1$ on one of them. So the optimum of the linear
program is
at least the number of labels any attack can break. The *paper* relaxation uses $u_{n,k}\\ge p_k s_{n,p}$ for every
point
alone: a node with four points can then be “broken” by a quarter of each. *Tight* is never weaker.
""",
    ),
    (
        "The proof",
        ":material/verified:",
        """
Solvers compute in floating point and can be wrong. All data of the program are integers, and for **any** dual values
$y\\ge 0$ weak duality bounds the optimum:

$$\\sum_i y_i\\,b_i+\\sum_j \\max\\bigl(0,\\,c_j-(y^{\\top}A)_j\\bigr)\\,u_j .$$

The solver's dual values are turned into integers and this sum is evaluated exactly. *Certified* is $|T|$ minus the
bound,
rounded down. A proof file holds the dual values; “Check a proof” evaluates it again without any solver.
""",
    ),
    (
        "What a certificate does not say",
        ":material/do_not_disturb_on:",
        """
- It does **not** say which labels stay: it is a count over all targets. Only targets that are certified on their own
  are named.
- It does not say that labels are *correct*. It says that they do not change.
- It is about **this** observed graph, this model, and this threat model; not about other graphs, retraining or
  poisoned training.
- With smoothing it holds with the stated confidence, and for the *smoothed* classifier.
- An attack that was found shows what the base certificates leave open. It does not prove that the model's label
  flips.
- A fractional (“relaxed”) adversary is not an attack.
- The receptive field must be the model's true one. With symmetric normalisation the degrees of neighbours count, too.
""",
    ),
    (
        "Glossary",
        ":material/menu_book:",
        """
| word | meaning |
|---|---|
| global budget | how many flips of each type in the whole graph |
| local budget | how many per node, absolute or as a share of what the node has |
| attacked nodes σ | how many nodes the attacker may control |
| targets | the nodes whose labels are counted |
| field | nodes and edges that can influence a prediction |
| base certificate | per node: budgets that provably cannot change its label |
| front | per node: the smallest budgets that are not certified |
| naive / collective | counting nodes one by one / all at once, under one shared graph |
| bound | upper limit on how many targets can be left uncertified, proven |
| hit | flips are spent at this node, whether or not its label is counted |
| loses its certificate | what lies inside the field of this target reaches its front |
| attack | an integer allocation, replayed against the base certificates |
| r̄ | average certifiable radius: the budgets weighted by their certified ratios |
""",
    ),
    (
        "References",
        ":material/format_quote:",
        """
- J. Schuchardt, A. Bojchevski, J. Gasteiger, S. Günnemann: *Collective Robustness Certificates: Exploiting
  Interdependence in
  Graph Neural Networks.* ICLR 2021.
- A. Bojchevski, J. Gasteiger, S. Günnemann: *Efficient Robustness Certificates for Discrete Data: Sparsity-Aware
  Randomized
  Smoothing for Graphs, Images and More.* ICML 2020.
- D. Zügner, S. Günnemann: *Certifiable Robustness and Robust Training for Graph Convolutional Networks.* KDD 2019.
- J. Cohen, E. Rosenfeld, Z. Kolter: *Certified Adversarial Robustness via Randomized Smoothing.* ICML 2019.
""",
    ),
)
