"""Models put to work: weights packed once for the processor, and a decoder that computes in place.

    model = prepare(model, "int8")        offers start, step and select, as `models/interfaces.py` has them

Each trick stands in one file: products in fewer bits (`products.py`), caches that stay where they are (`caches.py`),
attention of single queries (`attention.py`), projections side by side (`layers.py`), a whole step as one compiled
function (`native/`).
"""

import time

import torch

from openwork.models.interfaces import AttendingModel, SequenceModel
from openwork.models.prepared.native import NativeTransformer, can_be_native
from openwork.models.prepared.products import PRODUCTS, ProductType, available
from openwork.models.prepared.transformer import PreparedTransformer, can_be_prepared
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


def fastest(model: SequenceModel, repeats: int = 5) -> ProductType:
    """The way in which this machine multiplies the model's output matrix fastest, by measurement."""
    weight = model.output_weight.detach()[:4096]
    x = torch.ones(ROWS, weight.shape[1])

    def seconds(products: ProductType) -> float:
        product = PRODUCTS[products](weight, None)
        taken = []
        for _ in range(repeats):
            before = time.perf_counter()
            product(x)
            taken.append(time.perf_counter() - before)
        return min(taken)

    with torch.inference_mode():
        return min(available(), key=seconds)
