"""`certcore figures`: figures of many bundles at once, or of figures exported as JSON."""

from __future__ import annotations

import argparse
from pathlib import Path

from certcore.cli.options import add_json, add_width, natural, print_json
from certcore.cli.parser import Subparsers
from certcore.cli.paths import require_file
from certcore.cli.status_line import show_progress
from certcore.common.errors import InputError, did_you_mean

_FORMATS = ("pdf", "svg", "png", "latex", "tabular", "csv", "json", "html", "python", "command")


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "figures",
        help="draw the figures of many bundles in one go",
        description=(
            "Draw curves (mean and band over splits), base certificates and comparisons of instance files, and draw "
            "figures again that were exported as JSON. What is up to date is skipped."
        ),
        epilog="example: certcore figures precomputed/*.npz -o figures --formats pdf,csv",
    )
    parser.add_argument(
        "paths", nargs="*", metavar="FILE", help="instance files or figures as JSON (default: precomputed/)"
    )
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="folder to write")
    parser.add_argument(
        "--formats", default="pdf,svg,png,latex,csv,json", help="comma-separated (default: %(default)s)"
    )
    add_width(parser)
    parser.add_argument("--end", type=natural, metavar="N", help="largest budget of the curves (every whole number)")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from certcore.export.batch import write_batch

    formats = [name.strip() for name in args.formats.split(",") if name.strip()]
    unknown = [name for name in formats if name not in _FORMATS]
    if unknown or not formats:
        hint = did_you_mean(unknown[0], _FORMATS) if unknown else ""
        raise InputError(f"the formats are {args.formats!r}{hint}; expected some of {', '.join(_FORMATS)}")
    paths = args.paths or [str(path) for path in sorted(Path("precomputed").glob("*.npz"))]
    for path in args.paths:
        require_file(path, "an instance file (.npz) or a figure exported as JSON")
    tell = None if args.quiet or args.json else show_progress
    files = write_batch(paths, args.output, formats=formats, width=args.width, end=args.end, progress=tell)
    if args.json:
        print_json({"files": [str(file) for file in files]})
    else:
        print(f"{len(files)} files in {args.output}")
    return 0
