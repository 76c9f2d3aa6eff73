"""Bytes that are nearly right: what a reader finds hardest."""

import random
from collections.abc import Sequence

TOKENS = (
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xf0\x9f\x98\x80",
    b"\xed\xa0\x80",
    b"\xc0\x80",
    b"\n",
    b"\r\n",
    b"\t",
    b'"',
    b"'",
    b"{",
    b"}",
    b"[",
    b"]",
    b"<",
    b">",
    b"</",
    b"]]>",
    b"<!--",
    b"<![CDATA[",
    b"&#0;",
    b"&#x110000;",
    b"&amp;",
    b"-1",
    b"0",
    b"1e999",
    b"NaN",
    b"Infinity",
    b"9" * 30,
    b"18446744073709551616",
    b"-9223372036854775809",
    b"null",
    b"true",
    b"\\u0000",
    b"\\ud800",
    b"../",
    b"/etc/passwd",
    b"%s",
    b"=",
    b":",
    b",",
    b"#",
    b"\x1f\x8b\x08\x00",
    b"\xfd7zXZ\x00",
    b"msgid",
    b"msgstr",
)
LONG = 2000
MOST_CHANGES = 6


def mutated(seeds: Sequence[bytes], generator: random.Random) -> bytes:
    """One of the seeds with a few things done to it."""
    data = bytearray(generator.choice(seeds))
    for _ in range(generator.randint(1, MOST_CHANGES)):
        generator.choice(WAYS)(data, seeds, generator)
    return bytes(data)


def _place(data: bytearray, generator: random.Random) -> int:
    return generator.randint(0, len(data))


def _span(data: bytearray, generator: random.Random) -> slice:
    first = _place(data, generator)
    return slice(first, first + int(generator.expovariate(1 / 12)))


def _flip(data: bytearray, seeds: Sequence[bytes], generator: random.Random) -> None:
    if data:
        data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)


def _delete(data: bytearray, seeds: Sequence[bytes], generator: random.Random) -> None:
    del data[_span(data, generator)]


def _repeat(data: bytearray, seeds: Sequence[bytes], generator: random.Random) -> None:
    span = data[_span(data, generator)]
    place = _place(data, generator)
    data[place:place] = span * generator.choice((1, 1, 2, 50))


def _token(data: bytearray, seeds: Sequence[bytes], generator: random.Random) -> None:
    place = _place(data, generator)
    data[place : place + generator.choice((0, 0, 1, 4))] = generator.choice(TOKENS)


def _noise(data: bytearray, seeds: Sequence[bytes], generator: random.Random) -> None:
    place = _place(data, generator)
    data[place:place] = generator.randbytes(generator.randint(1, 8))


def _cut(data: bytearray, seeds: Sequence[bytes], generator: random.Random) -> None:
    del data[_place(data, generator) :]


def _splice(data: bytearray, seeds: Sequence[bytes], generator: random.Random) -> None:
    other = generator.choice(seeds)
    data[_place(data, generator) :] = other[generator.randint(0, len(other)) :]


def _nest(data: bytearray, seeds: Sequence[bytes], generator: random.Random) -> None:
    place = _place(data, generator)
    data[place:place] = generator.choice((b"[", b"{", b'{"a":', b"<a>", b"(", b"a.")) * LONG


def _number(data: bytearray, seeds: Sequence[bytes], generator: random.Random) -> None:
    digits = [place for place, byte in enumerate(data) if 48 <= byte <= 57]
    if digits:
        place = generator.choice(digits)
        data[place : place + 1] = generator.choice((b"-1", b"0", b"99999999999", b"1.5", b"", b"1e400"))


WAYS = (_flip, _flip, _flip, _delete, _repeat, _token, _token, _token, _noise, _cut, _splice, _number, _number, _nest)
