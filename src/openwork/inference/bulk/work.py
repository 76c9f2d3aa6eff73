"""The translation of one shard: a plain function of the shard, wherever it runs."""

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from openwork.base.errors import DataError, OpenworkError
from openwork.base.files import atomic_file, sha256_file
from openwork.inference.bulk.parquet import is_parquet, open_parquet
from openwork.inference.bulk.shards import Shard
from openwork.inference.bulk.text import Batches, Write, open_text
from openwork.inference.filters.lines import LineFilter, answers, read_batch
from openwork.inference.requests import NOTHING, ReadLine

MOST_NOTES = 5  # about lines of a shard; the others are counted


@dataclass(frozen=True)
class ShardSums:
    """The SHA-256 of a shard and of its translation, in hexadecimal, and the number of its lines."""

    source: str
    translation: str
    lines: int


@dataclass(frozen=True)
class ShardTask:
    """A shard, and what is known of an earlier translation of it."""

    shard: Shard
    before: ShardSums | None = None


@dataclass(frozen=True)
class ShardResult:
    """What became of a shard.

    Attributes:
        sums: None for a shard that could not be translated.
        seconds: that its translation took.
        is_kept: it was translated before, and neither file has changed.
        notes: about its first noteworthy lines.
        noted: the number of notes in all.
        problem: why it could not be translated.
    """

    name: str
    sums: ShardSums | None = None
    seconds: float = 0.0
    is_kept: bool = False
    notes: tuple[str, ...] = ()
    noted: int = 0
    problem: OpenworkError | None = None


class ShardTranslator:
    """Translates shards, each into a file that appears whole or not at all."""

    def __init__(self, lines: LineFilter, read: ReadLine) -> None:
        self._lines = lines
        self._read = read

    def texts(self, texts: Sequence[str]) -> list[Any]:
        """What becomes of some texts, which are no shard."""
        return list(self._lines.run(texts, [NOTHING] * len(texts)))

    def __call__(self, task: ShardTask) -> ShardResult:
        """Translates the shard unless it is translated already. A shard that cannot be read gives its problem.

        OpenworkError where its translation cannot be written: then no other can be written either.
        """
        shard, began = task.shard, time.monotonic()
        try:
            source = sha256_file(shard.source)
            before, there = task.before, shard.target
            if before and before.source == source and there.is_file() and sha256_file(there) == before.translation:
                return ShardResult(shard.name, before, is_kept=True)
            found = self._translated(shard, source)
        except DataError as error:
            return ShardResult(shard.name, problem=error)
        return replace(found, seconds=time.monotonic() - began)

    def _translated(self, shard: Shard, source: str) -> ShardResult:
        notes: list[str] = []
        noted = count = 0

        def note(text: str) -> None:
            nonlocal noted
            noted += 1
            if noted <= MOST_NOTES:
                notes.append(text)

        with atomic_file(shard.target) as partial:
            with _opened(shard, partial) as (batches, write):
                for batch in batches:
                    inputs = read_batch(batch, count + 1, note, self._read)
                    found = self._lines.run([one.text for one in inputs], [one.request for one in inputs])
                    write(list(answers(self._lines, inputs, found, count + 1, note)))
                    count += len(batch)
            sums = ShardSums(source, sha256_file(partial), count)
        return ShardResult(shard.name, sums, notes=tuple(notes), noted=noted)


def _opened(shard: Shard, target: Path) -> AbstractContextManager[tuple[Batches, Write]]:
    if is_parquet(shard.source):
        return open_parquet(shard.source, target, shard.column)
    return open_text(shard.source, target)
