"""The way of a document: its texts become sentences, these are translated, and marks come back into the texts.

What translates is given, so that a model in memory and a server do the same work.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Protocol

from openwork.base.lines import OnProgress, ignore_progress
from openwork.data.glossary import Glossary
from openwork.documents.alignment import UNALIGNED, AlignedSentence, Alignment
from openwork.documents.document import Document
from openwork.documents.placing import place_marks
from openwork.documents.segments import Mark, Parts, TranslationUnit, joined, marks_of, plain
from openwork.inference.documents.memory import TranslationMemory
from openwork.inference.documents.report import DocumentReport, Doubt
from openwork.inference.documents.sentences import CutText, cut_sentences
from openwork.inference.filters.output import translation_notes
from openwork.inference.translation import Translation
from openwork.text.languages import written_without_spaces

AT_ONCE = 2048  # sentences
LONGEST_KEPT = 60  # characters of a text, such as a piece of code, that the search is asked to write
_SPACES = re.compile(r"\s+")
_Key = tuple[str, tuple[str, ...]]


class SentenceTranslator(Protocol):
    """Translates sentences, and says which parts of a sentence and its translation belong together."""

    def translate(self, texts: Sequence[str], required: Sequence[tuple[str, ...]]) -> Sequence[Translation]:
        """The best translation of each, with `flags`; each contains its required texts, or has a `problem`."""
        ...

    def align(self, sources: Sequence[str], translations: Sequence[str]) -> Sequence[Alignment]: ...


OnStart = Callable[[int], AbstractContextManager[OnProgress]]
"""Called with the number of sentences; what it gives is called with the number of those that are done."""


def without_progress(count: int) -> AbstractContextManager[OnProgress]:
    """The `OnStart` of callers who do not watch."""
    return nullcontext(ignore_progress)


@dataclass(frozen=True)
class TranslatingOptions:
    """What a document is translated with.

    `source`, `target`: its languages. `progress`: gets the number of sentences.
    """

    source: str | None = None
    target: str | None = None
    memory: TranslationMemory = field(default_factory=TranslationMemory)
    glossary: Glossary = field(default_factory=lambda: Glossary([]))
    only_untranslated: bool = False
    progress: OnStart = without_progress


@dataclass
class _Pending:
    """A segment on its way. `known`: its translation by the memory."""

    segment: TranslationUnit
    parts: Parts
    cut: CutText
    keys: list[_Key]
    known: str | None = None
    translation: Parts | None = None


def translate_document(
    document: Document, translator: SentenceTranslator, options: TranslatingOptions
) -> tuple[bytes, DocumentReport]:
    """The document with translations, and what was done. Equal sentences are translated once."""
    texts = [_prepared(segment, options) for segment in document.segments]
    found, count = _translated({key for text in texts if text for key in text.keys}, translator, options)
    doubts = _assemble([text for text in texts if text], found, translator, options)
    translations = [text.translation if text else None for text in texts]
    counts = (
        sum(text is None for text in texts),
        sum(text is not None and text.known is not None for text in texts),
        sum(text is not None and text.translation is None for text in texts),
    )
    return document.written(translations), DocumentReport(len(texts), *counts, count, tuple(doubts))


def _prepared(segment: TranslationUnit, options: TranslatingOptions) -> _Pending | None:
    """The sentences of a segment; None where there is nothing to do."""
    is_done = options.only_untranslated and segment.is_translated
    parts = _normalised(segment.parts)
    if is_done or not any(character.isalpha() for part in parts if isinstance(part, str) for character in part):
        return None
    whole = plain(parts)
    cut = cut_sentences(whole, options.source, is_line=segment.is_line)
    known = options.memory.find(whole)
    if known is not None:
        return _Pending(segment, parts, CutText(whole, ((0, len(whole)),)), [], known)
    kept = _kept_texts(parts)
    keys = []
    for begin, end in cut.sentences:
        sentence = whole[begin:end]
        own = [text for place, text in kept if begin <= place and place + len(text) <= end]
        keys.append((sentence, tuple(dict.fromkeys((*own, *options.glossary.required(sentence))))))
    return _Pending(segment, parts, cut, keys)


def _normalised(parts: Parts) -> Parts:
    """The parts with one space for each run of spaces without a line break, also where marks are between them."""
    found: list[str | Mark] = []
    after_space = True
    for part in parts:
        if isinstance(part, str):
            part = _SPACES.sub(lambda run: run.group() if "\n" in run.group() else " ", part)
            part = part[1:] if after_space and part.startswith(" ") and not part[1:2].isspace() else part
            after_space = part.endswith((" ", "\n")) if part else after_space
        elif part.text:
            after_space = False
        found.append(part)
    return joined(found)


def _kept_texts(parts: Parts) -> list[tuple[int, str]]:
    """The texts that stay as they are, with their places."""
    found, place = [], 0
    for part in parts:
        if isinstance(part, Mark) and part.text and len(part.text) <= LONGEST_KEPT:
            found.append((place, part.text))
        place += len(part if isinstance(part, str) else part.text)
    return found


def _translated(
    keys: set[_Key], translator: SentenceTranslator, options: TranslatingOptions
) -> tuple[dict[_Key, Translation], int]:
    """The translation of each sentence, the memory's or the model's, and how many are the model's."""
    ordered = sorted(keys)
    found = {key: Translation(known) for key in ordered if (known := options.memory.find(key[0])) is not None}
    left = [key for key in ordered if key not in found]
    with options.progress(len(left)) as advanced:
        for first in range(0, len(left), AT_ONCE):
            some = left[first : first + AT_ONCE]
            found.update(zip(some, _answers(some, translator), strict=True))
            advanced(len(some))
    return found, len(left)


def _answers(keys: Sequence[_Key], translator: SentenceTranslator) -> list[Translation]:
    """Translations with the required texts, and without them where that is not possible."""
    answers = list(translator.translate([text for text, _ in keys], [required for _, required in keys]))
    again = [place for place, one in enumerate(answers) if one.problem and keys[place][1]]
    plainly = translator.translate([keys[place][0] for place in again], [()] * len(again)) if again else ()
    for place, one in zip(again, plainly, strict=True):
        answers[place] = one
    return answers


def _assemble(
    texts: Sequence[_Pending],
    found: dict[_Key, Translation],
    translator: SentenceTranslator,
    options: TranslatingOptions,
) -> list[Doubt]:
    """Gives each text its translation, and returns what is not safe."""
    pairs = sorted({pair for text in texts if any(marks_of(text.parts)) for pair in _pairs(text, found)})
    aligned = dict(zip(pairs, translator.align(*zip(*pairs, strict=True)), strict=True)) if pairs else {}
    doubts = []
    for text in texts:
        problems = [found[key].problem for key in text.keys if found[key].problem]
        reasons = list(dict.fromkeys(problems))
        if not problems:
            text.translation = _joined(text, found, aligned, options)
            reasons += _reasons(text, found)
        if reasons:
            doubts.append(_doubt(text, reasons, options.memory))
    return doubts


def _pairs(text: _Pending, found: dict[_Key, Translation]) -> list[tuple[str, str]]:
    if text.known is not None:
        return [(text.cut.text, text.known)]
    return [(key[0], found[key].text) for key in text.keys]


def _joined(
    text: _Pending,
    found: dict[_Key, Translation],
    aligned: dict[tuple[str, str], Alignment],
    options: TranslatingOptions,
) -> Parts:
    """The translations of a text's sentences with the space between them, and its marks in their places."""
    gaps = text.cut.gaps()
    whole, sentences = gaps[0], []
    for place, (pair, span) in enumerate(zip(_pairs(text, found), text.cut.sentences, strict=True)):
        if place:
            whole += _gap(gaps[place], whole, pair[1], options)
        own = (len(whole), len(whole) + len(pair[1]))
        sentences.append(AlignedSentence(span, own, aligned.get(pair, UNALIGNED)))
        whole += pair[1]
    return place_marks(text.parts, whole + gaps[-1], sentences)


def _gap(gap: str, before: str, after: str, options: TranslatingOptions) -> str:
    """The space between two sentences, as the script of the translation has it."""
    if gap.strip(" "):
        return gap  # line breaks
    if not before or not after:
        return ""
    has_spaces = not any(map(written_without_spaces, (before.rstrip("。！？…”』」）.!?")[-1:], after[:1])))
    return " " if has_spaces else ""


def _reasons(text: _Pending, found: dict[_Key, Translation]) -> list[str]:
    reasons = []
    for key in text.keys:
        one = found[key]
        lost = tuple(required for required in key[1] if required not in one.text)
        reasons += translation_notes(replace(one, missing=(*one.missing, *lost), flags=()))
        reasons += one.flags
    return list(dict.fromkeys(reasons))


def _doubt(text: _Pending, reasons: Sequence[str], memory: TranslationMemory) -> Doubt:
    near = memory.near(text.cut.text) if len(memory) else None
    shown = (near.source, near.target, round(near.similarity, 1)) if near else None
    translation = plain(text.translation) if text.translation is not None else ""
    return Doubt(text.segment.place, text.cut.text, translation, tuple(reasons), shown)
