"""The paper's classifiers; each declares its receptive field."""
