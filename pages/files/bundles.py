"""Which instances can be chosen, and loading them once for everybody."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import ipaddress
import os
import re
import secrets
import shutil
import time
from pathlib import Path

import numpy as np
import streamlit as st

from certcore.common.errors import InputError
from certcore.common.files import atomic_write
from certcore.common.npz import read_npz
from certcore.domain.noise import Noise
from certcore.domain.perturbations import FLIPS
from certcore.instance.instance import Instance, load_instance
from certcore.messages import dataset_title
from certcore.model_attack.stored import ModelAttack, attack_files, attacks_on
from certcore.server.shelf import SHELF, Unknown

from ..messages.text import count, markdown, samples

#: The clone; where the dashboard is installed inside the package, the folder it was started in.
ROOT = Path(__file__).resolve().parents[2]
ROOT = ROOT if (ROOT / "app.py").is_file() else Path.cwd()
MAX_IMPORTED = 20
A_DAY = 24 * 3600
IMPORTED = " (imported)"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,120}")


def bundle_folder() -> Path:
    """Where the bundles are: `precomputed/`, or what the environment says."""
    return Path(os.environ.get("CERTCORE_BUNDLES", ROOT / "precomputed"))


def import_folder() -> Path:
    """Where uploaded instances are kept; see `upload_folder` for those of one visitor."""
    return Path(os.environ.get("CERTCORE_IMPORTS", ROOT / "runs" / "imported"))


def on_disk() -> list[str]:
    """The bundles, in alphabetical order."""
    return sorted(path.stem for path in bundle_folder().glob("*.npz") if _NAME.fullmatch(path.stem))


def first(names: list[str]) -> str:
    """The instance a first visit shows: the paper's first example, at ten deletions (`state.START`), if it is there.

    It has the most votes, and every part of the answer is in sight: naive 38 %, collective 84 % of 1,870 labels,
    an attack that leaves 87 %, and a switch (strengthen) that closes most of what is in between within seconds.
    At 21 deletions the naive count is nothing at all, but what separates proof and attack is then too wide to close.
    """
    wanted = ("citeseer-gcn-attr-s0", "gcn-attr")
    return next((name for part in wanted for name in names if part in name), names[0])


def names() -> list[str]:
    """Bundles in alphabetical order, then the uploads of this visitor."""
    return on_disk() + imported()


def at_home() -> bool:
    """Whether the server is bound to loopback and has no password: then all uploads are of this machine's owner.

    A header of a request says nothing here, since anyone can write one.
    """
    address = st.get_option("server.address") or ""
    with contextlib.suppress(ValueError):
        address = "localhost" if ipaddress.ip_address(address).is_loopback else address
    return address == "localhost" and not os.environ.get("CERTCORE_PASSWORD")


def upload_folder() -> Path:
    """Where the uploads of this visitor are; away from home a folder with a random name that only the session knows."""
    if at_home():
        return import_folder()
    token = st.session_state.setdefault("_visitor", f"visitor-{secrets.token_hex(16)}")
    return import_folder() / str(token)


def imported() -> list[str]:
    """The uploads of this visitor that are kept, the newest first."""
    paths = upload_folder().glob("import-*.npz")
    return [one.stem for one in sorted(paths, key=lambda one: -one.stat().st_mtime) if _NAME.fullmatch(one.stem)]


def path_of(name: str) -> Path:
    folder = upload_folder() if name.startswith("import-") else bundle_folder()
    return folder / f"{name}.npz"


def shown_path(name: str) -> str:
    """The file of an instance as the visitor has it: on their own machine its whole path, elsewhere folder and name."""
    path = path_of(name)
    return str(path.absolute()) if at_home() else f"{path.parent.name}/{path.name}"


def forget_old() -> None:
    """Delete the uploads that visitors of a shared server have left for a day."""
    for folder in import_folder().glob("visitor-*"):
        with contextlib.suppress(OSError):  # another visitor may be doing the same at this moment
            if time.time() - folder.stat().st_mtime > A_DAY:
                shutil.rmtree(folder, ignore_errors=True)


def load(name: str, base_rule: str = "binary") -> Instance:
    """The instance of that name; the same object for every session."""
    try:
        return SHELF.held(public_name(name), base_rule).instance
    except Unknown as error:
        raise InputError(f"the bundle {name} is gone; choose another instance") from error


def public_name(name: str) -> str:
    """The name of an instance in questions to the API; for an upload of this visitor an id that nobody can guess."""
    return SHELF.lend(path_of(name), title(name).removesuffix(IMPORTED)) if name.startswith("import-") else name


def attacks(name: str, instance: Instance) -> list[ModelAttack]:
    """Attacks on the model that are kept beside an instance; those on another instance are left out."""
    path = path_of(name)
    stamps = tuple(file.stat().st_mtime_ns for file in attack_files(path))
    return _attacks(str(path), stamps, instance.full_digest, instance) if stamps else []


@st.cache_resource(max_entries=8, show_spinner=False)
def _attacks(path: str, stamps: tuple[int, ...], digest: str, _instance: Instance) -> list[ModelAttack]:
    try:
        return attacks_on(path, _instance)
    except InputError:
        return []


def _coverage(name: str) -> tuple[tuple[str, ...], int | None]:
    """Types that a file's base certificate covers and its number of samples, without loading all of the file."""
    try:
        return _read_coverage(str(path_of(name)), path_of(name).stat().st_mtime_ns)
    except Exception:  # a damaged file fails in a dozen ways; it is named when somebody chooses it
        return (), None


@functools.lru_cache(maxsize=256)
def _read_coverage(path: str, changed: int) -> tuple[tuple[str, ...], int | None]:
    arrays = read_npz(path, keys=("theta", "n_samples", "base_axes", "attr_std", "ballots_weight"))
    if "ballots_weight" in arrays:
        return (*FLIPS, "inject"), None
    if "theta" in arrays:
        flips = zip(FLIPS, Noise.of(arrays["theta"].reshape(-1)).fractions)
        moved = ("attr_l2",) if "attr_std" in arrays else ()
        return tuple(name for name, share in flips if share) + moved, int(arrays["n_samples"])
    return tuple(str(axis) for axis in arrays["base_axes"].reshape(-1)), None


def covering(types: list[str], stem: str) -> list[str]:
    """Bundles that cover one of these types, those of the same dataset first, one of each model and kind."""
    found: dict[str, str] = {}
    for name in sorted(on_disk(), key=lambda one: (one.split("-")[0] != stem, one)):
        if set(types) & set(_coverage(name)[0]):
            found.setdefault(re.sub(r"-s\d+$", "", name), name)
    return list(found.values())


def most_alike(name: str, others: list[str]) -> list[str]:
    """The others, those first that can be compared with this one: types in common, as many samples, same graph.

    More samples alone certify more, so their number comes before the graph. Other splits of the same model come after
    other models: they say less.
    """
    types, votes = _coverage(name)
    if not types:  # no file to compare with
        return list(others)

    def unlike(other: str) -> tuple[bool, ...]:
        theirs, number = _coverage(other)
        same_group = other.rsplit("-s", 1)[0] == name.rsplit("-s", 1)[0]
        graph = other.split("-")[0] != name.split("-")[0]
        missing = [name not in theirs for name in types]
        return all(missing), votes != number, any(missing), graph, same_group, types != theirs

    return sorted(others, key=unlike)


def on_equal_terms(name: str, others: list[str]) -> list[str]:
    """Of the others those that cover a type of this one with as many samples, the most alike first."""
    types, votes = _coverage(name)
    fair = [other for other in others if set(types) & set(_coverage(other)[0]) and _coverage(other)[1] == votes]
    return most_alike(name, fair)


def keep(data: bytes, name: str) -> tuple[str, Instance]:
    """Validate an uploaded instance and keep it; returns the name it can be chosen by."""
    instance = load_instance(data, name=name)
    stem = re.sub(r"[^A-Za-z0-9-]+", "-", Path(name).stem).strip("-").lower()[:40] or "instance"
    # By all of its content: names, true labels and layout are not in the instance's own digest, and nobody may be shown
    # those of another visitor's file.
    key = f"import-{hashlib.sha256(data).hexdigest()[:16]}-{stem}"
    path = path_of(key)
    if not path.exists():
        try:
            with atomic_write(path) as handle:
                handle.write(data)
        except InputError as error:
            # Visitors learn the reason, not where the server keeps its files.
            reason = getattr(error.__cause__, "strerror", None) or "it cannot be written"
            raise InputError(
                f"the server has no place for the file ({reason}); whoever runs it can free some space, or name a "
                "folder that is writable in CERTCORE_IMPORTS"
            ) from error
        forget_old()
        _forget_oldest()
    return key, instance


def _forget_oldest() -> None:
    """Keep so many uploads of all visitors together: the oldest of a visitor with the most of them goes first."""
    ages: dict[Path, list[tuple[float, Path]]] = {}
    for path in import_folder().glob("**/import-*.npz"):
        with contextlib.suppress(OSError):  # another visitor may be doing the same at this moment
            ages.setdefault(path.parent, []).append((path.stat().st_mtime, path))
    for _ in range(sum(map(len, ages.values())) - MAX_IMPORTED):
        most = max(ages.values(), key=len)
        oldest = min(most)
        most.remove(oldest)
        oldest[1].unlink(missing_ok=True)


def packed(arrays: dict[str, np.ndarray]) -> bytes:
    """Arrays as the bytes of an `.npz` file."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


_MODELS = {"gcn_mean": "GCN (mean)", "decoupled": "decoupled MLP"} | {
    name: name.upper() for name in ("gcn", "gat", "appnp", "rgcn", "sma")
}
_TYPES = {
    "attr": "attributes",
    "adj": "edges",
    "joint": "joint",
    "ballots": "ballots",
    "l2": "l2",
    "l2_joint": "l2, joint",
}


def title(name: str) -> str:
    """The name of a bundle as people read it: dataset, model, types, split."""
    if name.startswith("import-"):
        return f"{name[len('import-') + 17 :]}{IMPORTED}"
    parts = re.fullmatch(r"([^-]+)-([^-]+)-(.+)-s(\d+)", name)
    if parts is None or parts[2] not in _MODELS:
        return name
    types = _TYPES.get(parts[3], parts[3])
    return " · ".join([dataset_title(parts[1]), _MODELS[parts[2]], types, f"split {parts[4]}"])


def splits(name: str, names: list[str]) -> list[str]:
    """The bundles that differ from this one in the split only, itself among them."""
    stem = re.sub(r"-s\d+$", "", name)
    return [other for other in names if other == name or (stem != name and re.sub(r"-s\d+$", "", other) == stem)]


def grouped(names: list[str], now: str) -> dict[str, str]:
    """One name for each graph, model and what is certified, with its title: of several splits the present or first."""
    found = {}
    for name in names:
        group = splits(name, names)
        if name == (now if now in group else group[0]):
            told = title(name)
            found[name] = (
                told if now in group or len(group) == 1 else f"{told.rsplit(' · ', 1)[0]} · {len(group)} splits"
            )
    return found


def short_titles(names: list[str]) -> tuple[str, list[str]]:
    """What all these titles have in common, and what is left of each: legends name only what differs."""
    parts = [title(name).split(" · ") for name in names]
    if len(names) < 2 or len({len(part) for part in parts}) > 1:
        return "", [title(name) for name in names]
    alike = [len(set(column)) == 1 for column in zip(*parts)]
    short = [" · ".join(p for p, same in zip(part, alike) if not same) for part in parts]
    if len(set(short)) < len(short):  # one instance twice: nothing differs
        return "", [title(name) for name in names]
    return " · ".join(p for p, same in zip(parts[0], alike) if same), short


def facts(instance: Instance) -> str:
    """One line of facts about an instance (Markdown)."""
    graph = instance.graph
    parts = [f"{count(graph.n_nodes)} nodes", f"{count(graph.n_edges)} edges", f"{count(graph.n_attrs)} attributes"]
    model = instance.meta.get("model")
    if isinstance(model, str):
        parts.insert(0, markdown(_MODELS.get(model, model), 30))
    number = instance.base.facts.get("samples")
    if number:
        parts.append(f"{samples(int(number))} samples")
    return " · ".join(parts)
