"""The export drawer: what applies to a figure is offered, what was chosen is remembered, and the page stays."""

from __future__ import annotations

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from pages.background import work
from pages.parts import exports

Open = Callable[..., AppTest]
GRID = "ring-gcn-attr-s0"


def offered(at: AppTest) -> set[str]:
    """The choices for print on show, by their names."""
    kinds = ("segmented_control", "button_group", "toggle")
    keys = [str(element.key) for kind in kinds for element in at.get(kind) if getattr(element, "key", None)]
    return {key.removeprefix("print_") for key in keys if key.startswith("print_")}


def test_width_font_and_files_are_offered(open_page: Open) -> None:
    at = open_page("curves", instance=GRID, attr_del="4", to="9")
    at.button(key="export_curve").click().run()
    assert offered(at) == {"width", "font"}
    assert {"PDF", "SVG", "PNG", "CSV", "LaTeX table"} <= {button.label for button in at.download_button}
    assert any(code.value.startswith("certcore curve ") for code in at.code)


def test_choices_are_remembered_from_figure_to_figure(open_page: Open) -> None:
    at = open_page("curves", instance=GRID, attr_del="4", to="9")
    at.session_state["_print"] = {"width": "17.5cm", "font": "serif"}
    at.session_state["_export"] = "curve"
    at.run()
    assert any(code.value.endswith("--width 17.5cm --font serif") for code in at.code)


def test_the_drawer_says_that_a_figure_is_not_complete_yet(open_page: Open, monkeypatch) -> None:
    def told(at: AppTest) -> bool:
        return any(exports.GROWING in one.value for one in at.caption)

    for name in ("export_curve", "export_graph"):
        at = open_page("overview", instance=GRID, attr_del="4")
        at.session_state["_drawer"] = name
        assert not told(at.run()), "all is computed"
        with monkeypatch.context() as patch:
            patch.setattr(work.Work, "running", True)
            assert told(at.run())


def test_the_page_stays_while_the_drawer_is_open(open_page: Open, monkeypatch) -> None:
    at = open_page("overview", instance=GRID, attr_del="4")
    assert "_hold" not in at.session_state
    at.session_state["_drawer"] = "export_curve"
    at.run()
    assert at.session_state["_hold"]
    ended = work.Job("key", "Work", lambda job: None)
    ended.finished.set()
    held = {"_hold": True, "_seen": {work._GREETING: True}, "_jobs": {"chart": ended}}
    runs: list[int] = []
    monkeypatch.setattr(work.st, "session_state", held)
    monkeypatch.setattr(work.st, "rerun", lambda: runs.append(1))
    told: list[int] = []
    slots = {work._GREETING: None, "chart": lambda: told.append(1)}
    work._poll(slots)
    assert not runs
    assert told, "but how far it is is told"
    del held["_hold"]
    work._poll(slots)
    assert len(runs) == 1
    work._poll({work._GREETING: None})
    assert len(runs) == 2
