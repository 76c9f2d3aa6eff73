"""A corpus of token ids on disk, read through memory maps.

A store is a folder of five files: `header.json` and, for each side, `SIDE.tokens` (all ids, one sentence after another)
and `SIDE.offsets` (int64, one more than there are pairs: sentence i is tokens[offsets[i]:offsets[i + 1]]). Writing
streams and reading maps, so a corpus may be larger than the memory. No symbols are stored: batching adds start and end.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from openwork.base.errors import DataError
from openwork.base.files import sha256_file
from openwork.base.folders import atomic_folder
from openwork.base.regular_files import check_regular, read_regular

FORMAT = "openwork token store"
VERSION = 1
SIDES = ("source", "target")
_REBUILD = "remove the folder and prepare the corpus again"
_HEADER = "header.json"
_MOST_HEADER = 1 << 20  # bytes
_CHUNK_PAIRS = 8192
_OFFSET = np.dtype("<i8")


class _SideWriter:
    """Appends sentences to the two files of one side and hashes them as they pass."""

    def __init__(self, folder: Path, side: str, dtype: np.dtype, vocabulary_size: int, opened: ExitStack) -> None:
        self.side = side
        self.tokens = 0
        self._dtype = dtype
        self._vocabulary_size = vocabulary_size
        self._streams = {name: opened.enter_context((folder / name).open("wb")) for name in _files_of(side)}
        self._hashes = {name: hashlib.sha256() for name in self._streams}
        self._sizes = dict.fromkeys(self._streams, 0)
        self._append_bytes(f"{side}.offsets", np.zeros(1, _OFFSET).tobytes())

    def append(self, sentences: Sequence[Sequence[int]], first_pair: int) -> None:
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
        ids = np.fromiter(chain.from_iterable(sentences), np.int64, int(lengths.sum()))
        if ids.size and not (ids.min() >= 0 and ids.max() < self._vocabulary_size):
            place = int(np.argmax((ids < 0) | (ids >= self._vocabulary_size)))
            pair = first_pair + int(np.searchsorted(np.cumsum(lengths), place, side="right")) + 1
            raise DataError(
                f"pair {pair}: token id {ids[place]} on the {self.side} side is outside the vocabulary",
                why=f"ids run from 0 to {self._vocabulary_size - 1}",
                hint="encode the corpus with the tokenizer that the store is meant for",
                code="D056",
            )
        self._append_bytes(f"{self.side}.tokens", ids.astype(self._dtype).tobytes())
        self._append_bytes(f"{self.side}.offsets", (np.cumsum(lengths) + self.tokens).astype(_OFFSET).tobytes())
        self.tokens += ids.size

    def facts(self) -> dict[str, dict[str, Any]]:
        """For the header: size in bytes and SHA-256 of both files."""
        return {name: {"bytes": self._sizes[name], "sha256": self._hashes[name].hexdigest()} for name in self._streams}

    def _append_bytes(self, name: str, data: bytes) -> None:
        self._streams[name].write(data)
        self._hashes[name].update(data)
        self._sizes[name] += len(data)


def write_store(
    folder: Path,
    token_pairs: Iterable[tuple[Sequence[int], Sequence[int]]],
    *,
    vocabulary_size: int,
    fingerprint: str = "",
) -> "TokenStore":
    """Write pairs of id sequences to `folder`, whole or not at all, and open the result.

    `vocabulary_size` is the larger of the two sides' sizes: ids have 16 bits when all of them fit, else 32.
    `fingerprint` identifies the input (corpus, filters, tokenizer); the store returns it, so that the caller can
    recognise a stale store. Memory use does not grow with the corpus. An older store in `folder` is replaced.
    `DataError` for an id outside the vocabulary and for a folder that holds something else.
    """
    if folder.is_dir() and any(folder.iterdir()) and not (folder / _HEADER).is_file():
        raise DataError(
            f"{folder}: the folder is not empty and not a token store", hint="choose another folder", code="D057"
        )
    dtype = np.dtype("<u2" if vocabulary_size < 1 << 16 else "<u4")
    with atomic_folder(folder, [_HEADER]) as partial:
        with ExitStack() as opened:  # closes each of them, also where closing another fails
            writers = [_SideWriter(partial, side, dtype, vocabulary_size, opened) for side in SIDES]
            pairs, remaining = 0, iter(token_pairs)
            while chunk := list(islice(remaining, _CHUNK_PAIRS)):
                for writer, sentences in zip(writers, zip(*chunk, strict=True), strict=True):
                    writer.append(sentences, pairs)
                pairs += len(chunk)
        files = {name: facts for writer in writers for name, facts in writer.facts().items()}
        header = {
            "format": FORMAT,
            "version": VERSION,
            "pairs": pairs,
            "dtype": dtype.str,
            "vocabulary_size": vocabulary_size,
            "fingerprint": fingerprint,
            "files": files,
        }
        (partial / _HEADER).write_text(json.dumps(header, indent=1) + "\n", encoding="utf-8")
    return TokenStore.open(folder)


class TokenSide(NamedTuple):
    """One side of a store: `tokens`, all ids one after another, and `offsets`, where each sentence starts (mapped)."""

    tokens: NDArray[np.unsignedinteger]
    offsets: NDArray[np.int64]

    @property
    def lengths(self) -> NDArray[np.int32]:
        """Tokens of each sentence, symbols not counted; `StoredLengths` reads only those that are needed."""
        return np.diff(self.offsets).astype(np.int32)

    def sentence(self, index: int) -> NDArray[np.int64]:
        return self.tokens[self.offsets[index] : self.offsets[index + 1]].astype(np.int64)


class StoredLengths:
    """Tokens of the sentences in some rows, symbols not counted, read from the disk when needed."""

    def __init__(self, side: TokenSide) -> None:
        self._offsets = side.offsets

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, rows: NDArray[np.integer], /) -> NDArray[np.int64]:
        return self._offsets[rows + 1] - self._offsets[rows]


class TokenStore:
    """A written store, opened for reading; the ids stay on disk until a batch needs them."""

    def __init__(self, folder: Path, header: Mapping[str, Any], source: TokenSide, target: TokenSide) -> None:
        self.folder = folder
        self.source = source
        self.target = target
        self.fingerprint: str = header["fingerprint"]
        self.vocabulary_size: int = header["vocabulary_size"]
        self._checksums: Mapping[str, str] = {name: facts["sha256"] for name, facts in header["files"].items()}

    @classmethod
    def open(cls, folder: Path) -> "TokenStore":
        """Open the store in `folder`; `DataError` when it is missing, foreign, of another version or cut short.

        Sizes and the ends of the offsets are checked here, at no cost; `verify` reads every byte.
        """
        header = _read_header(folder)
        try:
            if header["files"].keys() != {name for side in SIDES for name in _files_of(side)}:
                raise ValueError("it names other files than those of a store")
            for name, facts in header["files"].items():
                if not (folder / name).is_file():
                    raise _damaged(folder / name, "the file is missing")
                check_regular([folder / name])
                if (actual := (folder / name).stat().st_size) != facts["bytes"]:
                    raise _damaged(folder / name, f"it has {actual:,} bytes instead of {facts['bytes']:,}")
            dtype, pairs = np.dtype(header["dtype"]), header["pairs"]
            source, target = (_map_side(folder, side, dtype, pairs) for side in SIDES)
            return cls(folder, header, source, target)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _damaged(folder / _HEADER, "the header does not make sense") from error

    def __len__(self) -> int:
        return len(self.source.offsets) - 1

    def pair(self, index: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Source and target ids of one pair, without start and end symbols."""
        index = range(len(self))[index]
        return self.source.sentence(index), self.target.sentence(index)

    @property
    def source_lengths(self) -> NDArray[np.int32]:
        return self.source.lengths

    @property
    def target_lengths(self) -> NDArray[np.int32]:
        return self.target.lengths

    def verify(self) -> None:
        """Read every byte and compare with the header's SHA-256; `DataError` names the file that differs."""
        for name, checksum in self._checksums.items():
            if sha256_file(self.folder / name) != checksum:
                raise _damaged(self.folder / name, "its bytes are not those that were written")


def _files_of(side: str) -> tuple[str, str]:
    return f"{side}.tokens", f"{side}.offsets"


def _read_header(folder: Path) -> dict[str, Any]:
    if not folder.is_dir() or not (folder / _HEADER).is_file():
        why = "it has no header.json" if folder.is_dir() else "there is no such folder"
        raise DataError(f"{folder}: not a token store", why=why, hint=_REBUILD, code="D058")
    try:
        header = json.loads(read_regular(folder / _HEADER, _MOST_HEADER))
    except OSError as error:
        raise _damaged(folder / _HEADER, error.strerror or str(error)) from error
    except (ValueError, RecursionError) as error:
        raise _damaged(folder / _HEADER, "it is not JSON") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise DataError(
            f"{folder}: not a token store", why="header.json belongs to something else", hint=_REBUILD, code="D058"
        )
    if header.get("version") != VERSION:
        raise DataError(
            f"{folder}: token store of version {header.get('version')}",
            why=f"this openwork reads version {VERSION}",
            hint=_REBUILD,
            code="D059",
        )
    return header


def _map_side(folder: Path, side: str, dtype: np.dtype, pairs: int) -> TokenSide:
    tokens_file, offsets_file = (folder / name for name in _files_of(side))
    tokens, offsets = _map(tokens_file, dtype), _map(offsets_file, _OFFSET)
    if len(offsets) != pairs + 1 or offsets[0] != 0 or offsets[-1] != len(tokens):
        raise _damaged(offsets_file, "the offsets do not fit the tokens")
    return TokenSide(tokens, offsets)


def _map(path: Path, dtype: np.dtype) -> NDArray[Any]:
    if path.stat().st_size == 0:  # an empty file cannot be mapped
        return np.empty(0, dtype)
    return np.asarray(np.memmap(path, dtype, mode="r"))


def _damaged(path: Path, why: str) -> DataError:
    return DataError(f"{path}: the token store is damaged", why=why, hint=_REBUILD, code="D060")
