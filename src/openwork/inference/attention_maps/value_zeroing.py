"""Value zeroing (Mohebbi et al. 2023, "Quantifying Context Mixing in Transformers").

How much the output of a layer at one position depends on another position is how far it turns when that position's
value vector is set to zero in all heads, everything else being equal: C_ij = 1 - cosine(x_i, x_i without value j),
rows divided by their sums (section 3, equations 4 to 6). Unlike attention weights this has the value vectors, the
output projection, the residual connection, the feed-forward network and the normalisation in it. Layers are multiplied
as in rollout, without an added identity: the residual connection is in C already. Here the same is done to the
cross-attention, whose C (target, source), the mean of the decoder's layers, goes through the encoder's product.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from openwork.inference.attention_maps.flow import rollout
from openwork.inference.attention_maps.forced import ForcedTranslation
from openwork.models.seq2seq import Transformer
from openwork.nn.attention import MultiHeadAttention
from openwork.nn.kernels import Kernel
from openwork.nn.linear_attention import LinearAttention
from openwork.nn.low_rank_attention import LowRankAttention
from openwork.nn.recording import lending


def permits(model: nn.Module) -> bool:
    """Whether each attention of the model has a value vector for each position that it attends to."""
    others = LinearAttention | LowRankAttention
    return isinstance(model, Transformer) and not any(isinstance(module, others) for module in model.modules())


@torch.inference_mode()
def value_zeroing(forced: ForcedTranslation) -> Float[Tensor, "target source"]:
    """How much of each target position comes from each piece of the source; rows add up to 1."""
    model = forced.model
    assert isinstance(model, Transformer)
    with _calls(model.encoder.layers) as of_encoder, _calls(model.decoder.layers) as of_decoder:
        forced.logits(forced.start(forced.source[None]))
    count = len(forced.source)
    encoder = [_mixing(*call, "self_attention", count).double().cpu().numpy() for call in of_encoder]
    cross = torch.stack([_mixing(*call, "cross_attention", count) for call in of_decoder]).mean(0)
    return cross.double().cpu() @ torch.from_numpy(rollout(encoder))


@contextmanager
def _calls(layers: Any) -> Iterator[list[tuple[Any, tuple[Any, ...], Tensor]]]:
    """While the block runs, each call of a layer is kept: the layer, its arguments and its output vectors."""
    kept: list[tuple[Any, tuple[Any, ...], Tensor]] = []

    def keep(layer: Any, given: tuple[Any, ...], output: Any) -> None:
        kept.append((layer, given, output[0] if isinstance(output, tuple) else output))

    handles = [layer.register_forward_hook(keep) for layer in dict.fromkeys(layers)]
    try:
        yield kept
    finally:
        for handle in handles:
            handle.remove()


def _mixing(layer: Any, given: tuple[Any, ...], output: Tensor, name: str, count: int) -> Float[Tensor, "query key"]:
    """C of one layer, whose sentence is computed `count` times together, once without each key's value."""
    attention: MultiHeadAttention = getattr(layer, name)
    kernel = attention.kernel
    rows = torch.zeros(count, dtype=torch.long, device=output.device)
    repeated = [_repeated(one, rows) for one in given]
    with lending(attention, lambda _: without_values(kernel)):
        found = layer(*repeated)
    found = found[0] if isinstance(found, tuple) else found
    distances = 1 - torch.cosine_similarity(found.double(), output.double(), dim=-1)  # (key, query)
    mixing = distances.clamp(min=0).T
    total = mixing.sum(1, keepdim=True)
    return torch.where(total > 0, mixing / total.clamp(min=1e-30), torch.full_like(mixing, 1 / count))


def _repeated(given: Any, rows: Tensor) -> Any:
    """An argument of a layer for many equal rows: vectors, a cache, or a mask."""
    if isinstance(given, Tensor):
        return given.index_select(0, rows)
    if hasattr(given, "select"):
        return given.select(rows)
    lengths = getattr(given, "key_lengths", None)
    return given if lengths is None else type(given)(**{**vars(given), "key_lengths": lengths.index_select(0, rows)})


def without_values(kernel: Kernel) -> Kernel:
    """The kernel, but in row j of the batch the value of key j is zero in all heads."""

    def attention(query: Tensor, key: Tensor, value: Tensor, *others: Any, **named: Any) -> Tensor:
        own = torch.eye(value.shape[0], dtype=torch.bool, device=value.device)[:, None, :, None]
        return kernel(query, key, value.masked_fill(own, 0.0), *others, **named)

    return attention
