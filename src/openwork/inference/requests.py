"""Requests for a translation: its prefix, required and forbidden texts; and their constraints on pieces."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from openwork.base.messages import msg
from openwork.decoding.constraints import Phrase, RequiredPhrases, SentenceConstraints, TranscriptForm, text_automaton
from openwork.decoding.settings import DecodingSettings, TranscriptSettings
from openwork.text.languages import written_without_spaces
from openwork.text.pair import TokenizerPair
from openwork.text.pieces.learnt import LearntTokenizer
from openwork.text.placeholders import Spans
from openwork.text.tokenizer import SYMBOL_NAMES, Tokenizer

LONGEST_FORBIDDEN = 200  # characters


@dataclass(frozen=True)
class Request:
    """The prefix, required and forbidden texts of one translation; the symbols before a transcript, and its form."""

    prefix: str = ""
    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    symbols: Phrase = ()
    transcript: TranscriptForm | None = None

    def __bool__(self) -> bool:
        return bool(self.prefix or self.required or self.forbidden or self.symbols or self.transcript)

    def merged_with(self, settings: DecodingSettings, opening: "Request | None" = None) -> "Request":
        """This and what the settings ask of every translation; its own prefix goes before theirs.

        `opening` gives the symbols of a transcript, where this has none.
        """
        opening = opening if opening is not None and self.transcript is None else self
        return Request(
            _one_line(self.prefix or settings.prefix),
            tuple(dict.fromkeys(map(_one_line, (*self.required, *settings.required)))),
            tuple(dict.fromkeys((*self.forbidden, *settings.forbidden))),
            opening.symbols,
            opening.transcript,
        )


NOTHING = Request()


def opening_of(
    settings: TranscriptSettings | None,
    language: str | None = None,
    task: str | None = None,
    *,
    timestamps: bool = False,
) -> Request:
    """The symbols before each text of a model with these settings: language, task, and whether timestamps follow.

    Language and task are by default those of the settings, and the language else their first.
    """
    if settings is None or settings == TranscriptSettings():
        return NOTHING
    symbols = list(settings.opening)
    if settings.languages:
        symbols = [settings.languages[language or settings.language or next(iter(settings.languages))]]
    if (chosen := task or settings.task) in settings.tasks:
        symbols.append(settings.tasks[chosen])
    if settings.no_timestamps is not None and not timestamps:
        symbols.append(settings.no_timestamps)
    return Request(symbols=tuple(symbols), transcript=TranscriptForm(settings, timestamps))


@dataclass(frozen=True)
class InputLine:
    """A line of input: a text, the request for its translation, and the problem of the line (empty: none)."""

    text: str
    request: Request = NOTHING
    problem: str = ""


ReadLine = Callable[[str], InputLine]
"""Parses a line of input."""


def read_json(line: str) -> InputLine:
    """The line as a JSON object: `text`, and optionally `prefix` and the lists `required` and `forbidden`."""
    if not line.strip():
        return InputLine(line)
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return InputLine("", problem="not JSON, left blank")
    if not isinstance(found, dict) or not isinstance(found.get("text"), str):
        return InputLine("", problem='not a JSON object with a "text", left blank')
    unknown = sorted(found.keys() - {"text", "prefix", "required", "forbidden"})
    if unknown:
        return InputLine("", problem=f"unknown key {unknown[0]!r}, left blank")
    prefix, lists = found.get("prefix", ""), [found.get(key, []) for key in ("required", "forbidden")]
    are_texts = all(isinstance(one, list) and all(isinstance(text, str) for text in one) for one in lists)
    if not isinstance(prefix, str) or not are_texts:
        return InputLine("", problem='"prefix" is a text, "required" and "forbidden" are lists of texts; left blank')
    if any("\ud800" <= character <= "\udfff" for character in "".join((found["text"], prefix, *lists[0], *lists[1]))):
        return InputLine("", problem="half a character (a lone surrogate), left blank")
    # the text may not contain a line end: one line of output for each line of input
    return InputLine(_one_line(found["text"]), Request(prefix, tuple(lists[0]), tuple(lists[1])))


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())


class Constrainer:
    def __init__(self, tokenizers: TokenizerPair) -> None:
        self.tokenizers = tokenizers
        # the tables of an automaton are large
        self._automaton = lru_cache(maxsize=256)(
            lambda text: text_automaton(text.encode(), piece_bytes(self.tokenizers.target))
        )

    def constraints(self, request: Request, spans: Spans, limit: int) -> tuple[SentenceConstraints, str]:
        """The constraints, and why they cannot be met (empty: they can, as far as is known before the search).

        `spans` are the placeholders of the source; `limit` is the maximum length of the target with its end symbol.
        """
        written = self.tokenizers.encode_target(request.prefix, spans) if request.prefix else ()
        prefix = (*request.symbols, *written)
        required = tuple(self._ways(text, spans) for text in request.required if text)
        problem = self._problem(request, prefix, required, limit)
        if problem:
            return SentenceConstraints(), problem
        forbidden = tuple(self._automaton(text) for text in request.forbidden if text)
        return SentenceConstraints(prefix, required, forbidden, request.transcript), ""

    def _ways(self, text: str, spans: Spans) -> tuple[Phrase, ...]:
        """The pieces of a text inside a sentence, and at its start without a space."""
        as_it_is = tuple(self.tokenizers.encode_target(text, spans))
        if not text[0].isalnum() or written_without_spaces(text[0]):  # no space precedes it inside a sentence
            return (as_it_is,)
        inside = tuple(self.tokenizers.encode_target(f" {text}", spans))
        return (inside,) if inside == as_it_is else (inside, (self.tokenizers.target.start_id, *as_it_is))

    def _problem(self, request: Request, prefix: Phrase, required: tuple[tuple[Phrase, ...], ...], limit: int) -> str:
        unknown = self.tokenizers.target.unknown_id
        for text, ways in zip(filter(None, request.required), required, strict=True):
            if any(unknown in phrase for phrase in ways):
                return msg(f"the vocabulary cannot write the required {text!r}")
        if unknown in prefix:
            return msg(f"the vocabulary cannot write the prefix {request.prefix!r}")
        for text in filter(None, request.forbidden):
            if len(text) > LONGEST_FORBIDDEN:
                return msg(f"a forbidden text has more than {LONGEST_FORBIDDEN} characters")
            if text in request.prefix:
                return msg(f"the prefix {request.prefix!r} holds the forbidden {text!r}")
            for needed in request.required:
                if text in needed:
                    return msg(f"the required {needed!r} holds the forbidden {text!r}")
        if len(prefix) >= limit:
            return msg(f"the prefix has {len(prefix)} pieces, the translation may have {limit - 1}")
        phrases = RequiredPhrases(required)
        progress = phrases.at_start
        for token in prefix:
            progress = phrases.advance(progress, token)
        if len(prefix) + phrases.needed(progress) >= limit:
            count = len(prefix) + phrases.needed(progress)
            return msg(f"prefix and required texts need {count} pieces, the translation may have {limit - 1}")
        return ""


@lru_cache(maxsize=4)
def piece_bytes(tokenizer: Tokenizer) -> list[bytes]:
    """The UTF-8 bytes that each piece adds to a target; of external tokenizers, as decoded after another piece."""
    if isinstance(tokenizer, LearntTokenizer):
        return tokenizer.piece_bytes
    first = len(SYMBOL_NAMES)
    letters = (number for number in range(first, tokenizer.vocabulary_size) if tokenizer.decode([number]).isalpha())
    before = next(letters, first)
    start = tokenizer.decode([before])
    seen = tokenizer.decode_batch([[before, number] for number in range(tokenizer.vocabulary_size)])
    return [text.removeprefix(start).encode(errors="replace") for text in seen]
