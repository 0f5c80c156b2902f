"""The paper's classifiers; each declares how it reads the graph."""

from certcore.models.field import Field
from certcore.models.registry import MODELS, model_class

__all__ = ["MODELS", "Field", "model_class"]
