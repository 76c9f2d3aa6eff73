"""Prompts in, continuations out, line for line: a language model as a filter, with examples before or in a dialogue.

    examples    each on a line of its own, then the prompt:     2 + 2 = 4
                                                                3 + 4 =
    dialogue    one line, each turn behind the mark of its speaker:
                <user> Hello. <assistant> Hi! <user> How are you? <assistant>

A dialogue is one line so that a text to train on can hold one: a line of the file is a conversation.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from openwork.base.errors import UsageError
from openwork.base.printing import json_text
from openwork.bundles.bundle import Bundle
from openwork.data.corpora.dialogues import ASSISTANT, USER
from openwork.data.records import Pair
from openwork.inference.filters.lines import Answer, Answering, OutputFormat
from openwork.inference.requests import Asked
from openwork.inference.translator import BatchTranslator, Translation

LINE_END = "\n"

Prompting = Callable[[str], str]
"""From a line of input to what the model reads."""


def check_continues(bundle: Bundle) -> None:
    """UsageError for a bundle that has no prompt and continuation."""
    if not bundle.model.continues:
        raise UsageError(
            f"a model of the kind {bundle.settings.model.kind} does not continue texts",
            why="its sources and targets are sentences of their own",
            hint="use openwork translate, or train a language model (model.kind decoder)",
        )


def after_examples(examples: Sequence[Pair]) -> Prompting:
    """The examples before every prompt, each on a line: prompt, a space, continuation."""
    before = "".join(f"{one.source} {one.target}{LINE_END}" for one in examples)
    return lambda line: f"{before}{line}"


@dataclass
class Dialogue:
    """What was said so far, the instruction first; a blank line of input begins anew."""

    instruction: str = ""
    turns: list[str] = field(default_factory=list)

    def prompt(self, said: str) -> str:
        """The conversation with what the user says now, up to the mark behind which the reply stands."""
        self.turns.append(f"{USER} {unmarked(said)}")
        return " ".join([*([self.instruction] if self.instruction else []), *self.turns, ASSISTANT])

    def replied(self, text: str) -> None:
        self.turns.append(f"{ASSISTANT} {text}")

    def begin_anew(self) -> None:
        self.turns.clear()


def unmarked(text: str) -> str:
    """The text, in which no mark of a speaker stands: nobody can speak for another."""
    for mark in (USER, ASSISTANT):
        text = text.replace(mark, mark.replace("<", "< "))
    return text


class Completer:
    """Continues prompts. `stop`: a continuation ends before this text; empty: at the end symbol or the limit alone."""

    def __init__(self, translator: BatchTranslator, stop: str = "") -> None:
        self.translator = translator
        self.stop = stop

    def complete(self, prompts: Sequence[str], asked: Sequence[Asked]) -> list[list[Translation]]:
        """For each prompt its continuations, best first, as one line each."""
        found = self.translator.translate(prompts, [one.request for one in asked])
        return [
            [replace(one, text=self._text(prompt, one)) for one in continuations]
            for prompt, continuations in zip(prompts, found, strict=True)
        ]

    def _text(self, prompt: str, found: Translation) -> str:
        """What stands behind the prompt in the text of both: some tokenizers write a space at the start of none."""
        if found.problem:
            return found.text
        tokenizer = self.translator.tokenizers.target
        ids = tokenizer.encode(prompt)
        before, whole = tokenizer.decode(ids), tokenizer.decode([*ids, *found.pieces])
        text = whole.removeprefix(before) if whole.startswith(before) else tokenizer.decode(found.pieces)
        text = text.partition(self.stop)[0] if self.stop else text
        return " ".join(text.splitlines())


def completing(completer: Completer, prompting: Prompting, output: OutputFormat) -> Answering:
    """Answers each prompt with its continuations."""

    def answers(batch: Sequence[Asked]) -> Iterator[Answer]:
        found = completer.complete([prompting(one.text) for one in batch], batch)
        for asked, continuations in zip(batch, found, strict=True):
            yield Answer(_line(asked.text, continuations, output), _notes(continuations[0]))

    return answers


def conversing(completer: Completer, dialogue: Dialogue, output: OutputFormat) -> Answering:
    """Answers each line with a reply that knows the lines and replies before it, since the last blank line."""

    def answers(batch: Sequence[Asked]) -> Iterator[Answer]:
        for asked in batch:
            if not asked.text.strip():
                dialogue.begin_anew()
                yield Answer("")
                continue
            (found,) = completer.complete([dialogue.prompt(asked.text)], [asked])
            best = [replace(one, text=one.text.strip()) for one in found]
            dialogue.replied(unmarked(best[0].text))
            yield Answer(_line(asked.text, best, output), _notes(best[0]))

    return answers


def _line(prompt: str, found: list[Translation], output: OutputFormat) -> str:
    if not output.as_json:
        return output.line(prompt or "-", found)
    listed = [
        {"text": one.text, "log_probability": one.log_probability, "finished": one.finished}
        | ({"problem": one.problem} if one.problem else {})
        for one in found
    ]
    return json_text({"prompt": prompt, "cut": found[0].cut, "completions": listed})


def _notes(best: Translation) -> list[str]:
    notes = []
    if best.problem:
        notes.append(f"not continued: {best.problem}")
    if best.cut:
        notes.append("too long for the model, its beginning was left out")
    return notes
