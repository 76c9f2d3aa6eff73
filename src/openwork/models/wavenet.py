"""WaveNet (van den Oord et al. 2016) as a language model: tokens instead of samples of sound."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from openwork.models.convolutional_settings import WaveNetSettings
from openwork.models.interfaces import SequenceModel
from openwork.models.prompts import attention_to_end, in_place_of_start, read_prompts
from openwork.nn.cache import Selectable
from openwork.nn.convolution import Past, dilations
from openwork.nn.dropout import Dropout
from openwork.nn.embedding import TokenEmbedding
from openwork.nn.initialise import initialise, output_matrix
from openwork.nn.shapes import Hidden, Lengths, Source, StepAttention, StepLogits, Tokens
from openwork.nn.wavenet import DilatedLayer, DilatedStack, Real


@dataclass(frozen=True)
class WaveNetState(Selectable):
    """The last inputs of each convolution, and the token that is still to be read (rows); None: it was read.

    `source_size`: positions of the source in this batch, padding included.
    """

    pasts: tuple[Past, ...]
    pending: Tensor | None
    source_lengths: Tensor
    source_size: int


class WaveNet(SequenceModel[WaveNetState]):
    """Continues a prompt; with an empty prompt it writes a text from its beginning.

    `output`, a parameter, is the matrix of the output layer; with tied weights it is the embedding's own.
    """

    def __init__(self, embedding: TokenEmbedding, stack: DilatedStack, output: Tensor, dropout: float) -> None:
        super().__init__()
        self.embedding = embedding
        self.embedding_dropout = Dropout(dropout)
        self.stack = stack
        self.output = output

    @property
    def continues(self) -> bool:
        return True

    def start(self, source: Source, source_lengths: Lengths) -> WaveNetState:
        """Reads START and each prompt but its last token, which is kept pending; the source's end is not read."""
        prompts = read_prompts(source, source_lengths)
        columns = torch.arange(prompts.tokens.shape[1], device=source.device)
        pasts = self._read(prompts.tokens, self.stack.pasts, (columns >= prompts.starts[:, None])[..., None])[1]
        return WaveNetState(pasts, prompts.pending, source_lengths, source.shape[1])

    def advance(self, tokens: Tokens, state: WaveNetState) -> tuple[Hidden, WaveNetState]:
        hidden, pasts = self._read(in_place_of_start(tokens, state.pending), state.pasts)
        return hidden, replace(state, pasts=pasts, pending=None)

    def _read(self, tokens: Tokens, pasts: tuple[Past, ...], real: Real = None) -> tuple[Hidden, tuple[Past, ...]]:
        return self.stack(self.embedding_dropout(self.embedding(tokens)), pasts, real)

    def attend(self, tokens: Tokens, state: WaveNetState) -> tuple[StepLogits, StepAttention, WaveNetState]:
        """There is no attention: all weight is on the place of the source's end."""
        weights = attention_to_end(state.source_lengths, state.source_size, tokens.shape[1])
        logits, state = self.step(tokens, state)
        return logits, weights, state


def build_wavenet(settings: WaveNetSettings, source_vocabulary: int, target_vocabulary: int) -> WaveNet:
    """The model in the sizes of `settings`, with fresh weights from torch's generator; both vocabularies are one."""
    s = settings
    embedding = TokenEmbedding(target_vocabulary, s.width)
    output = embedding.table.weight if s.tying == "three-way" else output_matrix(target_vocabulary, s.width)
    layers = [
        DilatedLayer(s.width, s.skip_width, s.kernel, dilation, s.dropout, is_last=place + 1 == s.layers)
        for place, dilation in enumerate(dilations(s.layers, s.cycle))
    ]
    model = WaveNet(embedding, DilatedStack(s.width, s.kernel, layers, s.dropout), output, s.dropout)
    initialise(model)
    return model
