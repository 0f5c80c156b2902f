"""The paper's classifiers; each declares its receptive field."""

from certcore.models.field import Field
from certcore.models.registry import MODELS, model_class

__all__ = ["MODELS", "Field", "model_class"]
