"""Attacks as text, figures made again, and what is refused."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from certcore import InputError, ThreatModel, certify, export, figures, save_instance
from certcore.cli import main
from certcore.result.attack_text import attack_text, read_attack
from tests.export.instances import small_instance


@pytest.fixture
def toy(tmp_path: Path) -> str:
    save_instance(tmp_path / "toy.npz", small_instance())
    return str(tmp_path / "toy.npz")


@pytest.mark.parametrize(
    ("axes", "threat"),
    [
        (("attr_add", "attr_del"), ThreatModel(attr_add=2, attr_del=5)),
        (("attr_del", "adj_del"), ThreatModel(attr_del=2, adj_del=3)),
        (("attr_add", "attr_del"), ThreatModel(attr_del=5, sigma=2, protected=[4])),
        (("attr_add", "attr_del"), ThreatModel()),
    ],
)
def test_an_attack_is_replayed_from_its_text(axes: tuple[str, ...], threat: ThreatModel) -> None:
    instance = small_instance(axes)
    attack = certify(instance, threat).attack
    again = read_attack(instance, threat, attack_text(instance, threat, attack))
    for part in ("attributes", "deleted", "added", "inside", "attacked"):
        assert np.array_equal(getattr(again, part), getattr(attack, part)), part
    if threat.sigma is not None:
        assert np.array_equal(again.attackers > 0.5, attack.attackers > 0.5)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("attr_del@1x9", "global budget"),
        ("attr_del@99", "names node 99"),
        ("adj_del@0-0", "not in the graph"),
        ("attr_del@1;rm", "no part of an attack"),
        ("", "no part of an attack"),
        ("attr_del@-1", "no part of an attack"),
    ],
)
def test_what_the_threat_model_does_not_allow_is_refused(text: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        read_attack(small_instance(), ThreatModel(attr_del=2), text)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["curves?x"], "given beside an address"),
        (["curve", "--family", "tau"], "--family is 'tau'; expected none or local or sigma"),
        (["curve", "--values", "3:0"], "--values is '3:0'; expected A at most B"),
        (["front"], "name it by --node N"),
        (["spiral"], "there is no figure 'spiral'; expected one of curve, "),
        (["front", "--node", "4000"], "no node 4,000"),
        (["votes", "--node", "1"], "votes"),
        (["distribution"], "votes"),
        (["graph", "--attack", "x"], "no part of an attack"),
        (["map", "--x", "attr_del", "--x-values", "0", "--y", "attr_del", "--y-values", "0"], ""),
        (["map", "--x", "local_attr_del"], "nothing that can be varied"),
        (["compare", "--vary", "attr_del", "--values", "0", "--name", "a", "--name", "b"], "2 names for 1"),
        (["base", "--levels", "2"], "--levels"),
        (["base", "--targets", "1,400"], "“400” names no node"),
        (["paper"], "no such figure"),
    ],
)
def test_bad_input_gets_one_sentence(words: list[str], reason: str, toy: str, tmp_path: Path, capsys) -> None:
    assert main(["draw", words[0], toy, *words[1:], "-o", str(tmp_path / "x.csv")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert reason in error
    assert not (tmp_path / "x.csv").exists()


def test_the_name_of_the_file_chooses_the_format(toy: str, tmp_path: Path, capsys) -> None:
    heads = {"f.pdf": b"%PDF", "f.svg": b"<?xml", "f.table.tex": b"% ", "f.json": b"{", "f.sh": b"#!/bin/sh"}
    for name, head in heads.items():
        assert main(["draw", "base", toy, "-o", str(tmp_path / name)]) == 0
        assert (tmp_path / name).read_bytes().startswith(head)
    assert b"tabular" in (tmp_path / "f.table.tex").read_bytes()
    capsys.readouterr()
    assert main(["draw", "base", toy, "-o", str(tmp_path / "f.docx")]) == 2
    assert ".csv" in capsys.readouterr().err
    assert main(["draw", "base", "-o", str(tmp_path / "f.csv")]) == 2
    assert "takes one instance" in capsys.readouterr().err


def test_uneven_values_are_one_file(toy: str, tmp_path: Path) -> None:
    for command in (["curve", toy], ["draw", "curve", toy]):
        path = tmp_path / "curve.csv"
        assert main([*command, "--vary", "attr_del", "--values", "0,1,2,5,10:30:10", "-o", str(path)]) == 0
        rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"))))
        column = "value" if "value" in rows[0] else "attr_del"
        assert sorted({int(row[column]) for row in rows}) == [0, 1, 2, 5, 10, 20, 30]
    path = tmp_path / "surface.csv"
    both = ["--x", "attr_add", "--x-values", "0,3", "--y", "attr_del", "--y-values", "0,1,2,5"]
    assert main(["surface", toy, *both, "-o", str(path)]) == 0
    assert len(path.read_text().splitlines()) == 9


def test_a_figure_made_again_carries_its_view(toy: str) -> None:
    spec = figures.ViewSpec.of("classes", toy, threat=ThreatModel(attr_del=2), targets="3,9,14,20")
    figure = export.make(spec)
    assert figure.spec == spec
    assert figure.sizes.sum() == 4
    again = export.make(figures.from_json(figures.to_json(figure)).spec)
    assert export.render(again, "csv") == export.render(figure, "csv")
