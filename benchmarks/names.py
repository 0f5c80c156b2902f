"""The names between an instance and its certificate: `python -m benchmarks.names [--list]`.

Counts the classes and functions of the engine that `certify` passes through on Citeseer: reading the file, the program,
the solve, its proof and the attack. A class counts once, with all its methods; they are also counted one by one. Run it
with another commit's tree as the working directory (`PYTHONPATH=TREE python benchmarks/names.py`) to compare.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

#: One question for each kind of program: few names more, and they are the ones a reader meets.
QUESTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "attributes": ("citeseer-gcn-attr-s0", {"attr_del": 20}),
    "edges, attackers": ("citeseer-gcn-adj-s0", {"adj_del": 10, "sigma": 5}),
}


def passed_through(bundle: Path, threat: dict[str, Any]) -> set[tuple[str, str]]:
    """Module and qualified name of every function of the engine that is called once all modules are imported."""
    import certcore

    root = str(Path(certcore.__file__).parent)
    seen: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call":
            return
        if code.co_filename.startswith(root):
            seen.add((code.co_filename.removeprefix(root)[1:], code.co_qualname))
        elif code.co_filename == "<string>" and code.co_name == "__init__":  # of a dataclass
            made = type(frame.f_locals["self"])
            module = made.__module__.removeprefix("certcore.").replace(".", "/")
            if made.__module__.startswith("certcore."):
                seen.add((f"{module}.py", f"{made.__qualname__}.__init__"))

    for profile in (None, note):  # the first run imports what is imported late
        threading.setprofile(profile)
        sys.setprofile(profile)
        try:
            certcore.certify(certcore.load_instance(bundle), certcore.ThreatModel(**threat))
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    return seen


def names(functions: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The classes and functions of modules: methods belong to their class, inner functions to the one around them."""
    return {(module, name.split(".")[0]) for module, name in functions if not name.startswith("<")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="also list the names")
    args = parser.parse_args()
    bundles = Path.cwd() / "precomputed"
    everything: set[tuple[str, str]] = set()
    for label, (bundle, threat) in QUESTIONS.items():
        found = passed_through(bundles / f"{bundle}.npz", threat)
        everything |= found
        print(line(label, found))
    print(line("both", everything))
    if args.list:
        for module, name in sorted(names(everything)):
            print(f"  {module:40} {name}")


def line(label: str, functions: set[tuple[str, str]]) -> str:
    top = names(functions)
    classes = {pair for pair in top if pair[1].lstrip("_")[:1].isupper()}
    folders = Counter(module.split("/")[0] for module, _ in top)
    where = ", ".join(f"{folder.removesuffix('.py')} {count}" for folder, count in folders.most_common())
    return (
        f"{label}: {len(classes)} classes and {len(top) - len(classes)} functions in "
        f"{len({module for module, _ in top})} modules, {len(functions)} with methods ({where})"
    )


if __name__ == "__main__":
    main()
