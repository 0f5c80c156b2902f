"""Write the files of today that later versions must read: `python -m tests.net.freeze` (needs the training packages).

This ran once, on the code before the restructuring. Running it again would freeze other code: it refuses as long as
the files are there. It may reach into the engine, because nothing replays it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.net import ask, doors
from tests.net.labels import by_ones

#: name: instance, base rule, relaxation, threat, targets
PROOFS: dict[str, tuple[str, str, str, dict[str, Any], Any]] = {
    "tight": ("adds-dels", "binary", "tight", {"attr_add": 2, "attr_del": 4}, None),
    "paper": ("adds-dels", "binary", "paper", {"attr_add": 2, "attr_del": 4}, None),
    "sigma-attributes": ("shared-fronts", "binary", "tight", {"attr_add": 2, "attr_del": 6, "sigma": 2}, None),
    "sigma-edges": ("edges", "binary", "tight", {"adj_del": 5, "sigma": 2}, None),
    "sigma-paper": ("dels-edges", "binary", "paper", {"attr_del": 3, "adj_del": 3, "sigma": 2}, None),
    "messages": ("edges-messages", "binary", "tight", {"adj_del": 4}, None),
    "whole-graph": ("all-types", "binary", "tight", {"attr_del": 1, "adj_add": 1, "adj_del": 1}, None),
    "whole-graph-paper": ("all-types", "binary", "paper", {"adj_add": 2, "sigma": 1}, None),
    "global-fields": ("votes-global", "binary", "tight", {"adj_del": 2}, None),
    "votes-binary": ("votes-attr", "binary", "tight", {"attr_add": 1, "attr_del": 4}, None),
    "votes-multiclass": ("votes-attr", "multiclass", "tight", {"attr_add": 1, "attr_del": 4}, None),
    "joint": ("votes-joint", "binary", "tight", {"attr_add": 1, "attr_del": 2, "adj_del": 2}, "test"),
    "local": (
        "dels-edges",
        "binary",
        "tight",
        {"attr_del": 4, "adj_del": 4, "local": {"attr_del": 1, "adj_del": 2}},
        None,
    ),
    "local-relative": (
        "dels-edges",
        "binary",
        "tight",
        {"attr_del": 4, "adj_del": 4, "local": {"mode": "relative", "attr_del": "1/3", "adj_del": "0.5"}, "sigma": 3},
        None,
    ),
    "local-per-node": (
        "dels",
        "binary",
        "tight",
        {"attr_del": 5, "local": {"attr_del": [k % 3 for k in range(33)]}},
        None,
    ),
    "costs": (
        "dels-edges",
        "binary",
        "tight",
        {
            "attr_del": 5,
            "adj_del": 5,
            "node_costs": [1 + k % 3 for k in range(38)],
            "edge_costs": [1 + k % 2 for k in range(83)],
        },
        None,
    ),
    "protected": (
        "three-types",
        "binary",
        "tight",
        {"attr_add": 2, "attr_del": 2, "adj_del": 2, "protected": [0, 3, 7, 20]},
        None,
    ),
    "directed": ("directed", "binary", "tight", {"attr_del": 2, "adj_del": 3, "sigma": 2}, None),
    "explicit-fields": ("explicit", "binary", "tight", {"attr_add": 2, "attr_del": 3}, "class:1"),
    "base-local": (
        "limited-joint",
        "binary",
        "tight",
        {"attr_add": 3, "attr_del": 4, "local": {"attr_add": 1, "attr_del": 2}},
        None,
    ),
    "chosen-targets": ("dels", "binary", "tight", {"attr_del": 3}, [1, 5, 6, 20]),
    "nothing": ("dels", "binary", "tight", {}, None),
}

#: file: words of the command; `{}` is the folder of instances.
TABLES: dict[str, list[str]] = {
    "certify.json": ["certify", "{}/dels-edges.npz", "--attr-del", "3", "--adj-del", "2"],
    "certify-sigma.json": ["certify", "{}/edges.npz", "--adj-del", "4", "--sigma", "2", "--targets", "test"],
    "certify-exact.json": [
        "certify",
        "{}/dels.npz",
        "--attr-del",
        "2",
        "--relaxation",
        "exact",
        "--targets",
        "class:1",
    ],
    "certify-multiclass.json": ["certify", "{}/votes-attr.npz", "--attr-del", "3", "--base-rule", "multiclass"],
    "curve.json": ["curve", "{}/adds-dels.npz", "--vary", "attr_del", "--values", "0:8", "--attr-add", "1"],
    "curve-sigma.json": ["curve", "{}/edges.npz", "--vary", "sigma", "--values", "0:4", "--adj-del", "5"],
    "curve-local.json": [
        "curve",
        "{}/dels.npz",
        "--vary",
        "local-attr_del",
        "--values",
        "0:0.6:0.2",
        "--attr-del",
        "5",
        "--local-mode",
        "relative",
    ],
    "surface.json": [
        "surface",
        "{}/adds-dels.npz",
        "--x",
        "attr_add",
        "--x-values",
        "0:3",
        "--y",
        "attr_del",
        "--y-values",
        "0:4",
    ],
    "radius.json": ["radius", "{}/adds-dels.npz", "--vary", "attr_del", "--at-least", "0.6"],
    "defend.json": ["defend", "{}/edges.npz", "--adj-del", "3", "--nodes", "2"],
    "base.json": ["base", "{}/votes-joint.npz", "--no-grid"],
}

CSVS: dict[str, tuple[list[str], str]] = {
    "curve.csv": (TABLES["curve.json"], "-o"),
    "surface.csv": (TABLES["surface.json"], "-o"),
    "allocation.csv": (TABLES["certify.json"], "--allocation"),
    "fractional.csv": (TABLES["certify.json"], "--fractional"),
}

SWEEPS: dict[str, ask.Question] = {
    "curve": {
        "kind": "curve",
        "instance": "adds-dels",
        "threat": {"attr_add": 1},
        "vary": "attr_del",
        "values": list(range(9)),
    },
    "curve-sigma": {
        "kind": "curve",
        "instance": "edges",
        "threat": {"adj_del": 5},
        "vary": "sigma",
        "values": [0, 1, 2, 3],
    },
    "curve-local": {
        "kind": "curve",
        "instance": "dels",
        "threat": {"attr_del": 5, "local": {"mode": "relative", "attr_del": "1/2"}},
        "vary": "local_attr_del",
        "values": ["0", "0.25", "0.5"],
    },
    "curve-multiclass": {
        "kind": "curve",
        "instance": "votes-attr",
        "rule": "multiclass",
        "threat": {},
        "vary": "attr_del",
        "values": [0, 2, 4],
        "targets": "test",
    },
    "surface": {
        "kind": "surface",
        "instance": "adds-dels",
        "threat": {"sigma": 3, "protected": [1, 2]},
        "x": "attr_add",
        "x_values": [0, 1, 2],
        "y": "attr_del",
        "y_values": [0, 2, 4, 6],
    },
    "surface-sigma": {
        "kind": "surface",
        "instance": "directed",
        "threat": {"local": {"adj_del": 2}},
        "relaxation": "paper",
        "x": "adj_del",
        "x_values": [0, 2, 4],
        "y": "sigma",
        "y_values": [0, 1, 3],
    },
}

THETA = ["0.02", "0.5", "0", "0.3"]
VOTES = {"selection": 20, "estimation": 200}


def proofs(folder: Path) -> dict[str, Any]:
    told = {}
    for name, (instance, rule, relaxation, threat, targets) in PROOFS.items():
        loaded = ask.instance_of(instance, rule)
        model = ask.threat_of(loaded, {"threat": threat, "targets": targets})
        found = doors.certify(loaded, model, relaxation=relaxation)
        (folder / f"{name}.json").write_text(json.dumps(found.proof, allow_nan=False), encoding="utf-8")
        told[name] = {"instance": instance, "rule": rule} | {
            key: value for key, value in ask.certificate(found).items() if key in ("certified", "bound", "targets")
        }
    assert any(json.loads((folder / f"{n}.json").read_text())["multipliers"]["cuts_index"] for n in ("sigma-edges",))
    return told


def tables(folder: Path) -> dict[str, Any]:
    for name, words in TABLES.items():
        found = doors.command_json(*(w.replace("{}", str(ask.INSTANCES)) for w in words))
        (folder / name).write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for name, (words, option) in CSVS.items():
        code, _ = doors.command(*(w.replace("{}", str(ask.INSTANCES)) for w in words), option, str(folder / name))
        assert code == 0
    return {"json": TABLES, "csv": {name: [*words, option] for name, (words, option) in CSVS.items()}}


def sweeps(folder: Path) -> dict[str, Any]:
    for name, question in SWEEPS.items():
        loaded = ask.instance_of(question["instance"], question.get("rule", "binary"))
        run = sweep_of(loaded, question)
        run(folder / f"{name}.npz")
        _half(folder / f"{name}.npz", folder / f"{name}-half.npz")
    return SWEEPS


def sweep_of(instance: doors.Instance, question: ask.Question) -> Any:
    """The sweep of a question as a function of its checkpoint file."""
    threat = ask.threat_of(instance, question)
    relaxation = question.get("relaxation", "tight")
    if question["kind"] == "curve":
        return lambda path: doors.curve(
            instance, threat, question["vary"], question["values"], relaxation=relaxation, checkpoint=path
        )
    parts = (question["x"], question["x_values"], question["y"], question["y_values"])
    return lambda path: doors.surface(instance, threat, *parts, relaxation=relaxation, checkpoint=path)


def _half(path: Path, half: Path) -> None:
    """The same checkpoint as an interruption would have left it: every other cell is missing."""
    arrays = dict(np.load(path))
    done = np.arange(arrays["done"].size).reshape(arrays["done"].shape) % 2 == 0
    weak = np.where(done, arrays["numerators"], np.int64(2**40) * 1000)
    content = str(arrays["key"]).encode() + np.packbits(done).tobytes() + np.ascontiguousarray(weak).tobytes()
    checksum = hashlib.sha256(content).hexdigest()
    np.savez_compressed(half, key=arrays["key"], done=done, numerators=weak, checksum=np.array(checksum))


def votes(folder: Path) -> dict[str, Any]:
    """A dataset, models, checkpoints of their votes, and a bundle."""
    import torch

    from certcore.data import citation_like, save_dataset
    from certcore.models import model_class
    from certcore.models.storage import save_model

    dataset = citation_like(150, 24, 3, degree=4, ones=6, seed=3)
    save_dataset(folder / "dataset.npz", dataset)
    dataset = doors.training.load_dataset(folder / "dataset.npz")
    noise = doors.training.noise(THETA)
    torch.manual_seed(1)
    told: dict[str, Any] = {"theta": THETA, "seed": 4, **VOTES, "models": [], "checkpoints": {}}
    for name in ("gcn", "gcn_mean", "gat", "appnp"):
        model = model_class(name)(dataset.graph.n_attrs, 3, units=8)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(torch.randn_like(parameter) * 0.5)
        facts = {"seed": 4, "theta": THETA, "accuracy_clean": 0.5}
        save_model(folder / f"{name}.safetensors", model.eval(), facts)
        told["models"].append(name)
    voters = {
        "fused": doors.training.model_voter(_load(folder, "gcn"), dataset.graph, noise, 4, fused=True),
        "fused-mean": doors.training.model_voter(_load(folder, "gcn_mean"), dataset.graph, noise, 4, fused=True),
        "torch": doors.training.model_voter(_load(folder, "gcn"), dataset.graph, noise, 4, fused=False),
        "torch-gat": doors.training.model_voter(_load(folder, "gat"), dataset.graph, noise, 4, fused=False),
        "function": doors.training.function_voter(dataset.graph, noise, 4, by_ones, 3),
    }
    for name, voter in voters.items():
        part = folder / f"{name}-unfinished.npz"
        doors.training.collect_votes(voter, selection=20, estimation=90, checkpoint=part, jobs=1)
        doors.training.collect_votes(voter, **VOTES, checkpoint=folder / f"{name}-finished.npz", jobs=1)
        told["checkpoints"][name] = ["finished", "unfinished"]
    words = ["vote", str(folder / "dataset.npz"), str(folder / "gcn.safetensors"), "--theta", *THETA]
    words += ["--samples", "200", "--selection", "20", "--seed", "4", "--jobs", "1"]
    assert doors.command(*words, "-o", str(folder / "gcn.votes.npz"))[0] == 0
    with tempfile.TemporaryDirectory() as work:
        words = ["bundle", str(folder / "dataset.npz"), "gcn", "attr", "--samples", "500", "--selection", "50"]
        words += ["--epochs", "3", "--jobs", "1", "--work", work, "-o", str(folder / "bundle.npz")]
        assert doors.command(*words)[0] == 0
    bundle = doors.load_instance(folder / "bundle.npz")
    found = doors.certify(bundle, doors.ThreatModel(attr_del=2))
    told["bundle"] = {"digest": bundle.digest, "threat": {"attr_del": 2}, "answer": ask.certificate(found)}
    return told


def _load(folder: Path, name: str) -> Any:
    return doors.training.load_model(folder / f"{name}.safetensors")[0]


def figures(folder: Path) -> list[str]:
    from tests.figures import samples

    made = {
        "curve": samples.curve(12),
        "contour": samples.contour(),
    }
    for name in ("bars", "graph", "front", "distribution", "compare"):
        if hasattr(samples, name):
            made[name] = getattr(samples, name)(**({"n": 40} if name == "graph" else {}))
    for name, figure in made.items():
        (folder / f"{name}.json").write_text(doors.write_figure(figure), encoding="utf-8")
    return sorted(made)


def main() -> None:
    manifest = ask.FIXTURES / "manifest.json"
    if manifest.exists():
        raise SystemExit(f"{manifest.name} is there already: the files of then are frozen")
    told: dict[str, Any] = {"format": "certcore-net-1", "versions": doors.versions()}
    for write in (proofs, tables, sweeps, votes, figures):
        folder = ask.FIXTURES / write.__name__
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        told[write.__name__] = write(folder)
    manifest.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    os.chdir(ask.ROOT)
    main()
