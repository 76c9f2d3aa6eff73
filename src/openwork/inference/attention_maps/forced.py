"""A source and a translation as a model reads them: the whole translation is one step (teacher forcing)."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.rescore import token_log_probabilities
from openwork.models.interfaces import Seq2SeqModel

BATCH_TOKENS = 4096  # positions of sources and translations that are computed together
Between = Callable[[], None]
"""Called before each pass of the model; it raises where nobody waits for the result any longer."""


def go_on() -> None:
    """Nobody gives up."""


@dataclass(frozen=True, eq=False)
class ForcedTranslation:
    """The model, the source's ids (source) with the end symbol, and the predicted ids (target) of the translation."""

    model: Seq2SeqModel[Any]
    source: Tensor
    output: Tensor
    between: Between = go_on

    @classmethod
    def of(
        cls, model: Seq2SeqModel[Any], source: Sequence[int], output: Sequence[int], between: Between = go_on
    ) -> "ForcedTranslation":
        device = next(model.parameters()).device
        ids, predicted = (torch.tensor(list(one), device=device) for one in (source, output))
        return cls(model.eval(), ids, predicted, between)

    @property
    def given(self) -> Int[Tensor, "target"]:
        """What the decoder reads: the predicted ids, one place later."""
        return torch.cat([self.output.new_tensor([SYMBOL_IDS.start]), self.output[:-1]])

    def lengths(self, rows: int) -> Int[Tensor, "rows"]:
        return torch.full((rows,), len(self.source), device=self.source.device)

    def start(self, sources: Int[Tensor, "rows source"], embedded: Tensor | None = None) -> Any:
        """The state after reading sources of the same length; `embedded` (rows, source, width) replaces their vectors.

        They come before positions are added.
        """
        with _embedded_as(self.model.source_embedding, embedded):
            return self.model.start(sources, self.lengths(len(sources)))

    def logits(self, state: Any, rows: int = 1) -> Float[Tensor, "rows target vocabulary"]:
        self.between()
        return self.model.step(self.given.expand(rows, -1), state)[0]

    def terms(self, sources: Int[Tensor, "rows source"], embedded: Tensor | None = None) -> Tensor:
        """ln p of each piece of the translation (rows, target), in nats."""
        rows = len(sources)
        logits = self.logits(self.start(sources, embedded), rows)
        return token_log_probabilities(logits, self.output.expand(rows, -1))

    @torch.inference_mode()
    def terms_of_many(self, sources: Int[Tensor, "rows source"]) -> Float[Tensor, "rows target"]:
        """The same of any number of sources, in batches."""
        size = max(1, BATCH_TOKENS // (len(self.source) + len(self.output)))
        return torch.cat([self.terms(part) for part in sources.split(size)])


@contextmanager
def _embedded_as(embedding: Any, embedded: Tensor | None) -> Iterator[None]:
    """While the block runs, the embedding gives these vectors."""
    if embedded is None:
        yield
        return
    handle = embedding.register_forward_hook(lambda *_: embedded)
    try:
        yield
    finally:
        handle.remove()
