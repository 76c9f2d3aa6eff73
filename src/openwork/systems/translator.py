"""Text in, text out: a model with its tokenizers and a way to search."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from openwork.decoding.hypothesis import Hypothesis
from openwork.decoding.search import search
from openwork.decoding.settings import DecodingSettings
from openwork.models.interfaces import SequenceModel
from openwork.text.pair import TokenizerPair
from openwork.training.precision import PrecisionName, computing_in

BATCH_TOKENS = 4096  # padded source positions times hypotheses that are searched together
LONGEST_SOURCE = 1024  # tokens; what is longer is cut there, and flagged


@dataclass(frozen=True)
class Translation:
    """One translation. `score` ranks alternatives; `cut` says that the source was too long and lost its end."""

    text: str
    score: float = 0.0
    log_probability: float = 0.0
    finished: bool = True
    cut: bool = False


def _ignore(count: int) -> None:
    """For those who do not watch."""


class Translator:
    """Translates texts in batches of like lengths; the order of the results is that of the texts."""

    def __init__(
        self,
        model: SequenceModel,
        tokenizers: TokenizerPair,
        decoding: DecodingSettings,
        *,
        precision: PrecisionName = "float32",
    ) -> None:
        self.model = model
        self.tokenizers = tokenizers
        self.decoding = decoding
        self.precision: PrecisionName = precision

    @property
    def device(self) -> torch.device:
        """Where the model's weights are."""
        return next(self.model.parameters()).device

    def translate(self, texts: Sequence[str], advanced: Callable[[int], None] = _ignore) -> list[list[Translation]]:
        """For each text its best translations, best first; a text without a visible character gives itself.

        `advanced` is told after each batch how many texts were translated in it.
        """
        results: list[list[Translation]] = [[Translation(text)] * self.decoding.best for text in texts]
        places = [place for place, text in enumerate(texts) if text.strip()]
        encoded = self.tokenizers.source.encode_batch([texts[place] for place in places])
        limit = LONGEST_SOURCE - 1
        sources = {place: ids[:limit] for place, ids in zip(places, encoded, strict=True)}
        cut = {place for place, ids in zip(places, encoded, strict=True) if len(ids) > limit}
        for batch in self._batches(sources):
            for place, hypotheses in zip(batch, self._search([sources[place] for place in batch]), strict=True):
                results[place] = [self._present(hypothesis, place in cut) for hypothesis in hypotheses]
            advanced(len(batch))
        return results

    def best(self, texts: Sequence[str]) -> list[str]:
        """The best translation of each text."""
        return [translations[0].text for translations in self.translate(texts)]

    def _batches(self, sources: dict[int, list[int]]) -> Iterator[list[int]]:
        """Places, longest source first (so that too little memory shows at once), within the token budget."""
        batch: list[int] = []
        longest = 0
        for place in sorted(sources, key=lambda place: -len(sources[place])):
            longest = longest or len(sources[place]) + 1
            if batch and (len(batch) + 1) * longest * self.decoding.beam > BATCH_TOKENS:
                yield batch
                batch, longest = [], len(sources[place]) + 1
            batch.append(place)
        if batch:
            yield batch

    def _search(self, sources: list[list[int]]) -> list[list[Hypothesis]]:
        end, pad = self.tokenizers.source.end_id, self.tokenizers.source.pad_id
        lengths = torch.tensor([len(ids) + 1 for ids in sources])
        longest = int(lengths.max())
        padded = torch.tensor([[*ids, end, *[pad] * (longest - len(ids) - 1)] for ids in sources])
        self.model.eval()
        with torch.inference_mode(), computing_in(self.precision, self.device):
            return search(self.model, padded.to(self.device), lengths.to(self.device), self.decoding)

    def _present(self, hypothesis: Hypothesis, cut: bool) -> Translation:
        # A translation is one line, whatever the model says: line breaks would shift all the lines after it.
        text = " ".join(self.tokenizers.target.decode(hypothesis.tokens).splitlines())
        return Translation(text, hypothesis.score, hypothesis.log_probability, hypothesis.finished, cut)
