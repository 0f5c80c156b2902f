"""Calls with many options: what is typed, what is shown and what the groups hold are the same names."""

from __future__ import annotations

import inspect
from dataclasses import fields

import numpy as np
import pytest

import certcore as cc
from certcore.data.dataset import ImportOptions
from certcore.domain.threat import Budgets
from certcore.model_attack.run import AttackOptions
from certcore.pipeline.attacking import AttackArguments
from certcore.pipeline.smooth import Calling, Field, Moving, Sampling, SmoothOptions
from certcore.sweep.curves import CurveArguments
from certcore.sweep.solve_options import SOLVE_DEFAULTS
from certcore.sweep.surface_maps import SurfaceArguments, SurfaceWork
from tests.sweep.cases import smoothed_like


def names(*groups: type) -> set[str]:
    return {field.name for group in groups for field in fields(group)}  # type: ignore[arg-type]


def test_every_option_belongs_to_one_group():
    grouped = names(Sampling, Field, Calling, Moving)
    assert set(SmoothOptions.__annotations__) == grouped | set(ImportOptions.__annotations__)
    assert set(AttackArguments.__annotations__) == names(AttackOptions) | set(Budgets.__annotations__)
    assert set(CurveArguments.__annotations__) == set(SOLVE_DEFAULTS) | set(Budgets.__annotations__)
    assert set(SurfaceArguments.__annotations__) == set(CurveArguments.__annotations__) | names(SurfaceWork)


@pytest.mark.parametrize(
    ("function", "option", "default"),
    [
        (cc.smooth, "samples", 100_000),
        (cc.smooth, "layers", None),
        (cc.smooth, "binarize", False),
        (cc.smooth, "noise_at", "input"),
        (cc.attack, "samples", 10_000),
        (cc.curve, "relaxation", "tight"),
        (cc.surface, "jobs", 1),
    ],
)
def test_help_shows_options_by_name(function, option, default):
    assert inspect.signature(function).parameters[option].default == default


def test_an_unknown_option_is_refused():
    data = (np.eye(3), np.array([[0, 1], [1, 0]]))
    with pytest.raises(cc.InputError, match="'sample'"):
        cc.smooth(lambda x, edges: x, data, attr_del=0.5, sample=3)
    instance = smoothed_like(2, n=20)
    for sweep in (cc.curve, cc.surface):
        with pytest.raises(cc.InputError, match="attr_dell"):
            sweep(instance, attr_dell=3)
