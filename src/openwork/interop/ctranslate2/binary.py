"""CTranslate2's `model.bin`: named arrays of numbers, some known by further names.

All numbers are little-endian. A text is its size with a final NUL as 2 bytes, its bytes, and the NUL.

    binary version                       4 bytes
    specification, revision              a text, 4 bytes: which model it is, and which names its arrays have
    count of variables                   4 bytes; each one
        name                             a text
        rank, dimensions                 1 byte, 4 bytes each; rank 0 is a single number
        type, size                       version 4: 1 byte, and the bytes of the payload in 4 bytes
                                         before: bytes of one number in 1 byte, count of numbers in 4 bytes
        payload                          the numbers, row by row
    count of aliases                     from version 3: 4 bytes; each one
        alias, name                      two texts: the variable has this further name

The files may come from anyone: no memory is taken for bytes that the file does not hold, and inconsistent files are
refused.
"""

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np

from openwork.base.errors import BundleError
from openwork.base.regular_files import unreadable

OLDEST, NEWEST = 2, 6  # binary versions; version 1 had no specification
TYPED, ALIASED = 4, 3  # the versions from which types are named, and aliases follow
BFLOAT16 = "bfloat16"  # numpy has no such type: its numbers are the upper halves of float32
TYPES = ("<f4", "i1", "<i2", "<i4", "<f2", BFLOAT16)
TYPES_BY_SIZE = {4: "<f4", 2: "<i2", 1: "i1"}
MOST_DIMENSIONS = 8
FLOAT32, INT8, INT16, INT32 = 0, 1, 2, 3


@dataclass(frozen=True)
class Contents:
    """What a `model.bin` holds. `aliases`: further names -> names in `variables`."""

    specification: str
    revision: int
    variables: Mapping[str, np.ndarray]
    aliases: Mapping[str, str] = field(default_factory=dict)
    version: int = NEWEST


def read_binary(path: Path) -> Contents:
    """The contents of a `model.bin`; BundleError for one that is missing, cut off, damaged or of another version."""
    try:
        with path.open("rb") as file:
            return _BinaryReader(path, file).contents()
    except OSError as error:
        raise unreadable(path, error) from error


class _BinaryReader:
    """Reads a file from front to back and counts the bytes left."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self.file = file
        self.left = path.stat().st_size

    def contents(self) -> Contents:
        version = self.number(4)
        if not OLDEST <= version <= NEWEST:
            raise BundleError(
                f"{self.path}: this is no model of CTranslate2 that openwork can read",
                why=f"its first number, the binary version, is {version}; known are {OLDEST} to {NEWEST}",
                hint="convert the original model again with a current CTranslate2",
                code="B002",
            )
        specification, revision = self.text(), self.number(4)
        variables: dict[str, np.ndarray] = {}
        for _ in range(self.number(4)):
            name = self.text()
            if name in variables:
                raise self.damaged(f"the variable {name} comes twice")
            variables[name] = self.variable(name, version)
        aliases: dict[str, str] = {}
        for _ in range(self.number(4) if version >= ALIASED else 0):
            alias, name = self.text(), self.text()
            name = aliases.get(name, name)
            if alias in variables or alias in aliases or name not in variables:
                raise self.damaged(f"{alias} is no new name of a variable that is there")
            aliases[alias] = name
        if self.left:
            raise self.damaged(f"{self.left:,} bytes are left over")
        return Contents(specification, revision, variables, aliases, version)

    def variable(self, name: str, version: int) -> np.ndarray:
        rank = self.number(1)
        if rank > MOST_DIMENSIONS:
            raise self.damaged(f"the variable {name} has {rank} dimensions")
        shape = tuple(self.number(4) for _ in range(rank))
        code, count = self.number(1), self.number(4)
        if version >= TYPED:
            kind, size = TYPES[code] if code < len(TYPES) else None, count
        else:
            kind, size = TYPES_BY_SIZE.get(code), count * code
        if kind is None:
            raise self.damaged(f"the variable {name} has numbers of the unknown type {code}")
        stored = np.dtype("<u2" if kind == BFLOAT16 else kind)
        if size != math.prod(shape) * stored.itemsize:
            raise self.damaged(f"the variable {name} has {size:,} bytes, which do not fit its shape {shape}")
        numbers = np.frombuffer(self.take(size), stored).reshape(shape)
        return (numbers.astype("<u4") << 16).view("<f4") if kind == BFLOAT16 else numbers

    def text(self) -> str:
        data = self.take(self.number(2))
        try:
            if data[-1:] != b"\0":
                raise ValueError("it has no end")
            return data[:-1].decode("utf-8")
        except ValueError as error:
            raise self.damaged(f"a name is not a text: {error}") from error

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def take(self, size: int) -> bytes:
        data = self.file.read(size) if size <= self.left else b""
        if len(data) != size:
            raise self.damaged(f"{size:,} more bytes should follow, and {self.left:,} do")
        self.left -= size
        return data

    def damaged(self, why: str) -> BundleError:
        return BundleError(
            f"{self.path}: not a whole model of CTranslate2",
            why=why,
            hint="copy or convert the model again",
            code="B003",
        )


def write_binary(path: Path, contents: Contents) -> None:
    """Writes a `model.bin` of the newest version, names in alphabetical order as CTranslate2 writes them."""
    with path.open("wb") as file:
        file.write(struct.pack("<I", NEWEST))
        file.write(_text(contents.specification) + struct.pack("<I", contents.revision))
        file.write(struct.pack("<I", len(contents.variables)))
        for name, numbers in sorted(contents.variables.items()):
            code = TYPES.index(numbers.dtype.newbyteorder("<").str if numbers.dtype.itemsize > 1 else "i1")
            file.write(_text(name) + struct.pack(f"<B{numbers.ndim}I", numbers.ndim, *numbers.shape))
            file.write(struct.pack("<BI", code, numbers.nbytes))
            file.write(np.ascontiguousarray(numbers, TYPES[code]).tobytes())
        file.write(struct.pack("<I", len(contents.aliases)))
        for alias, name in sorted(contents.aliases.items()):
            file.write(_text(alias) + _text(name))


def _text(text: str) -> bytes:
    data = text.encode() + b"\0"
    return struct.pack("<H", len(data)) + data
