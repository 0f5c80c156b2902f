"""The words of the field: graphs, perturbation types, threat models, fronts, layouts."""
