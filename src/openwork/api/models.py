"""Trained models in memory, one class for each task, and loading them."""

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Literal, overload

import numpy as np

from openwork.api.attention import AttentionReport
from openwork.api.captioning import Captioner, Transcriber
from openwork.api.derived import Derivable
from openwork.api.explanation import Explanation
from openwork.api.searched import SearchedText
from openwork.api.texts import as_path, each_best, is_file, like, many, many_pictures, pairs, watched
from openwork.api.trained import TrainedModel
from openwork.base.tasks import Task, task_of
from openwork.bundles.bundle import load_bundle
from openwork.inference.captions import writes_captions
from openwork.inference.completer import Completer, check_continues
from openwork.inference.documents.report import DocumentReport
from openwork.inference.embedder import TextEmbedder, similarity
from openwork.inference.explain import explain
from openwork.inference.labeller import Filled, GapFiller, LabelledText, Labeller, answer_text
from openwork.inference.scorer import Scored, Scorer
from openwork.inference.settings import settings_over
from openwork.inference.translation import Translation
from openwork.inference.translator import BatchTranslator
from openwork.inspection.trace import Selection
from openwork.models.interfaces import MaskedModel
from openwork.runs.usable import usable_bundle

Texts = list[str] | tuple[str, ...] | Iterator[str]
LENGTH = 50  # the default maximum of pieces in a continuation


class Translator(Derivable):
    """A model that generates a target from a source: translations, summaries, dates."""

    @overload
    def translate(self, text: str, *, best: Literal[1] = ..., progress: bool = ..., **decoding: Any) -> Translation: ...

    @overload
    def translate(
        self, text: Texts, *, best: Literal[1] = ..., progress: bool = ..., **decoding: Any
    ) -> list[Translation]: ...

    @overload
    def translate(self, text: str | Texts, *, best: int, progress: bool = ..., **decoding: Any) -> Any: ...

    def translate(self, text: str | Iterable[str], *, best: int = 1, progress: bool = False, **decoding: Any) -> Any:
        """Translates a text, or several texts in their order.

        Args:
            text: a str, or strs; an empty text gives itself.
            best: with more than 1, a list of so many translations of each text, best first.
            progress: show how far it is.
            decoding: other keys of `[decoding]`, such as `beam=5`, `length_penalty=1.0`, `samples=3`.

        ConfigError for keys or values that `[decoding]` does not have.

        >>> translator.translate("a b c", beam=2).text == translator.translate(["a b c"], beam=2)[0].text
        True
        >>> len(translator.translate("a b c", best=2))
        2
        """
        texts = many(text)
        settings = settings_over(self.settings.decoding, {**decoding, "best": best})
        with watched(len(texts), "translating", progress=progress) as advanced:
            found = BatchTranslator.of(self.bundle, settings).translate(texts, advanced=advanced)
        return like(text, each_best(found, best))

    def translate_document(
        self,
        source: str | os.PathLike[str],
        out: str | os.PathLike[str],
        *,
        memory: Sequence[str | os.PathLike[str]] = (),
        terms: str | os.PathLike[str] | None = None,
        column: str | None = None,
        only_untranslated: bool = False,
    ) -> DocumentReport:
        """Writes the translation of a document, which keeps its form and tags; the ending of its name says the format.

        Args:
            source: text, Markdown, HTML, XLIFF, TMX, PO, SRT, VTT, CSV, JSON lines or DOCX.
            out: the file to write, in the same format.
            memory: files with known translations, which come first.
            terms: a glossary: source term, tab, target term on each line.
            column: of a table, where it is not called text or source.
            only_untranslated: leave texts that have a translation.

        Returns counts, and the texts whose translation is not safe. DataError for a file that cannot be read.
        """
        from openwork.data.records import Languages
        from openwork.inference.documents.files import FileOptions, translate_file
        from openwork.inference.documents.local import LocalTranslator

        options = FileOptions(
            Languages(self.settings.source_language, self.settings.target_language),
            list(map(as_path, memory)),
            None if terms is None else as_path(terms),
            column,
            only_untranslated,
        )
        translator = LocalTranslator(BatchTranslator.of(self.bundle), self.bundle)
        return translate_file(as_path(source), as_path(out), translator, options)

    def score(self, source: str | Sequence[str], target: str | Sequence[str]) -> Any:
        """Scores given targets: `total` is log p(target | source) in nats.

        >>> scored = translator.score("a b c", "a b c")
        >>> scored.total < 0
        True
        """
        found: list[Scored] = Scorer(self.bundle.model, self.bundle.tokenizers).score(pairs(source, target))
        return like(source, found)

    def explain(
        self, text: str, *, layer: int | None = None, head: int | None = None, every: bool = False
    ) -> Explanation:
        """Explains every step from the text to its translation, with its numbers; a notebook shows it as a page.

        Args:
            text: the text to translate.
            layer: show all steps of this layer, counted from 0.
            head: show only this head of values with heads.
            every: show all steps of all layers.

        UsageError for an empty text, a missing layer or head, or a model other than a Transformer.

        >>> float(translator.explain("a b c", layer=0).trace.step("log_probability").value) < 0
        True
        """
        (text,) = many([text])
        return Explanation(explain(self.bundle, text, Selection(layer, head, every)))

    def attention(self, text: str, translation: str | None = None) -> AttentionReport:
        """All attention weights of a text and its translation; a notebook shows the page.

        `translation`: of the text; None is the best that the model finds. UsageError for an empty text and for a model
        without such weights, OpenworkError for a text that is too long.

        >>> {one.kind for one in translator.attention("a b c").maps} == {"encoder", "decoder", "cross"}
        True
        """
        text, given = many([text])[0], None if translation is None else many([translation])[0]
        return AttentionReport.of(self.bundle, text, given)

    def search_tree(self, text: str, beam: int | None = None) -> SearchedText:
        """Searches a text and records what the beam keeps and drops at each step, and why; a notebook shows the tree.

        `beam`: hypotheses kept, in place of the settings'. UsageError for an empty text, and for settings that do not
        search with one beam.

        >>> translator.search_tree("a b c", beam=3).tree.finished[0].text == translator.translate("a b c", beam=3).text
        True
        """
        (text,) = many([text])
        return SearchedText.of(self.bundle, text, beam)


class _LabelModel(TrainedModel):
    """A model that predicts labels."""

    task: Task

    @cached_property
    def _labeller(self) -> Labeller:
        return Labeller(self.bundle.model, self.bundle.tokenizers, self.task)

    def _labels(self, text: Any, best: int, *, progress: bool) -> list[LabelledText]:
        texts = many(text) if self.bundle.tokenizers.encoder.numbers is None else many_pictures(text)
        with watched(len(texts), "labelling", progress=progress) as advanced:
            return self._labeller.label(texts, best, advanced=advanced)


class Classifier(_LabelModel):
    """A model that predicts one label of a text or a picture."""

    task: Task = "classify"

    def classify(self, text: Any, *, best: int = 1, progress: bool = False) -> Any:
        """Predicts the label of a text or of several; with `best` above 1 the most probable labels, as `Choice`s.

        A model that reads pictures takes paths (str or Path) and arrays of uint8, (height, width) or (height, width,
        3), in their place. DataError for a picture that cannot be read.

        >>> classifier.classify("a b c") in ("yes", "no")
        True
        """
        found = [one.places[0] if one.places else () for one in self._labels(text, best, progress=progress)]
        labels = found if best > 1 else [place[0].label if place else "" for place in found]
        return labels[0] if is_file(text) else labels

    def explain(
        self, picture: Any, *, layer: int | None = None, head: int | None = None, every: bool = False
    ) -> Explanation:
        """Explains the label of a picture, a path or an array as in `classify`: the patches that are attended to.

        `layer`, `head` and `every` show further steps, as in `Translator.explain`. UsageError for a model without
        attention and for one that reads texts, DataError for a picture that cannot be read.
        """
        (one,) = many_pictures([picture])
        return Explanation(explain(self.bundle, one, Selection(layer, head, every)))


class Tagger(_LabelModel):
    """A model that predicts one label of each word."""

    task: Task = "tag"

    def tag(self, text: str | Iterable[str], *, progress: bool = False) -> Any:
        """Labels the words of a text: a list of pairs (word, label); of several texts a list of such lists.

        >>> tagger.tag("a b c")[0][0]
        'a'
        """
        found = self._labels(text, 1, progress=progress)
        return like(text, [list(zip(one.words, one.best, strict=True)) for one in found])


class Answerer(_LabelModel):
    """A model that finds the answer to a question in a text."""

    task: Task = "answer"

    def answer(self, text: str | Iterable[str], *, progress: bool = False) -> Any:
        """The words of the text that answer the question; both are separated as in the training data.

        >>> isinstance(answerer.answer("a b c"), str)
        True
        """
        texts = many(text)
        found = self._labels(texts, 1, progress=progress)
        return like(text, [answer_text(one, " ".join(labels.best)) for one, labels in zip(texts, found, strict=True)])


class MaskFiller(TrainedModel):
    """A masked language model, which restores missing pieces of a text."""

    def fill(self, text: str | Iterable[str], *, best: int = 1, progress: bool = False) -> Any:
        """Fills each `[MASK]` of a text: the filled `text`, and the `best` most probable pieces of each gap in `gaps`.

        >>> "[MASK]" in filler.fill("a [MASK] c").text
        False
        """
        texts = many(text)
        with watched(len(texts), "filling", progress=progress) as advanced:
            found: list[Filled] = self._filler.fill(texts, best, advanced=advanced)
        return like(text, found)

    @cached_property
    def _filler(self) -> GapFiller:
        model = self.bundle.model
        assert isinstance(model, MaskedModel), "models of this task are"
        return GapFiller(model, self.bundle.tokenizers.source, model.mask_piece)


class LanguageModel(TrainedModel):
    """A model that continues texts."""

    def complete(self, prompt: str | Iterable[str], *, length: int = LENGTH, best: int = 1, **decoding: Any) -> Any:
        """Continues a prompt by at most `length` pieces, as a `Translation`; several prompts give a list.

        `best`: with more than 1, a list of so many continuations of each prompt. `decoding`: keys of `[decoding]`, such
        as `temperature=0.8`, `top_p=0.9` with `samples=1`.

        >>> isinstance(language_model.complete("a b", length=3).text, str)
        True
        """
        check_continues(self.bundle)
        prompts = many(prompt)
        bounds = {"maximum_length": length, "extra_length": length}
        settings = settings_over(self.settings.decoding, {**bounds, **decoding, "best": best})
        completer = Completer(BatchTranslator.of(self.bundle, settings))
        return like(prompt, each_best(completer.complete(prompts), best))


class Embedder(TrainedModel):
    """A model that embeds texts as vectors, with their similarity."""

    def embed(self, text: str | Iterable[str]) -> np.ndarray:
        """The vector (width) of a text, or the vectors (text, width) of several, in float32.

        >>> embedder.embed(["a b", "c"]).shape[0]
        2
        """
        vectors = self._embedder.embed(many(text)).numpy()
        return vectors[0] if isinstance(text, str) else vectors

    def similarity(self, text: str | Iterable[str], other: str | Iterable[str]) -> Any:
        """The cosine of the vectors of two texts; of several texts a matrix (text, other).

        >>> embedder.similarity("a b", "c d") <= 1.001
        True
        """
        texts, others = many(text), many(other)
        found = similarity(self._embedder.embed(texts), self._embedder.embed(others)).numpy()
        return float(found[0, 0]) if isinstance(text, str) and isinstance(other, str) else found

    @cached_property
    def _embedder(self) -> TextEmbedder:
        return TextEmbedder(self.bundle)


KINDS: dict[Task, type[TrainedModel]] = {
    "generate": Translator,
    "classify": Classifier,
    "tag": Tagger,
    "answer": Answerer,
    "fill": MaskFiller,
    "language-model": TrainedModel,
    "embed": Embedder,
}


def load(path: str | os.PathLike[str]) -> TrainedModel:
    """Loads the trained model at `path`: a bundle, the folder of a run, or one of its checkpoints.

    Its task decides the class: `Translator`, `Transcriber`, `Captioner`, `Classifier`, `Tagger`, `Answerer`,
    `MaskFiller`, `LanguageModel` or `Embedder`. BundleError if there is none at `path`, or if it is damaged.

    >>> openwork.load(en_de)
    Translator(...)
    """
    folder = as_path(path)
    bundle = load_bundle(usable_bundle(folder))
    if bundle.model.continues:
        return LanguageModel(bundle, folder)
    if bundle.settings.sound is not None:
        return Transcriber(bundle, folder)
    if writes_captions(bundle):
        return Captioner(bundle, folder)
    return KINDS[task_of(bundle.settings.model)](bundle, folder)
