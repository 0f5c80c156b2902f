"""Basic types: graphs, perturbation types, threat models, fronts, layouts."""
