"""A type of perturbation that nobody knows: one entry of the table and one small base certificate, and all works.

The toy is what the table was made for: attributes are *moved* by real amounts, and nothing in the graph limits them.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

import certcore as cc
from certcore import Graph, GridBase, InputError, Instance, ThreatModel, certify, messages
from certcore.cli import main
from certcore.domain.fronts import Fronts
from certcore.domain.perturbations import FLIPS, LABELS, TYPES, UNLIMITED, Change, Perturbation, Site, registered
from certcore.figures import curve_figure
from certcore.figures.style import axis_label
from certcore.instance.instance import load_instance, save_instance
from certcore.program.build import build_structure
from certcore.program.problem import Problem
from certcore.result.attack_text import attack_text, read_attack
from certcore.solve.strong import StrongSearch
from certcore.sweep import Session, strengthen
from certcore.sweep.axis import Axis
from certcore.verify import verify_proof
from certcore.verify.proof import digest_of

ROOT = Path(__file__).resolve().parents[2]

MOVE = Perturbation(
    name="attr_move",
    site=Site.NODE,
    change=Change.MOVE,
    singular="attribute shift",
    plural="attribute shifts",
    short="attr ~",
    help="How far the attacker may shift attributes in the whole graph, in units.",
    capacity=lambda graph, free: np.full(graph.n_nodes, UNLIMITED, dtype=np.int64),
    share_of=lambda graph: graph.ones,
    share_words=("ones", "attributes"),
    whole=False,
    unit="unit",
    start=3,
    aliases=("shift",),
)


@dataclass(frozen=True, eq=False)
class NeedBase:
    """Node n stands while its field is moved by less than `need[n]` units in all."""

    need: np.ndarray
    axes: tuple[str, ...] = (MOVE.name,)
    local: None = None
    global_fields: bool = False
    fixed_adjacency: bool = True
    prediction: None = None

    @property
    def n_nodes(self) -> int:
        return len(self.need)

    @property
    def facts(self) -> dict[str, Any]:
        return {"kind": "needs"}

    def fronts(self) -> Fronts:
        points = np.zeros((len(self.need), len(TYPES)), dtype=np.int64)
        points[:, TYPES.index(MOVE.name)] = self.need
        return Fronts(np.arange(len(self.need)), np.arange(len(self.need) + 1), points)

    def arrays(self) -> dict[str, np.ndarray]:
        return {"need": self.need}


@pytest.fixture(autouse=True)
def move() -> Iterator[None]:
    with registered(MOVE):
        yield


def fields(rows: list[list[int]], n: int) -> sp.csr_array:
    matrix = np.zeros((n, n), dtype=np.int8)
    for row, nodes in enumerate(rows):
        matrix[row, nodes] = 1
    return sp.csr_array(matrix)


#: Two triangles of nodes; each target reads two of one triangle, so that half a unit at every node breaks all six.
TRIANGLES = [[0, 1], [1, 2], [0, 2], [3, 4], [4, 5], [3, 5]]


def triangles(unit: int = 1) -> Instance:
    graph = Graph.from_edges(6, np.zeros((0, 2), int), np.eye(6, 3, dtype=np.int8))
    base = GridBase(np.arange(unit + 4) < np.full((6, 1), unit), (MOVE.name,))
    return Instance(graph, base, layers=None, node_field=fields(TRIANGLES, 6))


def truth(rows: list[list[int]], need: np.ndarray, budget: int, costs: np.ndarray, local: int | None = None) -> int:
    """How many targets a real-valued attacker breaks: every set of targets by the cheapest amounts that break it."""
    n = len(need)
    inside = fields(rows, n).toarray()
    for size in range(n, 0, -1):
        for chosen in map(list, itertools.combinations(range(n), size)):
            found = linprog(costs, A_ub=-inside[chosen], b_ub=-need[chosen], bounds=(0, local), method="highs")
            if found.status == 0 and found.fun <= budget + 1e-9:
                return size
    return 0


def test_parts_of_a_unit_count_in_every_form() -> None:
    instance = triangles()
    tight, exact = certify(instance, attr_move=3), certify(instance, attr_move=3, relaxation="exact")
    assert tight.bound == 6
    assert tight.certified == 0
    assert exact.bound == 6  # whole columns would say 5
    assert exact.certified == 0
    assert certify(instance, attr_move=2, relaxation="exact").bound == 4  # 1.5 units break a triangle, half of one 1
    assert tight.attack is not None
    assert tight.attack.attacked.sum() == 5  # in whole units
    strong = certify(instance, attr_move=3, relaxation="strong", rounds=5)
    assert strong.relaxation == "tight"
    assert strong.bound == 6
    assert any("tight form answers" in str(text) for text in messages.remarks(instance, tight.threat))
    with pytest.raises(InputError, match="whole flips, but attribute shifts have real amounts"):
        certify(instance, attr_move=3, relaxation="paper")
    with pytest.raises(ValueError, match="strong rows do not hold"):
        StrongSearch(Problem(instance, ThreatModel(attr_move=3)))


def test_no_real_valued_attacker_breaks_more_than_the_bound() -> None:
    rng = np.random.default_rng(31)
    reached = 0
    for case in range(24):
        n = 4
        rows = [np.flatnonzero(rng.random(n) < 0.5).tolist() or [row] for row in range(n)]
        need, costs = rng.integers(1, 5, n), rng.integers(1, 4, n) if case % 2 else np.ones(n, dtype=np.int64)
        local, budget = (int(rng.integers(1, 4)) if case % 3 == 0 else None), int(rng.integers(1, 9))
        graph = Graph.from_edges(n, np.zeros((0, 2), int), np.eye(n, dtype=np.int8))
        instance = Instance(graph, NeedBase(need), layers=None, node_field=fields(rows, n))
        threat = ThreatModel(attr_move=budget, local_attr_move=local, node_costs=costs)
        broken = truth(rows, need, budget, costs, local)
        for relaxation in ("tight", "exact"):
            found = certify(instance, threat, relaxation=relaxation, attack=False)
            assert found.bound >= broken, (case, relaxation)
        reached += found.bound == broken
    assert reached >= 20  # the integer program is exact; only its column bounds are rounded up


def test_large_units_are_no_burden() -> None:
    need = np.array([70_000, 80_000, 90_000, 60_000, 50_000, 40_000])
    graph = Graph.from_edges(6, np.zeros((0, 2), int), np.eye(6, 3, dtype=np.int8))
    instance = Instance(graph, NeedBase(need), layers=None, node_field=fields(TRIANGLES, 6))
    found = certify(instance, attr_move=150_000, sigma=4, attack=True)
    assert found.attack is not None
    assert found.attack.attacked.sum() <= found.bound < 6
    line = cc.curve(instance, vary="attr_move", values=[0, 50_000, 200_000, 400_000])
    assert line.certified.tolist() == sorted(line.certified.tolist(), reverse=True)
    assert verify_proof(found.proof, instance).accepted


def test_limits_of_real_amounts_are_rounded_up() -> None:
    graph = Graph.from_edges(2, np.zeros((0, 2), int), np.ones((2, 3), dtype=np.int8))
    shares: Any = {"local_attr_move": "0.5", "local_attr_del": "0.5"}
    limits = ThreatModel(attr_move=9, attr_del=9, local_mode="relative", **shares).local_limits(graph)
    assert limits[TYPES.index("attr_move")].tolist() == [2, 2]  # 1.5 units
    assert limits[TYPES.index("attr_del")].tolist() == [1, 1]


def test_what_knows_four_types_says_nothing_about_a_fifth() -> None:
    grid = np.ones((3, 4), dtype=bool)
    graph = Graph.from_edges(3, np.array([[0, 1], [1, 2]]), np.eye(3, dtype=np.int8))
    instance = Instance(graph, GridBase(grid, ("attr_del",)), layers=1)
    assert certify(instance, attr_del=3).certified == 3
    assert certify(instance, attr_move=1).certified < 3
    # No points at all over four types: certified whatever happens of those, and of no other.
    bare = Fronts(np.zeros(2, dtype=int), np.array([0, 0]), np.zeros((0, len(FLIPS)), dtype=int))
    assert bare.certified((9, 9, 9, 9)).all()
    for other in range(len(FLIPS), len(TYPES)):
        assert not bare.certified([int(k == other) for k in range(len(TYPES))]).any()
    fallen = Fronts(np.zeros(1, dtype=int), np.array([0, 1]), np.zeros((1, len(FLIPS)), dtype=int))
    assert len(fallen.points) == 1
    assert not fallen.clean.any()


def test_proofs_and_files_of_the_four_stay_as_they_are() -> None:
    grid = np.arange(4) < np.array([[1], [2], [3]])
    graph = Graph.from_edges(3, np.array([[0, 1], [1, 2]]), np.eye(3, dtype=np.int8))
    instance = Instance(graph, GridBase(grid, ("attr_del",)), layers=1)
    proof = certify(instance, attr_del=2, local_attr_del=1).proof
    assert proof is not None
    assert list(proof["threat"]) == [*FLIPS, "local", "sigma"]
    assert list(proof["threat"]["local"]) == ["mode", *FLIPS]
    own = certify(triangles(), attr_move=2, local_attr_move=1).proof
    assert own is not None
    assert own["threat"]["attr_move"] == 2
    assert own["threat"]["local"]["attr_move"] == 1
    assert ThreatModel.from_json(own["threat"]).to_json() == own["threat"]


def test_a_proof_is_checked_and_a_false_one_rejected() -> None:
    instance = triangles(4)
    proof = certify(instance, attr_move=7).proof
    assert proof is not None
    assert verify_proof(proof, instance).accepted
    false = json.loads(json.dumps(proof))
    false["threat"]["attr_move"] = 6
    false["digest"] = digest_of(false)
    assert not verify_proof(false, instance).accepted
    assert build_structure(Problem(instance, ThreatModel(attr_move=7)), "tight").types == (TYPES.index("attr_move"),)
    strong = proof | {"format": "certcore-proof-2", "relaxation": "strong"}
    strong["multipliers"] = proof["multipliers"] | {"sets": [], "strong_rows": [], "strong_values": []}
    strong["digest"] = digest_of(strong)
    assert "real amounts" in verify_proof(strong, instance).reason


def test_people_meet_it_like_any_other_type() -> None:
    instance = triangles(4)
    found = certify(instance, shift=7)
    assert found.threat.attr_move == 7
    assert "attr_move=7" in repr(found.threat)
    assert "at most 7 attribute shifts in the whole graph" in str(messages.guarantee(instance, found))
    assert "no more than 1 attribute shift at any one node" in messages.threat_words(
        found.threat.replace(local_attr_move=1)
    )
    assert Axis.parse("local-shift").name == "local_attr_move"
    assert axis_label("attr_move") == "attribute shifts"
    line = cc.curve(instance, vary="attr_move", values=range(9))
    assert "attribute shifts" in curve_figure([line], vary="attr_move").draw_latex(8.5)
    assert not list(strengthen(Session(instance), line, time_limit=1.0))  # no strong rows, nothing to gain
    assert cc.radius(instance, vary="attr_move", at_least=0.5).value == 7
    assert found.attack is not None
    again = read_attack(instance, found.threat, attack_text(instance, found.threat, found.attack))
    assert np.array_equal(again.attributes, found.attack.attributes)
    columns = found.node_columns(instance.base.fronts(), instance.graph.edges)
    assert columns["spent_attr_move"].sum() <= 7
    assert cc.certify(instance, attr_move=7).bound == Fraction(found.bound)


def test_commands_have_an_option_for_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, proof = str(tmp_path / "toy.npz"), str(tmp_path / "proof.json")
    save_instance(path, triangles(4))
    assert load_instance(path).base.axes == ("attr_move",)
    assert main(["certify", path, "--shift", "7", "--local-attr-move", "3", "--proof", proof]) == 0
    assert "7 attribute shifts" in capsys.readouterr().out
    assert main(["verify", proof, path]) == 0
    assert main(["curve", path, "--vary", "attr_move", "--values", "0:6:3", "--json"]) == 0
    assert main(["base", path, "--no-grid"]) == 0
    assert "attribute shifts" in capsys.readouterr().out


def test_names_that_are_taken_are_refused() -> None:
    with pytest.raises(InputError, match="cannot be the name of a new type"), registered(MOVE):
        pass
    assert LABELS["attr_move"] == "attribute shifts"
    assert TYPES[-1] == "attr_move"


_APP = """
import sys
from certcore.domain.perturbations import register
sys.path.insert(0, ".")
from tests.engine.test_engine_new_type import MOVE
register(MOVE)
from tests.pages.conftest import settle
from tests.pages.opening import at_page
at = settle(at_page("overview", {"instance": "toy", "attr_move": "7"}))
field = next(one for one in at.number_input if one.key == "attr_move")
text = " ".join(one.value for one in at.markdown)
print(field.value, "7 attribute shifts" in text, *at.query_params["attr_move"], "knows no setting" in text)
"""


def test_the_dashboard_has_a_slider_and_a_link_for_it(tmp_path: Path) -> None:
    save_instance(str(tmp_path / "toy.npz"), triangles(4))
    places = {"CERTCORE_BUNDLES": str(tmp_path), "CERTCORE_IMPORTS": str(tmp_path / "imported")}
    command = [sys.executable, "-W", "ignore", "-c", _APP]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=os.environ | places, timeout=120)
    assert done.stdout.split() == ["7", "True", "7", "False"], done.stderr[-2000:]
