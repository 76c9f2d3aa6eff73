"""WaveNet (van den Oord et al. 2016, section 2) as a language model: tokens instead of samples of sound."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from openwork.models.convolutional_settings import WaveNetSettings
from openwork.models.interfaces import SequenceModel
from openwork.models.prompts import in_place_of_start, read_prompts
from openwork.nn.cache import Selectable
from openwork.nn.convolution import CausalConvolution, Past, dilations, gated_tanh
from openwork.nn.dropout import Dropout
from openwork.nn.embedding import TokenEmbedding, initialise, output_matrix
from openwork.nn.shapes import Hidden, Lengths, Source, Tokens, Vectors

Real = Bool[Tensor, "rows position 1"] | None
"""True for the positions that are no padding; it comes before a row. None: all."""


def without(x: Vectors, real: Real) -> Vectors:
    """Zeros at padding: what a convolution reads before any row's beginning."""
    return x if real is None else x.masked_fill(~real, 0.0)


class DilatedLayer(nn.Module):
    """z = tanh(W_f * x) sigmoid(W_g * x) (equation 2); x + V z goes on to the next layer, S z skips to the output.

    The two 1 x 1 convolutions V and S are one matrix. The last layer has S alone.
    """

    def __init__(
        self, width: int, skip_width: int, kernel_width: int, dilation: int, dropout: float, *, is_last: bool = False
    ) -> None:
        super().__init__()
        self.convolution = CausalConvolution(width, 2 * width, kernel_width, dilation)
        self.dropout = Dropout(dropout)
        self.skip_width = skip_width
        self.output = nn.Linear(width, skip_width if is_last else skip_width + width)

    def forward(
        self, x: Vectors, real: Real, past: Past
    ) -> tuple[Vectors, Float[Tensor, "rows position skip_width"], Past]:
        """What goes on, what skips, and the past that includes the positions of `x`."""
        inside, past = self.convolution(without(x, real), past)
        made = self.output(self.dropout(gated_tanh(inside)))
        skipped, more = made[..., : self.skip_width], made[..., self.skip_width :]
        return x + more if more.shape[-1] else x, skipped, past


class DilatedStack(nn.Module):
    """A causal convolution, the layers, and max(0, .), 1 x 1, max(0, .) of the sum of what they let skip (figure 4).

    The last 1 x 1 convolution is the output matrix.
    """

    def __init__(self, width: int, kernel_width: int, layers: Sequence[DilatedLayer], dropout: float) -> None:
        super().__init__()
        self.first = CausalConvolution(width, width, kernel_width)
        self.layers = nn.ModuleList(layers)
        self.readout = nn.Linear(layers[0].skip_width, width)
        self.dropout = Dropout(dropout)

    @property
    def pasts(self) -> tuple[Past, ...]:
        """Those of the convolutions before anything was read."""
        return (None,) * (1 + len(self.layers))

    def forward(self, x: Vectors, pasts: tuple[Past, ...], real: Real = None) -> tuple[Vectors, tuple[Past, ...]]:
        """Vectors of the positions after those in the pasts, and the pasts that include them."""
        x, past = self.first(without(x, real), pasts[0])
        grown, total = [past], None
        for layer, past in zip(self.layers, pasts[1:], strict=True):
            x, skipped, past = layer(x, real, past)
            total = skipped if total is None else total + skipped
            grown.append(past)
        assert total is not None
        return self.dropout(torch.relu(self.readout(torch.relu(total)))), tuple(grown)


@dataclass(frozen=True)
class WaveNetState(Selectable):
    """The last inputs of each convolution, and the token that is still to be read (rows); None: it was read."""

    pasts: tuple[Past, ...]
    pending: Tensor | None


class WaveNet(SequenceModel[WaveNetState]):
    """Continues a prompt; with an empty prompt it generates a text from its start."""

    continues = True

    def __init__(self, embedding: TokenEmbedding, stack: DilatedStack, output: Tensor, dropout: float) -> None:
        super().__init__()
        self.embedding = embedding
        self.embedding_dropout = Dropout(dropout)
        self.stack = stack
        self.output = output

    def start(self, source: Source, source_lengths: Lengths) -> WaveNetState:
        """Reads START and each prompt but its last token, which is kept pending; the source's end is not read."""
        prompts = read_prompts(source, source_lengths)
        columns = torch.arange(prompts.tokens.shape[1], device=source.device)
        pasts = self._read(prompts.tokens, self.stack.pasts, (columns >= prompts.starts[:, None])[..., None])[1]
        return WaveNetState(pasts, prompts.pending)

    def advance(self, tokens: Tokens, state: WaveNetState) -> tuple[Hidden, WaveNetState]:
        hidden, pasts = self._read(in_place_of_start(tokens, state.pending), state.pasts)
        return hidden, WaveNetState(pasts, None)

    def _read(self, tokens: Tokens, pasts: tuple[Past, ...], real: Real = None) -> tuple[Hidden, tuple[Past, ...]]:
        return self.stack(self.embedding_dropout(self.embedding(tokens)), pasts, real)


def build_wavenet(settings: WaveNetSettings, source_vocabulary: int, target_vocabulary: int) -> WaveNet:
    """The model in the sizes of `settings`, with fresh weights from torch's generator; both vocabularies are one."""
    s = settings
    embedding = TokenEmbedding(target_vocabulary, s.width)
    output = embedding.table.weight if s.tying == "three-way" else output_matrix(target_vocabulary, s.width)
    layers = [
        DilatedLayer(s.width, s.skip_width, s.kernel, dilation, s.dropout, is_last=place + 1 == s.layers)
        for place, dilation in enumerate(dilations(s.layers, s.cycle))
    ]
    return initialise(WaveNet(embedding, DilatedStack(s.width, s.kernel, layers, s.dropout), output, s.dropout))
