"""Models prepared for inference: weights packed once for the processor, and a decoder that computes in place.

    model = prepare(model, "int8")        has start, step and select, as in `models/interfaces.py`

One file for each optimisation: products in fewer bits (`products.py`), caches in place and attention of single queries
to them (`caches.py`), joined projections (`layers.py`), a whole step as one compiled function (`native/`).
"""

import time
from typing import Any

import torch

from openwork.inference.prepared.native import NativeTransformer, can_be_native
from openwork.inference.prepared.products import PRODUCTS, Product, ProductType, available
from openwork.inference.prepared.transformer import PreparedTransformer, can_be_prepared
from openwork.models.interfaces import SequenceModel, StepModel
from openwork.models.seq2seq import Transformer

__all__ = ["can_be_prepared", "fastest", "prepare"]

ROWS = 128  # what a step of a search multiplies at once


def prepare(model: SequenceModel, products: ProductType = "float32") -> StepModel[Any]:
    """The model prepared with products of the given type, or the model itself if it cannot be prepared.

    Its steps are compiled where possible.
    """
    if not can_be_prepared(model):
        return model
    assert isinstance(model, Transformer)
    if can_be_native(model, products):
        return NativeTransformer(model, products)
    return PreparedTransformer(model, products)


def fastest(model: SequenceModel, repeats: int = 12) -> ProductType:
    """The type of product with which this machine multiplies the model's output matrix fastest, by measurement.

    The types take turns, so that a machine that is busy for a moment is slow for all of them.
    """
    weight = model.output_weight.detach()[:4096]
    x = torch.ones(ROWS, weight.shape[1])
    with torch.inference_mode():
        products: dict[ProductType, Product] = {kind: PRODUCTS[kind](weight, None) for kind in available()}
        best = dict.fromkeys(products, float("inf"))
        for _ in range(repeats):
            for kind, product in products.items():
                before = time.perf_counter()
                product(x)
                best[kind] = min(best[kind], time.perf_counter() - before)
    return min(best, key=best.__getitem__)
