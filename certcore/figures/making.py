"""Figures made from their recipes."""

from __future__ import annotations

import dataclasses

import certcore.figures.kinds  # noqa: F401 - the kinds register themselves
from certcore.common.errors import InputError
from certcore.figures.figure import Figure
from certcore.figures.paper import paper_figure
from certcore.figures.recipe import KINDS_OF_FIGURES, MAKERS, LoadedRecipe, Recipe
from certcore.instance.instance import load_instance


def make(recipe: Recipe) -> Figure:
    """The figure of a recipe, with that recipe: the same numbers as on the screen where it was taken from."""
    if recipe.kind == "paper":
        return paper_figure(recipe.instances)
    if recipe.kind not in MAKERS:
        raise InputError(f"there is no figure {recipe.kind!r}; expected one of {', '.join(KINDS_OF_FIGURES)}")
    maker, several = MAKERS[recipe.kind]
    if not recipe.instances or (len(recipe.instances) > 1 and not several):
        wanted = "at least one instance" if several else "one instance"
        raise InputError(f"a figure of kind {recipe.kind} takes {wanted}; {len(recipe.instances)} are given")
    loaded = LoadedRecipe(recipe, [load_instance(path, base_rule=recipe.base_rule) for path in recipe.instances])
    return dataclasses.replace(maker(loaded), recipe=recipe)
