"""How to reproduce a figure: one shell command, or a Python script."""

from __future__ import annotations

from certcore import __version__
from certcore.common.errors import InputError
from certcore.domain.view_spec import ViewSpec
from certcore.figures.escape import for_comment, for_file_name, for_shell
from certcore.figures.figure import Figure
from certcore.figures.serial import to_json

_PROGRAM = "python -m certcore"
#: Length limit of one shell argument.
_LONGEST = 120_000


def certify_command(spec: ViewSpec, time_limit: float | None = None) -> str:
    """The command that computes the certificate at the budgets of a view."""
    limit = [] if time_limit is None else ["--time-limit", f"{time_limit:g}"]
    words = (*spec.replace(limit=None).instances, *spec.question_flags(), *limit)
    return " ".join([_PROGRAM, "certify", *map(for_shell, words)])


def draw_command(spec: ViewSpec, output: str) -> str:
    """The command that reproduces a figure, quoted for a shell."""
    return f"{_PROGRAM} draw {for_shell(spec.query())} -o {for_shell(output)}"


def has_command(figure: Figure) -> bool:
    """Whether one command reproduces this figure."""
    return figure.spec is not None and len(figure.spec.query()) < _LONGEST


def command_script(figure: Figure) -> str:
    """A shell script with the command that reproduces the figure in its print style."""
    if figure.spec is None or not has_command(figure):
        reason = "it was not made by one" if figure.spec is None else "it would be longer than a shell takes"
        raise InputError(f"no command line makes this figure again: {reason}; export it as Python script or JSON")
    head = f"#!/bin/sh\n# {for_comment(figure.name)}, certcore {__version__}\n"
    if figure.spec["adversary"] == "relaxed":
        head += (
            "# where the linear program has several optimal solutions, another one of them may be found: same bound\n"
        )
    return f"{head}{draw_command(figure.spec, f'{for_file_name(figure.name)}.pdf')}\n"


def python_script(figure: Figure) -> str:
    """A Python script that reproduces the figure: from the instance if the figure has a view, else from its numbers."""
    name = for_file_name(figure.name)
    made = (
        f"figure = figures.from_json({to_json(figure, indent=None).strip()!r})\n"
        if figure.spec is None
        else f"figure = export.make({figure.spec.query()!r})\n"
    )
    return (
        f'"""{name}: made with certcore {__version__}."""\n\n'
        f"from certcore import export{', figures' if figure.spec is None else ''}\n\n{made}\n"
        'for format in ("pdf", "svg", "png", "csv"):\n'
        "    with open(export.file_name(figure, format), 'wb') as handle:\n"
        "        handle.write(export.render(figure, format))\n"
    )
