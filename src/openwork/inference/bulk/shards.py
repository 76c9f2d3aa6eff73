"""The shards of a folder: which files are translated, and where each translation goes."""

from dataclasses import dataclass
from pathlib import Path

from openwork.base.errors import DataError
from openwork.inference.bulk.parquet import is_parquet, need_pyarrow

HIDDEN = (".", "_")  # beginnings of names that are no data, as for Spark and Hadoop; our record has such a name


@dataclass(frozen=True)
class Shard:
    """A file and its translation, which has the same name; `column`: of a Parquet file, where the user names it."""

    source: Path
    target: Path
    column: str | None = None

    @property
    def name(self) -> str:
        return self.source.name


@dataclass(frozen=True)
class ShardFolder:
    """The shards of a folder in the order of their names; `passed_over`: the names of what is no file in it."""

    shards: tuple[Shard, ...]
    passed_over: tuple[str, ...]


def find_shards(source: Path, out: Path, column: str | None = None) -> ShardFolder:
    """The files of the folder `source`, without those whose names begin with a dot or an underscore.

    DataError for a folder that is none or holds no shard, ConfigError for Parquet files where pyarrow is missing.
    """
    if not source.is_dir():
        raise DataError(
            f"{source}: no such folder of shards",
            hint="--source names a folder; for one file: openwork translate BUNDLE < FILE",
            code="D127",
        )
    # absolute: a worker may run in another folder
    source, out = source.resolve(), out.resolve()
    found = sorted((path for path in source.iterdir() if not path.name.startswith(HIDDEN)), key=lambda path: path.name)
    others = [path for path in found if path.exists() and not path.is_file()]  # a link to nothing is a bad shard
    shards = tuple(Shard(path, out / path.name, column) for path in found if path not in others)
    if not shards:
        raise DataError(
            f"{source}: the folder has no shards",
            why="a shard is a file in it; names that begin with . or _ do not count",
            hint="name a folder with text files (plain, .gz, .xz) or Parquet files",
            code="D128",
        )
    if any(is_parquet(shard.source) for shard in shards):
        need_pyarrow()
    return ShardFolder(shards, tuple(path.name for path in others))
