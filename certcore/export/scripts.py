"""How to make a figure again: the one command that does it, and a Python script."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from certcore import __version__
from certcore.common.errors import InputError
from certcore.common.numbers import write_nodes, write_numbers
from certcore.common.plain import to_plain
from certcore.domain.base_rule import BaseRule
from certcore.domain.local_mode import LocalMode
from certcore.domain.perturbations import TYPES
from certcore.figures.escape import for_comment, for_file_name, for_shell
from certcore.figures.figure import Figure
from certcore.figures.recipe import Recipe
from certcore.figures.serial import to_json
from certcore.program.relaxation import Relaxation

_PROGRAM = "python -m certcore"
#: The longest argument that a shell accepts.
_LONGEST = 120_000
#: Options of a recipe that are lists of numbers, or switches; all others are words.
_LISTS = ("values", "bracket", "members", "x_values", "y_values")
_SWITCHES = ("paper", "no_naive", "log", "relaxed", "zoomed")


def certify_command(recipe: Recipe, time_limit: float | None = None) -> str:
    """The command that computes the certificate at the budgets of a recipe."""
    limit = [] if time_limit is None else ["--time-limit", f"{time_limit:g}"]
    return " ".join([_PROGRAM, "certify", *_words(recipe), *limit])


def draw_command(recipe: Recipe, output: str) -> str:
    """The one command that makes a figure again, quoted for a shell."""
    words = [_PROGRAM, "draw", recipe.kind, *_words(recipe)]
    for name, value in recipe.options.items():
        option = f"--{name.replace('_', '-')}"
        if value is None or value is False:
            continue
        if name in _SWITCHES:
            words.append(option)
        elif name == "names":
            words += [word for part in value for word in ("--name", for_shell(part))]
        elif name in _LISTS:
            words += [option, write_numbers(value)]
        elif name == "levels":
            words += [option, ",".join(repr(float(level)) for level in value) or "none"]
        else:
            words += [option, for_shell(value)]
    return " ".join([*words, "-o", for_shell(output)])


def _words(recipe: Recipe) -> list[str]:
    words = [for_shell(path) for path in recipe.instances]
    targets = recipe.targets
    if targets is None and recipe.nodes is not None:
        targets = write_nodes(recipe.nodes)
    words += _threat_options(recipe.threat, targets)
    if recipe.relaxation != Relaxation.TIGHT:
        words += ["--relaxation", for_shell(recipe.relaxation)]
    if recipe.base_rule != BaseRule.BINARY:
        words += ["--base-rule", for_shell(recipe.base_rule)]
    return words


def _threat_options(threat: Mapping[str, Any], targets: str | None) -> list[str]:
    """The threat model as options; `unsupported` names what has no option."""
    words: list[str] = []
    for name in TYPES:
        if threat.get(name):
            words += [f"--{name.replace('_', '-')}", str(int(threat[name]))]
    local = threat.get("local") or {}
    for name in TYPES:
        if local.get(name) is not None and not isinstance(local[name], list):
            words += [f"--local-{name.replace('_', '-')}", for_shell(local[name])]
    if local.get("mode", LocalMode.ABSOLUTE) != LocalMode.ABSOLUTE:
        words += ["--local-mode", for_shell(local["mode"])]
    if threat.get("sigma") is not None:
        words += ["--sigma", str(int(threat["sigma"]))]
    if threat.get("protected"):
        words += ["--protect", write_nodes(threat["protected"])]
    for name in ("node_costs", "edge_costs"):
        if threat.get(name):
            words += [f"--{name.replace('_', '-')}", ",".join(str(int(cost)) for cost in threat[name])]
    if targets is not None:
        words += ["--targets", for_shell(targets)]
    return words


def unsupported(recipe: Recipe) -> str | None:
    """Why no command can carry a recipe, or None."""
    local = recipe.threat.get("local") or {}
    if any(isinstance(local.get(name), list) for name in TYPES):
        return "it has a local budget for each node, which no option carries"
    if any(len(word) > _LONGEST for word in draw_command(recipe, "figure.csv").split(" ")):
        return "it would be longer than a shell takes"
    return None


def has_command(figure: Figure) -> bool:
    """Whether one command makes this figure again."""
    return figure.recipe is not None and unsupported(figure.recipe) is None


def command_script(figure: Figure) -> str:
    """A shell script of one command that writes the numbers of the figure into one file."""
    reason = "it was not made by one" if figure.recipe is None else unsupported(figure.recipe)
    if figure.recipe is None or reason is not None:
        raise InputError(f"no command line makes this figure again: {reason}; export it as Python script or JSON")
    command = draw_command(figure.recipe, f"{for_file_name(figure.name)}.csv")
    head = f"#!/bin/sh\n# {for_comment(figure.name)}, certcore {__version__}\n"
    if figure.recipe.options.get("relaxed"):
        head += (
            "# where the linear program has several optimal solutions, another one of them may be found: same bound\n"
        )
    return f"{head}{command}\n"


def python_script(figure: Figure) -> str:
    """A Python script that makes the figure again: from the instance where there is a recipe, else from its numbers."""
    name = for_file_name(figure.name)
    return (
        f'"""{name}: made with certcore {__version__}."""\n\n'
        f"from certcore import export, figures\n\n{_figure_code(figure)}\n"
        'for format in ("pdf", "svg", "png", "csv"):\n'
        "    with open(export.file_name(figure, format), 'wb') as handle:\n"
        "        handle.write(export.render(figure, format, width='one-column'))\n"
    )


def _figure_code(figure: Figure) -> str:
    if figure.recipe is None:
        return f"figure = figures.from_json({to_json(figure, indent=None).strip()!r})\n"
    plain = json.loads(json.dumps(to_plain(figure.recipe)))
    lines = [f"    {key}={value!r},\n" for key, value in plain.items() if value not in (None, {}, [])]
    return f"figure = export.make(figures.Recipe(\n{''.join(lines)}))\n"
