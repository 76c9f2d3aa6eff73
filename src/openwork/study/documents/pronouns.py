"""Document 002's illustrations of attention, held against the heads of a trained model.

The document has no figures for them, only which word a head attends to. So each of its sentences is shown with how
often a head of the model attends to that word most: in this sentence, and in others of the same form.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from openwork.base.messages import msg
from openwork.bundles.bundle import Bundle
from openwork.inference.translator import BatchTranslator
from openwork.inspection.recorder import Recorder
from openwork.inspection.trace import Statement, Step
from openwork.inspection.tracing import trace_forward
from openwork.models.interfaces import SequenceModel
from openwork.study.documents.pronoun_model import SEED, STEPS, Sentence, divided, trained, untrained
from openwork.study.steps import Worked

ENOUGH = 0.5  # share of the sentences in which one head must look there
OVER = ("relation", "layer", "head")


def forward(
    bundle: Bundle, model: SequenceModel, sentence: Sentence, target: Sequence[int] | None = None
) -> list[Step]:
    """The steps of a forward pass of `model`, which has the bundle's vocabularies.

    `target`: ids of the decoder's input, by default the start symbol alone.
    """
    source, target_side = bundle.tokenizers.source, bundle.tokenizers.target
    ids, read = [*source.encode(text_of(sentence)), source.end_id], target or [target_side.start_id]
    names = {"source": [source.piece(one) for one in ids], "target": [target_side.piece(one) for one in read]}
    recorder = Recorder(names)  # type: ignore[arg-type]
    trace_forward(model, recorder, ids, read)
    return recorder.steps


def text_of(sentence: Sentence) -> str:
    """The sentence as the model is given it; each word is a piece."""
    return " ".join(sentence.words)


def word_weights(bundle: Bundle, model: SequenceModel, sentence: Sentence) -> np.ndarray:
    """How much of its attention each word gives to each: (layer, head, word, word). The end symbol is left out."""
    return np.stack([step.value for step in forward(bundle, model, sentence) if is_encoders(step)])[..., :-1, :-1]


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


def cat_dog() -> Worked:
    """Section 2.1: 它 and the animal that it refers to."""
    relations = (
        Relation("002, 2.1", "pronoun", "subject", "a head attends from 它 to 猫 more than to any other word"),
        Relation("002, 2.1", "pronoun", "object", "a head attends from 它 to 狗 more than to any other word"),
    )
    return _worked(divided().animals, relations)


def xiaoming() -> Worked:
    """Section 4.1: four heads and their relations."""
    relations = (
        Relation("002, 4.1", "subject", "verb", "head 1 goes from the subject to its verb, from 小明 to 吃"),
        Relation("002, 4.1", "pronoun", "subject", "head 2 goes from the pronoun to who is meant, from 他 to 小明"),
        Relation("002, 4.1", "object", "mood", "head 3 goes from the cause to the effect, from 苹果 to 开心"),
        Relation("002, 4.1", "place", "verb", "head 4 goes from the place to what is done there, from 公园 to 吃"),
    )
    return _worked(divided().people, relations, own_heads=True)


def _worked(sentences: Sequence[Sentence], relations: Sequence[Relation], *, own_heads: bool = False) -> Worked:
    """The document's sentence comes first. `own_heads`: it also says that each relation has a head of its own."""
    bundle, own = trained(), sentences[0]
    after, before = (_counted(bundle, one, sentences, relations) for one in (bundle.model, untrained(bundle)))
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
    between_words = word_weights(bundle, bundle.model, own)
    places = [relation.places(own) for relation in relations]
    weights = np.stack([between_words[:, :, query, key] for query, key in places])
    labels = {"relation": tuple(f"{own.words[query]}→{own.words[key]}" for query, key in places)}
    encoder = tuple(f"encoder.layers.{layer}.self_attention.weights" for layer in range(len(between_words)))
    read, first = f"{__name__}.word_weights", f"{__name__}.first_of_all"
    steps = (
        *_attention_steps(bundle, own),
        Step("relations", "How much the one word takes from the other", "the weight between them",
             weights, OVER, encoder, read, "", labels),
        Step("counts.untrained", "In how many such sentences the head attends there most, before training", "count",
             before, OVER, (), first, "", labels),
        Step("counts", "In how many such sentences the head attends there more than to any other word", "count",
             after, OVER, (), first, "", labels, said=tuple(said)),
    )  # fmt: skip
    return Worked(steps, tuple(_assumption_lines(bundle, sentences)))


def _counted(
    bundle: Bundle, model: SequenceModel, sentences: Sequence[Sentence], relations: Sequence[Relation]
) -> np.ndarray:
    found = []
    for sentence in sentences:
        between_words = word_weights(bundle, model, sentence)
        found.append([first_of_all(between_words, *relation.places(sentence)) for relation in relations])
    return np.sum(found, axis=0)


def _attention_steps(bundle: Bundle, own: Sentence) -> list[Step]:
    """What all heads make of the document's own sentence: self-attention layer by layer, the last cross-attention."""
    ids = [bundle.tokenizers.target.start_id, *BatchTranslator.of(bundle).translate([text_of(own)])[0][0].pieces]
    steps = forward(bundle, bundle.model, own, ids)
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


def _assumption_lines(bundle: Bundle, sentences: Sequence[Sentence]) -> Iterator[str]:
    texts = list(map(text_of, sentences))
    made = BatchTranslator.of(bundle).best(texts)
    right = sum(translation == sentence.target for translation, sentence in zip(made, sentences, strict=True))
    yield msg(
        f"The model was trained on the spot: seed {SEED}, {STEPS} updates, {len(divided().training)} sentences of "
        "a small grammar from Chinese to German, where 它 becomes er, sie or es."
    )
    yield msg(
        f"Of {len(texts)} such sentences that it has never seen, those shown among them, it translates {right} "
        "without a mistake. Between the words are spaces."
    )
    yield msg(f"It translates {texts[0]} as: {made[0]}")
    yield msg(f"and {texts[1]} as: {made[1]}")
    yield msg(
        f"A statement is borne out where one head attends that way in {ENOUGH:.0%} of the sentences, and in more than "
        "any head with random first weights. A head that attends at random does so in one of "
        f"{len(sentences[0].words) - 1}."
    )
    yield msg("Weights show what is mixed with what; that a head attends to a word does not prove that it matters.")
