"""Attention over packed rows: sentences one after another in one row, so that no padding is computed.

A batch of padded sentences spends its padding's share of every matrix product for nothing. Packed, a batch is one row
(1, position, width) of real tokens, all position-wise parts work as they are, and attention alone must know where each
sentence begins (`masks.Segments`). All ways give the same:

- On a GPU, in 16 bits: for short sentences a kernel of our own (`gpu/`), for long ones the framework's for sentences of
  various lengths; both take the row as it is.
- Everywhere else its twin: the row is spread over a padded rectangle, attended by the fused kernel, and gathered again.

`reference.attention` computes a packed row by the formula, with a mask of all pairs: what both are held equal to.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from openwork.machine.card import card_of
from openwork.nn.kernels import WeightFunction, fused, gpu
from openwork.nn.masks import Mask, Segments
from openwork.nn.shapes import Bias, HeadOutputs, Keys, Queries, Values

WIDEST = 256  # the kernel's widest head


def is_supported(device: torch.device) -> bool:
    """Whether the framework has its kernel on this device."""
    card = card_of(device)
    return card is not None and card.has_bfloat16


def fits(head_width: int, value_width: int) -> bool:
    """Whether its kernel takes heads of these widths."""
    return head_width == value_width and head_width % 8 == 0 and head_width <= WIDEST


def attention(
    query: Queries,
    key: Keys,
    value: Values,
    mask: Mask,
    scale: float,
    dropout: float = 0.0,
    bias: Bias | None = None,
    weight_function: WeightFunction | None = None,
) -> HeadOutputs:
    """Equation 1; rows that are not packed, and biases and weights for all pairs of a row, are the fused kernel's."""
    if mask.segments is None or bias is not None or weight_function is not None:
        return fused.attention(query, key, value, mask, scale, dropout, bias, weight_function)
    widths = query.shape[-1], value.shape[-1]
    if dropout == 0.0 and query.dtype in gpu.NARROW and fits(*widths) and is_supported(query.device):
        of_row = of_short_sentences if are_short(query, mask) else of_various_lengths
        return of_row(query, key, value, mask, scale)
    return of_rectangles(query, key, value, mask, scale, dropout)


def _segments(mask: Mask) -> tuple[Segments, Segments]:
    """Those of the queries and of the keys; a causal mask is for self-attention."""
    others = (mask.allowed, mask.key_lengths, mask.key_starts, mask.pattern)
    if mask.segments is None or any(other is not None for other in others):
        raise ValueError("packed attention needs segments, and no other condition than the order")
    return mask.segments


def are_short(query: Queries, mask: Mask) -> bool:
    """Whether the kernel for short sentences is there for these, and faster."""
    queries, keys = _segments(mask)
    if max(queries.maximum_length, keys.maximum_length) > gpu.LONGEST or query.shape[-1] > gpu.WIDEST:
        return False
    return gpu.is_available(query.device, "attention", query.shape[-1])


def _by_position(heads: Float[Tensor, "1 head position each"]) -> Float[Tensor, "position head each"]:
    """A view, whose gradient is one, too: that of `heads[0]` is copied into zeros."""
    return heads.squeeze(0).transpose(0, 1)


def of_short_sentences(query: Queries, key: Keys, value: Values, mask: Mask, scale: float) -> HeadOutputs:
    """By our kernel, which takes (position, head, width) as the framework's does."""
    from openwork.nn.kernels.gpu.attention import sentences  # loads the compiler's front end, which takes a second

    queries, keys = _segments(mask)
    query, key, value = map(_by_position, (query, key, value))
    lengths = [queries.maximum_length, keys.maximum_length]
    found, _ = sentences(query, key, value, [queries.starts, keys.starts], lengths, mask.is_causal, scale)
    return found.transpose(0, 1)[None]


def of_various_lengths(query: Queries, key: Keys, value: Values, mask: Mask, scale: float) -> HeadOutputs:
    """By the framework's kernel: (position, head, width) with the starts of queries and keys beside it."""
    from torch.nn.attention.varlen import varlen_attn  # loads the compiler's front end, which takes a second

    queries, keys = _segments(mask)
    query, key, value = map(_by_position, (query, key, value))
    window = (-1, 0) if mask.is_causal else (-1, -1)  # keys to the left and right of a query; -1: all
    lengths = queries.maximum_length, keys.maximum_length
    found = varlen_attn(query, key, value, queries.starts, keys.starts, *lengths, scale=scale, window_size=window)
    return found.transpose(0, 1)[None]  # type: ignore[union-attr]


def of_rectangles(
    query: Queries, key: Keys, value: Values, mask: Mask, scale: float, dropout: float = 0.0
) -> HeadOutputs:
    """The twin: spread over (sentence, position), attended with padding, gathered."""
    queries, keys = _segments(mask)
    # Keys behind a sentence's end are later than its real queries: where the order counts, it hides them.
    padded = Mask(is_causal=True) if mask.is_causal else Mask(key_lengths=keys.starts.diff())
    found = fused.attention(spread(query, queries), spread(key, keys), spread(value, keys), padded, scale, dropout)
    return gathered(found, queries)


def spread(
    heads: Float[Tensor, "1 head position each"], segments: Segments
) -> Float[Tensor, "sentence head place each"]:
    """Each sentence a row of its own; after its end are other tokens, which a mask must hide."""
    places = torch.arange(segments.maximum_length, device=heads.device)
    index = (segments.starts[:-1, None] + places).clamp(max=heads.shape[2] - 1)
    rows = heads.squeeze(0).index_select(1, index.flatten())
    return rows.unflatten(1, tuple(index.shape)).transpose(0, 1)


def gathered(
    heads: Float[Tensor, "sentence head place each"], segments: Segments
) -> Float[Tensor, "1 head position each"]:
    """The inverse: the real positions one after another."""
    numbers = segments.numbers
    within = torch.arange(len(numbers), device=heads.device) - segments.starts[numbers]
    rows = heads.transpose(0, 1).flatten(1, 2)
    return rows.index_select(1, numbers * segments.maximum_length + within)[None]
