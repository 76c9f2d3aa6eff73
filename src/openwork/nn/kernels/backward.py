"""The gradient of scaled dot-product attention, as formulas: the chain rule through equation 1, from right to left.

With S = scale Q K^T + B, A = softmax(S) row by row, H = A V, and dX for the gradient of a loss by X:

    dV = A^T dH                               (key, query) (query, value_width)
    dA = dH V^T                               (query, value_width) (value_width, key)
    dS = A * (dA - rowsum(dA * A))            each row of dA times the Jacobian of that row's softmax
    dQ = scale dS K                           (query, key) (key, head_width)
    dK = scale dS^T Q                         (key, query) (query, head_width)

for each sentence and head apart. Training takes its gradients from autograd; the tests hold the two equal.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from openwork.nn.shapes import HeadOutputs, Keys, Queries, Scores, Values


def softmax_jacobian(weights: Float[Tensor, "*rows key"]) -> Float[Tensor, "*rows key other_key"]:
    """diag(a) - a a^T for each row a = softmax(s): how weight i changes with score j, a_i ([i = j] - a_j).

    A score that is masked has weight zero, and so a row and a column of zeros.
    """
    return torch.diag_embed(weights) - weights[..., :, None] * weights[..., None, :]


def softmax_backward(
    weights: Float[Tensor, "*rows key"], gradient: Float[Tensor, "*rows key"]
) -> Float[Tensor, "*rows key"]:
    """dS = A * (dA - rowsum(dA * A)): the Jacobian times each row of dA, without the (key, key) matrix."""
    return weights * (gradient - (gradient * weights).sum(dim=-1, keepdim=True))


def attention_backward(
    query: Queries, key: Keys, value: Values, weights: Scores, gradient: HeadOutputs, scale: float
) -> tuple[Queries, Keys, Values, Scores]:
    """The gradients by Q, K, V and the scores, in this order, given `gradient` by the heads H.

    `weights` are those of the forward pass (`reference.attention_weights`), so mask and bias are in them already.
    """
    d_weights = gradient @ value.transpose(-2, -1)
    d_scores = softmax_backward(weights, d_weights)
    d_query, d_key = scale * (d_scores @ key), scale * (d_scores.transpose(-2, -1) @ query)
    return d_query, d_key, weights.transpose(-2, -1) @ gradient, d_scores
