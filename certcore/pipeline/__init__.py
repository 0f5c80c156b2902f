"""From a dataset or a model to an instance: every stage in one command."""
