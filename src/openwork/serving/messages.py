"""Messages between the processes of a server: JSON with its length before it, so that nothing is unpickled."""

import asyncio
import json
import socket
import struct
from collections.abc import Mapping
from typing import Any

from openwork.inference.translation import Translation

LENGTH = struct.Struct(">I")
MOST_BYTES = 256 << 20


def encoded(message: Any) -> bytes:
    content = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
    return LENGTH.pack(len(content)) + content


def send(connection: socket.socket, message: Any) -> None:
    connection.sendall(encoded(message))


def receive(connection: socket.socket) -> Any | None:
    """The next message; None where the other side has ended."""
    header = _exactly(connection, LENGTH.size)
    if header is None:
        return None
    content = _exactly(connection, _length(header))
    return None if content is None else json.loads(content)


async def read(reader: asyncio.StreamReader) -> Any | None:
    """The next message; None where the other side has ended."""
    try:
        return json.loads(await reader.readexactly(_length(await reader.readexactly(LENGTH.size))))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


def _length(header: bytes) -> int:
    (length,) = LENGTH.unpack(header)
    if length > MOST_BYTES:
        raise ValueError(f"a message of {length:,} bytes")
    return length


def _exactly(connection: socket.socket, count: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < count:
        part = connection.recv(min(count - len(parts), 1 << 20))
        if not part:
            return None
        parts += part
    return bytes(parts)


def shown(one: Translation) -> dict[str, Any]:
    """A translation in a message."""
    return {
        "text": one.text,
        "score": one.score,
        "log_probability": one.log_probability,
        "finished": one.finished,
        "cut": one.cut,
        "missing": list(one.missing),
        "problem": one.problem,
        "flags": list(one.flags),
        "source_tokens": 0 if one.cut else one.source_pieces,
    }


def translation_of(found: Mapping[str, Any]) -> Translation:
    """What `shown` has made a message of, without its pieces."""
    return Translation(
        found["text"], found["score"], found["log_probability"], found["finished"], found["cut"],
        tuple(found["missing"]), found["problem"], flags=tuple(found["flags"]),
    )  # fmt: skip
