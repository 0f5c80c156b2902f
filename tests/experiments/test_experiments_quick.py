"""A quick run from training to the table, what a full one will cost, and that the two are never mixed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from certcore.common.errors import InputError
from certcore.data.dataset import load_dataset_file, save_dataset
from certcore.instance.instance import load_instance
from experiments import computations
from experiments.__main__ import main
from experiments.bundle import dataset_digest
from experiments.cost import costs
from experiments.definitions import EXPERIMENTS
from experiments.quick import Quick, smaller
from experiments.source import BUNDLES, LOCAL, RESULTS, Folders, Source
from experiments.store import Result, Results, write_result
from experiments.trials import Trial
from experiments.unit import Experiment, Variant
from tests.experiments.test_experiments_votes import small_dataset

#: torch-geometric still compiles with torch.jit when it is imported.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")

CURVE = Experiment(
    "datasets",
    "a small one",
    "fig_datasets",
    computations.log_curve,
    (Source("small"), Source("webkb_knn3_directed")),
    (Variant("paper"), Variant("tight", samples=10**6)),
    {"vary": "attr_del", "values": [0, 1, 2, 3, 5, 8, 13]},
)


def test_from_training_to_the_table_and_nothing_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setitem(LOCAL, "small", ("small.npz", False))
    save_dataset(tmp_path / "small.npz", small_dataset())
    said: list[str] = []
    quick = Quick(tmp_path / "quick", tmp_path, said.append, samples=60, epochs=4)
    (unit,) = quick.run([CURVE])
    assert not unit.skipped
    assert any("training small-gcn-attr" in line for line in said)
    assert [line for line in said if "left out" in line] == [
        "datasets: webkb_knn3_directed-gcn-attr is left out: its graph is not part of the project; give it with --data"
    ]
    (result,) = Results(quick.folders.results)
    assert result.samples == 60
    assert result.values["budgets"] == [0, 1, 2, 3]
    assert result.provenance["command"] == "python -m experiments datasets --quick --data DIR"
    assert "python -m experiments bundle small.npz gcn attr" in result.provenance["made_by"]
    page = quick.write().read_text(encoding="utf-8")
    assert page.startswith("# A quick run: not results")
    assert "| datasets | small-gcn-attr | paper | 60 | at " in page
    assert "webkb_knn3_directed-gcn-attr: its graph" in page

    said.clear()
    (again,) = Quick(tmp_path / "quick", tmp_path, said.append, samples=60, epochs=4).run([CURVE])
    assert again.skipped
    assert not any("training" in line for line in said), "the model and its votes are there"


def test_graphs_that_travel_with_the_project_are_not_fetched(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    quick = Quick(tmp_path / "quick")
    for source, bundle in (("citeseer", "citeseer-gcn-attr-s0"), ("cora_ml", "cora-gcn-attr-s0")):
        path, _ = quick._graph(Source(source))
        assert path is not None
        made_of = load_instance(BUNDLES / f"{bundle}.npz").meta["checksums"]["dataset"]
        assert dataset_digest(load_dataset_file(path)) == made_of
    assert quick._graph(Source("reuters_knn3_d200"))[0] == "reuters_r8"


def test_a_quick_run_never_goes_where_results_are_kept() -> None:
    for folder in (RESULTS, RESULTS.parent):
        with pytest.raises(InputError, match="does not go where results are kept"):
            Quick(folder)


def test_every_experiment_has_a_small_form() -> None:
    for experiment in EXPERIMENTS:
        small = smaller(experiment, 50)
        assert small.first_split_only
        assert small.settings.keys() == experiment.settings.keys()
        assert sum(len(value) for value in small.settings.values() if isinstance(value, list)) <= 12
        trials = [variant for variant in small.variants if isinstance(variant, Trial)]
        assert len(trials) <= 2
        assert all(trial.samples == 50 for trial in trials)


def test_a_run_says_first_what_it_will_cost(tmp_path: Path) -> None:
    folders = Folders(results=tmp_path)
    one = replace(CURVE, sources=(Source("citeseer"),), variants=(Variant("paper"), Variant("tight")))
    nobody = costs([one], folders, Results(tmp_path))[0]
    assert nobody.seconds is None
    assert (nobody.there, nobody.missing) == (0, 10)
    assert "nobody has measured" in nobody.sentence
    values = {"total_seconds": 120.0}
    write_result(tmp_path, Result("datasets", "citeseer-gcn-attr", 0, "paper", {}, {}, values, {}), "key")
    known = costs([one], folders, Results(tmp_path))[0]
    assert (known.there, known.missing, known.seconds) == (1, 9, 9 * 120.0)
    assert known.sentence == "datasets: 9 to compute (about 18 minutes), 1 there"
    assert costs([one], folders, Results(tmp_path), force=True)[0].missing == 10
    assert costs([one], folders, Results(tmp_path), splits=[0])[0].missing == 1


def test_where_nobody_can_answer_nothing_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = ["--bundles", str(tmp_path / "none"), "--results", str(tmp_path / "results")]
    assert main(["datasets", *empty]) == 0
    assert "datasets: none missing (0 there)" in capsys.readouterr().err


@pytest.mark.parametrize("more", [["--split", "1"], ["--force"], ["--bundles", "x"]])
def test_what_a_quick_run_does_not_take(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["all", "--quick", *more]) == 2
    assert "trains and votes itself" in capsys.readouterr().err
