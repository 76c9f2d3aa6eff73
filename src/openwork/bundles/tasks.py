"""What the models that label are asked for: their tasks, and what that means for pairs, tokenizers and vocabularies."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from openwork.base.tasks import Task
from openwork.text.pair import TokenizerPair
from openwork.text.parted import Parted
from openwork.text.word_by_word import WordByWord
from openwork.text.wrapped import unwrapped

_FORMS: dict[str, Callable[..., Any]] = {
    "tag": WordByWord.of,
    "classify": Parted.of,
    "answer": lambda tokenizer: Parted.of(WordByWord.of(tokenizer)),
}


@dataclass(frozen=True)
class LinesInForm:
    """Lines to learn a vocabulary from, as the task has its sources cut; readable again and again if they are."""

    lines: Iterable[str]
    task: Task

    def __iter__(self) -> Iterator[str]:
        if self.task not in ("tag", "answer"):
            return iter(self.lines)
        return (f" {' '.join(line.split())}" for line in self.lines)  # the first word has a space before it too


def in_form(tokenizers: TokenizerPair, task: Task) -> TokenizerPair:
    """The tokenizers as the task needs its sources cut; what is so already stays as it is."""
    form = _FORMS.get(task)
    if form is None:
        return tokenizers
    return TokenizerPair(form(unwrapped(tokenizers.source)), tokenizers.target)
