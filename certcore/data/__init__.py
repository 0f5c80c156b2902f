"""Datasets: from a name or a file to a clean, labelled graph."""

from certcore.data.convert import from_networkx, from_pyg, from_tables, import_file
from certcore.data.dataset import Dataset, load_dataset_file, save_dataset
from certcore.data.registry import REGISTRY, get_dataset
from certcore.data.split import make_split
from certcore.data.synthetic import citation_like

__all__ = [
    "REGISTRY", "Dataset", "citation_like", "from_networkx", "from_pyg", "from_tables", "get_dataset", "import_file",
    "load_dataset_file", "make_split", "save_dataset",
]  # fmt: skip
