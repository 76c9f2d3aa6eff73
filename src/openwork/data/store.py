"""A corpus of token ids on disk, read through memory maps.

A store is a folder of five files: `header.json` and, for each side, `SIDE.tokens` (all ids, one sentence after another)
and `SIDE.offsets` (int64, one more than there are pairs: sentence i is tokens[offsets[i]:offsets[i + 1]]). Writing
streams and reading maps, so a corpus may be larger than the memory. No symbols are stored: batching adds start and end.
Sources that are numbers have a row of them where a text has an id; the header keeps their form.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from openwork.base.errors import DataError
from openwork.base.files import sha256_file
from openwork.base.folders import atomic_folder
from openwork.base.messages import msg
from openwork.base.regular_files import check_regular, read_regular
from openwork.base.sources import NumberForm

FORMAT = "openwork token store"
VERSION = 1
SIDES = ("source", "target")
_REBUILD = "remove the folder and prepare the corpus again"
_HEADER = "header.json"
_MOST_HEADER = 1 << 20  # bytes
_CHUNK_PAIRS, _CHUNK_OF_NUMBERS = 8192, 64  # a picture takes much more memory than a sentence
_OFFSET = np.dtype("<i8")


def write_store(
    folder: Path,
    token_pairs: Iterable[tuple[Any, Sequence[int]]],
    *,
    vocabulary_size: int,
    fingerprint: str = "",
    form: NumberForm | None = None,
) -> "TokenStore":
    """Write pairs of id sequences to `folder`, whole or not at all, and open the result.

    `vocabulary_size` is the larger of the two sides' sizes: ids have 16 bits when all of them fit, else 32.
    `fingerprint` identifies the input (corpus, filters, tokenizer); the store returns it, so that the caller can
    recognise a stale store. `form`: that of sources that are arrays of numbers (position, features), in place of ids.
    Memory use does not grow with the corpus. An older store in `folder` is replaced.
    `DataError` for an id outside the vocabulary and for a folder that holds something else.
    """
    if folder.is_dir() and any(folder.iterdir()) and not (folder / _HEADER).is_file():
        raise DataError(
            f"{folder}: the folder is not empty and not a token store", hint="choose another folder", code="D057"
        )
    dtype = np.dtype("<u2" if vocabulary_size < 1 << 16 else "<u4")
    with atomic_folder(folder, [_HEADER]) as partial:
        names = [name for side in SIDES for name in _files_of(side)]
        with ExitStack() as opened:  # closes each of them, also where closing another fails
            files = {name: opened.enter_context((partial / name).open("wb")) for name in names}
            for side in SIDES:
                files[f"{side}.offsets"].write(np.zeros(1, _OFFSET).tobytes())
            pairs, tokens, remaining = 0, dict.fromkeys(SIDES, 0), iter(token_pairs)
            while chunk := list(islice(remaining, _CHUNK_PAIRS if form is None else _CHUNK_OF_NUMBERS)):
                for side, sentences in zip(SIDES, zip(*chunk, strict=True), strict=True):
                    lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
                    if form is not None and side == "source":
                        _write_numbers(files[f"{side}.tokens"], sentences, form)
                    else:
                        ids = np.fromiter(chain.from_iterable(sentences), np.int64, int(lengths.sum()))
                        _check_ids(ids, lengths, pairs, side, vocabulary_size)
                        files[f"{side}.tokens"].write(ids.astype(dtype).tobytes())
                    files[f"{side}.offsets"].write((np.cumsum(lengths) + tokens[side]).astype(_OFFSET).tobytes())
                    tokens[side] += int(lengths.sum())
                pairs += len(chunk)
        header = {
            "format": FORMAT,
            "version": VERSION,
            "pairs": pairs,
            "dtype": dtype.str,
            "vocabulary_size": vocabulary_size,
            "fingerprint": fingerprint,
            **({} if form is None else {"numbers": asdict(form)}),
            "files": {
                name: {"bytes": (partial / name).stat().st_size, "sha256": sha256_file(partial / name)}
                for name in names
            },
        }
        (partial / _HEADER).write_text(json.dumps(header, indent=1) + "\n", encoding="utf-8")
    return TokenStore.open(folder)


def _write_numbers(file: BinaryIO, sources: Sequence[NDArray[Any]], form: NumberForm) -> None:
    """ValueError for numbers of another form, which an encoder never gives."""
    for source in sources:
        if source.dtype != np.dtype(form.dtype) or source.shape[1:] != (form.features,):
            raise ValueError(f"numbers of the form {source.dtype} {source.shape} where {form} is expected")
        file.write(source.tobytes())


def _check_ids(ids: NDArray[np.int64], lengths: NDArray[np.int64], before: int, side: str, size: int) -> None:
    """DataError for the first id outside the vocabulary; `before`: how many pairs come before these."""
    wrong = np.flatnonzero((ids < 0) | (ids >= size))
    if len(wrong):
        pair = before + int(np.searchsorted(np.cumsum(lengths), wrong[0], side="right")) + 1
        raise DataError(
            f"pair {pair}: token id {ids[wrong[0]]} on the {side} side is outside the vocabulary",
            why=f"ids run from 0 to {size - 1}",
            hint="encode the corpus with the tokenizer that the store is meant for",
            code="D056",
        )


class TokenSide(NamedTuple):
    """One side of a store: `tokens`, all ids one after another, and `offsets`, where each sentence starts (mapped).

    With a `form`, `tokens` are rows of numbers (position, features).
    """

    tokens: NDArray[Any]
    offsets: NDArray[np.int64]
    form: NumberForm | None = None

    @property
    def lengths(self) -> NDArray[np.int32]:
        """Tokens of each sentence, symbols not counted; `StoredLengths` reads only those that are needed."""
        return np.diff(self.offsets).astype(np.int32)

    @property
    def end_symbols(self) -> int:
        """End symbols that batching adds to a sentence: one to ids, none to numbers."""
        return 1 if self.form is None else 0

    def sentence(self, index: int) -> NDArray[Any]:
        """The ids of a sentence, or its numbers as they are kept."""
        found = self.tokens[self.offsets[index] : self.offsets[index + 1]]
        return found.astype(np.int64) if self.form is None else np.array(found)


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
            form = _form_of(header)
            source = _map_side(folder, "source", np.dtype(form.dtype) if form else dtype, pairs, form)
            return cls(folder, header, source, _map_side(folder, "target", dtype, pairs))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _damaged(folder / _HEADER, "the header does not make sense") from error

    def __len__(self) -> int:
        return len(self.source.offsets) - 1

    def pair(self, index: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Source and target ids of one pair, without start and end symbols; or the source's numbers."""
        index = range(len(self))[index]
        return self.source.sentence(index), self.target.sentence(index)

    def verify(self) -> None:
        """Read every byte and compare with the header's SHA-256; `DataError` names the file that differs."""
        for name, checksum in self._checksums.items():
            if sha256_file(self.folder / name) != checksum:
                raise _damaged(self.folder / name, "its bytes are not those that were written")


def _files_of(side: str) -> tuple[str, str]:
    return f"{side}.tokens", f"{side}.offsets"


def _read_header(folder: Path) -> dict[str, Any]:
    if not folder.is_dir() or not (folder / _HEADER).is_file():
        raise _no_store(folder, msg("it has no header.json") if folder.is_dir() else msg("there is no such folder"))
    try:
        header = json.loads(read_regular(folder / _HEADER, _MOST_HEADER))
    except OSError as error:
        raise _damaged(folder / _HEADER, error.strerror or str(error)) from error
    except (ValueError, RecursionError) as error:
        raise _damaged(folder / _HEADER, "it is not JSON") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT or header.get("version") != VERSION:
        raise _no_store(folder, msg(f"header.json belongs to something else, or not to version {VERSION}"))
    return header


def _no_store(folder: Path, why: str) -> DataError:
    return DataError(f"{folder}: not a token store", why=why, hint=_REBUILD, code="D058")


def _form_of(header: Mapping[str, Any]) -> NumberForm | None:
    if "numbers" not in header:
        return None
    found = header["numbers"]
    return NumberForm(int(found["features"]), found["dtype"], tuple(found["scale"]), tuple(found["shift"]))


def _map_side(folder: Path, side: str, dtype: np.dtype, pairs: int, form: NumberForm | None = None) -> TokenSide:
    tokens_file, offsets_file = (folder / name for name in _files_of(side))
    tokens, offsets = _map(tokens_file, dtype), _map(offsets_file, _OFFSET)
    if form is not None:
        tokens = tokens.reshape(-1, form.features)
    if len(offsets) != pairs + 1 or offsets[0] != 0 or offsets[-1] != len(tokens):
        raise _damaged(offsets_file, "the offsets do not fit the tokens")
    return TokenSide(tokens, offsets, form)


def _map(path: Path, dtype: np.dtype) -> NDArray[Any]:
    if path.stat().st_size == 0:  # an empty file cannot be mapped
        return np.empty(0, dtype)
    return np.asarray(np.memmap(path, dtype, mode="r"))


def _damaged(path: Path, why: str) -> DataError:
    return DataError(f"{path}: the token store is damaged", why=why, hint=_REBUILD, code="D060")
