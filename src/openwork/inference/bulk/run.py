"""The translation of a folder of shards: the plan, the workers, the record, the report."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from openwork.base.errors import DataError, OpenworkError
from openwork.base.lines import OnProgress, Report, ignore_progress
from openwork.base.messages import msg
from openwork.base.phrases import AsIs, Joined
from openwork.inference.bulk.record import TranslationRecord
from openwork.inference.bulk.shards import Shard
from openwork.inference.bulk.work import ShardResult, ShardTask, ShardTranslator
from openwork.machine.pool import Pool


@dataclass(frozen=True)
class BulkReport:
    """What became of a folder of shards: a result for each in the order of their names, and the seconds of it all."""

    results: tuple[ShardResult, ...]
    seconds: float

    @property
    def failed(self) -> list[ShardResult]:
        return [result for result in self.results if result.problem is not None]

    @property
    def lines_translated(self) -> int:
        """Those of this run, without shards that are kept."""
        return sum(result.sums.lines for result in self.results if result.sums and not result.is_kept)

    @property
    def lines_per_second(self) -> float:
        return self.lines_translated / self.seconds if self.seconds else 0.0

    def lines(self) -> Iterator[str]:
        kept = sum(result.is_kept for result in self.results)
        done = len(self.results) - kept - len(self.failed)
        yield msg(
            f"shards: {done} of {len(self.results)} translated, {kept} kept from before, {len(self.failed)} failed"
        )
        yield msg(
            f"lines: {self.lines_translated:,} in {self.seconds:,.1f} s, {self.lines_per_second:,.1f} lines a second"
        )
        for result in self.failed:
            assert result.problem is not None
            what, why = result.problem.what, result.problem.why
            name = "" if result.name in what else f"{result.name}: "
            yield Joined(msg("failed"), AsIs(f": {name}"), what, *((AsIs("; "), why) if why else ()))

    def to_json(self) -> dict[str, Any]:
        kept = sum(result.is_kept for result in self.results)
        return {
            "shards": len(self.results),
            "translated": len(self.results) - kept - len(self.failed),
            "kept": kept,
            "failed": {
                result.name: {"code": result.problem.code, "problem": result.problem.what, "why": result.problem.why}
                for result in self.results
                if result.problem is not None
            },
            "lines": self.lines_translated,
            "seconds": round(self.seconds, 3),
            "lines_per_second": round(self.lines_per_second, 1),
        }

    def check(self) -> None:
        """DataError if a shard has failed."""
        if self.failed:
            raise DataError(
                f"{len(self.failed)} of {len(self.results)} shards could not be translated",
                why="the report names them; all others are translated",
                hint="mend them and run the same command again: it does these alone",
                code="D133",
            )


def translate_shards(
    shards: Sequence[Shard],
    record: TranslationRecord,
    start: Callable[[], ShardTranslator],
    pool: Pool,
    report: Report,
    *,
    advanced: OnProgress = ignore_progress,
) -> BulkReport:
    """Translates the shards by the workers of the pool, each of which begins with `start`.

    `report` gets notes about lines, `advanced` the number of shards that are done since the last call. OpenworkError
    where nothing can be written; what is finished then is in the record.
    """
    began = time.monotonic()
    results: dict[str, ShardResult] = {}
    tasks = [ShardTask(shard, record.before(shard)) for shard in shards]
    with closing(pool.run(start, tasks)) as found:
        for task, result in found:
            name = task.shard.name
            if isinstance(result, OpenworkError):
                result = ShardResult(name, problem=result)
            record.put(result)
            for note in result.notes:
                report(f"{name}: {note}")
            if (more := result.noted - len(result.notes)) > 0:
                report(f"{name}: and {more:,} more notes")
            results[name] = result
            advanced(1)
    return BulkReport(tuple(results[shard.name] for shard in shards), time.monotonic() - began)
