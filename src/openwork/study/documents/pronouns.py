"""Document 002's illustrations of attention, held against the heads of a trained model.

The document has no figures for them, only which word a head attends to. So each of its sentences is shown with how
often a head of the model attends to that word most: in this sentence, and in others of the same form.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from openwork.base.errors import UsageError
from openwork.base.messages import msg
from openwork.bundles.bundle import Bundle
from openwork.inference.explain import check_transformer
from openwork.inference.translator import BatchTranslator
from openwork.inspection.recorder import Recorder
from openwork.inspection.trace import Statement, Step
from openwork.inspection.tracing import trace_forward
from openwork.models.interfaces import SequenceModel
from openwork.study.documents.pronoun_model import SEED, STEPS, Sentence, divided, trained, untrained
from openwork.study.steps import Worked
from openwork.text.tokenizer import Tokenizer

ENOUGH = 0.5  # share of the sentences in which one head must look there
OVER = ("relation", "layer", "head")


@dataclass(frozen=True)
class PronounReader:
    """A model that reads sentences of words; in its texts `separator` is between the words."""

    model: SequenceModel
    tokenizer: Tokenizer
    separator: str

    def text(self, sentence: Sentence) -> str:
        """The sentence as the model is given it."""
        return self.separator.join(sentence.words)

    def forward(self, sentence: Sentence, target: Sequence[int], names: Sequence[str]) -> list[Step]:
        """The steps of a forward pass with these ids, and their names, as the decoder's input."""
        pieces, end = self.tokenizer.encode_pieces(self.text(sentence)), self.tokenizer.end_id
        recorder = Recorder({"source": [*pieces.pieces, self.tokenizer.piece(end)], "target": names})
        trace_forward(self.model, recorder, [*pieces.ids, end], target)
        return recorder.steps

    def word_weights(self, sentence: Sentence) -> np.ndarray:
        """How much of its attention each word gives to each: (layer, head, word, word).

        Of a word of several pieces, weights are summed where it is the key, and averaged where it is the query.
        """
        start = self.tokenizer.start_id
        steps = self.forward(sentence, [start], [self.tokenizer.piece(start)])
        weights = np.stack([step.value for step in steps if is_encoders(step)])
        shares = self._shares(sentence)
        return shares / shares.sum(1, keepdims=True) @ weights @ shares.T

    def _shares(self, sentence: Sentence) -> np.ndarray:
        """How much of each piece's letters belongs to each word: (word, piece); the end symbol belongs to none.

        A piece may hold a space as well, which counts for nothing.
        """
        offsets = self.tokenizer.encode_pieces(self.text(sentence)).offsets
        letters, begin = np.zeros((len(sentence.words), len(offsets) + 1)), 0
        for row, word in zip(letters, sentence.words, strict=True):
            end = begin + len(word)
            row[:-1] = [max(0, min(end, last) - max(begin, first)) for first, last in offsets]
            begin = end + len(self.separator)
        return letters / np.maximum(letters.sum(0), 1)


def is_encoders(step: Step) -> bool:
    """Whether these are the weights of an encoder layer."""
    return step.name.startswith("encoder.") and step.name.endswith("self_attention.weights")


def first_of_all(between_words: np.ndarray, query: int, key: int) -> np.ndarray:
    """(layer, head): whether of all words but itself the query attends most to the key."""
    others = np.delete(between_words[:, :, query], query, axis=-1)
    return between_words[:, :, query, key] >= others.max(-1)


def have_heads_of_their_own(found: np.ndarray) -> bool:
    """Whether each relation can be given a head that no other has; found: (relation, head), what each head shows.

    By Hall's theorem (1935): if and only if any number of relations together have at least as many heads.
    """
    groups = (list(rows) for count in range(1, len(found) + 1) for rows in combinations(range(len(found)), count))
    return all(found[rows].any(0).sum() >= len(rows) for rows in groups)


class Relation(NamedTuple):
    """A head attends from one part of a sentence to another, and the document's sentence about it."""

    section: str
    query: str
    key: str
    sentence: str

    def places(self, sentence: Sentence) -> tuple[int, int]:
        """Which words of the sentence these are."""
        return sentence.parts[self.query], sentence.parts[self.key]


class Counts(NamedTuple):
    """In how many of `total` sentences a head attends there more than to any other word: (relation, layer, head).

    `before`: the same of first weights.
    """

    after: np.ndarray
    before: np.ndarray
    total: int

    @property
    def shown(self) -> np.ndarray:
        """Which heads bear a relation out."""
        return (self.after >= ENOUGH * self.total) & (self.after > self.before.max((1, 2), keepdims=True))


def cat_dog(bundle: Bundle | None = None) -> Worked:
    """Section 2.1: 它 and the animal that it refers to. Without a bundle, a model is trained first."""
    relations = (
        Relation("002, 2.1", "pronoun", "subject", "a head attends from 它 to 猫 more than to any other word"),
        Relation("002, 2.1", "pronoun", "object", "a head attends from 它 to 狗 more than to any other word"),
    )
    return _worked(divided().animals, relations, bundle)


def xiaoming(bundle: Bundle | None = None) -> Worked:
    """Section 4.1: four heads and their relations. Without a bundle, a model is trained first."""
    relations = (
        Relation("002, 4.1", "subject", "verb", "head 1 goes from the subject to its verb, from 小明 to 吃"),
        Relation("002, 4.1", "pronoun", "subject", "head 2 goes from the pronoun to who is meant, from 他 to 小明"),
        Relation("002, 4.1", "object", "mood", "head 3 goes from the cause to the effect, from 苹果 to 开心"),
        Relation("002, 4.1", "place", "verb", "head 4 goes from the place to what is done there, from 公园 to 吃"),
    )
    return _worked(divided().people, relations, bundle, own_heads=True)


def _worked(
    sentences: Sequence[Sentence], relations: Sequence[Relation], bundle: Bundle | None, *, own_heads: bool = False
) -> Worked:
    """The document's sentence comes first. `own_heads`: it also says that each relation has a head of its own."""
    if bundle is not None:
        _check(bundle, "".join(sentences[0].words))
    used, own = bundle or trained(), sentences[0]
    reader = PronounReader(used.model, used.tokenizers.source, " " if bundle is None else "")
    first_weights = replace(reader, model=untrained(used))
    after, before = (_counted(one, sentences, relations) for one in (reader, first_weights))
    counts = Counts(after, before, len(sentences))
    said = [_said(counts, row, relation) for row, relation in enumerate(relations)]
    if own_heads:
        shown = counts.shown.reshape(len(relations), -1)
        said.append(
            Statement(
                "002, 4.1",
                "each of the four relations has a head of its own",
                have_heads_of_their_own(shown),
                f"{shown.any(1).sum()} of the {len(shown)} are borne out",
            )
        )
    between_words, places = reader.word_weights(own), [relation.places(own) for relation in relations]
    weights = np.stack([between_words[:, :, query, key] for query, key in places])
    labels = {"relation": tuple(f"{own.words[query]}→{own.words[key]}" for query, key in places)}
    encoder = tuple(f"encoder.layers.{layer}.self_attention.weights" for layer in range(len(between_words)))
    read, first = f"{__name__}.PronounReader.word_weights", f"{__name__}.first_of_all"
    steps = (
        *_attention_steps(reader, used, own),
        Step("relations", "How much the one word takes from the other", "sum of the weights of a word's pieces",
             weights, OVER, encoder, read, "", labels),
        Step("counts.untrained", "In how many such sentences the head attends there most, before training", "count",
             before, OVER, (), first, "", labels),
        Step("counts", "In how many such sentences the head attends there more than to any other word", "count",
             after, OVER, (), first, "", labels, said=tuple(said)),
    )  # fmt: skip
    return Worked(steps, tuple(_assumption_lines(reader, used, sentences, bundle is None)))


def _check(bundle: Bundle, text: str) -> None:
    check_transformer(bundle)
    language, tokenizer = bundle.settings.source_language or "zh", bundle.tokenizers.source
    if not language.startswith("zh") or tokenizer.unknown_id in tokenizer.encode(text):
        raise UsageError(
            "this example is a Chinese sentence, and the bundle does not read Chinese",
            hint="give a bundle that translates from Chinese; without --bundle a small model is trained on the spot",
            code="U049",
        )


def _counted(reader: PronounReader, sentences: Sequence[Sentence], relations: Sequence[Relation]) -> np.ndarray:
    found = []
    for sentence in sentences:
        between_words = reader.word_weights(sentence)
        found.append([first_of_all(between_words, *relation.places(sentence)) for relation in relations])
    return np.sum(found, axis=0)


def _attention_steps(reader: PronounReader, bundle: Bundle, own: Sentence) -> list[Step]:
    """What all heads make of the document's own sentence: self-attention layer by layer, the last cross-attention."""
    target = bundle.tokenizers.target
    ids = [target.start_id, *BatchTranslator.of(bundle).translate([reader.text(own)])[0][0].pieces]
    steps = reader.forward(own, ids, [target.piece(one) for one in ids])
    cross = [step for step in steps if step.name.endswith("cross_attention.weights")]
    return [replace(step, inputs=()) for step in (*filter(is_encoders, steps), cross[-1])]


def _said(counts: Counts, row: int, relation: Relation) -> Statement:
    own = counts.after[row]
    layer, head = np.unravel_index(own.argmax(), own.shape)
    return Statement(
        relation.section,
        relation.sentence,
        bool(counts.shown[row].any()),
        f"most often layer {layer}, head {head}: in {own.max()} of {counts.total} sentences; before training, a head "
        f"in {counts.before[row].max()}",
    )


def _assumption_lines(
    reader: PronounReader, bundle: Bundle, sentences: Sequence[Sentence], ours: bool
) -> Iterator[str]:
    texts = [reader.text(sentence) for sentence in sentences]
    made = BatchTranslator.of(bundle).best(texts)
    right = sum(translation == sentence.target for translation, sentence in zip(made, sentences, strict=True))
    if ours:
        yield msg(
            f"The model was trained on the spot: seed {SEED}, {STEPS} updates, {len(divided().training)} sentences of "
            "a small grammar from Chinese to German, where 它 becomes er, sie or es."
        )
        yield msg(
            f"Of {len(texts)} such sentences that it has never seen, those shown among them, it translates {right} "
            "without a mistake. Between the words are spaces."
        )
    else:
        yield msg(
            f"The model is the bundle's. Besides the document's sentence it reads {len(texts) - 1} of the same form."
        )
        yield msg(
            "Where a word has several pieces, their weights are summed where it is the key, and averaged where it is "
            "the query."
        )
    yield msg(f"It translates {texts[0]} as: {made[0]}")
    yield msg(f"and {texts[1]} as: {made[1]}")
    yield msg(
        f"A statement is borne out where one head attends that way in {ENOUGH:.0%} of the sentences, and in more than "
        "any head with random first weights. A head that attends at random does so in one of "
        f"{len(sentences[0].words) - 1}."
    )
    yield msg("Weights show what is mixed with what; that a head attends to a word does not prove that it matters.")
