"""Linear layers of the working copy, with gradients in the layout that the optimiser and the products want."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from openwork.nn.kernels import gpu
from openwork.nn.kernels.products import by_input, by_weight, linear


class LinearInLayout(torch.autograd.Function):
    """x W^T + b for x of the weight's type, whose weight's gradient has the weight's layout.

    The framework's own comes transposed, and who adds it to gradients in that layout waits for a slow copy.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return linear(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        (gradient,) = gradients
        rows = gradient.flatten(0, -2)
        by_x, by_w, by_bias = ctx.needs_input_grad
        return (
            by_input(gradient, weight) if by_x else None,
            by_weight(rows, x.flatten(0, -2)) if by_w else None,
            rows.sum(dim=0, dtype=torch.float32).to(weight.dtype) if by_bias else None,
        )


class RectifiedInLayout(torch.autograd.Function):
    """max(0, x W^T + b), of which the first is part of the product, and so is not read and written once more."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        made = linear(x, weight, bias, is_rectified=True)
        ctx.save_for_backward(x, weight, made)
        return made

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, weight, made = ctx.saved_tensors
        rows, by_bias = _before_rectifying(gradients[0].flatten(0, -2), made.flatten(0, -2))
        return by_input(rows, weight).view(x.shape), by_weight(rows, x.flatten(0, -2)), by_bias.to(weight.dtype)


class LinearsInLayout(torch.autograd.Function):
    """Several layers of one input, without biases, as one product: `joined` has their weights one below another."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, joined: Tensor, *weights: Tensor) -> tuple[Tensor, ...]:
        ctx.save_for_backward(x, joined)
        ctx.sizes = [len(weight) for weight in weights]
        return linear(x, joined).split(ctx.sizes, -1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x, joined = ctx.saved_tensors
        rows = side_by_side([gradient.flatten(0, -2) for gradient in gradients])
        by_weights = by_weight(rows, x.flatten(0, -2)).split(ctx.sizes)
        return by_input(rows, joined).view(x.shape), None, *by_weights


def _before_rectifying(gradient: Tensor, made: Tensor) -> tuple[Tensor, Tensor]:
    """The gradient by x W^T + b for that by `made`, and its sum over the rows, which is that by b."""
    if gpu.is_available(made.device, "rectified") and made.dtype in gpu.NARROW:
        from openwork.nn.kernels.gpu.rectified import rectified_backward  # loads the compiler's front end

        return rectified_backward(gradient, made)
    rows = torch.ops.aten.threshold_backward(gradient, made, 0)
    return rows, rows.sum(dim=0, dtype=torch.float32)


def side_by_side(parts: Sequence[Tensor]) -> Float[Tensor, "rows width"]:
    """The parts (rows, each) as one matrix: a view, where they lie in memory as the attention's kernel leaves them."""
    first, place = parts[0], parts[0].storage_offset()
    if torch.compiler.is_compiling():  # it knows no places in memory
        return torch.cat(list(parts), dim=1)
    for part in parts:
        is_same = part.untyped_storage().data_ptr() == first.untyped_storage().data_ptr()
        if not (is_same and part.storage_offset() == place and part.stride() == (first.stride(0), 1)):
            return torch.cat(list(parts), dim=1)
        place += part.shape[1]
    return first.as_strided((len(first), place - first.storage_offset()), first.stride())


def linear_in_layout(layer: nn.Linear, x: Float[Tensor, "*rows width"]) -> Float[Tensor, "*rows after"]:
    """What `layer` gives, in the type of its weight."""
    return LinearInLayout.apply(x.to(layer.weight.dtype), layer.weight, layer.bias)  # type: ignore[no-any-return]


def rectified_in_layout(layer: nn.Linear, x: Float[Tensor, "*rows width"]) -> Float[Tensor, "*rows after"]:
    """max(0, .) of what `layer`, which has a bias, gives."""
    return RectifiedInLayout.apply(x.to(layer.weight.dtype), layer.weight, layer.bias)  # type: ignore[no-any-return]


def linears_in_layout(
    layers: Sequence[nn.Linear], joined: Tensor, x: Float[Tensor, "*rows width"]
) -> tuple[Tensor, ...]:
    """What each layer (*rows, its width) gives; their weights are the parts of `joined`."""
    return LinearsInLayout.apply(x.to(joined.dtype), joined, *(one.weight for one in layers))  # type: ignore[no-any-return]
