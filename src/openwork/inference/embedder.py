"""Embeddings of texts and their similarity (Reimers and Gurevych 2019, "Sentence-BERT").

    embedder = TextEmbedder(load_bundle(path))
    vectors = embedder.embed(["A cat sits on the mat.", "A feline rests."])
    similarity(vectors, vectors)

Any bundle with an encoder gives vectors. Texts of one meaning have similar vectors if the model was trained for that,
as all-MiniLM was.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from openwork.base.errors import UsageError
from openwork.bundles.bundle import Bundle
from openwork.inference.batches import LONGEST, batches, padded
from openwork.models.interfaces import EncodingModel
from openwork.nn.pooling import mean_of

BATCH_TOKENS = 4096  # padded positions that are read together


class TextEmbedder:
    """Embeds texts with a bundle's encoder: the vector of a text is the mean of the vectors of its positions."""

    def __init__(self, bundle: Bundle) -> None:
        if not isinstance(bundle.model, EncodingModel):
            raise UsageError(
                "this model has no vectors of texts",
                why="it has no encoder that reads a text before anything is written",
                hint="take a bundle of a Transformer or of a BERT, such as openwork import hf makes",
                code="U066",
            )
        self.model = bundle.model
        self.tokenizer = bundle.tokenizers.source
        self.device = bundle.model.output_weight.device
        self.maximum_length = min(LONGEST, bundle.model.maximum_length or LONGEST)

    def embed(self, texts: Sequence[str]) -> Float[Tensor, "text width"]:
        """A vector for each text, in the order of the texts, in float32 on the CPU."""
        rows = [row[: self.maximum_length - 1] for row in self.tokenizer.encode_batch(texts)]
        found: dict[int, Tensor] = {}
        with torch.inference_mode():
            for batch in batches({place: len(row) + 1 for place, row in enumerate(rows)}, BATCH_TOKENS):
                source, lengths = padded([rows[place] for place in batch], self.device)
                vectors = self.model.encode(source, lengths)
                extra = vectors.shape[1] - source.shape[1]  # a symbol before the text counts as well
                found |= dict(zip(batch, mean_of(vectors, lengths + extra).cpu(), strict=True))
        return torch.stack([found[place] for place in range(len(texts))]) if found else torch.zeros(0, 0)


def similarity(one: Float[Tensor, "text width"], other: Float[Tensor, "text_too width"]) -> Tensor:
    """Cosine similarities (text, text_too) of all vectors of one with all of the other."""
    return torch.nn.functional.normalize(one, dim=-1) @ torch.nn.functional.normalize(other, dim=-1).T
