"""Checks of targets: labels, tags and positions that fit their sources."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from openwork.base.errors import DataError
from openwork.base.tasks import Task
from openwork.data.records import Pair
from openwork.data.sources import PairSource
from openwork.text.pair import TokenizerPair
from openwork.text.pieces.words import Labels


def checked(pairs: PairSource, task: Task) -> PairSource:
    """The same pairs; DataError names the first line whose target does not fit the task."""
    check = _CHECKS.get(task)
    if check is None:
        return pairs

    def read() -> Iterator[Pair]:
        for number, pair in enumerate(pairs.read(), start=1):
            if pair.source.strip() and pair.target.strip():  # the filters count blank sides
                check(pairs.place(number), pair)
            yield pair

    return replace(pairs, read=read)


def check_pairs(pairs: Sequence[Pair], task: Task, name: str) -> None:
    """DataError for the first of some pairs whose target does not fit the task; `name` is what they are called."""
    for _ in checked(PairSource(lambda: iter(pairs), "", name), task).read():
        pass


def _one_label(place: str, pair: Pair) -> None:
    words = pair.target.split()
    if len(words) != 1:
        raise DataError(
            f"{place}: the label {pair.target.strip()!r} has a space in it",
            why="a target of the task classify is one label, and a space parts two labels",
            hint=f"write it as one word in all lines, such as {'_'.join(words)}",
            code="D116",
        )


def is_word_number(text: str) -> bool:
    """Whether it can be the index of a word of a text; no text has a billion words."""
    return text.isascii() and text.isdigit() and len(text) < 10


def _as_many_tags(place: str, pair: Pair) -> None:
    words, tags = len(pair.source.split()), len(pair.target.split())
    if words != tags:
        raise DataError(
            f"{place}: words {words}, tags {tags}",
            why="a target of the task tag has one tag for each word of its source; spaces part words and tags",
            hint="compare the two lines word by word; a tag may not be left out, nor a word have a space in it",
            code="D117",
        )


def _words_of_source(place: str, pair: Pair) -> None:
    words, numbers = len(pair.source.split()), pair.target.split()
    known = [int(number) for number in numbers if is_word_number(number)]
    if len(numbers) != 2 or len(known) != 2 or not known[0] <= known[1] < words:
        raise DataError(
            f"{place}: {pair.target.strip()!r} are not the numbers of a first and a last word",
            why=f"the source has {words} words, counted from 0",
            hint="write two numbers with a space between, the first not above the second",
            code="D120",
        )


_CHECKS: dict[str, Callable[[str, Pair], None]] = {
    "classify": _one_label,
    "tag": _as_many_tags,
    "answer": _words_of_source,
}


def check_known(
    pairs: PairSource, tokenizers: TokenizerPair, report: Callable[[str], None], *, held_out: bool = False
) -> None:
    """DataError for the first line whose target has a label that is not in the training pairs.

    In a corpus with a name, or among pairs that were `held_out`, the user cannot correct it: there it is reported, and
    counts as wrong.
    """
    labels = tokenizers.target
    if not isinstance(labels, Labels):
        return
    unknown = [
        (number, name)
        for number, pair in enumerate(pairs.read(), start=1)
        for name in pair.target.split()
        if labels.encode(name) == [labels.unknown_id]
    ]
    if not unknown:
        return
    number, name = unknown[0]
    if pairs.files and not held_out:
        names = ", ".join(labels.names[:12]) + (", ..." if len(labels.names) > 12 else "")
        raise DataError(
            f"{pairs.place(number)}: the label {name!r} is not in the training pairs",
            why=f"they have {names}",
            hint="correct the label, or give training pairs that have it",
            code="D118",
        )
    report(
        f"{pairs.description}: {len(unknown)} labels are in no training pair, the first in pair {number}: {name}; no "
        "model can predict them, so they count as wrong"
    )
