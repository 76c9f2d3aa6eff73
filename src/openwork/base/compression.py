"""Compressed files: told by their first bytes, unpacked a bounded piece at a time.

A format is a line of the table. Each reader gives at most as many bytes as it is asked for and holds no more than its
window, so that a small file cannot unpack into all the memory there is.
"""

import gzip
import io
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

_XZ_MEMORY = 256 << 20
"""Bytes that unpacking xz may take: four times what its strongest preset (-9) needs."""

_CHUNK = 64 << 10


@runtime_checkable
class Unpacker(Protocol):
    """A stream of unpacked bytes."""

    def read1(self, size: int = -1, /) -> bytes:
        """At most `size` bytes, b"" at the end only; EOFError and `damages()` where the archive is bad."""
        ...

    def close(self) -> None:
        """Lets go of what it holds; the file below stays open."""
        ...


@dataclass(frozen=True)
class Compression:
    """A way to compress. `name` is also the program that makes and checks such files.

    `unpack` raises ImportError where this Python lacks what it needs.
    """

    name: str
    magic: bytes
    unpack: Callable[[io.BufferedReader], Unpacker]


class _Xz:
    """The streams of an xz file, one after the other, within `_XZ_MEMORY`."""

    def __init__(self, file: io.BufferedReader) -> None:
        import lzma  # here: some builds of Python lack it

        self._file = file
        self._new = lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)
        self._stream = self._new()
        self._begun = True  # whether a stream is under way, so that the file may not end here

    def read1(self, size: int = -1, /) -> bytes:
        while True:
            if self._stream.eof:
                packed = self._stream.unused_data or self._file.read1(_CHUNK)
                self._stream, self._begun = self._new(), False
            else:
                packed = self._file.read1(_CHUNK) if self._stream.needs_input else b""
            if not self._begun:
                packed = self._after_padding(packed)
                if not packed:
                    return b""
            elif not packed and self._stream.needs_input:
                raise EOFError("the file ends within the archive")
            self._begun = True
            if data := self._stream.decompress(packed, size):
                return data

    def _after_padding(self, packed: bytes) -> bytes:
        """What follows the zeros that may stand between streams and at the end."""
        while packed and not (packed := packed.lstrip(b"\0")):
            packed = self._file.read1(_CHUNK)
        return packed

    def close(self) -> None:
        self._stream = self._new()


COMPRESSIONS = (
    Compression("gzip", b"\x1f\x8b", lambda file: gzip.GzipFile(fileobj=file, mode="rb")),
    Compression("xz", b"\xfd7zXZ\x00", _Xz),
)
LONGEST_MAGIC = max(len(compression.magic) for compression in COMPRESSIONS)
ENDINGS = (".gz", ".xz")


def compression_of(beginning: bytes) -> Compression | None:
    """How a file that begins so is compressed; None for any other file."""
    return next((known for known in COMPRESSIONS if beginning.startswith(known.magic)), None)


def damages() -> tuple[type[Exception], ...]:
    """What the unpackers raise for a damaged archive."""
    try:
        from lzma import LZMAError
    except ImportError:
        return EOFError, zlib.error, gzip.BadGzipFile
    return EOFError, zlib.error, gzip.BadGzipFile, LZMAError
