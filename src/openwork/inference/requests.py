"""What is asked of a translation, as text: its beginning, what it must hold, what it must not; and as constraints."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from openwork.decoding.automaton import Automaton, text_automaton
from openwork.decoding.constraints import AnyOf, Phrase, SentenceConstraints
from openwork.decoding.phrases import RequiredPhrases
from openwork.decoding.settings import DecodingSettings
from openwork.text.pair import TokenizerPair
from openwork.text.pieces.learnt import LearntTokenizer
from openwork.text.placeholders import Spans
from openwork.text.scripts import written_without_spaces
from openwork.text.symbols import SYMBOL_NAMES
from openwork.text.tokenizer import Tokenizer

LONGEST_FORBIDDEN = 200  # characters


@dataclass(frozen=True)
class Request:
    """What is asked of one translation."""

    prefix: str = ""
    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.prefix or self.required or self.forbidden)

    def merged_with(self, settings: DecodingSettings) -> "Request":
        """This and what the settings ask of every translation; its own prefix goes before theirs."""
        return Request(
            _one_line(self.prefix or settings.prefix),
            tuple(dict.fromkeys(map(_one_line, (*self.required, *settings.required)))),
            tuple(dict.fromkeys((*self.forbidden, *settings.forbidden))),
        )


NOTHING = Request()


@dataclass(frozen=True)
class Asked:
    """A line of input: a text, what is asked of its translation, and what is wrong with the line (empty: nothing)."""

    text: str
    request: Request = NOTHING
    problem: str = ""


Read = Callable[[str], Asked]
"""How a line of input is understood."""


def read_text(line: str) -> Asked:
    """The line is the text."""
    return Asked(line)


def read_json(line: str) -> Asked:
    """The line is a JSON object: `text`, and if wanted `prefix` and the lists `required` and `forbidden`."""
    if not line.strip():
        return Asked(line)
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return Asked("", problem="not JSON, left blank")
    if not isinstance(found, dict) or not isinstance(found.get("text"), str):
        return Asked("", problem='not a JSON object with a "text", left blank')
    unknown = sorted(found.keys() - {"text", "prefix", "required", "forbidden"})
    if unknown:
        return Asked("", problem=f"unknown key {unknown[0]!r}, left blank")
    prefix, lists = found.get("prefix", ""), [found.get(key, []) for key in ("required", "forbidden")]
    if not isinstance(prefix, str) or not all(_is_list_of_texts(one) for one in lists):
        return Asked("", problem='"prefix" is a text, "required" and "forbidden" are lists of texts; left blank')
    if not all(_is_unicode(text) for text in (found["text"], prefix, *lists[0], *lists[1])):
        return Asked("", problem="half a character (a lone surrogate), left blank")
    # one line of output for one of input: the text may not hold another
    return Asked(_one_line(found["text"]), Request(prefix, tuple(lists[0]), tuple(lists[1])))


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())


class Constrainer:
    """Makes constraints on pieces of what is asked as text."""

    def __init__(self, tokenizers: TokenizerPair) -> None:
        self.tokenizers = tokenizers
        # the tables of an automaton are large and made anew for nothing
        self._automaton = lru_cache(maxsize=256)(self._make_automaton)

    def constraints(self, request: Request, spans: Spans, limit: int) -> tuple[SentenceConstraints, str]:
        """The constraints, and why they cannot be met (empty: they can, as far as can be told before the search).

        `spans` are the placeholders of the source; `limit` is the most pieces that the target may have, its end
        included.
        """
        prefix = tuple(self.tokenizers.encode_target(request.prefix, spans)) if request.prefix else ()
        required = tuple(self._ways(text, spans) for text in request.required if text)
        problem = self._problem(request, prefix, required, limit)
        if problem:
            return SentenceConstraints(), problem
        forbidden = tuple(self._automaton(text) for text in request.forbidden if text)
        return SentenceConstraints(prefix, required, forbidden), ""

    def _ways(self, text: str, spans: Spans) -> AnyOf:
        """How a text is written inside a sentence and at its start, where no space stands before it."""
        as_it_is = tuple(self.tokenizers.encode_target(text, spans))
        if text[0].isspace() or not _has_space_before(text[0]):
            return AnyOf((as_it_is,))
        inside = tuple(self.tokenizers.encode_target(f" {text}", spans))
        return AnyOf((inside,) if inside == as_it_is else (inside, (self.tokenizers.target.start_id, *as_it_is)))

    def _problem(self, request: Request, prefix: Phrase, required: tuple[AnyOf, ...], limit: int) -> str:
        unknown = self.tokenizers.target.unknown_id
        for text, ways in zip(filter(None, request.required), required, strict=True):
            if any(unknown in way for way in ways.phrases):
                return f"the vocabulary cannot write the required {text!r}"
        if unknown in prefix:
            return f"the vocabulary cannot write the prefix {request.prefix!r}"
        for text in filter(None, request.forbidden):
            if len(text) > LONGEST_FORBIDDEN:
                return f"a forbidden text has more than {LONGEST_FORBIDDEN} characters"
            if text in request.prefix:
                return f"the prefix {request.prefix!r} holds the forbidden {text!r}"
            for needed in request.required:
                if text in needed:
                    return f"the required {needed!r} holds the forbidden {text!r}"
        if len(prefix) >= limit:
            return f"the prefix has {len(prefix)} pieces, the translation may have {limit - 1}"
        start = self.tokenizers.target.start_id
        phrases = RequiredPhrases(required, start)
        progress = phrases.begun
        for token in prefix:
            progress = phrases.advance(progress, token)
        if len(prefix) + phrases.needed(progress) >= limit:
            count = len(prefix) + phrases.needed(progress)
            return f"prefix and required texts need {count} pieces, the translation may have {limit - 1}"
        return ""

    def _make_automaton(self, text: str) -> Automaton:
        return text_automaton(text.encode(), piece_bytes(self.tokenizers.target))


def _has_space_before(character: str) -> bool:
    """Whether a word that begins so has a space before it inside a sentence."""
    return character.isalnum() and not written_without_spaces(character)


@lru_cache(maxsize=4)
def piece_bytes(tokenizer: Tokenizer) -> list[bytes]:
    """What each piece adds to a target, as UTF-8: known of our own kinds, seen after another piece of foreign ones."""
    if isinstance(tokenizer, LearntTokenizer):
        return tokenizer.piece_bytes
    first = len(SYMBOL_NAMES)
    letters = (number for number in range(first, tokenizer.vocabulary_size) if tokenizer.decode([number]).isalpha())
    before = next(letters, first)
    start = tokenizer.decode([before])
    seen = tokenizer.decode_batch([[before, number] for number in range(tokenizer.vocabulary_size)])
    return [text.removeprefix(start).encode(errors="replace") for text in seen]
