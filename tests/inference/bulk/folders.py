"""Shards for the tests of bulk translation, and a translator that writes capitals."""

import gzip
import lzma
from collections.abc import Callable, Sequence
from pathlib import Path

from openwork.inference.bulk.shards import Shard
from openwork.inference.bulk.work import ShardTranslator
from openwork.inference.filters.lines import Answer, LineFilter
from openwork.inference.requests import InputLine

TEXTS = {
    "a.txt": b"one\ntwo\n",
    "b.txt.gz": gzip.compress(b"three\r\n\r\nfour\r\n"),
    "c.txt.xz": lzma.compress("你好\n  \nfive".encode()),
    "d.txt": b"",
}
CAPITALS = {"a.txt": "ONE\nTWO\n", "b.txt.gz": "THREE\n\nFOUR\n", "c.txt.xz": "你好\n  \nFIVE\n", "d.txt": ""}


def write_shards(folder: Path, texts: dict[str, bytes] = TEXTS) -> Path:
    """A folder with these files."""
    folder.mkdir()
    for name, data in texts.items():
        (folder / name).write_bytes(data)
    return folder


def capitals(seen: list[str] | None = None) -> ShardTranslator:
    """Writes each text in capitals; what it was given is added to `seen`. A text "?" gets a note."""

    def run(texts: Sequence[str], requests: object) -> list[str]:
        (seen if seen is not None else []).extend(texts)
        return [text.upper() for text in texts]

    def answer(text: str, found: str) -> Answer:
        return Answer(found, ["a question"] if text == "?" else [])

    return ShardTranslator(LineFilter(run, answer), InputLine)


def plain(path: Path) -> str:
    """The text of a file, without its compression."""
    unpack: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.decompress, ".xz": lzma.decompress}
    return unpack.get(path.suffix, bytes)(path.read_bytes()).decode()


def shard(folder: Path, out: Path, name: str) -> Shard:
    return Shard(folder / name, out / name)
