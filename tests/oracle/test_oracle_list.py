"""No public way to a count is forgotten: what gives, takes or draws a result is gone through, or says why not."""

from __future__ import annotations

import inspect
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from certcore.domain.perturbations import TYPES
from certcore.domain.threat import ThreatModel
from certcore.sweep import defend
from tests.oracle import ways_pages, ways_server, ways_shown  # noqa: F401 - they put themselves into the list
from tests.oracle.finder import ROOT, Finder, module_of, public, sources
from tests.oracle.instances import question
from tests.oracle.ways import WAYS, Ask, Count
from tests.support import few_steps

#: Classes that hold results or counts under other names.
CARRIERS = ("pages.background.work.Work", "certcore.result.partition.Partition")
#: Classes with `certified` or a result that are none: base certificates of single nodes; the program before it is
#: solved; the makers of figures, in which `certificate` and `curve` are ways.
NO_RESULTS = (
    "certcore.domain.fronts.Fronts",
    "certcore.program.problem.Problem",
)

#: Functions and attributes that no way goes through, and why: a module or class (`*`: any result), and names in it.
NO_COUNTS = {
    "what was asked": """
        * targets relaxation vary values x y x_values y_values axes axis_values at_least target_nodes weights
        report.Report asked source commands; result.partition.Partition asked
        sweep.radii.Radius needed; sweep.defences.Defence nodes
    """,
    "how it was solved": """
        * seconds solves rounds facts done tried share_done; messages.status status
    """,
    "means of ratios that are judged": """
        sweep.counts.Counts average_radius naive_average_radius
        sweep.parallel.SplitCurve average_radius naive_average_radius deviation naive_deviation curves
    """,
    "the budget at which nothing is certified any more: an end of an axis": """
        sweep.radii first_uncertified; sweep.radii.Radius next_value
    """,
    "a judged result as it was given": """
        cli.accuracy.WithAccuracy columns of result to_json; cli.sweeping watched
        common.executor result_of; common.interrupt run_beside run_or_leave
        report.Report accuracy; pages.background.work ask follow; pages.background.answers claims held
        pages.background.work.Work key slot error; common.executor result_of
        common.interrupt run_beside run_or_leave
    """,
    "the solver's own number, which is never certified": """
        result.assemble integer_claim; result.certificate.Certificate integer_claim
    """,
    "sentences with judged numbers; tests/messages checks each against its arguments": """
        report.Report guarantee; messages.status radius; messages.attack state_words; workbench.message no_answer
        verify.proof.Verdict reason check
    """,
    "which nodes an attack reaches, what it costs or changes; how many it leaves is judged": """
        result.certificate.Certificate node_columns states; result.allocation fractional replay
        result.attack_effects influence margins reach; report sites
        result.partition.Partition collective open wrong; workbench.attack data sent_of; workbench.page chunks
        workbench.page.Frame sent; model_attack.ballots changed_by_ballots; model_attack.counting count_changed
        model_attack.run run_attack; model_attack.search.Search targets
        report.Report changed; figures.curve with_changed
        pages.background.engine model_attacks on_ballots; pages.background.sweeps known_attacks
    """,
    "a proof before the verifier has accepted it; `proof`, which is handed out, is judged": """
        result.certificate.Certificate unchecked_proof; verify.proof require_accepted
    """,
    "refuses counts above an attack that is known": """
        result.certificate.Certificate refuted_by; sweep.counts.Counts refuted_by; result.tripwire check
    """,
    "base certificates, node by node": """
        pages.parts.pictures base_shares; domain.fronts.Fronts clean
    """,
    "works on judged lines and hands them on as they are; tests/server compares what arrives with the engine": """
        server.questions <module>; server.questions.Asked first like of stages
        server.questions.Stage lane run; server.questions.Line hold
        server.desk.Desk ask; server.desk.Lines close; server.routes question health
    """,
    "draws a figure of which the table is judged": """
        report page; figures.figure numbers
        figures.contour cell_hover level_labels; figures.curve mean_line
        figures.save file_bytes save; notebook plot show; cli.plotting save_plot
        cli.curve draw_curve; cli.surface draw_surface
        figures.contour.ContourFigure in_points name place; figures.curve.CurveFigure name
        figures.contour.ContourFigure attacks bounds bracket certified description draw_print draw_screen edges filled
        figures.contour.ContourFigure kind levels marker measure measure_label ratio reference reference_certified
        figures.contour.ContourFigure reference_kind scale sets show
        figures.curve.CurveFigure axis clean description draw_print draw_screen end lines look
        figures.curve.CurveFigure marker x_label y_label; domain.weights count_weight
        figures.curve.Line attacks average_radius certified changed group high kind label label_with_radius leaves low
        figures.curve.Line name ratio unchanged
    """,
    "draws judged results of pages.background and sentences of certcore.messages; tests/pages reads what is drawn": """
        pages.background.work shares watch watch_all
        pages.canvas.attack lost_table sites_table; pages.explore.compare draw
        pages.explore.compare.Compared counted; pages.explore.compare.Entry lines; pages.explore.contours draw
        pages.explore.curves draw
        pages.explore.drawers curve draw graph surface; pages.explore.drawers.Picture changed key result sent title
        pages.explore.drawers.Charts axis end frames known lines search shelves stale surface task worth
        pages.explore.workbench draw; pages.inspect.base draw; pages.inspect.node draw most_interesting
        pages.explore.workbench.Now notes preview result stopped tell told wait waits why
        pages.own.check draw; pages.parts.charts show; pages.parts.ends coinciding restyle
        pages.parts.headline in_full panel remarks with_attack; pages.parts.neighbourhood marks_of
        pages.parts.nodes draw table; pages.parts.protect suggestions; pages.parts.selection selected_nodes
        pages.start.serve prepare
    """,
}


def full(name: str) -> str:
    return name if name.startswith(("pages.", "*.")) else f"certcore.{name}"


def listed() -> set[str]:
    lines = [line.split() for text in NO_COUNTS.values() for line in re.split(r"[;\n]", text) if line.strip()]
    return {full(f"{home}.{name}") for home, *names in lines for name in names}


@cache
def found() -> Finder:
    return Finder(sources(), NO_RESULTS, CARRIERS)


@dataclass
class Seen:
    """What is seen while all ways are gone once."""

    direct: set[str] = field(default_factory=set)
    """Functions that ways call themselves."""
    called: dict[str, set[str]] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)
    """Attributes of results that ways read."""
    by_value: set[str] = field(default_factory=set)
    """Public functions that were given, or gave, a result."""
    holders: set[str] = field(default_factory=set)
    """Classes of objects that hold a result."""


class Watch:
    """A trace function: calls that ways make themselves, and results among the first values of each function."""

    LOOKS = 4
    WRAPPER = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS

    def __init__(self, seen: Seen, results: tuple[type, ...]) -> None:
        self.seen, self.results, self.way = seen, results, ""
        self.names: dict[CodeType, str] = {}
        self.looks: Counter[CodeType] = Counter()

    def __call__(self, frame: FrameType, event: str, value: Any) -> Any:
        code = frame.f_code
        name = self.names.get(code)
        if name is None:
            name = f"{module_of(code.co_filename)}.{code.co_qualname}"
            mine = name.startswith(("certcore.", "pages.")) and public(name) and "<" not in code.co_qualname
            name = self.names[code] = name if mine else ""
        if not name:
            return None
        if event == "call":
            self.seen.called.setdefault(self.way, set()).add(name)
            if name not in self.seen.direct and self.by_a_way(frame.f_back):
                self.seen.direct.add(name)
        if event in ("call", "return") and self.looks[code] < self.LOOKS:
            self.looks[code] += 1
            self.look(name, [value] if event == "return" else frame.f_locals.values())
            frame.f_trace_lines = False
            return self  # the value that it returns is looked at as well
        return None

    def by_a_way(self, frame: FrameType | None) -> bool:
        while frame is not None and frame.f_code.co_flags & self.WRAPPER == self.WRAPPER:
            frame = frame.f_back  # a decorator
        return frame is not None and is_way(frame)

    def look(self, name: str, values: Iterable[Any]) -> None:
        for value in values:
            inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else [value]
            for one in [value, *inner]:
                if isinstance(one, self.results):
                    self.seen.by_value.add(name)
                    continue
                home = type(one).__module__
                if home.startswith(("certcore.", "pages.")) and any(
                    isinstance(part, self.results) for part in getattr(one, "__dict__", {}).values()
                ):
                    self.seen.holders.add(f"{home}.{type(one).__qualname__}")


def is_way(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).startswith("tests.oracle.ways")


@pytest.fixture(scope="module")
def seen() -> Seen:
    """All ways, gone once: every call is watched, and every attribute of a result that is read."""
    seen = Seen()
    classes = [getattr(import_module(name.rpartition(".")[0]), name.rpartition(".")[2]) for name in found().results]
    watch = Watch(seen, tuple(classes))

    def read(self: Any, name: str) -> Any:
        if is_way(sys._getframe(1)):
            seen.read.update(f"{one.__module__}.{one.__qualname__}.{name}" for one in type(self).__mro__)
        return object.__getattribute__(self, name)

    questions = [question(4, number, "grid") for number in range(20)]
    whole = next(q for q in questions if q.truth.world.whole_graph(q.threat))
    others = [q for q in questions if not q.truth.world.whole_graph(q.threat) and q.vary in TYPES]
    asked = next(q for q in others if defend(q.instance, q.threat, 1).steps)
    strong = ("page number", "page curves", "page map")
    trips = [(way, asked, "strong" if way.name in strong else "tight") for way in WAYS.values()]
    trips += [(WAYS["certify"], asked, "strong"), (WAYS["certify"], whole, "tight")]
    with pytest.MonkeyPatch.context() as patch, few_steps():
        for one in classes:
            patch.setattr(one, "__getattribute__", read)
        for way, given, relaxation in trips:
            watch.way = way.name
            with tempfile.TemporaryDirectory() as folder:
                before = sys.gettrace()
                sys.settrace(watch)
                try:
                    list(way.go(Ask(given, relaxation, False, Path(folder))))
                finally:
                    sys.settrace(before)
    return seen


def missing(finder: Finder, seen: Seen) -> set[str]:
    """Ways and attributes of results that nothing accounts for."""
    spoken_for = {full(name) for way in WAYS.values() for name in way.speaks_for}
    generic = "certcore.common."  # hands on whatever it is given
    inner = {name for name in seen.by_value if name.rpartition(".")[0] not in finder.results}
    asked = finder.attributes - seen.read | {name for name in inner if not name.startswith(generic)} | finder.ways
    left = asked - seen.direct - spoken_for - listed()
    return {name for name in left if f"*.{name.rpartition('.')[2]}" not in listed() or name not in finder.attributes}


def test_every_way_is_gone_or_gives_no_counts(seen: Seen) -> None:
    left = sorted(missing(found(), seen))
    assert not left, f"no way of the oracle goes through {left}: add one in tests/oracle/ways*.py"
    assert seen.holders <= found().results | set(NO_RESULTS)


def test_a_way_goes_where_it_says(seen: Seen) -> None:
    """What a way speaks for is really called by it."""
    for way in WAYS.values():
        silent = {full(name) for name in way.speaks_for} - seen.called[way.name]
        assert not silent, f"{way.name} does not go through {silent}"


def test_no_list_names_what_is_not_there(seen: Seen) -> None:
    known = found().ways | found().attributes | seen.by_value
    anywhere = {f"*.{name.rpartition('.')[2]}" for name in known}
    assert not (gone := listed() - known - anywhere), sorted(gone)
    spoken_for = {full(name) for way in WAYS.values() for name in way.speaks_for}
    assert not (gone := spoken_for - known), sorted(gone)
    assert not (twice := listed() & (spoken_for | seen.direct | seen.read)), sorted(twice)


#: Ways that the list does not know: module, what is to be found there, and the source that is put at its end.
PLANTED = [
    ("result.certificate", "Certificate.safe", "    @property\n    def safe(self) -> float: return 1 - self.bound / 9"),
    ("result.certificate", "Certificate.sure", "    def sure(self) -> dict[str, int]: return {'n': self.targets}"),
    ("result.certificate", "Certificate.firm", "    firm: int = 0"),
    ("result.certificate", "Certificate.much", "    much = property(lambda self: self.targets - self.bound)"),
    ("workbench.page", "badge", "def badge(session, threat): return f'{session.preview(threat).ratio:.1%}'"),
    ("messages.headline", "boast", "def boast(found: 'Certificate | None') -> str: return f'{found}'"),
    ("pages.parts.ends", "metric", "from ..background.engine import proof as p\ndef metric(v): st.write(p(v).result)"),
    ("pages.explore.curves", "<module>", "st.metric('stay', engine.certificate(state.view()).result)"),
    ("fresh.counts", "plain", "from certcore import certify as ask\ndef plain(one) -> dict: return vars(ask(one))"),
    ("fresh.served", "route", "def _n(view): return view.now.certified\nasync def route(view): return {'n': _n(view)}"),
    ("fresh.names", "prove", "from certcore.sweep.session import certify\nprove = certify"),
    ("fresh.export", "prove", "from certcore import certify as prove"),
    ("fresh.kinds", "Promise.of", "import certcore as cc\nclass Promise:\n    of: list[cc.Counts]"),
    ("pages.fresh", "Page.most", "from certcore.sweep import radius as r\nclass Page:\n    most = lambda v: r(v.one)"),
]


@cache
def planted(*renames: tuple[str, str]) -> Finder:
    """The project with all planted ways, and with other names for functions everywhere."""
    texts = dict(sources())
    for home, _, source in PLANTED:
        texts[full(home)] = f"{texts.get(full(home), '')}\n{source}\n"
    for old, new in renames:
        texts = {re.sub(rf"\b{old}\b", new, name): re.sub(rf"\b{old}\b", new, text) for name, text in texts.items()}
    return Finder(texts, NO_RESULTS, CARRIERS)


@pytest.mark.parametrize(("home", "name"), [(home, name) for home, name, _ in PLANTED])
def test_a_new_way_is_found(home: str, name: str, seen: Seen) -> None:
    assert full(f"{home}.{name}") in missing(planted(), seen)
    assert full(f"{home}.{name}") not in found().ways | found().attributes


def test_other_names_change_nothing() -> None:
    renamed = planted(("certify", "prove_all"), ("preview", "glimpse"))

    def new(names: set[str]) -> set[str]:
        return {re.sub(r"\bpreview\b", "glimpse", re.sub(r"\bcertify\b", "prove_all", name)) for name in names}

    assert renamed.ways == new(planted().ways)
    assert renamed.attributes == new(planted().attributes)


def test_a_way_without_types_is_found_by_value() -> None:
    """A function that names no result, seen when it is called with one."""
    seen, here = Seen(), dict[str, Any]()
    exec(compile("def hand_on(x): return [x]", ROOT / "certcore" / "fresh.py", "exec"), here)
    sys.settrace(Watch(seen, (Count,)))
    try:
        here["hand_on"](Count(ThreatModel(), 1))
    finally:
        sys.settrace(None)
    assert seen.by_value == {"certcore.fresh.hand_on"}
