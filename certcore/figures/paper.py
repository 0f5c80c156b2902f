"""The paper's numbers and figures next to ours, as stored in one file by `python -m experiments table`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from certcore.common.errors import InputError
from certcore.common.reading import read_json
from certcore.figures.figure import Figure
from certcore.figures.serial import figure_of

FORMAT = "certcore-paper-1"
#: Relative to the repository; for an installed package, relative to the working directory.
FILE = Path("precomputed") / "paper.json"


def paper_file() -> Path:
    """The path of the stored file, whether or not it exists."""
    return next((path for path in (Path(__file__).resolve().parents[2] / FILE, FILE.absolute()) if path.exists()), FILE)


def read_paper(path: Path) -> dict[str, Any]:
    """The stored rows and figures; the format is described in `experiments/stored.py`."""
    try:
        stored = read_json(path.read_text(encoding="utf-8"), path.name)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}; write it again with `python -m experiments table`") from error
    if not isinstance(stored, dict) or stored.get("format") != FORMAT:
        raise InputError(f"{path.name} does not have the format {FORMAT}; run `python -m experiments table`")
    return stored


def paper_figure(names: Sequence[str]) -> Figure:
    """A figure of the paper by its name, as in `certcore draw paper`."""
    path = paper_file()
    if not path.exists():
        raise InputError(f"the figures of the paper are read from {FILE}, which is not here; run it in a clone")
    known = {
        picture["figure"]["name"]: picture["figure"]
        for section in read_paper(path)["sections"]
        for place in section["places"]
        for picture in place["pictures"].values()
    }
    if len(names) != 1 or names[0] not in known:
        raise InputError(f"there is no such figure of the paper; expected one of {', '.join(known)}")
    return figure_of(known[names[0]])
