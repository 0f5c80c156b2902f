"""Datasets: from a name or a file to a clean, labelled graph."""
