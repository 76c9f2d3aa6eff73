"""Tokenizers and vocabularies of the labelling tasks."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from openwork.base.tasks import Task
from openwork.text.forms import SegmentPairTokenizer, WordLevelTokenizer, unwrapped
from openwork.text.pair import TokenizerPair

_SOURCE_TOKENIZERS: dict[str, Callable[..., Any]] = {
    "tag": WordLevelTokenizer.of,
    "classify": SegmentPairTokenizer.of,
    "answer": lambda tokenizer: SegmentPairTokenizer.of(WordLevelTokenizer.of(tokenizer)),
}


@dataclass(frozen=True)
class VocabularyLines:
    """Lines to learn a vocabulary from, with spaces as the task's tokenizer sees them; as often readable as `lines`."""

    lines: Iterable[str]
    task: Task

    def __iter__(self) -> Iterator[str]:
        if self.task not in ("tag", "answer"):
            return iter(self.lines)
        return (f" {' '.join(line.split())}" for line in self.lines)  # the first word has a space before it too


def tokenizers_for_task(tokenizers: TokenizerPair, task: Task) -> TokenizerPair:
    """The tokenizers with a source tokenizer that splits words or segments as the task needs."""
    if task not in _SOURCE_TOKENIZERS:
        return tokenizers
    return TokenizerPair(_SOURCE_TOKENIZERS[task](unwrapped(tokenizers.source)), tokenizers.target)
