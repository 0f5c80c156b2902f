"""Mutants: drawn again as before, in every area, and judged by the tests of a small package."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest

from stress import mutants, places

ROOT = Path(__file__).resolve().parents[2]
FILES = {
    "pytest.ini": "[pytest]",
    "certcore/__init__.py": "",
    "certcore/base/pair.py": "def larger(a, b):\n    return max(a, b)\n\n\ndef smaller(a, b):\n    return min(a, b)\n",
    "tests/base/test_base_pair.py": (
        "from certcore.base import pair\n\n\ndef test_larger():\n    assert pair.larger(1, 2) == 2\n\n\n"
        "def test_wrong_anyway():\n    assert pair.larger(1, 2) == 3\n"
    ),
    "tests/docs/test_docs_pair.py": "def test_nothing():\n    pass\n",
}


def test_sixty_mutants_are_drawn_from_all_areas_and_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    every = places.places(ROOT)
    monkeypatch.setattr(places, "places", lambda root: list(every))
    drawn = places.draw(ROOT, 1, 60)
    assert len(set(drawn)) == 60
    areas, operators = Counter(one.area for one in drawn), Counter(one.operator for one in drawn)
    assert set(areas) == set(places.AREAS) == set(mutants.FIRST)
    assert min(areas.values()) >= 3
    assert set(operators) == set(places.OPERATORS)
    assert set(operators.values()) == {5}
    for one in drawn:
        source = (ROOT / one.file).read_text(encoding="utf-8")
        changed = places.applied(source, one)  # which has been compiled
        assert changed is not None
        assert changed != source
        assert one.before != one.after
    assert places.draw(ROOT, 1, 12) == drawn[:12]
    assert places.draw(ROOT, 2, 12) != drawn[:12]


def test_a_tested_line_is_killed_and_an_untested_one_survives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # loading them takes most of the time here
    root = tmp_path / "root"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "x"]):
        subprocess.run(["git", *words], cwd=root, check=True)

    def run(*options: str) -> dict[str, dict[str, object]]:
        stored = mutants.run(root, tmp_path / "mutants.json", tmp_path / "work", mutants.parsed(options))
        return {one["function"]: one for one in stored["mutants"]}

    found = run("--count", "2")
    assert found["larger"]["verdict"] == "killed"
    assert found["larger"]["test"] == "tests/base/test_base_pair.py::test_larger"
    assert found["smaller"]["verdict"] == "survived"
    assert found["smaller"]["tests"] == 0  # no test calls it
    text = (tmp_path / "mutants.json").read_text()
    assert run() == found  # nothing is left to do
    assert (tmp_path / "mutants.json").read_text() == text
    # The file has moved: its mutants are found again, those of a changed line are not.
    (root / "certcore/base/pair.py").rename(root / "certcore/moved.py")
    (root / "certcore/moved.py").write_text(FILES["certcore/base/pair.py"].replace("min(a, b)", "min(b, a)"))
    moved = [places.found_again(root, place) for place in places.draw(tmp_path / "work/0/copy", 1, 2)]
    assert [one.file for one in moved if one] == ["certcore/moved.py"]
