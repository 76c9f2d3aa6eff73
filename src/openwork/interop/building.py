"""A model of ours from the weights that another toolkit's file gave."""

from collections.abc import Callable, Mapping
from pathlib import Path

from torch import Tensor

from openwork.base.errors import OpenworkError
from openwork.models.build import build_model
from openwork.models.empty_weights import empty_weights, uninitialised
from openwork.models.families import ModelSettings
from openwork.models.interfaces import SequenceModel
from openwork.models.weights import model_weights, restore_weights


def model_of(
    settings: ModelSettings,
    sizes: tuple[int, int],
    weights: Mapping[str, Tensor],
    misfit: Callable[[str, Tensor, tuple[int, ...]], OpenworkError],
    folder: Path,
) -> SequenceModel:
    """The model with these weights by our names, in evaluation mode; `sizes` are those of the two vocabularies.

    Its shapes are compared first, and no model takes memory before they agree: `misfit` makes the error of a weight
    and the shape that it should have.
    """
    with empty_weights():
        expected = {name: tuple(one.shape) for name, one in model_weights(build_model(settings, *sizes)).items()}
    for name, shape in expected.items():
        if tuple(weights[name].shape) != shape:
            raise misfit(name, weights[name], shape)
    with uninitialised():
        model = build_model(settings, *sizes)
    restore_weights(model, {name: weights[name] for name in expected}, str(folder))
    return model.eval()
