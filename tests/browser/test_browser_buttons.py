"""Whatever has the role of a button, on every page and in what it opens, is pressed: none may end in an exception.

Pages are found by following links and buttons, buttons by their names on the page; nothing here knows how a page is
made. What only another choice (a radio button, a switch, an upload) brings into sight is not pressed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import TimeoutError

from pages.files import examples
from tests.browser import server

#: Buttons that must be among those found, with what appears when their work is done.
EXPECTED = {"Suggest five", "Protect these", "Prepare a report", "Download the report (zip)"}
VIEW = "instance=ring-gcn-attr-s0&attr_del=3"
#: Of one name so many buttons are pressed on a page, and on so many pages if it is in a dialog or on the first page too
#: (then it belongs to the frame); help, which only shows a sentence, counts as one name.
ON_A_PAGE, ON_PAGES = 1, 1
#: More presses than this are not made by any page: something makes new names again and again.
MOST = 600
BUTTONS = "button:not([role]), [role=button], summary, a[download]"
#: Of each button in sight its name without numbers, or nothing; behind an open dialog nothing can be pressed.
NAMES = """(all) => all.map((one) => {
  const dialog = [...document.querySelectorAll('[role=dialog]')].filter((d) => d.checkVisibility()).at(-1);
  const reachable = !dialog || dialog.contains(one);
  if (!reachable || one.disabled || !one.checkVisibility({ visibilityProperty: true })) return "";
  const box = one.getBoundingClientRect();
  const named = one.getAttribute("aria-label") || one.innerText || one.title || one.dataset.testid || one.className;
  const icons = [...one.querySelectorAll('[data-testid=stIconMaterial]')].map((icon) => icon.innerText);
  return box.width * box.height ? icons.reduce((text, icon) => text.replace(icon, ""), String(named)).trim() : "";
})"""
DIALOG = "() => document.querySelector('[role=dialog]')?.querySelector('h1, h2, h3, [id]')?.innerText ?? ''"
WRONG = "[data-testid=stException]"
#: Two runs of one session overlap for a moment, each with a lock of its own around the same state: Streamlit's own
#: race, with none of our files among the frames.
STREAMLIT = re.compile(
    r'"RuntimeError at session_state\.py:\d+'
    r'( from (session_state|safe_session_state|script_runner|exec_code)\.py:\d+)+"'
)


def _plain(name: str) -> str:
    return re.sub(r"^Help for .*", "Help", re.sub(r"\s+", " ", re.sub(r"[\d,.]+", "#", name)))


@dataclass
class Presser:
    """Presses buttons, and watches the page and the server's log."""

    page: Any
    address: str
    log: Path
    pressed: dict[tuple[str, str, str], int] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)
    pages: dict[str, str] = field(default_factory=dict)
    brought: dict[tuple[str, str], str] = field(default_factory=dict)
    """Of each button of the page that is open, in the order in which they appeared, the one pressed just before."""
    last: str = ""
    read: int = 0

    def open(self, link: str) -> None:
        self.page.goto(link)
        self.page.get_by_role("heading", level=1).first.wait_for(timeout=120_000)
        self.rest()
        self.last = ""
        for href in self.page.get_by_role("link").evaluate_all("(all) => all.map((one) => one.href)"):
            self.found(href)

    def found(self, link: str) -> None:
        if link.startswith(self.address) and "." not in urlsplit(link).path:
            self.pages.setdefault(urlsplit(link).path.strip("/"), link)

    def here(self) -> str:
        return urlsplit(self.page.url).path.strip("/")

    def wanted(self, where: str, dialog: str, name: str, earlier: int = 0) -> bool:
        """Whether a button is to be pressed, of whose name there are so many earlier on the page."""
        times = self.pressed.get((where, dialog, name), 0)
        pages = len({page for page, *rest in self.pressed if rest == [dialog, name] and page != where})
        shared = dialog or ("", "", name) in self.pressed
        return name not in ("", "Close") and earlier >= times < ON_A_PAGE and not (shared and pages >= ON_PAGES)

    def next(self, where: str) -> tuple[Any, str] | None:
        """A button that has not been pressed yet, and its name; those that the last presses have brought come first."""
        dialog, buttons, names = self.seen()
        for name in dict.fromkeys(names):
            self.brought.setdefault((dialog, name), self.last)
        order = list(self.brought)
        for k, name in sorted(enumerate(names), key=lambda one: -order.index((dialog, one[1])) if self.last else 0):
            if self.wanted(where, dialog, name, names[:k].count(name)):
                self.pressed[where, dialog, name] = self.pressed.get((where, dialog, name), 0) + 1
                return buttons.nth(k), name
        return None

    def missed(self, where: str) -> tuple[Any, str] | None:
        """A button that brings one into sight which has gone before it was pressed; each is tried once more."""
        _, buttons, names = self.seen()
        for (dialog, name), by in list(self.brought.items()):
            if by and by in names and not self.pressed.get((where, dialog, name)) and self.wanted(where, dialog, name):
                self.brought[dialog, name] = ""
                return buttons.nth(names.index(by)), by
        return None

    def seen(self) -> tuple[str, Any, list[str]]:
        """The title of the open dialog, the buttons, and the names of those that can be pressed."""
        buttons = self.page.locator(BUTTONS)
        return self.page.evaluate(DIALOG), buttons, [_plain(name) for name in buttons.evaluate_all(NAMES)]

    def check(self, what: str) -> None:
        """Note exceptions on the page and in what the server has logged since the last look."""
        for text in self.page.locator(WRONG).all_inner_texts():
            self.complaints.append(f"{what}: {text}")
        with self.log.open() as handle:
            handle.seek(self.read)
            lines = handle.read().splitlines()
            self.read = handle.tell()
        bad = [line for line in lines if "Traceback" in line or '"level": "error"' in line or "Uncaught" in line]
        bad = [line for line in bad if not STREAMLIT.search(line)]
        self.complaints += [f"{what}: {line[:300]}" for line in bad]

    def press_all(self, where: str, link: str) -> None:
        """Press every button of a page; what a press opens comes first."""
        self.brought.clear()
        self.open(link)
        server.settled(self.page)
        self.check(where)
        waited = 0
        while waited < 3:
            found = self.next(where)
            if found is None and waited == 0:
                server.settled(self.page)  # what work brings in the end may be pressed too
                waited = 1
            elif found is None and (waited == 1 or self.page.locator("[role=dialog]").count()):
                self.open(link)  # without what lies over other buttons
                waited = 2
            elif (found := found or self.missed(where)) is None:
                waited = 3
            else:
                waited = 0
                self.press(*found)
                self.last = found[1]
                self.check(f"{where}: {found[1]}")
                if self.here() != where:
                    self.found(self.page.url)
                    self.open(link)
        self.check(where)

    def press(self, button: Any, name: str) -> None:
        assert sum(self.pressed.values()) < MOST, sorted(self.pressed)
        dialogs = self.page.locator("[role=dialog]").count()
        try:
            button.click(timeout=600)
        except TimeoutError:
            if self.page.locator("[role=dialog]").count() > dialogs:  # an earlier press has opened it meanwhile
                key = next(key for key in reversed(self.pressed) if key[2] == name)
                self.pressed[key] -= 1
            else:
                button.dispatch_event("click")  # something else lies over it; a keyboard would reach it
        self.rest()

    def rest(self) -> None:
        """Wait until no script runs; work in the background may go on."""
        quiet = 0
        while quiet < 3:
            self.page.wait_for_timeout(60)
            self.page.wait_for_selector("[data-testid=stApp]", timeout=120_000)
            quiet = quiet + 1 if self.page.locator(server.READY).count() else 0


def test_no_button_ends_in_an_exception(chromium: Any, tmp_path: Path) -> None:
    bundles, log = tmp_path / "bundles", tmp_path / "server.log"
    bundles.mkdir()
    for name in ("ring-gcn-attr-s0", "ring-gcn-attr-s1", "ring-sma-attr-s0"):
        (bundles / f"{name}.npz").write_bytes(examples.instance())
    with server.dashboard(bundles, tmp_path / "imports", log) as address:
        context = chromium.new_context(viewport={"width": 1440, "height": 900})
        presser = Presser(context.new_page(), address, log)
        presser.page.on("pageerror", lambda error: presser.complaints.append(f"{presser.here()}: {error}"))
        presser.page.on("filechooser", lambda _: None)
        presser.page.on("dialog", lambda one: one.dismiss())
        presser.pages[""] = f"{address}/?{VIEW}"
        done: set[str] = set()
        while rest := [one for one in presser.pages if one not in done]:
            done.add(rest[0])
            presser.press_all(rest[0], presser.pages[rest[0]])
        context.close()
    assert not presser.complaints, "\n".join(presser.complaints)
    assert {name for _, _, name in presser.pressed} >= EXPECTED, sorted(presser.pressed)
    assert len(done) >= 8, done
