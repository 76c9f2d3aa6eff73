"""Models prepared for inference: weights packed once for the processor, and a decoder that computes in place.

    model = prepare(model, "int8")        has start, step and select, as in `models/interfaces.py`

One file for each optimisation: products in fewer bits (`products.py`), caches in place and attention of single queries
to them (`caches.py`), joined projections (`layers.py`), a whole step as one compiled function (`native/`).
"""

import time
from copy import copy
from typing import Any

import torch
from torch import nn

from openwork.inference.prepared.native import NativeTransformer, can_be_native
from openwork.inference.prepared.products import ProductType, available
from openwork.inference.prepared.transformer import PreparedTransformer, can_be_prepared
from openwork.models.interfaces import SequenceModel, StepModel
from openwork.models.seq2seq import Transformer

__all__ = ["can_be_prepared", "fastest", "prepare", "types_of"]

SENTENCES, PIECES = 64, 12  # of the search by which `fastest` measures


def prepare(model: SequenceModel, products: ProductType = "float32") -> StepModel[Any]:
    """The model prepared with products of the given type, or the model itself if it cannot be prepared.

    Its encoder and its steps are compiled where possible.
    """
    if not can_be_prepared(model):
        return model
    assert isinstance(model, Transformer)
    if can_be_native(model, products):
        return NativeTransformer(model, products)
    return PreparedTransformer(model, products)


def types_of(model: Transformer) -> list[ProductType]:
    """The types of product that the model, which `can_be_prepared`, may have on this machine; float32 always."""
    found = available()
    return [*found, "int8"] if "int8" not in found and can_be_native(model, "int8") else found


def fastest(model: Transformer, repeats: int = 5) -> ProductType:
    """The type of product with which this machine reads and takes steps fastest, by measurement: with the model's first
    layers and its whole vocabulary.

    The types take turns, so that a machine that is busy for a moment is slow for all of them.
    """
    pieces = min(PIECES, model.maximum_length or PIECES)
    lengths, source = torch.full((SENTENCES,), pieces), torch.zeros(SENTENCES, pieces, dtype=torch.int64)
    with torch.inference_mode():
        shallow = _first_layers(model)
        ways = {kind: prepare(shallow, kind) for kind in types_of(model)}
        best = dict.fromkeys(ways, float("inf"))
        for _ in range(repeats):
            for kind, way in ways.items():
                before = time.perf_counter()
                state = way.start(source, lengths)
                for _ in range(pieces):
                    _, state = way.step(source[:, :1], state)
                best[kind] = min(best[kind], time.perf_counter() - before)
    return min(best, key=best.__getitem__)


def _first_layers(model: Transformer) -> Transformer:
    """The model with the first layer of each stack alone; its parts are the model's own."""
    shallow = copy(model)
    shallow._modules = dict(model._modules)
    for name in ("encoder", "decoder"):
        stack = copy(model.get_submodule(name))
        stack._modules = {**stack._modules, "layers": nn.ModuleList([stack.get_submodule("layers.0")])}
        shallow._modules[name] = stack
    return shallow
