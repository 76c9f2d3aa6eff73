"""Whole models, made of the parts in `nn`, behind one interface: start, step, select."""

from typing import TYPE_CHECKING

from openwork.base.public import import_when_used

if TYPE_CHECKING:
    from openwork.models.build import build_model
    from openwork.models.families import model_settings
    from openwork.models.interfaces import SequenceModel, State, StepModel, count_weights
    from openwork.models.presets import PRESETS
    from openwork.models.seq2seq import Transformer
    from openwork.models.settings import TransformerSettings

__all__ = [
    "PRESETS",
    "SequenceModel",
    "State",
    "StepModel",
    "Transformer",
    "TransformerSettings",
    "build_model",
    "count_weights",
    "model_settings",
]

__getattr__ = import_when_used(
    __name__,
    {
        "build": "build_model",
        "families": "model_settings",
        "interfaces": "SequenceModel State StepModel count_weights",
        "presets": "PRESETS",
        "seq2seq": "Transformer",
        "settings": "TransformerSettings",
    },
)
