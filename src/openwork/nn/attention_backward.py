"""The gradient of multi-head attention (section 3.2.2 of the paper), as formulas.

With X the positions that ask, M those that are asked (X itself in self-attention), H = Concat(head_1, ..., head_h),
Y = H W^O, and d for the gradient of a loss, summed over the batch:

    dW^O = H^T dY                             (h d_v, query) (query, d_model)
    dH   = dY W^O^T                           (query, d_model) (d_model, h d_v); head i takes its block of columns
    dQ_i, dK_i, dV_i                          from dH_i: `kernels/backward.py`
    dW_i^Q = X^T dQ_i                         (d_model, query) (query, d_k)
    dW_i^K = M^T dK_i                         (d_model, key) (key, d_k)
    dW_i^V = M^T dV_i                         (d_model, key) (key, d_v)

and the gradients by X and M run back through the same matrices. The W_i of all heads stand side by side, as in
`attention.py`. The paper does not write these out; they are the chain rule.
"""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

from openwork.nn.attention import MultiHeadAttention
from openwork.nn.distances import NoDistances
from openwork.nn.kernels.backward import attention_backward
from openwork.nn.kernels.reference import attention_weights, weighted_sum
from openwork.nn.masks import Mask


@dataclass(frozen=True)
class ProjectionGradients:
    """Gradients of Y = X W + b; `matrix` as the formulas write W, (inputs, outputs): torch keeps its transpose."""

    matrix: Float[Tensor, "inputs outputs"]
    bias: Float[Tensor, "outputs"] | None
    x: Float[Tensor, "batch position inputs"]


@dataclass(frozen=True)
class MultiHeadGradients:
    """Gradients by the four projections, and by the vectors of the positions that ask and that are asked."""

    query: ProjectionGradients
    key: ProjectionGradients
    value: ProjectionGradients
    output: ProjectionGradients
    x: Float[Tensor, "batch query width"]
    memory: Float[Tensor, "batch key width"]


def projection_backward(
    projection: nn.Linear, x: Float[Tensor, "batch position inputs"], gradient: Float[Tensor, "batch position outputs"]
) -> ProjectionGradients:
    """dW = X^T dY, db = the sum of dY, dX = dY W^T, over all positions of all sentences."""
    return ProjectionGradients(
        matrix=(x.transpose(-2, -1) @ gradient).sum(dim=0),
        bias=None if projection.bias is None else gradient.sum(dim=(0, 1)),
        x=gradient @ projection.weight,  # torch keeps W^T
    )


def multi_head_backward(
    attention: MultiHeadAttention,
    x: Float[Tensor, "batch query width"],
    memory: Float[Tensor, "batch key width"],
    mask: Mask,
    gradient: Float[Tensor, "batch query output_width"],
) -> MultiHeadGradients:
    """The gradients of `attention(x, attention.keys_values(memory), mask)`, given `gradient` by what comes out.

    In self-attention `memory` is `x`, and the gradient by it is the sum of both. Attention dropout is not part of the
    formulas. ValueError: positions inside attention, which the formulas do not have.
    """
    if not isinstance(attention.distances, NoDistances):
        raise ValueError(
            f"no gradient formulas for {type(attention.distances).__name__}, the paper's attention has none"
        )
    query, asked = attention.queries(x), attention.keys_values(memory)
    repeated = asked.for_heads(attention.heads.count)
    weights = attention_weights(query, repeated.key, mask, attention.scale)
    concat = attention.join(weighted_sum(weights, repeated.value))
    out = projection_backward(attention.output, concat, gradient)
    d_heads = attention.split(out.x, attention.heads.value_width)
    inner = attention_backward(query, repeated.key, repeated.value, weights, d_heads, attention.scale)
    shared = asked.key.shape[1]
    by_query = projection_backward(attention.query, x, attention.join(inner.query))
    by_key = projection_backward(attention.key, memory, attention.join(_sum_groups(inner.key, shared)))
    by_value = projection_backward(attention.value, memory, attention.join(_sum_groups(inner.value, shared)))
    return MultiHeadGradients(by_query, by_key, by_value, out, x=by_query.x, memory=by_key.x + by_value.x)


def _sum_groups(gradient: Tensor, shared: int) -> Tensor:
    """Keys and values that several heads of queries share get the sum of these heads' gradients."""
    return gradient.unflatten(1, (shared, -1)).sum(dim=2)
