"""The documentation's example of an own model runs, and its declaration of the field is right."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np

from certcore.instance.fields import hop_fields

_path = Path(__file__).resolve().parents[2] / "docs" / "examples" / "own_model.py"
_spec = importlib.util.spec_from_file_location("own_model", _path)
example = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(example)


def test_the_example_certifies_something(capsys):
    example.main(samples=600)
    certified, targets = map(int, re.match(r"(\d+) of (\d+) labels", capsys.readouterr().out).groups())
    assert targets == 300
    assert 10 < certified < 300


def test_its_model_reads_one_hop():
    graph = example.dataset.graph
    clean = example.my_model(graph.attributes.astype(float), graph.adjacency)
    fields = hop_fields(graph, np.arange(graph.n_nodes), 1, "messages").nodes.toarray().astype(bool)
    rng = np.random.default_rng(0)
    for target in range(0, 300, 30):
        changed = graph.attributes.toarray().astype(float)
        outside = ~fields[target]
        changed[outside] = rng.random((int(outside.sum()), graph.n_attrs)) < 0.5
        assert example.my_model(changed, graph.adjacency)[target] == clean[target]
