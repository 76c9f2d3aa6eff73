"""Labels and gaps of texts: classification, tagging, question answering and mask filling.

The model gives the distribution over labels at each place of the target with one call of start and step; no place
depends on the label of another.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

from openwork.base.errors import UsageError
from openwork.base.lines import OnProgress, ignore_progress
from openwork.base.printing import json_text
from openwork.base.symbols import SYMBOL_IDS
from openwork.base.tasks import COMMANDS, Task, task_of
from openwork.bundles.bundle import Bundle
from openwork.inference.batches import SourceBatches, batches, batches_of
from openwork.inference.engine import Engine
from openwork.inference.filters.lines import Answer, LineFilter
from openwork.inference.settings import TranslationPrecision
from openwork.metrics.labels import spans
from openwork.models.interfaces import MaskedModel, SequenceModel
from openwork.text.forms import WordLevelTokenizer
from openwork.text.pair import TokenizerPair
from openwork.text.tokenizer import Tokenizer

BATCH_TOKENS = 4096  # padded source positions that are read together
LONGEST_ANSWER = 30  # words, as in Devlin et al.'s published code
SYMBOLS = [*SYMBOL_IDS.forbidden, SYMBOL_IDS.end]
NO_LABEL = "<unk>"
T = TypeVar("T")


@dataclass(frozen=True)
class Choice:
    """A label, its probability among all labels, and its number."""

    label: str
    probability: float
    number: int = -1


Place = tuple[Choice, ...]
"""The most probable labels of one place of the target, best first."""


@dataclass(frozen=True)
class LabelledText:
    """The labels of a text: one place for the text, or one for each word that was read.

    `words` are the text's words where the task has a place for each. `cut`: the text was too long, so that its last
    words have no place.
    """

    places: tuple[Place, ...]
    words: tuple[str, ...] = ()
    cut: bool = False

    @property
    def best(self) -> list[str]:
        """The best label of each place; <unk> for a word that was not read."""
        labels = [place[0].label for place in self.places]
        return labels + [NO_LABEL] * (len(self.words) - len(labels))


class TargetLogits:
    """The logits that a model gives at places of the targets of many sources; `sources` makes batches of these."""

    def __init__(
        self, model: SequenceModel, sources: SourceBatches, precision: TranslationPrecision = "float32"
    ) -> None:
        self.engine = Engine(model, precision)
        self.sources = sources
        self.maximum_length = min(sources.longest, model.maximum_length or sources.longest) - sources.ends

    def each(
        self, rows: dict[int, Any], predict: Callable[[list[Any]], Iterable[T]], advanced: OnProgress
    ) -> Iterator[tuple[int, T, bool]]:
        """The key of each row, what `predict` makes of it among rows of like lengths, and whether it was cut.

        A row is cut to what the model can read. `advanced` gets the number of rows of each batch.
        """
        lengths = {place: min(len(row), self.maximum_length) + self.sources.ends for place, row in rows.items()}
        for batch in batches(lengths, BATCH_TOKENS):
            kept = [rows[place][: self.maximum_length] for place in batch]
            for place, row, found in zip(batch, kept, predict(kept), strict=True):
                yield place, found, len(rows[place]) > len(row)
            advanced(len(batch))

    def of(self, rows: Sequence[Any], places: int) -> Tensor:
        """Logits (rows, places, vocabulary) of the first places of each target; rows without their end symbols."""
        model, device = self.engine.ready(), self.engine.device
        with torch.inference_mode(), self.engine.computing():
            state = model.start(*self.sources.padded(rows, device))
            return model.step(torch.full((len(rows), places), SYMBOL_IDS.start, device=device), state)[0].float()


def most_probable(logits: Tensor, best: int, name: Callable[[int], str]) -> tuple[Place, ...]:
    """The most probable labels of each place, with their probabilities among the labels alone."""
    kept = logits.clone()
    kept[:, SYMBOLS] = -torch.inf
    shares, numbers = kept.softmax(dim=-1).topk(min(best, kept.shape[-1] - len(SYMBOLS)), dim=-1)
    return tuple(
        tuple(Choice(name(number), share, number) for number, share in zip(*place, strict=True))
        for place in zip(numbers.tolist(), shares.tolist(), strict=True)
    )


class Labeller:
    """Predicts labels of sources, texts or what else the model reads; the results are in their order."""

    def __init__(
        self, model: SequenceModel, tokenizers: TokenizerPair, task: Task, precision: TranslationPrecision = "float32"
    ) -> None:
        self.logits = TargetLogits(model, batches_of(tokenizers.encoder), precision)
        self.tokenizers = tokenizers
        self.task: Task = task

    def label(
        self, texts: Sequence[Any], best: int = 1, *, advanced: OnProgress = ignore_progress
    ) -> list[LabelledText]:
        """The labels of each text: the `best` most probable ones of each place.

        A text without a visible character has no places. `advanced` gets the number of texts of each batch.
        """
        found = [LabelledText(()) for _ in texts]
        for rows in self._rows(texts):
            for place, places, cut in self.logits.each(rows, partial(self._places, best=best), advanced):
                words = tuple(texts[place].split()) if self.task == "tag" else ()
                found[place] = LabelledText(places, words, cut)
        return found

    def _rows(self, texts: Sequence[Any]) -> Iterator[dict[int, Any]]:
        """What the model reads of the texts, by their places: of texts all at once, of pictures as many as fit."""
        encoder = self.tokenizers.encoder
        places = [place for place, text in enumerate(texts) if not isinstance(text, str) or text.strip()]
        size = len(places) if encoder.numbers is None else encoder.at_once
        for first in range(0, len(places), max(size, 1)):
            part = places[first : first + size]
            encoded = encoder.encode_batch([texts[place] for place in part])
            yield {place: row for place, row in zip(part, encoded, strict=True) if len(row)}

    def best(self, texts: Sequence[Any]) -> list[str]:
        """The best labels of each text, with spaces between them, as a target has them."""
        return [" ".join(labelled.best) for labelled in self.label(texts)]

    def _places(self, rows: Sequence[Any], best: int) -> Iterator[tuple[Place, ...]]:
        if self.task == "answer":
            yield from (self._answers(ends, best) for ends in self.logits.of(rows, 2))
            return
        source = self.tokenizers.encoder
        begins = source.begins if isinstance(source, WordLevelTokenizer) else None
        counts = [1 if begins is None else sum(begins[piece] for piece in row) for row in rows]
        for logits, count in zip(self.logits.of(rows, max(counts)), counts, strict=True):
            yield most_probable(logits[:count], best, self.tokenizers.target.piece)

    def _answers(self, logits: Tensor, best: int) -> tuple[Place, ...]:
        """One place, of answers: "first last", or nothing where the source holds none.

        The probability of an answer is that of its first word times that of its last, which is neither before it nor
        too far behind it; Devlin et al. 2019, section 4.2.
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


GAP = "[MASK]"


@dataclass(frozen=True)
class Filled:
    """A text with its gaps filled by the best pieces, and for each gap the most probable ones. `cut`: was too long."""

    text: str
    gaps: tuple[Place, ...] = ()
    cut: bool = False


class GapFiller:
    """Fills the gaps of texts. Each gap is one piece, predicted independently of the others."""

    def __init__(self, model: SequenceModel, tokenizer: Tokenizer, mask_piece: int) -> None:
        self.logits = TargetLogits(model, batches_of(tokenizer))
        self.tokenizer = tokenizer
        self.mask_piece = mask_piece

    def fill(self, texts: Sequence[str], best: int = 1, *, advanced: OnProgress = ignore_progress) -> list[Filled]:
        """Each text with its gaps filled; a text without a gap gives itself."""
        found = [Filled(text) for text in texts]
        rows = {place: self._row(text) for place, text in enumerate(texts) if GAP in text}
        for place, (text, gaps), cut in self.logits.each(rows, partial(self._filled, best=best), advanced):
            found[place] = Filled(text, gaps, cut)
        return found

    def _row(self, text: str) -> list[int]:
        """The ids of a text; a space before a gap belongs to the piece that is missing."""
        *before, after = text.split(GAP)
        rows = self.tokenizer.encode_batch([*(part.removesuffix(" ") for part in before), after])
        return [piece for part in rows for piece in (self.mask_piece, *part)][1:]

    def _filled(self, rows: Sequence[list[int]], best: int) -> Iterator[tuple[str, tuple[Place, ...]]]:
        for row, logits in zip(rows, self.logits.of(rows, max(map(len, rows))), strict=True):
            places = [place for place, piece in enumerate(row) if piece == self.mask_piece]
            gaps = most_probable(logits[places], best, self.tokenizer.piece)
            whole = list(row)
            for place, choices in zip(places, gaps, strict=True):
                whole[place] = choices[0].number
            yield " ".join(self.tokenizer.decode(whole).splitlines()), gaps


def label_filter(bundle: Bundle, path: Path, wanted: Task, best: int, *, as_json: bool) -> LineFilter:
    """The filter of the bundle at `path`: the best labels alone, or the `best` most probable ones of each place.

    UsageError where the model was trained for another task than `wanted`.
    """
    task = task_of(bundle.settings.model)
    if task != wanted:
        raise UsageError(
            f"{path}: the model was trained for the task {task}, not {wanted}",
            hint=f"{COMMANDS[task]} is for it, or name another bundle",
            code="U067",
        )
    model = bundle.model
    if task == "fill" and isinstance(model, MaskedModel):
        run = GapFiller(model, bundle.tokenizers.source, model.mask_piece).fill
        line: Callable[[str, Any], str] = partial(_filled_text, best=best, as_json=as_json)
    else:
        run = Labeller(model, bundle.tokenizers, task).label
        line = partial(json_line, task) if as_json else partial(text_line, task, best=best)

    def answer(text: str, found: Any) -> Answer:
        return Answer(line(text, found), ["too long for the model, its end was left out"] if found.cut else [])

    return LineFilter(lambda texts, _: run(texts, best), answer)


def text_line(task: Task, text: str, found: LabelledText, best: int) -> str:
    """The labels with spaces between, or an answer's words; of several also probabilities, with tabs between places."""
    if best == 1:
        return answer_text(text, " ".join(found.best)) if task == "answer" else " ".join(found.best)
    if task == "answer":
        choices = [choice for place in found.places for choice in place]
        return "\t".join(f"{choice.probability:.4f} {answer_text(text, choice.label)}" for choice in choices)
    return "\t".join(_shown(place) for place in found.places)


def _shown(place: Place) -> str:
    return " ".join(f"{choice.probability:.4f} {choice.label.strip()}" for choice in place)


def answer_text(text: str, label: str) -> str:
    """The words of a text from the first number to the last; nothing for no numbers."""
    if not label:
        return ""
    first, last = map(int, label.split())
    return " ".join(text.split()[first : last + 1])


def json_line(task: Task, text: str, found: LabelledText) -> str:
    """One object: the text, whether it was cut, and its labels, its answers, or its words and spans."""
    values: dict[str, Any] = {"source": text, "cut": found.cut}
    first = found.places[0] if found.places else ()
    match task:
        case "tag":
            pairs = zip(found.words, [*found.places, *[()] * (len(found.words) - len(found.places))], strict=True)
            values["words"] = [{"word": word, "labels": _choices(place)} for word, place in pairs]
            values["spans"] = [
                {**span._asdict(), "text": answer_text(text, f"{span.first} {span.last}")} for span in spans(found.best)
            ]
        case "answer":
            values["answers"] = [
                {"text": answer_text(text, choice.label), "words": choice.label, "probability": choice.probability}
                for choice in first
            ]
        case _:
            values["labels"] = _choices(first)
    return json_text(values)


def _choices(place: Place) -> list[dict[str, Any]]:
    return [{"label": choice.label, "probability": choice.probability} for choice in place]


def _filled_text(text: str, found: Filled, best: int, *, as_json: bool) -> str:
    """The text with its gaps filled; of several pieces, those of each gap."""
    if as_json:
        gaps = [_choices(place) for place in found.gaps]
        return json_text({"source": text, "cut": found.cut, "text": found.text, "gaps": gaps})
    return found.text if best == 1 else "\t".join(_shown(place) for place in found.gaps)
