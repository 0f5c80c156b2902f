"""A Dockerfile read into steps, and its steps run without Docker: stages become folders, paths are put below them.

    python -m tests.docs.docker_steps FOLDER

runs everything with real installations (minutes), as the image would be built. The tests run the same steps with the
packages of this environment in reach, so that pip finds every requirement satisfied and is done in seconds; for that
they let the direct requirements stand in for the lock file, whose indirect ones may be newer here.
"""

from __future__ import annotations

import fnmatch
import json
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCKED = "--require-hashes -r requirements.lock"
#: Commands that only make sense inside an image, where they run as root of a file system of their own.
IMAGE_ONLY = ("useradd", "chown")


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


@dataclass
class Built:
    """What a dry build leaves behind: the last stage's folder, environment, and how its processes are started."""

    root: Path
    workdir: str
    env: dict[str, str]
    command: list[str]
    health: list[str]

    def translate(self, words: list[str]) -> list[str]:
        return [_below(self.root, word) for word in words]


#: Top-level folders of the image that the steps name; they are put below a stage's folder.
_PLACES = ("/opt/", "/src", "/app", "/data")


def _below(root: Path, text: str) -> str:
    for place in _PLACES:
        text = text.replace(f" {place}", f" {root}{place}").replace(f"={place}", f"={root}{place}")
        if text.startswith(place):
            text = f"{root}{text}"
    return text


def dry_build(
    folder: Path, context: Path = ROOT, *, extra_env: dict[str, str] | None = None, lock: bool = True
) -> Built:
    """Run the Dockerfile's steps below `folder`; raises CalledProcessError with pip's words where a step fails."""
    patterns = read_ignore((context / ".dockerignore").read_text())
    shims = folder / "shims"
    shims.mkdir(parents=True)
    for name in IMAGE_ONLY:
        (shims / name).write_text("#!/bin/sh\nexit 0\n")
        (shims / name).chmod(0o755)
    (shims / "python").symlink_to(sys.executable)
    text = (context / "Dockerfile").read_text()
    if not lock:
        text = text.replace(LOCKED, "-r requirements.txt")
    roots: dict[str, Path] = {}
    built: Built | None = None
    for number, stage in enumerate(read_dockerfile(text)):
        root = folder / (stage.name or f"stage{number}")
        root.mkdir()
        roots[stage.name or str(number)] = root
        built = _run_stage(stage, root, roots, context, patterns, shims, extra_env or {})
    assert built is not None
    return built


def _run_stage(
    stage: Stage, root: Path, roots: dict[str, Path], context: Path, patterns: list[str], shims: Path,
    extra_env: dict[str, str],
) -> Built:  # fmt: skip
    kept = {k: v for k, v in os.environ.items() if k.startswith(("PIP_", "LANG", "SSL_"))}
    env = {**kept, "PATH": f"{shims}:/usr/bin:/bin", "HOME": str(root)}
    built = Built(root, "/", env, [], [])
    for step in stage.steps:
        if step.word == "ARG":
            name, _, value = step.text.partition("=")
            env[name] = value.strip('"')
        elif step.word == "ENV":
            for word in shlex.split(step.text):
                name, _, value = word.partition("=")
                value = value.replace("$PATH", env["PATH"])
                env[name] = value if name == "PATH" and value.startswith(str(shims)) else _below(root, value)
        elif step.word == "WORKDIR":
            built.workdir = step.text
            (root / step.text.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif step.word == "RUN":
            script = _below(root, step.text)
            where = root / built.workdir.lstrip("/")
            subprocess.run(
                ["/bin/sh", "-ec", script], cwd=where, env=env | extra_env, check=True, capture_output=True, text=True
            )
        elif step.word == "COPY":
            _copy(step, root, built.workdir, roots, context, patterns)
        elif step.word == "CMD":
            built.command = step.exec_form or []
        elif step.word == "HEALTHCHECK":
            built.health = step.exec_form or []
    return built


def _copy(
    step: Step, root: Path, workdir: str, roots: dict[str, Path], context: Path, patterns: list[str]
) -> None:  # fmt: skip
    words = step.text.split()
    if words[0].startswith("--from="):
        source = roots[words[0].removeprefix("--from=")]
        # A virtual environment knows its own path: a link keeps it usable where a copy would point nowhere.
        target = root / words[2].lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(source / words[1].lstrip("/"))
        return
    *sources, place = words
    target = root / (place if place.startswith("/") else f"{workdir}/{place}").lstrip("/")
    for source in sources:
        origin = context / source
        files = [origin] if origin.is_file() else [p for p in sorted(origin.rglob("*")) if p.is_file()]
        if not files:
            raise FileNotFoundError(f"COPY {source}: there is no such file in the build context")
        for file in files:
            name = file.relative_to(context).as_posix()
            if ignored(name, patterns):
                if file == origin:
                    raise FileNotFoundError(f"COPY {source}: .dockerignore leaves it out")
                continue
            to = target / (file.relative_to(origin) if file != origin else file.name)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, to)


if __name__ == "__main__":
    result = dry_build(Path(sys.argv[1]).resolve())
    print(f"built below {result.root}; the image would run: {' '.join(result.command)}")
