"""`python -m experiments data`: list, get and import datasets."""

from __future__ import annotations

import argparse

from certcore.cli.options import add_json, answer, natural
from certcore.cli.parser import Subparsers
from certcore.cli.paths import require_file
from certcore.cli.status_line import StatusLine


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "data",
        help="list, fetch and import datasets",
        epilog="examples: python -m experiments data get citeseer; "
        "python -m experiments data import nodes.csv --edges edges.txt",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="known datasets and what is in the cache")
    add_json(listing)
    get = actions.add_parser("get", help="fetch a dataset by name and check its counts")
    get.add_argument("name", help="for example citeseer, pubmed, cora")
    get.add_argument("--refresh", action="store_true", help="fetch and build again")
    add_json(get)
    load = actions.add_parser(
        "import",
        help="import a local file",
        description="Import .npz arrays, LINQS .content (with .cites beside it), a .csv of nodes with --edges, or "
        "documents as `class<tab>text` lines (.tsv). Documents and WebKB are linked to their three nearest neighbours.",
    )
    load.add_argument("file", help="the file to import, or a folder of .content files")
    load.add_argument("--name", help="name to keep it under (default: the file's)")
    load.add_argument("--edges", metavar="FILE", help="edge list, two ids a line (.csv), or .cites (.content)")
    load.add_argument(
        "--words", type=natural, default=200, metavar="N", help="number of words kept from documents (default 200)"
    )
    group = load.add_argument_group(
        "changes", "Data are taken as they are. What does not fit is refused, unless one of these asks for a change."
    )
    group.add_argument("--binarize", action="store_true", help="attributes that are not zero become 1")
    group.add_argument(
        "--keep-values", action="store_true", help="attributes stay the numbers they are, and are not flipped"
    )
    group.add_argument("--undirected", action="store_true", help="take edges in both directions")
    group.add_argument("--directed", action="store_true", help="keep the direction of edges")
    # Kept for old scripts: this option is the default now.
    load.add_argument("--all-components", action="store_true", help=argparse.SUPPRESS)
    group.add_argument(
        "--simplify", action="store_true",
        help="leave out self loops, repeated edges, edge weights and edges to unknown nodes",
    )  # fmt: skip
    group.add_argument(
        "--largest-component", action="store_true", help="leave out nodes outside the largest connected component"
    )
    load.add_argument("-o", "--output", metavar="FILE", help="where to write it (default: the cache)")
    add_json(load)


def run(args: argparse.Namespace) -> int:
    return {"list": _list, "get": _get, "import": _import}[args.action](args)


def _list(args: argparse.Namespace) -> int:
    from experiments.datasets.registry import REGISTRY, dataset_path

    entries = [
        dict(zip(("nodes", "edges", "attributes", "classes"), entry.counts))
        | {"name": entry.name, "source": entry.source, "cached": dataset_path(entry.name).exists()}
        for entry in REGISTRY.values()
    ]
    lines = [f"{'name':12}{'nodes':>8}{'edges':>8}{'attributes':>12}{'classes':>9}  source"]
    for entry in entries:
        n, e, a, c = (f"{entry[key]:,}" if entry[key] else "–" for key in ("nodes", "edges", "attributes", "classes"))
        mark = " (in the cache)" if entry["cached"] else ""
        lines.append(f"{entry['name']:12}{n:>8}{e:>8}{a:>12}{c:>9}  {entry['source']}{mark}")
    return answer(args, {"datasets": entries}, *lines)


def _get(args: argparse.Namespace) -> int:
    from experiments.datasets.registry import dataset_path, get_dataset

    if args.name.endswith(".npz"):
        require_file(args.name, "an imported dataset (.npz)", suffix=".npz")
    with StatusLine("data get", quiet=args.json):
        dataset = get_dataset(args.name, refresh=args.refresh)
    path = args.name if args.name.endswith(".npz") else str(dataset_path(args.name))
    return _tell(args, dataset.counts | {"path": path})


def _import(args: argparse.Namespace) -> int:
    from certcore.data.dataset import save_dataset
    from experiments.datasets.files import import_file
    from experiments.datasets.registry import check_counts, dataset_path

    for file in filter(None, (args.file, args.edges)):
        require_file(file, "the file to import")
    with StatusLine("data import", quiet=args.json):
        dataset = import_file(
            args.file, args.name, edges=args.edges, words=args.words, binarize=args.binarize,
            keep_values=args.keep_values, undirected=args.undirected, directed=args.directed, simplify=args.simplify,
            largest_component=args.largest_component,
        )  # fmt: skip
    check_counts(dataset)
    path = args.output or dataset_path(dataset.name)
    save_dataset(path, dataset)
    return _tell(args, dataset.counts | {"path": str(path), "changes": dataset.changes})


def _tell(args: argparse.Namespace, facts: dict) -> int:
    head = (
        f"{facts['name']}: {facts['nodes']:,} nodes, {facts['edges']:,} edges, {facts['attributes']:,} attributes, "
        f"{facts['classes']} classes; {facts['path']}"
    )
    return answer(args, facts, head, *(f"changed: {sentence}" for sentence in facts.get("changes", ())))
