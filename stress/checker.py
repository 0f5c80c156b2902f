"""The small checker alone on all bundles: `python -m stress.checker [ROUNDS]`.

Copied into an empty folder and run by an isolated interpreter, it has to accept a strong proof at three budgets of each
bundle and to refuse each of them when it claims one label more or a smaller bound, under a fresh digest.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from certcore import ThreatModel, load_instance
from certcore.domain.perturbations import FLIPS
from certcore.sweep import Session
from certcore.verify.proof import digest_of

ROOT = Path(__file__).resolve().parents[1]
FILES = tuple(f"certcore_check{part}.py" for part in ("", "_ballots", "_real", "_strong"))
BUDGETS = (1, 5, 20)


def lies(proof: dict[str, Any]) -> list[dict[str, Any]]:
    """The same proof with one label more, and with a smaller bound than its dual values prove."""
    top, bottom = proof["bound"]
    changes: list[dict[str, Any]] = [{"certified": proof["certified"] + 1}, {"bound": [top - 1, bottom]}]
    return [proof | change | {"digest": digest_of(proof | change)} for change in changes]


def accepted(folder: Path, proof: dict[str, Any], bundle: Path) -> bool:
    """What the checker says, as a program of its own."""
    path = folder / "proof.json"
    path.write_text(json.dumps(proof), encoding="utf-8")
    command = [sys.executable, "-I", str(folder / FILES[0]), str(path), str(bundle)]
    return subprocess.run(command, cwd=folder, capture_output=True).returncode == 0


def main() -> None:
    rounds = int(sys.argv[1]) if sys.argv[1:] else 6
    counts = {"proofs": 0, "accepted": 0, "forgeries": 0, "refused": 0}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name in FILES:
            shutil.copy(ROOT / "certcore" / "standalone" / name, folder)
        for bundle in sorted((ROOT / "precomputed").glob("*.npz")):
            instance = load_instance(bundle)
            axis = next(name for name in reversed(FLIPS) if name in instance.base.axes)
            for budget in BUDGETS:
                proof = Session(instance).proof(ThreatModel(**{axis: budget}), relaxation="strong", rounds=rounds)
                assert proof is not None
                counts["proofs"] += 1
                counts["accepted"] += accepted(folder, proof, bundle)
                for lie in lies(proof):
                    counts["forgeries"] += 1
                    counts["refused"] += not accepted(folder, lie, bundle)
            print(bundle.stem, json.dumps(counts), flush=True)
    if counts["accepted"] < counts["proofs"] or counts["refused"] < counts["forgeries"]:
        raise SystemExit("the small checker refused a proof or accepted a forgery")


if __name__ == "__main__":
    main()
