"""Datasets: a clean, labelled graph from a graph of another library, from arrays, or from our own file."""

from certcore.data.convert import from_networkx, from_pyg
from certcore.data.dataset import Dataset, load_dataset_file, save_dataset
from certcore.data.split import make_split
from certcore.data.synthetic import citation_like

__all__ = [
    "Dataset", "citation_like", "from_networkx", "from_pyg", "load_dataset_file", "make_split", "save_dataset",
]  # fmt: skip
