"""Text in, labels out: a model that tells labels of a source, with its tokenizers.

The model is asked through start and step alone, for as many places as the task has: what place i of the target is told
to be is one distribution over the labels, however the others are decided.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from openwork.models.interfaces import SequenceModel
from openwork.systems.engine import Engine
from openwork.systems.tasks import Task
from openwork.systems.translation_file import TranslationPrecision
from openwork.text.pair import TokenizerPair
from openwork.text.symbols import SYMBOL_IDS
from openwork.text.word_by_word import WordByWord

BATCH_TOKENS = 4096  # padded source positions that are read together
LONGEST_SOURCE = 1024  # pieces with the end symbol; what is longer is cut there, and flagged


@dataclass(frozen=True)
class Choice:
    """A label and how probable it is, among all labels."""

    label: str
    probability: float


Place = tuple[Choice, ...]
"""The most probable labels of one place of the target, best first."""


@dataclass(frozen=True)
class Labelling:
    """What was told of a text: a place for its label, or one for each word that was read.

    `words` are the text's words where the task has a place for each. `cut`: the text was too long, so that the last of
    its words have none.
    """

    places: tuple[Place, ...]
    words: tuple[str, ...] = ()
    cut: bool = False

    @property
    def best(self) -> list[str]:
        """The best label of each place; a word that was not read has the label <unk>."""
        labels = [place[0].label for place in self.places]
        return labels + [UNREAD] * (len(self.words) - len(labels))


UNREAD = "<unk>"


def _ignore(count: int) -> None:
    """For those who do not watch."""


class Labeller:
    """Tells labels of texts in batches of like lengths; the order of the results is that of the texts."""

    def __init__(
        self,
        model: SequenceModel,
        tokenizers: TokenizerPair,
        task: Task,
        *,
        precision: TranslationPrecision = "float32",
    ) -> None:
        self.engine = Engine(model, precision)
        self.model = model
        self.tokenizers = tokenizers
        self.task: Task = task
        self.longest = min(LONGEST_SOURCE, model.longest or LONGEST_SOURCE)

    def label(
        self, texts: Sequence[str], best: int = 1, *, advanced: Callable[[int], None] = _ignore
    ) -> list[Labelling]:
        """For each text what is told of it, with the `best` most probable labels of each place.

        A text without a visible character has no places. `advanced` is told after each batch how many texts it had.
        """
        rows = self.tokenizers.source.encode_batch(texts)
        found = [Labelling(()) for _ in texts]
        asked = {place: row for place, row in enumerate(rows) if texts[place].strip() and row}
        for batch in self._batches(asked):
            chosen = [asked[place][: self.longest - 1] for place in batch]
            counts = [self._places(row) for row in chosen]
            for place, told in zip(batch, self._told(chosen, counts, best), strict=True):
                words = tuple(texts[place].split()) if self.task == "tag" else ()
                found[place] = Labelling(told, words, len(asked[place]) > self.longest - 1)
            advanced(len(batch))
        return found

    def best(self, texts: Sequence[str]) -> list[str]:
        """The best labels of each text, with spaces between them, as a target has them."""
        return [" ".join(labelling.best) for labelling in self.label(texts)]

    def _places(self, row: Sequence[int]) -> int:
        """How many places the target of these pieces has."""
        source = self.tokenizers.source
        if isinstance(source, WordByWord):
            return sum(source.begins[number] for number in row)
        return 1

    def _batches(self, rows: dict[int, list[int]]) -> Iterator[list[int]]:
        """The numbers of the texts, longest first, within the budget of tokens."""
        batch: list[int] = []
        room = 0
        for place in sorted(rows, key=lambda place: -len(rows[place])):
            if not batch:
                room = max(1, BATCH_TOKENS // (min(len(rows[place]), self.longest - 1) + 1))
            batch.append(place)
            if len(batch) >= room:
                yield batch
                batch = []
        if batch:
            yield batch

    def _told(self, rows: Sequence[list[int]], counts: Sequence[int], best: int) -> Iterator[tuple[Place, ...]]:
        device = next(self.model.parameters()).device
        lengths = torch.tensor([len(row) + 1 for row in rows])
        padded = torch.tensor(
            [[*row, SYMBOL_IDS.end, *[SYMBOL_IDS.pad] * (int(lengths.max()) - len(row) - 1)] for row in rows]
        )
        model = self.engine.ready()
        with torch.inference_mode(), self.engine.computing():
            state = model.start(padded.to(device), lengths.to(device))
            read = torch.full((len(rows), max(counts)), SYMBOL_IDS.start, device=device)
            logits, _ = model.step(read, state)
            probabilities, labels = _most_probable(logits, best)
        name = self.tokenizers.target.piece
        for row, count in enumerate(counts):
            shares, numbers = probabilities[row, :count].tolist(), labels[row, :count].tolist()
            yield tuple(
                tuple(Choice(name(number), share) for number, share in zip(*place, strict=True))
                for place in zip(numbers, shares, strict=True)
            )


def _most_probable(logits: Tensor, best: int) -> tuple[Tensor, Tensor]:
    """Probabilities among the labels alone, and the labels' ids, both (rows, places, best), the greatest first."""
    kept = logits.float().clone()
    kept[..., list((*SYMBOL_IDS.forbidden, SYMBOL_IDS.end))] = -torch.inf
    most = min(best, logits.shape[-1] - len((*SYMBOL_IDS.forbidden, SYMBOL_IDS.end)))
    probabilities, labels = kept.softmax(dim=-1).topk(most, dim=-1)
    return probabilities, labels
