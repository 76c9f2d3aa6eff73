"""Document 002's illustrations of attention, held against the heads of a trained model.

The document has no figures for them, only which word a head looks at. So beside each of its sentences stands how often
a head of the model looks there: in this sentence, and in others of the same form.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from openwork.base.errors import UsageError
from openwork.bundles.bundle import Bundle
from openwork.inference.explain import check_transformer
from openwork.inference.translator import BatchTranslator
from openwork.inspection.trace import Statement, Step, Trace
from openwork.study.documents import EXAMPLES
from openwork.study.documents.pronoun_heads import PronounReader, first_of_all, have_heads_of_their_own, is_encoders
from openwork.study.documents.pronoun_model import STEPS, trained, untrained
from openwork.study.documents.pronoun_sentences import SEED, Sentence, divided
from openwork.study.documents.verdicts import assumed

ENOUGH = 0.5  # share of the sentences in which one head must look there
OVER = ("relation", "layer", "head")
LOOKS = f"{PronounReader.__module__}.{PronounReader.looks.__qualname__}"
FIRST = f"{first_of_all.__module__}.{first_of_all.__qualname__}"


class Relation(NamedTuple):
    """That a head looks from one part of a sentence to another, and what the document says of it."""

    section: str
    query: str
    key: str
    sentence: str

    def places(self, sentence: Sentence) -> tuple[int, int]:
        """Which words of the sentence these are."""
        return sentence.parts[self.query], sentence.parts[self.key]


@dataclass(frozen=True)
class Illustration:
    """An example: the document's sentence and others of its form, and what the document says of heads."""

    name: str
    sentences: Sequence[Sentence]
    relations: Sequence[Relation]
    own_heads: bool = False  # the document also says that each relation has a head of its own


@dataclass(frozen=True)
class Counts:
    """In how many of `total` sentences a head looks there more than at any other word: (relation, layer, head).

    `before`: the same of first weights.
    """

    after: np.ndarray
    before: np.ndarray
    total: int

    @property
    def shown(self) -> np.ndarray:
        """Which heads bear a relation out."""
        return (self.after >= ENOUGH * self.total) & (self.after > self.before.max((1, 2), keepdims=True))


def cat_dog(bundle: Bundle | None = None) -> Trace:
    """Section 2.1: 它 and the animal that it stands for. Without a bundle, a model is trained first."""
    relations = (
        Relation("002, 2.1", "pronoun", "subject", "a head looks from 它 to 猫 more than to any other word"),
        Relation("002, 2.1", "pronoun", "object", "a head looks from 它 to 狗 more than to any other word"),
    )
    return _trace(Illustration("002-cat-dog", divided().animals, relations), bundle)


def xiaoming(bundle: Bundle | None = None) -> Trace:
    """Section 4.1: four heads and their relations. Without a bundle, a model is trained first."""
    relations = (
        Relation("002, 4.1", "subject", "verb", "head 1 goes from the subject to its verb, from 小明 to 吃"),
        Relation("002, 4.1", "pronoun", "subject", "head 2 goes from the pronoun to who is meant, from 他 to 小明"),
        Relation("002, 4.1", "object", "mood", "head 3 goes from the cause to the effect, from 苹果 to 开心"),
        Relation("002, 4.1", "place", "verb", "head 4 goes from the place to what is done there, from 公园 to 吃"),
    )
    return _trace(Illustration("002-xiaoming", divided().people, relations, own_heads=True), bundle)


def _trace(illustration: Illustration, bundle: Bundle | None) -> Trace:
    sentences = illustration.sentences
    if bundle is not None:
        _check(bundle, "".join(sentences[0].words))
    used = bundle or trained()
    reader = PronounReader(used.model, used.tokenizers.source, " " if bundle is None else "")
    beginner = replace(reader, model=untrained(used))
    counts = Counts(_counted(reader, illustration), _counted(beginner, illustration), len(sentences))
    shown = _attention_steps(reader, used, sentences[0])
    steps = (*shown, *_relation_steps(illustration, reader, counts, [step.name for step in shown if is_encoders(step)]))
    title = EXAMPLES[illustration.name].title
    return Trace(illustration.name, title, steps, _assumptions(reader, used, sentences, bundle is None))


def _check(bundle: Bundle, text: str) -> None:
    check_transformer(bundle)
    language, tokenizer = bundle.settings.source_language or "zh", bundle.tokenizers.source
    if not language.startswith("zh") or tokenizer.unknown_id in tokenizer.encode(text):
        raise UsageError(
            "this example is a Chinese sentence, and the bundle does not read Chinese",
            hint="give a bundle that translates from Chinese; without --bundle a small model is trained on the spot",
            code="U049",
        )


def _counted(reader: PronounReader, illustration: Illustration) -> np.ndarray:
    found = []
    for sentence in illustration.sentences:
        looks = reader.looks(sentence)
        found.append([first_of_all(looks, *relation.places(sentence)) for relation in illustration.relations])
    return np.sum(found, axis=0)


def _attention_steps(reader: PronounReader, bundle: Bundle, own: Sentence) -> list[Step]:
    """What all heads make of the document's own sentence: self-attention layer by layer, the last cross-attention."""
    target = bundle.tokenizers.target
    ids = [target.start_id, *BatchTranslator.of(bundle).translate([reader.text(own)])[0][0].pieces]
    steps = reader.forward(own, ids, [target.piece(one) for one in ids])
    cross = [step for step in steps if step.name.endswith("cross_attention.weights")]
    return [replace(step, inputs=()) for step in (*filter(is_encoders, steps), cross[-1])]


def _relation_steps(
    illustration: Illustration, reader: PronounReader, counts: Counts, made_from: Sequence[str]
) -> tuple[Step, ...]:
    own, relations = illustration.sentences[0], illustration.relations
    looks = reader.looks(own)
    places = [relation.places(own) for relation in relations]
    weights = np.stack([looks[:, :, query, key] for query, key in places])
    labels = {"relation": tuple(f"{own.words[query]}→{own.words[key]}" for query, key in places)}
    said = [_said(counts, row, relation) for row, relation in enumerate(relations)]
    if illustration.own_heads:
        said.append(_said_together(counts))
    return (
        Step("relations", "How much the one word takes from the other", "sum of the weights of a word's pieces",
             weights, OVER, tuple(made_from), LOOKS, "", labels),
        Step("counts.untrained", "In how many such sentences the head looks there most, before a training", "count",
             counts.before, OVER, (), FIRST, "", labels),
        Step("counts", "In how many such sentences the head looks there more than at any other word", "count",
             counts.after, OVER, (), FIRST, "", labels, said=tuple(said)),
    )  # fmt: skip


def _said(counts: Counts, row: int, relation: Relation) -> Statement:
    own = counts.after[row]
    layer, head = np.unravel_index(own.argmax(), own.shape)
    return Statement(
        relation.section,
        relation.sentence,
        bool(counts.shown[row].any()),
        f"most often layer {layer}, head {head}: in {own.max()} of {counts.total} sentences; before a training, a head "
        f"in {counts.before[row].max()}",
    )


def _said_together(counts: Counts) -> Statement:
    shown = counts.shown
    return Statement(
        "002, 4.1",
        "each of the four relations has a head of its own",
        have_heads_of_their_own(shown.reshape(len(shown), -1)),
        f"{shown.any((1, 2)).sum()} of the {len(shown)} are borne out",
    )


def _assumptions(reader: PronounReader, bundle: Bundle, sentences: Sequence[Sentence], ours: bool) -> tuple[str, ...]:
    texts = [reader.text(sentence) for sentence in sentences]
    made = BatchTranslator.of(bundle).best(texts)
    right = sum(translation == sentence.target for translation, sentence in zip(made, sentences, strict=True))
    model = (
        assumed(
            f"The model was trained on the spot: seed {SEED}, {STEPS} updates, {len(divided().training)} sentences of "
            "a small grammar from Chinese to German, where 它 becomes er, sie or es.",
            f"Of {len(texts)} such sentences that it has never seen, those shown among them, it translates {right} "
            "without a mistake. Between the words are spaces.",
        )
        if ours
        else assumed(
            f"The model is the bundle's. Besides the document's sentence it reads {len(texts) - 1} of the same form.",
            "Where a word has several pieces, their weights are added up where it is looked at, and averaged where it "
            "looks.",
        )
    )
    return (
        *model,
        *assumed(
            f"It translates {texts[0]} as: {made[0]}",
            f"and {texts[1]} as: {made[1]}",
            f"What the document says is borne out where one head looks that way in {ENOUGH:.0%} of the sentences, and "
            "in more than any head with random first weights. A head that looked just anywhere would in one of "
            f"{len(sentences[0].words) - 1}.",
            "Weights show what is mixed with what; that a head looks somewhere does not prove that it matters.",
        ),
    )
