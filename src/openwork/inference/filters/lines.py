"""The translator as a filter: lines in, lines out, one for one, whatever they hold."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from openwork.base.lines import arriving_lines, clean_line, standard_input
from openwork.base.printing import json_text, write_data
from openwork.data.glossary import Glossary
from openwork.inference.guarded import GuardedTranslator
from openwork.inference.requests import Asked, Read, Request, read_text
from openwork.inference.translator import Alternative, BatchTranslator, Translation

Say = Callable[[str], None]


@dataclass(frozen=True)
class Answer:
    """What is printed for one line of input, never more than one line, and what is told about it."""

    line: str
    notes: Sequence[str] = ()


Answering = Callable[[Sequence[Asked]], Iterable[Answer]]


@dataclass(frozen=True)
class OutputFormat:
    """How results are printed: `best` translations a line, plain or as JSON."""

    best: int = 1
    as_json: bool = False

    def line(self, source: str, translations: list[Translation]) -> str:
        """What is printed for one line of input; never more than one line."""
        if self.as_json:
            found = [
                {"text": t.text, "score": t.score, "log_probability": t.log_probability, "finished": t.finished}
                | ({"missing": list(t.missing)} if t.missing else {})
                | ({"problem": t.problem} if t.problem else {})
                | ({"flags": list(t.flags)} if t.flags else {})
                for t in translations
            ]
            return json_text({"source": source, "cut": translations[0].cut, "translations": found})
        if self.best == 1 or not source.strip() or translations[0].problem:
            return translations[0].text  # a blank line stays blank in each form but JSON
        texts = (t.text.replace("\t", " ") for t in translations)
        return "\t".join(f"{t.score:.4f} {text}" for t, text in zip(translations, texts, strict=True))

    def alternatives(self, source: str, position: int, found: list[Alternative]) -> str:
        """Likewise for the alternatives at a position."""
        if self.as_json:
            listed = [{"piece": a.piece, "probability": a.probability, "text": a.text} for a in found]
            return json_text({"source": source, "position": position, "alternatives": listed})
        return "\t".join(f"{a.probability:.4f} {a.text.replace(chr(9), ' ')}" for a in found)


def translating(translator: BatchTranslator | GuardedTranslator, output: OutputFormat) -> Answering:
    """Answers with translations."""

    def answers(batch: Sequence[Asked]) -> Iterator[Answer]:
        found = translator.translate([one.text for one in batch], [one.request for one in batch])
        for asked, translations in zip(batch, found, strict=True):
            yield Answer(output.line(asked.text, translations), _notes(translations[0]))

    return answers


def showing_alternatives(translator: BatchTranslator, output: OutputFormat, position: int, count: int) -> Answering:
    """Answers with the `count` most probable ways to go on after the first pieces of the translation."""

    def answers(batch: Sequence[Asked]) -> Iterator[Answer]:
        requests = [one.request for one in batch]
        found = translator.alternatives([one.text for one in batch], position, count, requests)
        for asked, listed in zip(batch, found, strict=True):
            nothing = bool(asked.text.strip()) and not listed
            notes = ["no translation meets all that is asked of it"] if nothing else []
            yield Answer(output.alternatives(asked.text, position, listed), notes)

    return answers


def streaming(translator: BatchTranslator) -> Answering:
    """Answers while translating: each line is written piece by piece."""

    def answers(batch: Sequence[Asked]) -> Iterator[Answer]:
        for asked in batch:
            yield Answer("", _notes(translator.stream(asked.text, write_data, asked.request)))

    return answers


def _notes(best: Translation) -> list[str]:
    notes = []
    if best.problem:
        notes.append(f"not translated: {best.problem}")
    if best.cut:
        notes.append("too long for the model, its end was left out")
    if best.missing:
        notes.append(f"the translation lacks {', '.join(best.missing)}")
    if best.flags:
        notes.append(f"not to be trusted: {', '.join(best.flags)}")
    return notes


def with_terms(read: Read, glossary: Glossary) -> Read:
    """The same lines, where the glossary's terms must be translated as it says."""

    def read_with_terms(line: str) -> Asked:
        asked = read(line)
        required = (*asked.request.required, *glossary.required(asked.text))
        return Asked(asked.text, Request(asked.request.prefix, required, asked.request.forbidden), asked.problem)

    return read_with_terms


def answer_stream(answering: Answering, say: Say, stream: BinaryIO | None = None, read: Read = read_text) -> int:
    """Answers each line of standard input (or `stream`) with one line; gives the number of lines."""
    number = 0
    for batch in arriving_lines(stream or standard_input()):
        asked = []
        for data in batch:
            number += 1
            text, problem = clean_line(data)
            if problem:
                say(f"line {number}: {problem}")
            asked.append(read(text))
            if asked[-1].problem:
                say(f"line {number}: {asked[-1].problem}")
        first = number - len(batch) + 1
        for place, answer in enumerate(answering(asked), start=first):
            for note in answer.notes:
                say(f"line {place}: {note}")
            write_data(f"{answer.line}\n")
    return number


def translate_stream(
    translator: BatchTranslator, output: OutputFormat, say: Say, stream: BinaryIO | None = None
) -> int:
    """Translates standard input (or `stream`) to standard output; gives the number of lines."""
    return answer_stream(translating(translator, output), say, stream)
