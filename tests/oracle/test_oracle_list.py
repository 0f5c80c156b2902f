"""Nobody adds a public way to a count and forgets the oracle: every public name is in its list, or says why not."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

import pytest

import certcore
import certcore.export as export
import certcore.sweep as sweep
from certcore.cli import COMMANDS
from certcore.export.making import KINDS_OF_FIGURES, MAKERS
from certcore.notebook import cards, networks, plots, tables, widget
from pages.background import engine, sweeps
from tests.oracle import ways_pages, ways_shown  # noqa: F401 - they put themselves into the list
from tests.oracle.instances import question
from tests.oracle.ways import WAYS, Ask
from tests.support import few_steps

#: Public names that give no count of certified targets, and why.
NO_COUNTS = {
    "certcore.TYPES": "names",
    "certcore.Certificate": "what certify returns; judged there",
    "certcore.Dataset": "a graph and labels",
    "certcore.FieldCheck": "what check_field returns",
    "certcore.Graph": "a graph",
    "certcore.GridBase": "a base certificate: one node, not a count",
    "certcore.InputError": "an error",
    "certcore.Instance": "what is certified",
    "certcore.SmoothingBase": "a base certificate: one node, not a count",
    "certcore.Status": "how a solve ended",
    "certcore.ThreatModel": "what the attacker may do",
    "certcore.Verdict": "what verify_proof returns; judged there",
    "certcore.__version__": "a text",
    "certcore.ModelAttack": "labels changed by an attack, held against the certificates by a test of its own",
    "certcore.attack": "the same",
    "engine.model_attacks": "the same",
    "engine.on_ballots": "the same",
    "certcore.check_field": "tries to falsify a field, certifies nothing",
    "certcore.dashboard": "opens the pages, whose work is judged (engine, sweeps)",
    "certcore.get_dataset": "a graph and labels",
    "certcore.read_proof": "reads a proof, which verify_proof judges",
    "certcore.save_instance": "writes what is certified",
    "certcore.ballots": "makes an instance; its labels and gains have a test of their own",
    "certcore.smooth": "makes an instance; its votes have a test of their own",
    "sweep.Preview": "what Session.preview returns; judged there",
    "sweep.Session": "its methods are in the list",
    "sweep.average_radius": "a mean of ratios that are judged",
    "Session.solver": "a program, not a result",
    "Session.solves": "how many programs were solved",
    "cli data": "datasets",
    "cli train": "trains a model",
    "cli vote": "counts votes",
    "cli attack": "labels changed by an attack, held against the certificates by a test of its own",
    "cli verify-attack": "the same",
    "cli bundle": "makes an instance",
    "cli base": "makes a base certificate, node by node",
    "cli dashboard": "opens the pages, whose work is judged (engine, sweeps)",
    "export.Format": "a file format",
    "export.Report": "what build_report returns; judged there",
    "export.allocation": "flips per node of an attack that is judged",
    "export.bibtex": "a citation",
    "export.file_name": "a file's name",
    "export.formats": "file formats",
    "export.proof": "the bytes of a proof that is judged",
    "export.provenance": "what stands behind a certificate, with its digest",
    "export.render": "draws a figure whose table is judged",
    "export.report_html": "sets the figures and sentences of a report whose tables are judged",
    "figure votes": "votes of one node",
    "figure front": "the front of one node",
    "figure distribution": "confidence bounds of nodes",
    "figure paper": "stored results of experiments",
    "notebook field_text": "what check_field found",
    "notebook harmless": "guards the cells of a table",
    "notebook instance_of": "the instance of a certificate",
    "notebook plot": "draws what `figure` makes, which is judged",
    "notebook NodeFrame": "the frame that nodes_frame returns; judged there",
    "notebook Screen": "a drawn figure",
    "engine.story_limits": "words",
    "sweeps.Member": "a line to be computed",
    "sweeps.varied": "names of axes",
    "sweeps.values_to": "values of an axis",
    "sweeps.main_axis": "the name of an axis",
    "sweeps.position": "where the sliders stand",
    "sweeps.picked": "a value of an axis as its setting has it",
    "sweeps.splits_of": "names of bundles",
    "sweeps.told_attacks": "attacks that are judged, as text",
    "sweeps.known_attacks": "attacks that are judged, at the values of a curve",
    "sweeps.first_kind": "lines that are judged",
    "sweeps.is_coarse": "how far a map is",
}


def own_names(module: ModuleType) -> Iterator[str]:
    for name, value in vars(module).items():
        here = getattr(value, "__module__", None) == module.__name__
        if here and not name.startswith("_") and (inspect.isfunction(value) or inspect.isclass(value)):
            yield name


def public_names() -> set[str]:
    found = {f"certcore.{name}" for name in certcore.__all__}
    found |= {f"sweep.{name}" for name in sweep.__all__}
    found |= {f"export.{name}" for name in export.__all__}
    found |= {f"Session.{name}" for name in vars(certcore.Session) if not name.startswith("_")}
    found |= {f"cli {name}" for name in COMMANDS}
    found |= {f"figure {name}" for name in KINDS_OF_FIGURES}
    for module in (cards, networks, plots, tables, widget):
        found |= {f"notebook {name}" for name in own_names(module)}
    found |= {f"engine.{name}" for name in own_names(engine)}
    found |= {f"sweeps.{name}" for name in own_names(sweeps)}
    return found


SPOKEN_FOR = {name for one in WAYS.values() for name in one.speaks_for}


def test_every_public_name_is_judged_or_gives_no_counts() -> None:
    missing = sorted(public_names() - SPOKEN_FOR - set(NO_COUNTS))
    assert not missing, f"no way of the oracle goes through {missing}: add one in tests/oracle/ways*.py"


def test_no_list_names_what_is_not_there() -> None:
    inner = {"sweep.attacks_along", "sweep.attacks_over"}  # of certcore.sweep.attack_curve: behind figures and pages
    assert SPOKEN_FOR - inner <= public_names()
    assert set(NO_COUNTS) <= public_names()
    assert not SPOKEN_FOR & set(NO_COUNTS)


def test_a_new_function_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def count_more(self: certcore.Session) -> int:
        return 7

    monkeypatch.setattr(certcore.Session, "count_more", count_more, raising=False)
    assert "Session.count_more" in public_names() - SPOKEN_FOR - set(NO_COUNTS)


def code_of(name: str) -> CodeType | None:
    """The code behind a public name, if it is a plain function."""
    home, _, rest = name.replace(" ", ".", 1).partition(".")
    if home == "cli":
        return __import__(f"certcore.cli.{rest}", fromlist=["run"]).run.__code__
    if home == "figure":
        return MAKERS[rest][0].__code__
    homes: dict[str, list[Any]] = {
        "certcore": [certcore], "sweep": [sweep, sweep.attack_curve], "export": [export], "Session": [certcore.Session],
        "notebook": [cards, networks, plots, tables, widget], "engine": [engine], "sweeps": [sweeps],
    }  # fmt: skip
    value = next(getattr(module, rest) for module in homes[home] if hasattr(module, rest))
    return value.__code__ if inspect.isfunction(value) else None


def test_a_way_goes_where_it_says(tmp_path: Path) -> None:
    """Each function that a way speaks for is really called by it."""
    missing: dict[CodeType, str] = {}

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and missing.pop(frame.f_code, "") and not missing:
            sys.setprofile(None)  # being watched is slow

    asked = next(q for number in range(40) if not (q := question(4, number, "grid")).truth.world.whole_graph(q.threat))
    for one in WAYS.values():
        codes = {name: code_of(name) for name in one.speaks_for}
        missing.clear()
        missing.update({code: name for name, code in codes.items() if code is not None})
        relaxation = "strong" if one.name in ("page number", "page curves", "page map") else "tight"
        (tmp_path / one.name).mkdir()
        sys.setprofile(watch if missing else None)
        try:
            with few_steps():
                for _ in one.go(Ask(asked, relaxation, False, tmp_path / one.name)):
                    if not missing:
                        break
        finally:
            sys.setprofile(None)
        assert not missing, f"{one.name} does not go through {list(missing.values())}"
