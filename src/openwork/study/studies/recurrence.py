"""Gradients through time: how much of it comes back from the last output to inputs ever longer ago.

In h_t = tanh(W h_{t-1} + U x_t) each step back multiplies the gradient by W^T diag(1 - h_t^2), whose norm is at most
that of W: below one, the gradient vanishes at least as fast as the norm's powers; above one it may grow, but need not,
as the tanh takes away. Along an LSTM's cell it is multiplied by the forget gate instead, which can be near one but is
not by itself. Self-attention reaches each position in one step.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from openwork.base.messages import msg
from openwork.inspection.plots import Chart, Figures, Series
from openwork.nn.attention import Heads, MultiHeadAttention
from openwork.nn.embedding import initialise
from openwork.nn.kernels import Kernel, fused
from openwork.nn.masks import CAUSAL
from openwork.nn.recurrent import cell_layers
from openwork.study.studies.study import Claim, Result, Variant
from openwork.study.studies.table import RecurrenceSettings

RECURRENT = Variant("recurrent", "RNN")
GATED = Variant("lstm", "LSTM")
CLOSED = Variant("lstm_closed", "LSTM, closed")
ATTENTION = Variant("self_attention", "self-attention")
KINDS = (RECURRENT, GATED, CLOSED, ATTENTION)

VANISHED, FAR_MORE = 1e-2, 1e3  # a share that counts as none, and a ratio of shares


class PlainSelfAttention(nn.Module):
    """One layer of causal self-attention with four heads, without positions."""

    def __init__(self, width: int, kernel: Kernel = fused.attention) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(width, Heads(4, width // 4, width // 4), kernel=kernel)
        initialise(self)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, position, width) -> the same."""
        return self.attention(x, self.attention.keys_values(x), CAUSAL)


@dataclass(frozen=True)
class RecurrenceData:
    """For each kind of layer the norm of the gradient 0, 1, ... `steps` steps back, mean over the batch."""

    recurrent_norm: float
    gradients: dict[str, tuple[float, ...]]

    def kept(self, kind: Variant) -> float:
        """What the oldest input gets, as a share of what the input one step back gets."""
        norms = self.gradients[kind.key]
        return norms[-1] / norms[1]

    @property
    def is_within_bound(self) -> bool:
        """Whether k steps back the RNN's gradient is at most the norm to the power k; the last output's is 1."""
        norms = self.gradients[RECURRENT.key]
        return all(norm <= self.recurrent_norm**back * (1 + 1e-9) for back, norm in enumerate(norms))


def recurrent_layer(width: int, norm: float) -> nn.RNN:
    """tanh(W h + U x), W an orthogonal matrix times `norm` and U an orthogonal one, so that their norms are known."""
    layer = nn.RNN(width, width, batch_first=True).double()
    for name, parameter in layer.named_parameters():
        if name.startswith("weight"):
            nn.init.orthogonal_(parameter, gain=norm if name.startswith("weight_hh") else 1.0)
        else:
            nn.init.zeros_(parameter)
    return layer


def gradient_norms(layer: Callable[[Tensor], Tensor], x: Tensor) -> tuple[float, ...]:
    """Norm of the gradient by the input 0, 1, 2... steps back, of the last output in a random direction of length 1."""
    x = x.detach().requires_grad_()
    last = layer(x)[:, -1]
    direction = nn.functional.normalize(torch.randn_like(last), dim=-1)
    (gradient,) = torch.autograd.grad(last, x, direction)
    return tuple(gradient.norm(dim=-1).mean(dim=0).flip(0).tolist())


def measure(sizes: RecurrenceSettings) -> RecurrenceData:
    """The gradients of all four layers over the same inputs."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(sizes.seed)
        width = sizes.width
        x = sizes.input_deviation * torch.randn(sizes.batch, sizes.steps + 1, width, dtype=torch.float64)
        gated, closed = (cell_layers("lstm", width, width, 1, 0.0).double() for _ in range(2))
        biases: Any = closed.bias_ih_l0  # of the input, forget, cell and output gates
        nn.init.constant_(biases.detach().chunk(4)[1], sizes.closed_bias)
        recurrent, attention = recurrent_layer(width, sizes.recurrent_norm), PlainSelfAttention(width).double()
        layers: dict[Variant, Callable[[Tensor], Tensor]] = {
            RECURRENT: lambda x: recurrent(x)[0],
            GATED: lambda x: gated(x)[0],
            CLOSED: lambda x: closed(x)[0],
            ATTENTION: attention,
        }
        gradients = {kind.key: gradient_norms(layer, x) for kind, layer in layers.items()}
    return RecurrenceData(sizes.recurrent_norm, gradients)


def run(sizes: RecurrenceSettings) -> Result:
    data = measure(sizes)
    norm = sizes.recurrent_norm
    claims = (
        Claim(f"the RNN's gradient stays below {norm:g} to the power of the steps", data.is_within_bound),
        Claim(f"after {sizes.steps} steps less than 1 % of it is left", data.kept(RECURRENT) < VANISHED),
        Claim(
            "an LSTM, as models here start it, keeps more than a thousand times that share",
            data.kept(GATED) > FAR_MORE * data.kept(RECURRENT),
        ),
        Claim(
            f"the open gates do that, not the LSTM: with a forget bias of {sizes.closed_bias:g} less than 1 % is left",
            data.kept(CLOSED) < VANISHED,
        ),
        Claim("self-attention gives all earlier positions the like", 0.5 < data.kept(ATTENTION) < 2),
    )
    rows = []
    for kind in KINDS:
        near, *_, far = data.gradients[kind.key][1:]
        rows.append((kind.words, *(f"{value:.3g}" for value in (near, far, data.kept(kind)))))
    table = Figures("norm of the gradient", ("layer", "one step back", f"{sizes.steps} steps back", "share kept"), rows)
    lines = [Series(kind.words, list(enumerate(data.gradients[kind.key]))[1:]) for kind in KINDS]
    lines.append(Series(msg("bound"), [(back, norm**back) for back in range(1, sizes.steps + 1)]))
    chart = Chart("Gradient of the last output", "steps back", "norm of the gradient", tuple(lines), log_y=True)
    return Result(data, claims, (table,), (chart,))
