"""How to make a figure again: the command line that computes its numbers, and a Python script that draws it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any

from certcore import __version__
from certcore.figures.data import BarFigure, CompareFigure, ContourFigure, CurveFigure, Figure, GraphFigure
from certcore.figures.escape import for_comment, for_file_name, for_shell
from certcore.figures.recipe import Recipe
from certcore.figures.serial import to_json, to_plain
from certcore.perturbations import TYPES

_PROGRAM = "python -m certcore"

#: Where a command finds targets that have no name, one index per line.
TARGETS_FILE = "targets.txt"


def command_lines(recipe: Recipe) -> tuple[str, ...]:
    """The commands of one recipe, quoted for a shell; values without one even step need several."""
    arguments = recipe.arguments
    swept: list[list[str]] = [[]]
    if recipe.command == "curve":
        vary = ["--vary", for_shell(arguments["vary"])]
        swept = [[*vary, "--values", part] for part in values_options(arguments["values"])]
    elif recipe.command == "surface":
        xs, ys = (values_options(arguments[f"{axis}_values"]) for axis in ("x", "y"))
        x, y = for_shell(arguments["x"]), for_shell(arguments["y"])
        swept = [["--x", x, "--x-values", a, "--y", y, "--y-values", b] for a in xs for b in ys]
    varied = {arguments.get(key) for key in ("vary", "x", "y")}
    targets = TARGETS_FILE if recipe.targets is None and recipe.nodes is not None else recipe.targets
    rest = threat_options({k: v for k, v in recipe.threat.items() if k not in varied}, targets)
    if recipe.relaxation != "tight":
        rest += ["--relaxation", for_shell(recipe.relaxation)]
    if recipe.base_rule != "binary":
        rest += ["--base-rule", for_shell(recipe.base_rule)]
    head = [_PROGRAM, recipe.command, for_shell(recipe.instance)]
    return tuple(" ".join([*head, *part, *rest]) for part in swept)


def values_options(values: Sequence[Any]) -> list[str]:
    """Budgets as ranges A:B[:STEP] with both ends included, as few as their steps allow."""
    numbers = [_decimal(value) for value in values]
    options = []
    while numbers:
        length = min(2, len(numbers))
        step = numbers[1] - numbers[0] if length == 2 else Decimal(1)
        while length < len(numbers) and numbers[length] - numbers[length - 1] == step:
            length += 1
        options.append(f"{numbers[0]}:{numbers[length - 1]}" + (f":{step}" if step != 1 else ""))
        numbers = numbers[length:]
    return options


def _decimal(value: Any) -> Decimal:
    """A number as people write it: 0.1 is 0.1, and 3.0 is 3."""
    number = Decimal(str(value))
    return number.to_integral() if number == number.to_integral() else number


def threat_options(threat: Mapping[str, Any], targets: str | None) -> list[str]:
    """The threat model as options; what has no option is told in `untold`."""
    words: list[str] = []
    for name in TYPES:
        if threat.get(name):
            words += [f"--{name.replace('_', '-')}", str(int(threat[name]))]
    local = threat.get("local") or {}
    for name in TYPES:
        if local.get(name) is not None and not isinstance(local[name], list):
            words += [f"--local-{name.replace('_', '-')}", for_shell(local[name])]
    if local.get("mode", "absolute") != "absolute":
        words += ["--local-mode", for_shell(local["mode"])]
    if threat.get("sigma") is not None:
        words += ["--sigma", str(int(threat["sigma"]))]
    if targets is not None:
        words += ["--targets", for_shell(targets)]
    return words


def untold(threat: Mapping[str, Any]) -> list[str]:
    """Parts of a threat model that only a file or a script can carry."""
    local = threat.get("local") or {}
    parts = [name for name in ("protected", "node_costs", "edge_costs") if threat.get(name)]
    return parts + [f"local {name} per node" for name in TYPES if isinstance(local.get(name), list)]


def command_script(figure: Figure) -> str:
    """A shell script that computes the numbers of a figure, one command per recipe, and draws it from its JSON."""
    name = for_file_name(figure.name)
    lines = ["#!/bin/sh", f"# {for_comment(figure.name)}, certcore {__version__}"]
    for k, recipe in enumerate(figure.recipes):
        if recipe.label:
            lines.append(f"# {for_comment(recipe.label)}")
        if recipe.targets is None and recipe.nodes is not None:
            lines.append(f"printf '%s\\n' {' '.join(str(int(node)) for node in recipe.nodes)} > {TARGETS_FILE}")
        missing = untold(recipe.threat)
        if missing:
            lines.append(f"# not in this command: {', '.join(missing)}; use the Python script")
        commands = command_lines(recipe)
        for part, command in enumerate(commands):
            number = f"-{k + 1}" if len(figure.recipes) > 1 else ""
            number += f"-part{part + 1}" if len(commands) > 1 else ""
            target = f" > {name}{number}.csv" if recipe.command in ("curve", "surface") else ""
            lines.append(command + target)
    lines.append("# the drawing itself, from the figure exported as JSON:")
    lines.append(f"{_PROGRAM} figures {name}.json -o {name}-figures")
    return "\n".join(lines) + "\n"


def python_script(figure: Figure) -> str:
    """A Python script that makes the figure again: from the instance where there is a recipe, else from its numbers."""
    name = for_file_name(figure.name)
    body = _from_recipes(figure) or _from_numbers(figure)
    return (
        f'"""{name}: made with certcore {__version__}."""\n\n{body}\n'
        'for format in ("pdf", "svg", "png", "csv"):\n'
        "    with open(export.file_name(figure, format), 'wb') as handle:\n"
        "        handle.write(export.export(figure, format, width='one-column'))\n"
    )


def _from_numbers(figure: Figure) -> str:
    text = to_json(figure, indent=None).strip()
    return f"from certcore import export, figures\n\nfigure = figures.from_json({text!r})\n"


def _from_recipes(figure: Figure) -> str | None:
    """Code that calls the engine; None where the figure needs more than its recipes say."""
    commands = {recipe.command for recipe in figure.recipes}
    if isinstance(figure, CurveFigure) and commands == {"curve"} and not isinstance(figure, CompareFigure):
        return _curve_code(figure)
    if isinstance(figure, ContourFigure) and commands == {"surface"} and len(figure.recipes) == 1:
        return _surface_code(figure)
    if isinstance(figure, GraphFigure) and commands == {"certify"} and len(figure.recipes) == 1:
        more = f", relaxed={figure.relaxed}, palette={figure.palette!r}, name={figure.name!r}"
        head = _head("certify")
        return f"{head}{_call(figure.recipes[0], 'result')}figure = figures.graph_figure(instance, result{more})\n"
    if isinstance(figure, BarFigure) and commands == {"certify"} and len(figure.recipes) == len(figure.categories):
        return _bars_code(figure)
    return None


def _head(*names: str) -> str:
    sweep = sorted(set(names) & {"curve", "surface"})
    engine = ", ".join(["ThreatModel", *sorted(set(names) - set(sweep)), "export", "figures", "load_instance"])
    more = f"from certcore.sweep import {', '.join(sweep)}\n" if sweep else ""
    return f"from certcore import {engine}\n{more}\n"


def _call(recipe: Recipe, result: str) -> str:
    """Load the instance, describe the threat, run the engine."""
    rule = "" if recipe.base_rule == "binary" else f", base_rule={recipe.base_rule!r}"
    targets = "" if recipe.targets is None else f", targets=instance.select_targets({recipe.targets!r})"
    if recipe.targets is None and recipe.nodes is not None:
        targets = f", targets={[int(node) for node in recipe.nodes]!r}"
    threat = json.loads(json.dumps(to_plain(dict(recipe.threat))))
    lines = [
        f"instance = load_instance({recipe.instance!r}{rule})",
        f"threat = ThreatModel.from_json({threat!r}{targets})",
    ]
    relaxation = "" if recipe.relaxation == "tight" else f", relaxation={recipe.relaxation!r}"
    arguments = recipe.arguments
    if recipe.command == "curve":
        inner = f"vary={str(arguments['vary'])!r}, values={_values(arguments['values'])}"
    elif recipe.command == "surface":
        inner = f"x={str(arguments['x'])!r}, x_values={_values(arguments['x_values'])}, "
        inner += f"y={str(arguments['y'])!r}, y_values={_values(arguments['y_values'])}"
    else:
        inner = ""
    call = f"{recipe.command}(instance, threat{', ' + inner if inner else ''}{relaxation})"
    return "\n".join([*lines, f"{result} = {call}"]) + "\n"


def _values(values: Sequence[Any]) -> str:
    numbers = [_decimal(value) for value in values]
    steps = {b - a for a, b in pairwise(numbers)}
    if any(number != int(number) for number in numbers):
        return repr([str(number) for number in numbers])
    if len(steps) == 1:
        step = steps.pop()
        return f"range({numbers[0]}, {numbers[-1] + 1}{f', {step}' if step != 1 else ''})"
    return repr([int(number) for number in numbers])


def _curve_code(figure: CurveFigure) -> str:
    code = _head("curve")
    members: dict[str, list[str]] = {}
    paper: list[str] = []
    for k, recipe in enumerate(figure.recipes):
        code += _call(recipe, f"curve_{k}")
        if recipe.relaxation == "paper":
            paper.append(f"curve_{k}")
        else:
            members.setdefault(recipe.label, []).append(f"curve_{k}")
    curves = ", ".join(names[0] if len(names) == 1 else f"[{', '.join(names)}]" for names in members.values())
    naive = any(line.kind == "naive" for line in figure.lines)
    options = f"vary={figure.vary!r}, names={list(members)!r}, paper=[{', '.join(paper)}], naive={naive}, "
    options += f"log={figure.log}, marker={figure.marker!r}, name={figure.name!r}"
    return f"{code}figure = figures.curve_figure([{curves}], {options})\n"


def _surface_code(figure: ContourFigure) -> str:
    options = f"x={figure.x!r}, y={figure.y!r}, show={figure.show!r}, levels={figure.levels!r}, "
    options += f"marker={figure.marker!r}, x_log={figure.x_log}, y_log={figure.y_log}, name={figure.name!r}"
    return f"{_head('surface')}{_call(figure.recipes[0], 'result')}figure = figures.contour_figure(result, {options})\n"


def _bars_code(figure: BarFigure) -> str:
    code = _head("certify")
    code += "results = []\n"
    for recipe in figure.recipes:
        code += _call(recipe, "result") + "results.append(result)\n"
    names = f"[{', '.join(repr(name) for name in figure.categories)}]"
    columns = ", ".join(f"[r.{part} for r in results]" for part in ("certified", "naive_certified", "targets"))
    return f"{code}figure = figures.class_figure({names}, {columns}, name={figure.name!r})\n"
