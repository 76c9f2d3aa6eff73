"""Compression of gzip and xz files, recognised by their first bytes, with bounded memory.

A format is a line of the table. A reader returns at most the requested number of bytes and holds no more than its
window, so a small file cannot fill the memory. A writer puts neither name nor time into the file, so that equal bytes
become equal files.
"""

import gzip
import io
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO, cast

_XZ_MEMORY = 256 << 20
"""Memory limit of xz in bytes: four times the need of its strongest preset (-9)."""

_CHUNK = 64 << 10


@dataclass(frozen=True)
class Compression:
    """A compression format. `name` is also its program. `unpack` and `pack` raise ImportError if Python lacks a module.

    Closing what `pack` returns ends the archive and leaves the file open.
    """

    name: str
    magic: bytes
    unpack: Callable[[io.BufferedReader], io.BufferedIOBase]
    pack: Callable[[BinaryIO], BinaryIO]


class _Xz(io.BufferedIOBase):
    """The concatenated streams of an xz file, within `_XZ_MEMORY`."""

    def __init__(self, file: io.BufferedReader) -> None:
        import lzma  # here, since some builds of Python lack it

        self._file = file
        self._new = lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)
        self._stream = self._new()
        self._started = True  # whether a stream has started, so that the file must not end here

    def read1(self, size: int = -1, /) -> bytes:
        while True:
            if self._stream.eof:
                packed = self._stream.unused_data or self._file.read1(_CHUNK)
                self._stream, self._started = self._new(), False
            else:
                packed = self._file.read1(_CHUNK) if self._stream.needs_input else b""
            if not self._started:
                packed = self._after_padding(packed)
                if not packed:
                    return b""
            elif not packed and self._stream.needs_input:
                raise EOFError("the file ends within the archive")
            self._started = True
            if data := self._stream.decompress(packed, size):
                return data

    def _after_padding(self, packed: bytes) -> bytes:
        """The bytes after the zeros that may pad streams."""
        while packed and not (packed := packed.lstrip(b"\0")):
            packed = self._file.read1(_CHUNK)
        return packed


def _packed_gzip(file: BinaryIO) -> BinaryIO:
    return cast(BinaryIO, gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0))


def _packed_xz(file: BinaryIO) -> BinaryIO:
    import lzma  # here, since some builds of Python lack it

    return cast(BinaryIO, lzma.LZMAFile(file, "wb", preset=6))


COMPRESSIONS = (
    Compression("gzip", b"\x1f\x8b", lambda file: gzip.GzipFile(fileobj=file, mode="rb"), _packed_gzip),
    Compression("xz", b"\xfd7zXZ\x00", _Xz, _packed_xz),
)
LONGEST_MAGIC = max(len(compression.magic) for compression in COMPRESSIONS)
ENDINGS = (".gz", ".xz")


def compression_of(beginning: bytes) -> Compression | None:
    """The compression of a file with these first bytes; None if it is not compressed."""
    return next((known for known in COMPRESSIONS if beginning.startswith(known.magic)), None)


def damages() -> tuple[type[Exception], ...]:
    """The exceptions that a damaged archive causes."""
    try:
        from lzma import LZMAError
    except ImportError:
        return EOFError, zlib.error, gzip.BadGzipFile
    return EOFError, zlib.error, gzip.BadGzipFile, LZMAError
