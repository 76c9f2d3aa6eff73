"""Shards of Parquet (pyarrow, in the extra `scale`): one column is translated into a new one; the others stay."""

import difflib
import re
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from openwork.base.errors import DataError
from openwork.base.lines import MOST_LINES
from openwork.data.readers.series import PARQUET as ENDING
from openwork.data.readers.series import need_pyarrow
from openwork.inference.bulk.text import Batches, Write

COLUMNS = ("text", "source")  # the column that is translated, where none is named
TRANSLATION = "translation"
ROWS = 32 * MOST_LINES  # of a row group that is written
CODECS = {"UNCOMPRESSED": "none", "LZ4_RAW": "lz4"}  # those with another name for the writer
_LINE_END = re.compile(rb"\r\n|\r|\n")


def is_parquet(path: Path) -> bool:
    """Whether the name of a file says so."""
    return path.name.lower().endswith(ENDING)


@contextmanager
def open_parquet(source: Path, target: Path, column: str | None) -> Iterator[tuple[Batches, Write]]:
    """Yields the texts of a Parquet file in batches, and what writes its rows with their translations to `target`.

    Each text is one line: a line end in it becomes a space. Null is a blank line, and its translation is null.
    DataError for a file that cannot be read or has no such column.
    """
    need_pyarrow()
    import pyarrow  # type: ignore[import-not-found]
    import pyarrow.parquet as parquet  # type: ignore[import-not-found]

    damages = (pyarrow.ArrowException, OSError)
    try:
        file = parquet.ParquetFile(source)
    except damages as error:
        raise _damaged(source, error) from error
    with file:
        schema = file.schema_arrow
        name = _column(source, schema.names, column)
        kind, types = schema.field(name).type, pyarrow.types
        kind = kind.value_type if types.is_dictionary(kind) else kind
        if not any(is_text(kind) for is_text in (types.is_string, types.is_large_string, types.is_string_view)):
            raise DataError(
                f"{source}: the column {name!r} holds no text, but {schema.field(name).type}",
                hint=f"name a column of texts with --column; there are {', '.join(schema.names)}",
                code="D130",
            )
        wider = schema.append(pyarrow.field(TRANSLATION, pyarrow.string()))
        waiting: deque[Any] = deque()  # batches whose translations are not there yet
        pieces: list[Any] = []  # of the next row group

        def batches() -> Batches:
            try:
                for batch in file.iter_batches(MOST_LINES):
                    waiting.append(batch)
                    texts = batch.column(name).cast(pyarrow.large_string()).cast(pyarrow.large_binary()).to_pylist()
                    yield [_LINE_END.sub(b" ", text or b"") for text in texts]
            except damages as error:
                raise _damaged(source, error) from error

        with parquet.ParquetWriter(target, wider, compression=_codec(file.metadata)) as writer:

            def flush() -> None:
                if pieces:
                    writer.write_table(pyarrow.Table.from_batches(pieces, wider), row_group_size=ROWS)
                    pieces.clear()

            def write(answers: Sequence[str]) -> None:
                batch = waiting.popleft()
                valid = batch.column(name).is_valid().to_pylist()
                texts = (answer.encode("utf-8", errors="replace").decode() for answer in answers)
                found = [text if is_there else None for text, is_there in zip(texts, valid, strict=True)]
                columns = [*batch.columns, pyarrow.array(found, pyarrow.string())]
                pieces.append(pyarrow.RecordBatch.from_arrays(columns, schema=wider))
                if sum(piece.num_rows for piece in pieces) >= ROWS:
                    flush()

            yield batches(), write
            flush()


def _column(source: Path, names: Sequence[str], wanted: str | None) -> str:
    if TRANSLATION in names:
        raise DataError(
            f"{source}: the file has a column {TRANSLATION!r} already",
            why="the translations are written to a column of that name",
            hint="rename or drop that column",
            code="D131",
        )
    choices = (wanted,) if wanted is not None else COLUMNS
    known = [name for name in choices if names.count(name) == 1]
    if not known:
        near = difflib.get_close_matches(choices[0], names, n=1)
        raise DataError(
            f"{source}: no column {' or '.join(choices)}, or more than one",
            why=f"its columns are {', '.join(names)}",
            hint=f"did you mean --column {near[0]}?" if near else "name the column of the texts with --column",
            code="D129",
        )
    return known[0]


def _codec(metadata: Any) -> str:
    """The compression of the file's first column."""
    if not metadata.num_row_groups or not metadata.num_columns:
        return "snappy"
    name: str = metadata.row_group(0).column(0).compression
    return CODECS.get(name, name.lower())


def _damaged(source: Path, error: Exception) -> DataError:
    return DataError(
        f"{source}: the Parquet file is damaged or cut short",
        why=(str(error).splitlines() or [type(error).__name__])[0],
        hint="fetch or write the file again",
        code="D132",
    )
