"""Feed mutated files to the engine: it answers with a result or one sentence, quickly and within its memory.

Run as a program (`python -m tests.hardening.fuzz KIND COUNT SEED`) it works in a process of its own with limits on
memory and time, and prints one JSON line with what happened.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from certcore import GridBase, InputError, Instance, ThreatModel, certify, load_instance, read_proof, verify_proof
from certcore.common.npz import read_npz
from certcore.instance.instance import instance_to_arrays
from certcore.verify.proof import digest_of
from tests.hardening.mutate import _zip, mutate_arrays, mutate_bytes, mutate_json, mutate_members
from tests.support import random_graph, random_grid

SECONDS_PER_INPUT = 20
MEMORY = 6 * 2**30
KINDS = ("instance", "votes", "proof", "upload")
#: Names a browser may send; none of them may lead out of the folder of uploads.
NAMES = (
    "mine.npz",
    "../../up.npz",
    "/etc/passwd",
    "a\x00b.npz",
    "<b>.npz",
    "",
    ".",
    "\u202eznp.npz",
    "x" * 5000,
    "CON.npz",
)


def example(kind: str) -> Instance:
    rng = np.random.default_rng(1)
    graph = random_graph(rng, 12, 5, 0.25)
    if kind == "votes":
        from certcore.base.smoothing import SmoothingBase

        votes = rng.multinomial(1000, [0.8, 0.15, 0.05], size=12)
        base: Any = SmoothingBase(
            votes=votes, prediction=np.zeros(12, dtype=int), n_samples=1000, alpha=0.01,
            theta=("0.01", "0.6", "0", "0"), rule="binary", graph=graph,
        )  # fmt: skip
    else:
        base = GridBase(random_grid(rng, 12, (3, 4)), ("attr_add", "attr_del"))
    names = tuple(f"node {i}" for i in range(12))
    return Instance(graph, base, 2, split=np.full(12, 2), labels=np.zeros(12, dtype=int), node_names=names,
                    class_names=("a", "b", "c"), layout=np.zeros((12, 2), dtype=np.float32))  # fmt: skip


def instance_case(kind: str) -> Callable[[random.Random], str]:
    arrays = instance_to_arrays(example(kind))
    members = _zip_of(arrays)

    def run(rng: random.Random) -> str:
        match rng.randrange(4):
            case 0:
                data = mutate_bytes(rng, members)
            case 1:
                data = mutate_members(rng, members)
            case _:
                data = mutate_arrays(rng, arrays)
        try:
            instance = load_instance(data)
            certificate = certify(instance, ThreatModel(attr_add=1, attr_del=1), time_limit=5.0)
        except InputError as error:
            _one_sentence(str(error))
            return "refused"
        assert certificate.naive_certified <= certificate.certified <= certificate.targets
        assert verify_proof(certificate.proof or {}, instance).accepted
        return "used"

    return run


def proof_case() -> Callable[[random.Random], str]:
    instance = example("instance")
    honest = certify(instance, ThreatModel(attr_add=1, attr_del=2, sigma=3))
    proof = honest.proof
    assert proof is not None

    def run(rng: random.Random) -> str:
        data = mutate_json(rng, proof)
        if rng.random() < 0.5:
            try:
                tree = json.loads(data)
                if isinstance(tree, dict):
                    tree["digest"] = digest_of(tree)
                    data = json.dumps(tree).encode()
            except ValueError:
                pass
        try:
            verdict = verify_proof(read_proof(data), instance)
        except InputError as error:
            _one_sentence(str(error))
            return "refused"
        if verdict.accepted:
            tree = json.loads(data)
            nodes = tree["target_nodes"]
            threat = ThreatModel.from_json(tree["threat"], None if nodes is None else np.array(nodes, dtype=np.int64))
            found = certify(instance, threat, relaxation="exact")
            assert verdict.certified <= (found.targets if found.integer_claim is None else found.integer_claim)
            return "accepted"
        _one_sentence(verdict.reason)
        return "rejected"

    return run


def upload_case(folder: Path) -> Callable[[random.Random], str]:
    """The way of "Bring your own": one file, or a graph and its votes; read, report every problem, keep."""
    os.environ["CERTCORE_IMPORTS"] = str(folder)
    from pages.files import bundles, examples, validation

    whole, graph, votes = examples.instance(), examples.graph(), examples.votes()
    arrays = {data: read_npz(data) for data in (whole, graph, votes)}

    def mutated(rng: random.Random, data: bytes) -> bytes:
        match rng.randrange(4):
            case 0:
                return mutate_bytes(rng, data)
            case 1:
                return mutate_members(rng, data)
            case _:
                return mutate_arrays(rng, arrays[data])

    def run(rng: random.Random) -> str:
        if rng.random() < 0.5:
            parts = [(rng.choice(NAMES), mutated(rng, whole))]
        else:
            kept = rng.randrange(3)
            parts = [
                (rng.choice(NAMES), data if kept == number else mutated(rng, data))
                for number, data in enumerate((graph, votes))
            ]
        try:
            read = validation.read(parts)
        except InputError as error:
            _one_sentence(str(error))
            return "unreadable"
        wrong = validation.problems(read)
        for problem in wrong:
            _one_sentence(problem)
        if wrong:
            return "refused"
        instance = validation.build(read)
        data = parts[0][1] if len(parts) == 1 else bundles.packed(instance_to_arrays(instance))
        name, again = bundles.keep(data, parts[0][0])
        assert again.digest == instance.digest
        assert bundles.load(name).digest == instance.digest
        files = [file for file in folder.rglob("*") if file.is_file()]
        assert len(files) <= bundles.MAX_IMPORTED
        assert all(file.name.startswith("import-") for file in files)
        return "kept"

    return run


def _one_sentence(text: str) -> None:
    assert text
    assert "\n" not in text
    assert "Traceback" not in text
    assert len(text) < 2000


def _zip_of(arrays: dict[str, np.ndarray]) -> bytes:
    import io

    from numpy.lib import format as npy

    members = {}
    for key, array in arrays.items():
        buffer = io.BytesIO()
        npy.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
        members[f"{key}.npy"] = buffer.getvalue()
    return _zip(members)


def fuzz(kind: str, count: int, seed: int) -> dict[str, Any]:
    """Run `count` mutated inputs; returns counts of outcomes and the slowest input in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        match kind:
            case "proof":
                run = proof_case()
            case "upload":
                run = upload_case(Path(folder))
            case _:
                run = instance_case(kind)
        return _feed(run, kind, count, seed)


def _feed(run: Callable[[random.Random], str], kind: str, count: int, seed: int) -> dict[str, Any]:
    outcomes: Counter[str] = Counter()
    slowest = 0.0
    for number in range(count):
        rng = random.Random(f"{kind}-{seed}-{number}")
        started = time.perf_counter()
        try:
            outcomes[run(rng)] += 1
        except BaseException as error:
            raise AssertionError(f"{kind} input {number} of seed {seed}: {type(error).__name__}: {error}") from error
        slowest = max(slowest, time.perf_counter() - started)
    return {"kind": kind, "count": count, "outcomes": dict(outcomes), "slowest": slowest}


def main() -> None:
    kind, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.alarm(max(60, count * SECONDS_PER_INPUT // 20))
    print(json.dumps(fuzz(kind, count, seed)))


if __name__ == "__main__":
    main()
