"""Text in, labels out: a model that tells labels of a source, with its tokenizers.

The model is asked through start and step alone, for as many places as the task has: what place i of the target is told
to be is one distribution over the labels, however the others are decided.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from openwork.base.symbols import SYMBOL_IDS
from openwork.base.tasks import Task
from openwork.inference.engine import Engine
from openwork.inference.settings import TranslationPrecision
from openwork.models.interfaces import SequenceModel
from openwork.text.pair import TokenizerPair
from openwork.text.word_by_word import WordByWord

BATCH_TOKENS = 4096  # padded source positions that are read together
LONGEST_SOURCE = 1024  # pieces with the end symbol; what is longer is cut there, and flagged
LONGEST_ANSWER = 30  # words, as in Devlin et al.'s published code
SYMBOLS = [*SYMBOL_IDS.forbidden, SYMBOL_IDS.end]


@dataclass(frozen=True)
class Choice:
    """A label and how probable it is, among all labels."""

    label: str
    probability: float


Place = tuple[Choice, ...]
"""The most probable labels of one place of the target, best first."""


@dataclass(frozen=True)
class LabelledText:
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


class Sources:
    """Rows of source ids read by a model in batches of like lengths, and the logits of places of their targets."""

    def __init__(self, model: SequenceModel, precision: TranslationPrecision = "float32") -> None:
        self.engine = Engine(model, precision)
        self.model = model
        self.longest = min(LONGEST_SOURCE, model.longest or LONGEST_SOURCE) - 1  # without the end symbol

    def batches(self, rows: dict[int, list[int]]) -> Iterator[list[int]]:
        """The numbers of the rows, longest first, within the budget of tokens."""
        batch: list[int] = []
        room = 0
        for place in sorted(rows, key=lambda place: -len(rows[place])):
            if not batch:
                room = max(1, BATCH_TOKENS // (min(len(rows[place]), self.longest) + 1))
            batch.append(place)
            if len(batch) >= room:
                yield batch
                batch = []
        if batch:
            yield batch

    def logits(self, rows: Sequence[Sequence[int]], places: int) -> Tensor:
        """Logits (rows, places, vocabulary) of the first places of each target; rows without their end symbols."""
        device = next(self.model.parameters()).device
        lengths = torch.tensor([len(row) + 1 for row in rows])
        longest = int(lengths.max())
        padded = [[*row, SYMBOL_IDS.end, *[SYMBOL_IDS.pad] * (longest - len(row) - 1)] for row in rows]
        model = self.engine.ready()
        with torch.inference_mode(), self.engine.computing():
            state = model.start(torch.tensor(padded, device=device), lengths.to(device))
            read = torch.full((len(rows), places), SYMBOL_IDS.start, device=device)
            return model.step(read, state)[0].float()


class Labeller:
    """Tells labels of texts; the order of the results is that of the texts."""

    def __init__(
        self,
        model: SequenceModel,
        tokenizers: TokenizerPair,
        task: Task,
        *,
        precision: TranslationPrecision = "float32",
    ) -> None:
        self.sources = Sources(model, precision)
        self.tokenizers = tokenizers
        self.task: Task = task

    def label(
        self, texts: Sequence[str], best: int = 1, *, advanced: Callable[[int], None] = _ignore
    ) -> list[LabelledText]:
        """For each text what is told of it, with the `best` most probable labels of each place.

        A text without a visible character has no places. `advanced` is told after each batch how many texts it had.
        """
        rows = self.tokenizers.source.encode_batch(texts)
        found = [LabelledText(()) for _ in texts]
        asked = {place: row for place, row in enumerate(rows) if texts[place].strip() and row}
        longest = self.sources.longest
        for batch in self.sources.batches(asked):
            told = self._told([asked[place][:longest] for place in batch], best)
            for place, places in zip(batch, told, strict=True):
                words = tuple(texts[place].split()) if self.task == "tag" else ()
                found[place] = LabelledText(places, words, len(asked[place]) > longest)
            advanced(len(batch))
        return found

    def best(self, texts: Sequence[str]) -> list[str]:
        """The best labels of each text, with spaces between them, as a target has them."""
        return [" ".join(labelling.best) for labelling in self.label(texts)]

    def _told(self, rows: Sequence[list[int]], best: int) -> Iterator[tuple[Place, ...]]:
        if self.task == "answer":
            for firsts in self.sources.logits(rows, 2):
                yield self._answers(firsts, best)
            return
        counts = [self._places(row) for row in rows]
        for logits, count in zip(self.sources.logits(rows, max(counts)), counts, strict=True):
            yield self.most_probable(logits[:count], best)

    def _places(self, row: Sequence[int]) -> int:
        """How many places the target of these pieces has."""
        source = self.tokenizers.source
        return sum(source.begins[number] for number in row) if isinstance(source, WordByWord) else 1

    def most_probable(self, logits: Tensor, best: int) -> tuple[Place, ...]:
        """The most probable labels of each place, with their probabilities among the labels alone."""
        kept = logits.clone()
        kept[:, SYMBOLS] = -torch.inf
        shares, numbers = kept.softmax(dim=-1).topk(min(best, kept.shape[-1] - len(SYMBOLS)), dim=-1)
        name = self.tokenizers.target.piece
        return tuple(
            tuple(Choice(name(number), share) for number, share in zip(*place, strict=True))
            for place in zip(numbers.tolist(), shares.tolist(), strict=True)
        )

    def _answers(self, logits: Tensor, best: int) -> tuple[Place, ...]:
        """One place, of answers: "first last", or nothing where the source is said to hold none.

        The probability of an answer is that of its first word times that of its last, which is not before it nor too
        far behind it; Devlin et al. 2019, section 4.2.
        """
        kept = logits.clone()
        kept[:, list(SYMBOL_IDS.forbidden)] = -torch.inf
        shares = kept.softmax(dim=-1)
        first, last = shares[:, len(SYMBOLS) :]
        spans = (first[:, None] * last[None, :]).triu().tril(LONGEST_ANSWER - 1)
        values, places = spans.flatten().topk(min(best, spans.numel()))
        size = spans.shape[1]
        found = [
            Choice(f"{place // size} {place % size}", value)
            for place, value in zip(places.tolist(), values.tolist(), strict=True)
        ]
        nothing = Choice("", float(shares[0, SYMBOL_IDS.end]))
        return (tuple(sorted([*found, nothing], key=lambda choice: -choice.probability)[:best]),)
