"""Files and links of yesterday: later versions read them, or refuse them with one sentence; proofs stay accepted."""

from __future__ import annotations

import csv
import json
import math
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest

from tests.net import ask, doors, links
from tests.net.labels import by_ones

MANIFEST = json.loads((ask.FIXTURES / "manifest.json").read_text(encoding="utf-8"))
VOTES = ask.FIXTURES / "votes"
CHECKER = ask.FIXTURES.parents[2] / "certcore" / "standalone" / "certcore_check.py"


def refused(error: doors.InputError) -> bool:
    """Whether the refusal is one sentence for people."""
    text = str(error)
    return 10 < len(text) < 600 and "\n" not in text and "Traceback" not in text


def read(work: Callable[[], Any]) -> Any:
    """What was read, or None where it was refused with one sentence."""
    try:
        return work()
    except doors.InputError as error:
        if not refused(error):
            raise
        return None


# Proofs


@pytest.mark.parametrize("name", MANIFEST["proofs"])
def test_proofs_are_accepted(name: str) -> None:
    told = MANIFEST["proofs"][name]
    proof = doors.read_proof(ask.FIXTURES / "proofs" / f"{name}.json")
    verdict = doors.verify_proof(proof, ask.instance_of(told["instance"], told["rule"]))
    assert verdict.accepted, verdict.reason
    assert (verdict.certified, verdict.targets, ask.text(verdict.bound)) == tuple(
        told[key] for key in ("certified", "targets", "bound")
    )


@pytest.mark.parametrize(("name", "instance", "what"), [("costs", "dels-edges", "costs of flips")])
def test_a_proof_that_needs_what_is_gone_is_refused_in_one_sentence(name: str, instance: str, what: str) -> None:
    path, file = ask.FIXTURES / "proofs" / f"{name}.json", ask.path_of(instance)
    verdict = doors.verify_proof(doors.read_proof(path), ask.instance_of(instance, "binary"))
    assert not verdict.accepted
    small = subprocess.run([sys.executable, str(CHECKER), str(path), str(file)], capture_output=True, text=True)
    assert (small.returncode, small.stdout.count("\n"), small.stderr) == (1, 1, "")
    for reason in (verdict.reason, small.stdout.removeprefix("rejected: ").strip()):
        assert what in reason
        assert reason.endswith("or use certcore 0.3, which knows them")


def test_an_instance_with_weights_of_fields_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with np.load(ask.path_of("explicit")) as arrays:
        ones = np.ones(len(arrays["field_indices"]), dtype=int)
        np.savez(tmp_path / "old.npz", **arrays, field_unit=np.array(2), field_weights=ones)
    with pytest.raises(doors.InputError) as refusal:
        doors.load_instance(tmp_path / "old.npz")
    words = [sys.executable, str(CHECKER), str(ask.FIXTURES / "proofs" / "explicit-fields.json")]
    small = subprocess.run([*words, str(tmp_path / "old.npz")], capture_output=True, text=True)
    assert small.returncode == 2
    assert small.stderr.strip() == f"unreadable: {refusal.value}"
    assert "fields with weights are no longer supported" in small.stderr


def test_proofs_are_accepted_by_the_command_and_forged_ones_are_not(tmp_path: Path) -> None:
    path = ask.FIXTURES / "proofs" / "sigma-edges.json"
    instance = str(ask.path_of("edges"))
    assert doors.command("verify", str(path), instance)[0] == 0
    forged = json.loads(path.read_text(encoding="utf-8"))
    forged["certified"] += 1
    (tmp_path / "forged.json").write_text(json.dumps(forged), encoding="utf-8")
    assert doors.command("verify", str(tmp_path / "forged.json"), instance)[0] == 1


# Checkpoints of sweeps


@pytest.mark.parametrize("name", MANIFEST["sweeps"])
def test_checkpoints_of_sweeps_are_continued(name: str, tmp_path: Path) -> None:
    question = MANIFEST["sweeps"][name]
    instance = ask.instance_of(question["instance"], question.get("rule", "binary"))
    fresh = _sweep(instance, question, None)
    for kind in ("", "-half"):
        path = Path(shutil.copy(ask.FIXTURES / "sweeps" / f"{name}{kind}.npz", tmp_path))
        found = read(partial(_sweep, instance, question, path))
        if found is None:
            continue
        assert found.certified.tolist() == fresh.certified.tolist()
        assert np.allclose(found.bound, fresh.bound, atol=1e-6, rtol=0)
        if not kind:
            assert found.solves == 0


def test_a_checkpoint_of_another_sweep_is_refused(tmp_path: Path) -> None:
    question = MANIFEST["sweeps"]["surface"] | {"threat": {"sigma": 2}}
    path = Path(shutil.copy(ask.FIXTURES / "sweeps" / "surface.npz", tmp_path))
    with pytest.raises(doors.InputError) as caught:
        _sweep(ask.instance_of(question["instance"], "binary"), question, path)
    assert refused(caught.value)


def _sweep(instance: doors.Instance, question: ask.Question, checkpoint: Path | None) -> Any:
    threat = ask.threat_of(instance, question)
    options = {"relaxation": question.get("relaxation", "tight"), "checkpoint": checkpoint}
    if question["kind"] == "curve":
        return doors.curve(instance, threat, question["vary"], question["values"], **options)
    parts = (question["x"], question["x_values"], question["y"], question["y_values"])
    return doors.surface(instance, threat, *parts, **options)


# Votes, models and a bundle


@pytest.fixture(scope="module")
def dataset() -> Any:
    pytest.importorskip("torch")
    return doors.training.load_dataset(VOTES / "dataset.npz")


def _voter(name: str, graph: Any) -> Any:
    told = MANIFEST["votes"]
    noise, seed = doors.training.noise(told["theta"]), told["seed"]
    if name == "function":
        return doors.training.function_voter(graph, noise, seed, by_ones, 3)
    model = {"fused-mean": "gcn_mean", "torch-gat": "gat"}.get(name, "gcn")
    loaded, _ = doors.training.load_model(VOTES / f"{model}.safetensors")
    return doors.training.model_voter(loaded, graph, noise, seed, fused=name.startswith("fused"))


@pytest.mark.parametrize("state", ["finished", "unfinished"])
@pytest.mark.parametrize("name", MANIFEST["votes"]["checkpoints"])
def test_checkpoints_of_votes_are_continued(name: str, state: str, dataset: Any, tmp_path: Path) -> None:
    told = MANIFEST["votes"]
    path = Path(shutil.copy(VOTES / f"{name}-{state}.npz", tmp_path))
    counts = {key: told[key] for key in ("selection", "estimation")}
    voter = _voter(name, dataset.graph)
    votes = read(lambda: doors.training.collect_votes(voter, **counts, checkpoint=path, jobs=1))
    if votes is None and name == "function":
        return  # a function is known by less than what it does: a later version may refuse what an earlier one believed
    if name == "torch-gat":
        assert votes is None, "attention is summed in another order since revision 2: such votes are not added to"
        return
    finished = np.load(VOTES / f"{name}-finished.npz")
    if state == "finished":
        assert votes is not None
        assert np.array_equal(votes.selection, finished["selection"])
        assert np.array_equal(votes.estimation, finished["estimation"])
        return
    # It does not tell for how many samples it was begun, and the confidence needs a number fixed before anybody looked.
    assert votes is None
    votes = doors.training.collect_votes(voter, **counts, checkpoint=path, jobs=1, fresh=True)
    assert (votes.selection.sum(axis=1) == told["selection"]).all()
    assert (votes.estimation.sum(axis=1) == told["estimation"]).all()
    assert not np.array_equal(votes.estimation, finished["estimation"]), "samples that were seen are not drawn again"


@pytest.mark.parametrize("name", MANIFEST["votes"]["models"])
def test_models_are_read(name: str, dataset: Any) -> None:
    model, facts = doors.training.load_model(VOTES / f"{name}.safetensors")
    assert model.name == name
    assert facts["seed"] == MANIFEST["votes"]["seed"]
    assert facts["theta"] == MANIFEST["votes"]["theta"]


def test_votes_of_the_former_command_come_again_in_python(dataset: Any) -> None:
    told, before = MANIFEST["votes"], np.load(VOTES / "gcn.votes.npz")
    model, _ = doors.training.load_model(VOTES / "gcn.safetensors")
    noise = doors.training.noise(told["theta"])
    voter = doors.training.model_voter(model, dataset.graph, noise, told["seed"], fused=True)
    votes = doors.training.collect_votes(voter, selection=told["selection"], estimation=told["estimation"], jobs=1)
    for key, now in (("votes", votes.estimation), ("selection", votes.selection), ("prediction", votes.prediction)):
        assert np.array_equal(before[key], now), key
    assert before["theta"].tolist() == list(noise.theta)


def test_the_bundle_gives_the_same_certificate() -> None:
    told = MANIFEST["votes"]["bundle"]
    bundle = doors.load_instance(VOTES / "bundle.npz")
    assert bundle.digest == told["digest"]
    found = ask.certificate(doors.certify(bundle, doors.ThreatModel.from_json(told["threat"])))
    kept = set(told["answer"]) - {"bound", "proven", "verified"}  # the last two are so by type
    assert {key: found[key] for key in kept} == {key: told["answer"][key] for key in kept}


# Tables


def _words(words: list[str]) -> list[str]:
    return [word.replace("{}", str(ask.INSTANCES)) for word in words]


@pytest.mark.parametrize("name", MANIFEST["tables"]["json"])
def test_json_of_commands_holds_the_same_numbers(name: str) -> None:
    before = json.loads((ask.FIXTURES / "tables" / name).read_text(encoding="utf-8"))
    after = doors.command_json(*_words(MANIFEST["tables"]["json"][name]))
    for changing in ("seconds", "solves"):
        assert changing in after or changing not in before
        before.pop(changing, None)
    before.get("facts", {}).pop("versions", None)
    if "naive_average_radius" in before and not any(p["naive_certified"] for p in before["points"]):
        before["naive_average_radius"] = None  # was 0 here and none elsewhere: where nothing is certified there is none
    assert missing(before, after) == []


#: Keys that said whether a count was proven, while one could be a claim; every recorded count was.
BY_TYPE = ("verified", "verified_certified")


def missing(before: Any, after: Any, where: str = "") -> list[str]:
    """What is not there any more, or is another number; more than before is welcome."""
    if isinstance(before, dict):
        if not isinstance(after, dict):
            return [where]
        return [
            line
            for key, value in before.items()
            if key not in BY_TYPE
            for line in (missing(value, after[key], f"{where}/{key}") if key in after else [f"{where}/{key}"])
        ]
    if isinstance(before, list):
        if not isinstance(after, list) or len(after) != len(before):
            return [where]
        return [line for i, (a, b) in enumerate(zip(before, after)) for line in missing(a, b, f"{where}/{i}")]
    if isinstance(before, float) and isinstance(after, int | float) and not isinstance(after, bool):
        return [] if math.isclose(before, after, abs_tol=1e-6, rel_tol=0) else [f"{where}: {before} → {after}"]
    return [] if before == after else [f"{where}: {before} → {after}"]


@pytest.mark.parametrize("name", MANIFEST["tables"]["csv"])
def test_csv_of_commands_holds_the_same_numbers(name: str, tmp_path: Path) -> None:
    words = _words(MANIFEST["tables"]["csv"][name])
    assert doors.command(*words, str(tmp_path / name))[0] == 0
    before, after = (_columns(folder / name) for folder in (ask.FIXTURES / "tables", tmp_path))
    if name in ("curve.csv", "surface.csv"):
        before = {key: column for key, column in before.items() if key not in BY_TYPE}
        assert list(after)[: len(before)] == list(before)
        assert missing(before, after) == []
        return
    # Allocations: where flips go and what reaches a field. Which of equally good ones is found may change.
    needed = ["node", *(f"{what}_{kind}" for what in ("inside", "spent") for kind in ask.TYPES)]
    assert set(needed) <= set(after)
    assert after["node"] == before["node"]
    for kind in ask.TYPES:
        total = sum(before[f"spent_{kind}"])
        assert math.isclose(sum(after[f"spent_{kind}"]), total, abs_tol=1e-6), kind


def _columns(path: Path) -> dict[str, list[Any]]:
    with open(path, encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    return {key: [_number(row[key]) for row in rows] for key in rows[0]}


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


# Links


@pytest.mark.parametrize(("address", "shown"), [link[:2] for link in links.kept()])
def test_links_say_the_same_to_the_sidebar(address: str, shown: dict[str, Any]) -> None:
    pytest.importorskip("streamlit")
    given = links.now_called(dict(parse_qsl(urlsplit(address).query, keep_blank_values=True)))
    readers, shown = doors.link_readers(), links.now_called(shown)
    assert set(shown) <= set(readers)
    for key, (first, read) in readers.items():
        try:
            value = read(given[key]) if key in given else first
        except (doors.InputError, ValueError):
            value = first
        assert value == shown.get(key, first), key


def test_links_reach_every_page_and_every_control_of_the_sidebar() -> None:
    pytest.importorskip("streamlit")
    from pages.state.menu import BY_SLUG, FORMER

    pages = {links.page_of(address) for address, *_ in links.kept()}
    assert {FORMER.get(page, page) for page in pages} == set(BY_SLUG)
    assert set(FORMER) <= pages
    named = {key for address, *_ in links.kept() for key, _ in parse_qsl(urlsplit(address).query)}
    assert set(doors.link_readers()) <= set(links.now_called(dict.fromkeys(named)))


@pytest.fixture
def open_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    pytest.importorskip("streamlit")
    monkeypatch.setenv("CERTCORE_BUNDLES", str(ask.INSTANCES))
    monkeypatch.setenv("CERTCORE_IMPORTS", str(tmp_path))
    monkeypatch.chdir(ask.ROOT)

    def open_it(address: str) -> Any:
        from tests.pages.opening import at_page

        return at_page(links.page_of(address), dict(parse_qsl(urlsplit(address).query))).run(timeout=60)

    return open_it


@pytest.mark.parametrize(("address", "shown", "own"), [link for link in links.kept() if link[2] is not None])
def test_pages_open_at_links(
    open_link: Callable[[str], Any], address: str, shown: dict[str, Any], own: dict[str, Any]
) -> None:
    at = open_link(address)
    assert not at.exception, [error.value for error in at.exception]
    wanted = links.now_called(shown) | own
    assert {key: at.session_state[key] for key in wanted} == wanted


@pytest.mark.parametrize(("address", "shown"), [link[:2] for link in links.kept() if link[2] is None])
def test_other_links_open_what_they_ask_for_or_say_what_not(
    open_link: Callable[[str], Any], address: str, shown: dict[str, Any]
) -> None:
    at = open_link(address)
    assert not at.exception, [error.value for error in at.exception]
    notes = at.session_state["_link"].notes
    told = " ".join(box.value for box in at.warning).replace("\\", "")
    assert all(note in told for note in notes.values())
    asked = links.now_called(dict(parse_qsl(urlsplit(address).query, keep_blank_values=True)))
    wanted = links.now_called(shown)
    readers = doors.link_readers()
    for name in asked.keys() & readers.keys():
        assert name in notes or at.session_state[name] == wanted.get(name, readers[name][0]), name
