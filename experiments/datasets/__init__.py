"""Datasets by name, and imports from files."""
