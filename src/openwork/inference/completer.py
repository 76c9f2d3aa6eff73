"""Completion of prompts with a language model: line by line, after examples, or in a dialogue.

examples    each on a line of its own, then the prompt:     2 + 2 = 4
                                                            3 + 4 =
dialogue    one line, each turn behind the mark of its speaker (`dialogue.py`)
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from openwork.base.errors import UsageError
from openwork.base.printing import json_text
from openwork.bundles.bundle import Bundle
from openwork.data.records import Pair
from openwork.inference.continuation.dialogue import Dialogue, unmarked
from openwork.inference.filters.lines import Answer, LineFilter
from openwork.inference.filters.output import OutputFormat
from openwork.inference.requests import Request
from openwork.inference.translation import Translation
from openwork.inference.translator import BatchTranslator

LINE_END = "\n"

Prompting = Callable[[str], str]
"""Makes the prompt of a line of input."""


def check_continues(bundle: Bundle) -> None:
    """UsageError for a bundle whose model does not continue texts."""
    if not bundle.model.continues:
        raise UsageError(
            f"a model of the kind {bundle.settings.model.kind} does not continue texts",
            why="its sources and targets are sentences of their own",
            hint="use openwork translate, or train a language model (model.kind decoder)",
            code="U074",
        )


def after_examples(examples: Sequence[Pair]) -> Prompting:
    """Puts the examples before every prompt, each on a line: prompt, a space, continuation."""
    before = "".join(f"{one.source} {one.target}{LINE_END}" for one in examples)
    return lambda line: f"{before}{line}"


@dataclass(frozen=True)
class Completer:
    """Continues prompts. `stop`: a continuation ends before this text; empty: at the end symbol or the limit alone."""

    translator: BatchTranslator
    stop: str = ""

    def complete(self, prompts: Sequence[str], requests: Sequence[Request] | None = None) -> list[list[Translation]]:
        """For each prompt its continuations, best first, each as one line."""
        return [
            [replace(one, text=self._text(prompt, one)) for one in continuations]
            for prompt, continuations in zip(prompts, self.translator.translate(prompts, requests), strict=True)
        ]

    def _text(self, prompt: str, found: Translation) -> str:
        """The text after the prompt in the text of both: some tokenizers omit a space at the start of a text."""
        if found.problem:
            return found.text
        tokenizer = self.translator.tokenizers.target
        ids = tokenizer.encode(prompt)
        before, whole = tokenizer.decode(ids), tokenizer.decode([*ids, *found.pieces])
        text = whole.removeprefix(before) if whole.startswith(before) else tokenizer.decode(found.pieces)
        text = text.partition(self.stop)[0] if self.stop else text
        return " ".join(text.splitlines())


def completion_filter(completer: Completer, prompting: Prompting, output: OutputFormat) -> LineFilter:
    return LineFilter(
        lambda texts, requests: completer.complete(list(map(prompting, texts)), requests),
        lambda text, found: _answer(text, found, output),
    )


def dialogue_filter(completer: Completer, dialogue: Dialogue, output: OutputFormat) -> LineFilter:
    """Answers each line with a reply that depends on the lines and replies since the last blank line."""

    def replies(texts: Sequence[str], requests: Sequence[Request]) -> Iterator[list[Translation]]:
        for text, request in zip(texts, requests, strict=True):
            if not text.strip():
                dialogue.reset()
                yield []
                continue
            (found,) = completer.complete([dialogue.prompt(text)], [request])
            best = [replace(one, text=one.text.strip()) for one in found]
            dialogue.add_reply(unmarked(best[0].text))
            yield best

    def answer(text: str, found: list[Translation]) -> Answer:
        return _answer(text, found, output) if found else Answer("")

    return LineFilter(replies, answer)


def _answer(prompt: str, found: list[Translation], output: OutputFormat) -> Answer:
    best, notes = found[0], []
    if best.problem:
        notes.append(f"not continued: {best.problem}")
    if best.cut:
        notes.append("too long for the model, its beginning was left out")
    if not output.as_json:
        return Answer(output.line(prompt or "-", found), notes)
    listed = [
        {"text": one.text, "log_probability": one.log_probability, "finished": one.finished}
        | ({"problem": one.problem} if one.problem else {})
        for one in found
    ]
    return Answer(json_text({"prompt": prompt, "cut": best.cut, "completions": listed}), notes)
