"""Builds a model from the weights that another toolkit's file gave."""

from collections.abc import Callable, Mapping
from pathlib import Path

from torch import Tensor

from openwork.base.errors import OpenworkError
from openwork.models.build import build_model
from openwork.models.empty_weights import empty_weights, uninitialised
from openwork.models.families import ModelSettings
from openwork.models.interfaces import SequenceModel
from openwork.models.weights import model_weights, restore_weights


def model_with_weights(
    settings: ModelSettings,
    sizes: tuple[int, int],
    weights: Mapping[str, Tensor],
    size_error: Callable[[str, Tensor, tuple[int, ...]], OpenworkError],
    folder: Path,
) -> SequenceModel:
    """The model with these weights by openwork's names, in evaluation mode; `sizes` are those of both vocabularies.

    Compares shapes before any memory is taken: `size_error` makes the error from a weight and the shape it should have.
    """
    with empty_weights():
        expected = {name: tuple(one.shape) for name, one in model_weights(build_model(settings, *sizes)).items()}
    for name, shape in expected.items():
        if tuple(weights[name].shape) != shape:
            raise size_error(name, weights[name], shape)
    with uninitialised():
        model = build_model(settings, *sizes)
    restore_weights(model, {name: weights[name] for name in expected}, str(folder))
    return model.eval()
