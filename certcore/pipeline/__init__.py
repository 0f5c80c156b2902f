"""Builds an instance from a dataset or a trained model: training, votes, fields and provenance."""
