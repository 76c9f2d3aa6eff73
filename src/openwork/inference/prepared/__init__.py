"""Models put to work: weights packed once for the processor, and a decoder that computes in place.

    model = prepare(model, "int8")        offers start, step and select, as `models/interfaces.py` has them

Each trick stands in one file: products in fewer bits (`products.py`), caches that stay where they are (`caches.py`),
attention of single queries (`attention.py`), projections side by side (`layers.py`), a whole step as one compiled
function (`native/`).
"""

import time

import torch

from openwork.inference.prepared.native import NativeTransformer, can_be_native
from openwork.inference.prepared.products import PRODUCTS, Product, ProductType, available
from openwork.inference.prepared.transformer import PreparedTransformer, can_be_prepared
from openwork.models.interfaces import AttendingModel, SequenceModel
from openwork.models.seq2seq import Transformer

__all__ = ["can_be_prepared", "fastest", "prepare"]

ROWS = 128  # what a step of a search multiplies at once


def prepare(model: SequenceModel, products: ProductType = "float32") -> AttendingModel:
    """The model put to work, its products made in the given way; one that cannot be prepared comes back as it is.

    Products in eight bits are compiled where that is possible.
    """
    if not can_be_prepared(model):
        return model
    assert isinstance(model, Transformer)
    if products == "int8" and can_be_native(model):
        return NativeTransformer(model)
    return PreparedTransformer(model, products)


def fastest(model: SequenceModel, repeats: int = 12) -> ProductType:
    """The way in which this machine multiplies the model's output matrix fastest, by measurement.

    The ways are taken in turn: a machine that is busy for a moment is then slow for all of them.
    """
    weight = model.output_weight.detach()[:4096]
    x = torch.ones(ROWS, weight.shape[1])
    with torch.inference_mode():
        ways: dict[ProductType, Product] = {products: PRODUCTS[products](weight, None) for products in available()}
        best: dict[ProductType, float] = {products: float("inf") for products in ways}
        for _ in range(repeats):
            for products, product in ways.items():
                before = time.perf_counter()
                product(x)
                best[products] = min(best[products], time.perf_counter() - before)
    return min(ways, key=best.__getitem__)
