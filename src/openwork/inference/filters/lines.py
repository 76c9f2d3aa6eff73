"""Filter from lines to lines: one line of output for each line of input, whatever it holds."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from openwork.base.lines import Report, arriving_lines, cleaned, standard_input
from openwork.base.printing import write_data
from openwork.bundles.bundle import Bundle
from openwork.data.glossary import read_glossary
from openwork.inference.filters.output import OutputFormat, translation_notes
from openwork.inference.guard import GuardedTranslator, usual_texts
from openwork.inference.requests import InputLine, ReadLine, Request, read_json
from openwork.inference.settings import LineSettings
from openwork.inference.translation import NO_TRANSLATION, Alternative
from openwork.inference.translator import BatchTranslator


@dataclass(frozen=True)
class Answer:
    """The output for one line of input, never more than one line, and notes about it for the user."""

    line: str
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class LineFilter:
    """`run` gives a result for each text and request of a batch; `answer` makes the output of a text and its result."""

    run: Callable[[Sequence[str], Sequence[Request]], Iterable[Any]]
    answer: Callable[[str, Any], Answer]


def translation_filter(translator: BatchTranslator | GuardedTranslator, output: OutputFormat) -> LineFilter:
    return LineFilter(
        translator.translate, lambda text, found: Answer(output.line(text, found), translation_notes(found[0]))
    )


def alternatives_filter(translator: BatchTranslator, output: OutputFormat, position: int, count: int) -> LineFilter:
    """Answers with the `count` most probable pieces after the first `position` pieces of the translation."""

    def answer(text: str, found: list[Alternative]) -> Answer:
        notes = [NO_TRANSLATION] if text.strip() and not found else []
        return Answer(output.alternatives(text, position, found), notes)

    return LineFilter(partial(translator.alternatives, position=position, count=count), answer)


def streaming_filter(translator: BatchTranslator) -> LineFilter:
    """Writes each translation piece by piece while the search runs."""
    return LineFilter(
        lambda texts, requests: (
            translator.stream(text, write_data, request) for text, request in zip(texts, requests, strict=True)
        ),
        lambda text, found: Answer("", translation_notes(found)),
    )


def filter_for(translator: BatchTranslator, bundle: Bundle, lines: LineSettings, count: int) -> LineFilter:
    """The filter that these settings ask for; `bundle` knows its usual texts, `count` is that of alternatives."""
    output = OutputFormat(translator.decoding.best, lines.as_json)
    if lines.alternatives is not None:
        return alternatives_filter(translator, output, lines.alternatives, count)
    return translation_filter(GuardedTranslator(translator, usual_texts(bundle)) if lines.guard else translator, output)


def reader_for(lines: LineSettings) -> ReadLine:
    """What parses a line of input under these settings. DataError for a bad glossary."""
    read = read_json if lines.requests else InputLine
    if lines.terms is None:
        return read
    glossary = read_glossary(lines.terms)

    def read_with_terms(line: str) -> InputLine:
        one = read(line)
        required = (*one.request.required, *glossary.required(one.text))
        return replace(one, request=replace(one.request, required=required))

    return read_with_terms


def answer_stream(
    lines: LineFilter, report: Report, batches: Iterable[list[bytes]] | None = None, read: ReadLine = InputLine
) -> int:
    """Answers each line of standard input (or of `batches`) with one line; returns the number of lines."""
    number = 0
    for batch in batches or arriving_lines(standard_input()):
        inputs = read_batch(batch, number + 1, report, read)
        found = lines.run([one.text for one in inputs], [one.request for one in inputs])
        for answer in answers(lines, inputs, found, number + 1, report):
            write_data(f"{answer}\n")
        number += len(batch)
    return number


def read_batch(batch: Sequence[bytes], first: int, report: Report, read: ReadLine) -> list[InputLine]:
    """The lines of a batch as texts and requests; `first` is the number of its first line."""
    inputs = []
    for number, data in enumerate(batch, start=first):
        one = read(cleaned(data, f"line {number}", report))
        if one.problem:
            report(f"line {number}: {one.problem}")
        inputs.append(one)
    return inputs


def answers(
    lines: LineFilter, inputs: Sequence[InputLine], found: Iterable[Any], first: int, report: Report
) -> Iterator[str]:
    """Yields the output for each line of a batch, without line ends; `found` is what `lines.run` gave for them."""
    for number, (one, result) in enumerate(zip(inputs, found, strict=True), start=first):
        answer = lines.answer(one.text, result)
        for note in answer.notes:
            report(f"line {number}: {note}")
        yield answer.line
