"""Calls with many options: what is typed, what is shown and what the groups hold are the same names."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from dataclasses import fields

import numpy as np
import pytest

pytest.importorskip("torch_geometric")

import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import GCN

import certcore as cc
from certcore.attack import AttackArguments
from certcore.data.dataset import ImportOptions
from certcore.domain.threat import Budgets
from certcore.model_attack.run import AttackOptions
from tests.sweep.cases import smoothed_like


def names(*groups: type) -> set[str]:
    return {field.name for group in groups for field in fields(group)}  # type: ignore[arg-type]


def test_smooth_has_every_option_of_an_import():
    assert set(ImportOptions.__annotations__) <= set(inspect.signature(cc.smooth).parameters)


def test_the_functions_stay_functions():
    """Modules of the same name lie beside them."""
    for name in ("smooth", "ballots", "check_field"):
        importlib.import_module(f"certcore.{name}")
        assert callable(getattr(cc, name))


def test_every_option_belongs_to_one_group():
    assert set(AttackArguments.__annotations__) == names(AttackOptions) | set(Budgets.__annotations__)


@pytest.mark.parametrize(
    ("function", "option", "default"),
    [
        (cc.smooth, "samples", 100_000),
        (cc.smooth, "layers", None),
        (cc.smooth, "binarize", False),
        (cc.smooth, "noise_at", "input"),
        (cc.attack, "samples", 10_000),
        (cc.curve, "relaxation", "tight"),
    ],
)
def test_help_shows_options_by_name(function, option, default):
    assert inspect.signature(function).parameters[option].default == default


def test_an_unknown_option_is_refused():
    data = (np.eye(3), np.array([[0, 1], [1, 0]]))
    with pytest.raises(TypeError, match="'sample'"):
        cc.smooth(lambda x, edges: x, data, attr_del=0.5, sample=3)
    with pytest.raises(TypeError, match="'adj_dell'"):  # and not that nothing is smoothed
        cc.smooth(lambda x, edges: x, data, adj_dell=0.5)
    instance = smoothed_like(2, n=20)
    for sweep in (cc.curve, cc.surface):
        with pytest.raises(cc.InputError, match="attr_dell"):
            sweep(instance, attr_dell=3)


def test_a_script_without_a_guard_is_told_before_it_starts_itself_again(tmp_path):
    script = tmp_path / "votes.py"
    script.write_text(
        "import numpy as np, torch_geometric.nn as g, certcore as cc\n"
        "data = (np.eye(9), np.array([[0, 1], [1, 0]]))\n"
        "print('once')\n"
        "cc.smooth(g.GCN(9, 4, 2, 2), data, attr_del=0.5, samples=20, selection=5, jobs=2)\n"
    )
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert ran.stdout == "once\n"
    assert 'put what it does below `if __name__ == "__main__":`' in ran.stderr


def test_missing_packages_are_named_with_the_extra():
    code = (
        "import sys; sys.modules['numba'] = None\n"
        "import importlib.util as u; real = u.find_spec; u.find_spec = lambda n: None if n == 'numba' else real(n)\n"
        "import certcore as cc\n"
        "try:\n    cc.smooth\nexcept cc.InputError as why:\n    print(why)\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.count("\n") == 1
    assert "numba" in told
    assert "pip install 'certcore[train]'" in told


def test_every_slower_way_is_logged(caplog):
    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(9, 2)

        def forward(self, x, edge_index):
            h = self.lin(x)
            return h + torch.zeros_like(h).index_add(0, edge_index[1], h[edge_index[0]])

    data = (np.eye(9), np.array([[0, 1], [1, 0]]))
    with caplog.at_level("WARNING", logger="certcore"):
        found = cc.smooth(Odd(), data, attr_del=0.5, samples=20, selection=5, layers=1)
    assert "one sample is counted at a time" in found.meta["votes_note"]
    assert set(found.meta["votes_note"].split("; ")) <= set(caplog.messages)


def test_what_torch_geometric_may_have_done_to_data():
    data = Data(x=torch.eye(9), edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.zeros(9, dtype=torch.long))
    options = {"attr_del": 0.5, "samples": 20, "selection": 5}
    weighted = data.clone()
    weighted.edge_weight = torch.tensor([0.5, 2.0])
    with pytest.raises(cc.InputError, match=r"weights or attributes on its edges.*simplify"):
        cc.smooth(GCN(9, 4, 2, 2), weighted, **options)
    assert cc.smooth(GCN(9, 4, 2, 2), weighted, simplify=True, **options).graph.n_edges == 1
    sparse = data.clone()
    sparse.adj_t = torch.sparse_coo_tensor(data.edge_index.flip(0), torch.ones(2), (9, 9), check_invariants=True)
    sparse.edge_index = None
    with pytest.raises(cc.InputError, match="before ToSparseTensor"):
        cc.smooth(GCN(9, 4, 2, 2), sparse, **options)
