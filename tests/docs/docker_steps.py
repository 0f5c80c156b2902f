"""A Dockerfile read into steps, and the folder that its last stage would hold, laid out without Docker.

What pip would install is proven elsewhere: the wheel in a fresh environment by `test_docs_packaging`, the pins by
`test_hardening_pins`. Here it is shown that what is copied is enough for what is started.
"""

from __future__ import annotations

import fnmatch
import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCKED = "--require-hashes -r requirements.lock"


@dataclass(frozen=True)
class Step:
    """One instruction with its text (continuation lines joined, comments dropped)."""

    word: str
    text: str

    @property
    def exec_form(self) -> list[str] | None:
        """The words of a JSON array, or None for the shell form."""
        text = self.text[self.text.index("[") :] if "[" in self.text else ""
        try:
            words = json.loads(text)
        except ValueError:
            return None
        return words if isinstance(words, list) and all(isinstance(w, str) for w in words) else None


@dataclass
class Stage:
    """One FROM with what follows it."""

    image: str
    name: str | None
    steps: list[Step] = field(default_factory=list)

    def all(self, word: str) -> list[Step]:
        return [step for step in self.steps if step.word == word]


def read_dockerfile(text: str) -> list[Stage]:
    """The stages of a Dockerfile."""
    joined: list[str] = []
    open_line = False
    for line in text.splitlines():
        if line.lstrip().startswith("#") or (not line.strip() and not open_line):
            continue
        stripped = line.strip()
        more = stripped.endswith("\\")
        stripped = stripped.removesuffix("\\").strip()
        if open_line:
            joined[-1] += " " + stripped
        else:
            joined.append(stripped)
        open_line = more
    stages: list[Stage] = []
    for line in joined:
        word, _, rest = line.partition(" ")
        if word == "FROM":
            image, *alias = rest.split()
            stages.append(Stage(image, alias[1] if len(alias) == 2 else None))
        elif stages:
            stages[-1].steps.append(Step(word, rest.strip()))
        elif word != "ARG":
            raise ValueError(f"{word} stands before the first FROM")
    return stages


def ignored(path: str, patterns: list[str]) -> bool:
    """Whether .dockerignore leaves a path out: the last pattern that matches it or a folder above it decides."""
    parts = path.split("/")
    prefixes = ["/".join(parts[: i + 1]) for i in range(len(parts))]
    verdict = False
    for pattern in patterns:
        wanted = pattern.removeprefix("!")
        anywhere = wanted.startswith("**/")
        for prefix in prefixes:
            tail = prefix.rsplit("/", 1)[-1]
            same_depth = wanted.count("/") == prefix.count("/")
            if (anywhere and fnmatch.fnmatch(tail, wanted[3:])) or (same_depth and fnmatch.fnmatch(prefix, wanted)):
                verdict = not pattern.startswith("!")
                break
    return verdict


def read_ignore(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


def lay_out(folder: Path) -> Path:
    """Copy what the last stage copies from the build context, and beside it the package; gives the working folder."""
    patterns = read_ignore((ROOT / ".dockerignore").read_text())
    final = read_dockerfile((ROOT / "Dockerfile").read_text())[-1]
    workdir = folder / final.all("WORKDIR")[-1].text.lstrip("/")
    for step in final.all("COPY"):
        *sources, place = step.text.split()
        if "--from" in step.text:
            continue
        for source in sources:
            origin = ROOT / source
            for file in [origin] if origin.is_file() else sorted(path for path in origin.rglob("*") if path.is_file()):
                if not ignored(file.relative_to(ROOT).as_posix(), patterns):
                    to = workdir / place / (file.relative_to(origin) if file != origin else file.name)
                    to.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(file, to)
    shutil.copytree(ROOT / "certcore", folder / "installed" / "certcore", ignore=shutil.ignore_patterns("__pycache__"))
    return workdir
