"""A recurrent language model in one direction or in both, and the classifier on top of it, as in ELMo and ULMFiT.

One stack reads forwards and one backwards, independently, so each layer may predict the token that it has not read yet
(Peters et al. 2018, section 3.1). In the stacks of `nn/recurrent.py` the second layer of each direction reads both
directions of the first, and would know it already.
The start symbol precedes each text, START x_1 ... x_n END, so that both readers have something to begin with: the
forward one has read START when it predicts x_1, the backward one END when it predicts x_n.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from openwork.models.interfaces import EncodingModel, NextTokenModel
from openwork.models.label_model import LabelMatrix, LabelModel, at_places
from openwork.models.recurrent_settings import RecurrentLMSettings
from openwork.nn.dropout import Dropout
from openwork.nn.embedding import initialise, output_matrix, with_start
from openwork.nn.normalisation import real_positions
from openwork.nn.pooling import LinearBlock, greatest_of, mean_of
from openwork.nn.recurrent import RecurrentEncoder, cell_layers, run_cells
from openwork.nn.shapes import Lengths, PlaceVectors, Source, Vectors


class OneDirection(nn.Module):
    """Layers of cells that read in one direction; padding is on the right and is never read before a token."""

    def __init__(self, width: int, layers: int, dropout: float, cell: str = "lstm") -> None:
        super().__init__()
        self.layers = nn.ModuleList(cell_layers(cell, width, width, 1, 0.0) for _ in range(layers))
        self.between = Dropout(dropout)

    def forward(self, x: Vectors) -> list[Vectors]:
        """What each layer knows at each position, the lowest layer first."""
        known: list[Tensor] = []
        for layer in self.layers:
            x, _ = run_cells(layer, self.between(known[-1]) if known else x)
            known.append(x)
        return known


def reversed_rows(x: Vectors, lengths: Lengths) -> Vectors:
    """Each row's first `lengths` vectors in the opposite order; the others keep their places."""
    positions = torch.arange(x.shape[1], device=x.device)
    opposite = lengths[:, None] - 1 - positions
    order = torch.where(opposite >= 0, opposite, positions)
    return x.gather(1, order[:, :, None].expand(-1, -1, x.shape[2]))


class LayerMixture(nn.Module):
    """gamma sum_j s_j h_j with s = softmax(w): what all layers know as one vector (Peters et al. 2018, equation 1).

    At first all layers count alike, and gamma is 1.
    """

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(layers))
        self.scale = nn.Parameter(torch.ones(()))

    @property
    def shares(self) -> Float[Tensor, "layers"]:
        """How much of each layer is taken; they add up to 1."""
        return self.weights.softmax(dim=0)

    def forward(self, layers: list[Vectors]) -> Vectors:
        return self.scale * torch.stack([share * x for share, x in zip(self.shares, layers, strict=True)]).sum(dim=0)


class Topmost(nn.Module):
    """What the last layer knows, and nothing of those below it."""

    def forward(self, layers: list[Vectors]) -> Vectors:
        return layers[-1]


class BidirectionalModel(LabelModel, EncodingModel):
    """An embedding and what reads it; `backwards` is None where texts are read in one direction."""

    def __init__(
        self, embedding: nn.Embedding, forwards: OneDirection, backwards: OneDirection | None, dropout: float
    ) -> None:
        super().__init__(embedding.num_embeddings)
        self.source_embedding = embedding
        self.embedding_dropout = Dropout(dropout)
        self.forwards = forwards
        self.backwards = backwards

    def layers_of(self, source: Source, source_lengths: Lengths) -> list[Float[Tensor, "batch position memory_width"]]:
        """The embeddings of the start symbol and of each token, then what each layer knows at them.

        The numbers of the forward reader come first. Embeddings, which both read, come once for each of them.
        """
        x = self.embedding_dropout(self.source_embedding(with_start(source)))
        there = [x, *self.forwards(x)]
        if self.backwards is None:
            return there
        back = [
            reversed_rows(known, source_lengths + 1) for known in self.backwards(reversed_rows(x, source_lengths + 1))
        ]
        return [torch.cat(both, dim=-1) for both in zip(there, [x, *back], strict=True)]

    def encode(self, source: Source, source_lengths: Lengths) -> Float[Tensor, "batch position memory_width"]:
        """What the last layer knows at the start symbol and then at each source token."""
        return self.layers_of(source, source_lengths)[-1]


class RecurrentLM(BidirectionalModel, NextTokenModel):
    """Predicts each token twice, place after place: x_i by the forward reader, then x_(i-1) by the backward one.

    With one direction there is one place a token. x_0 is START; the last token predicted forwards is END. Both readers
    share the embedding, which is the output matrix too; `bias` is added to the logits.
    """

    def __init__(
        self, embedding: nn.Embedding, forwards: OneDirection, backwards: OneDirection | None, dropout: float
    ) -> None:
        super().__init__(embedding, forwards, backwards, dropout)
        self.output_dropout = Dropout(dropout)
        self.bias = nn.Parameter(torch.zeros(embedding.num_embeddings))

    @property
    def is_bidirectional(self) -> bool:
        return self.backwards is not None

    @property
    def output_weight(self) -> Tensor:
        return self.source_embedding.weight

    def read(self, source: Source, source_lengths: Lengths) -> PlaceVectors:
        known = self.output_dropout(self.encode(source, source_lengths))
        ways = known.chunk(2, dim=-1) if self.is_bidirectional else (known,)
        predicted = [ways[0][:, :-1], *(back[:, 1:] for back in ways[1:])]
        places = torch.stack(predicted, dim=2).flatten(1, 2)
        last = source_lengths.clamp(min=1) * len(ways) - 1  # the last place of a text serves for all after it
        return at_places(places, torch.arange(places.shape[1], device=source.device).minimum(last[:, None]))


class TaskReader(nn.Module):
    """Layers of the task's own in both directions, which read [x_k; ELMo_k] (Peters et al. 2018, section 3.3).

    x_k is an embedding of their own: so the task learns what the language model does not know.
    """

    def __init__(self, vocabulary: int, width: int, features: int, layers: int, dropout: float, cell: str) -> None:
        super().__init__()
        self.source_embedding = nn.Embedding(vocabulary, width)
        self.dropout = Dropout(dropout)
        self.encoder = RecurrentEncoder(width + features, width, layers, dropout, cell)

    def forward(
        self,
        tokens: Int[Tensor, "batch position"],
        features: Float[Tensor, "batch position features"],
        lengths: Lengths,
    ) -> Float[Tensor, "batch position known"]:
        """What both directions know at each token, the forward one first; zero at padding."""
        x = torch.cat([self.source_embedding(tokens), features], dim=-1)
        return self.encoder(self.dropout(x), lengths)[0]


class PoolingClassifier(BidirectionalModel, LabelMatrix):
    """One label for a text, by a head that reads [last; greatest; mean] (Howard and Ruder 2018, section 3.3).

    With `reader` these are of what its layers know, else of the language model's features. What each direction knows in
    the end comes first, then the greatest of each number, then the mean of all tokens. That nothing follows the label
    is predicted from `ending`, a vector of its own, whatever the text.
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        forwards: OneDirection,
        backwards: OneDirection | None,
        features: LayerMixture | Topmost,
        reader: TaskReader | None,
        output: nn.Parameter,
        dropout: float,
    ) -> None:
        super().__init__(embedding, forwards, backwards, dropout)
        self.features = features
        self.reader = reader
        self.width = output.shape[1]
        both = reader is not None or backwards is not None
        self.head = LinearBlock(3 * self.width * (2 if both else 1), self.width, dropout)
        self.ending = nn.Parameter(nn.init.normal_(torch.empty(self.width), std=self.width**-0.5))
        self.set_output(output)

    def known(self, source: Source, source_lengths: Lengths) -> Float[Tensor, "batch position known"]:
        """The input of the head, at the start symbol and then at each source token; the forward half first."""
        features = self.features(self.layers_of(source, source_lengths))
        return features if self.reader is None else self.reader(with_start(source), features, source_lengths + 1)

    def read(self, source: Source, source_lengths: Lengths) -> PlaceVectors:
        known = self.known(source, source_lengths)
        end = at_places(known, source_lengths[:, None])[:, 0]
        last = torch.cat([end[:, : self.width], known[:, 0, self.width :]], dim=-1)
        count = source_lengths + 1
        whole = torch.cat([last, greatest_of(known, count), mean_of(known, count).to(known.dtype)], dim=-1)
        with real_positions(torch.ones(len(source), 1, dtype=torch.bool, device=source.device)):
            predicted = self.head(whole[:, None])
        return torch.cat([predicted, self.ending.expand_as(predicted).to(predicted.dtype)], dim=1)


def build_recurrent_lm(
    settings: RecurrentLMSettings, source_vocabulary: int, target_vocabulary: int
) -> BidirectionalModel:
    """The model in the sizes of `settings`, with fresh weights from torch's generator."""
    s = settings
    embedding = nn.Embedding(source_vocabulary, s.width)
    forwards = OneDirection(s.width, s.layers, s.dropout, s.cell)
    backwards = OneDirection(s.width, s.layers, s.dropout, s.cell) if s.bidirectional else None
    if s.task == "language-model":
        model: BidirectionalModel = RecurrentLM(embedding, forwards, backwards, s.dropout)
    else:
        features = LayerMixture(s.layers + 1) if s.features == "mixture" else Topmost()
        output = output_matrix(target_vocabulary, s.width)
        known, reader = s.width * (2 if s.bidirectional else 1), None
        if s.task_layers:
            reader = TaskReader(source_vocabulary, s.width, known, s.task_layers, s.dropout, s.cell)
        model = PoolingClassifier(embedding, forwards, backwards, features, reader, output, s.dropout)
    return initialise(model)
