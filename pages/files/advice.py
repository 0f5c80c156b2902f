"""What to do with a file that is no instance: one sentence, by the end of its name, and the line of Python for it."""

from __future__ import annotations

from pathlib import Path

#: Endings, what to say after the name of the file, and the line that reads it (`FILE` stands for its name).
_KINDS = (
    (
        (".pt", ".pth", ".ckpt"),
        "comes from torch and is not read here: load its weights into your model in Python, give model and "
        "data to the five lines above, and upload the file that they write.",
        "model.load_state_dict(torch.load(FILE, weights_only=True))",
    ),
    (
        (".csv",),
        "is a table without a model: read it in Python, put its nodes into `x` and its edges into `edge_index`, and "
        "give `(x, edge_index)` as `data` to the five lines above.",
        "table = pandas.read_csv(FILE)",
    ),
    (
        (".graphml", ".gml"),
        "is a graph without a model: read it in Python, give every node its vector of attributes as `x`, and take the "
        "graph as `data` in the five lines above.",
        "data = networkx.read_graphml(FILE)",
    ),
    (
        (".txt", ".tsv", ".edges"),
        "is plain text without a model: if it lists edges, read them in Python, give every node its vector of "
        "attributes as `x`, and take the graph as `data` in the five lines above.",
        "data = networkx.read_edgelist(FILE)",
    ),
    (
        (".pkl", ".pickle"),
        "is a pickle, which can run code when it is read, so it is not read here: load it in Python, give model and "
        "data to the five lines above, and upload the file that they write.",
        "",
    ),
    ((".json", ".gz"), "looks like a proof: the page **Check a proof** takes it.", ""),
)
_OTHER = "is no `.npz` file: the five lines above write one from a trained model and its data."


def advice(name: str) -> tuple[str, str]:
    """How the sentence about a file goes on after its name, and the line of Python for it (empty: none)."""
    ending = Path(name).suffix.lower()
    told, line = next(((told, line) for endings, told, line in _KINDS if ending in endings), (_OTHER, ""))
    reader = line.replace("read_graphml", "read_gml") if ending == ".gml" else line
    return told, reader.replace("FILE", repr(name))
