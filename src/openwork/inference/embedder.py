"""Vectors of texts, and how alike two texts are by them (Reimers and Gurevych 2019, "Sentence-BERT").

    embedder = TextEmbedder(load_bundle(path))
    vectors = embedder.embed(["A cat sits on the mat.", "A feline rests."])
    similarity(vectors, vectors)

Any bundle with an encoder has such vectors; that texts of one meaning have like ones is learnt, as all-MiniLM has.
"""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from openwork.base.errors import UsageError
from openwork.bundles.bundle import Bundle
from openwork.models.interfaces import EncodingModel
from openwork.nn.pooling import mean_of

BATCH_TOKENS = 4096  # padded positions that are read together
LONGEST = 1024  # pieces of a text, the end symbol included; what is longer is cut there


class TextEmbedder:
    """Reads texts with a bundle's encoder; the vector of a text is the mean of those of its positions."""

    def __init__(self, bundle: Bundle) -> None:
        if not isinstance(bundle.model, EncodingModel):
            raise UsageError(
                "this model has no vectors of texts",
                why="it has no encoder that reads a text before anything is written",
                hint="take a bundle of a Transformer or of a BERT, such as openwork import hf makes",
            )
        self.model = bundle.model
        self.tokenizer = bundle.tokenizers.source
        self.device = bundle.model.output_weight.device
        self.longest = min(LONGEST, bundle.model.longest or LONGEST)

    def embed(self, texts: Sequence[str]) -> Float[Tensor, "text width"]:
        """A vector for each text, in the order of the texts, in float32 on the CPU."""
        rows = [row[: self.longest - 1] for row in self.tokenizer.encode_batch(texts)]
        found: dict[int, Tensor] = {}
        with torch.inference_mode():
            for batch in _batches(rows):
                vectors = self._vectors([rows[place] for place in batch])
                found |= dict(zip(batch, vectors.cpu(), strict=True))
        return torch.stack([found[place] for place in range(len(texts))]) if found else torch.zeros(0, 0)

    def _vectors(self, rows: Sequence[Sequence[int]]) -> Tensor:
        end, pad = self.tokenizer.end_id, self.tokenizer.pad_id
        lengths = torch.tensor([len(row) + 1 for row in rows], device=self.device)
        longest = int(lengths.max())
        source = torch.tensor([[*row, end, *[pad] * (longest - len(row) - 1)] for row in rows], device=self.device)
        vectors = self.model.encode(source, lengths)
        return mean_of(vectors, lengths + vectors.shape[1] - longest)  # a symbol before the text counts as well


def _batches(rows: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Places of rows of like lengths, longest first, within the budget of positions."""
    order = sorted(range(len(rows)), key=lambda place: -len(rows[place]))
    while order:
        room = max(1, BATCH_TOKENS // (len(rows[order[0]]) + 1))
        yield order[:room]
        order = order[room:]


def similarity(one: Float[Tensor, "text width"], other: Float[Tensor, "text_too width"]) -> Tensor:
    """Cosines (text, text_too) of all vectors of one with all of the other: 1 for one direction, 0 at a right angle."""
    return torch.nn.functional.normalize(one, dim=-1) @ torch.nn.functional.normalize(other, dim=-1).T
