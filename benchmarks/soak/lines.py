"""Lines as a service meets them in an hour: ordinary ones of all lengths, and now and then one that means ill."""

import random
from collections.abc import Iterator, Sequence

WORDS = (
    "a", "two", "three", "man", "woman", "children", "dogs", "bicycle", "street", "market", "river", "field", "house",
    "window", "shirt", "red", "blue", "green", "yellow", "black", "white", "young", "old", "small", "wooden", "walking",
    "running", "sitting", "playing", "holding", "jumping", "riding", "looking", "in", "on", "at", "under", "near",
    "between", "across", "the", "of", "and", "with", "while", "through", "snow", "water", "guitar", "ball", "bridge",
)  # fmt: skip
SCRIPTS = (
    "两个男人在雨中走过街道。",
    "Два человека идут по улице в дождь.",
    "رجلان يسيران في الشارع تحت المطر.",
    "雨の中、二人の男性が通りを歩いている。",
    "빗속을 걷는 두 남자.",
    "दो आदमी बारिश में सड़क पर चल रहे हैं।",
    "Zwei Männer überqueren eine Straße; Größe: 3½ m².",
    "e\u0301e\u0301e\u0301 a\u0308\u0323 Z\u0351\u0343\u0352\u0315a\u0300\u0301\u0302lgo",
    "👩‍👩‍👧‍👦 🎉🎉🎉 😀😀 🇩🇪🇫🇷",
)
HOSTILE = (
    b"",
    b"   \t ",
    b"\xff\xfe\x80 not text \xc0\xaf",
    b"a\x00b\x00c",
    b"word " * 2000,
    b"x" * 5000,
    "😀".encode() * 700,
    b"....................... !!!!!!!!!!!!!! ((((((((((((",
    b"<b>5</b> {name} https://example.org/?a=1&b=2 %s ${HOME} '; DROP TABLE x; --",
    b"\xe2\x80\xa8\xe2\x80\xa9\xc2\x85 a",
)
HOSTILE_SHARE, SCRIPTS_SHARE = 0.02, 0.15


def lines(generator: random.Random) -> Iterator[bytes]:
    """Without end; each is one line with its end."""
    while True:
        drawn = generator.random()
        if drawn < HOSTILE_SHARE:
            yield generator.choice(HOSTILE) + b"\n"
        elif drawn < HOSTILE_SHARE + SCRIPTS_SHARE:
            yield (generator.choice(SCRIPTS) * generator.choice((1, 1, 1, 3))).encode() + b"\n"
        else:
            yield _sentence(generator).encode() + b"\n"


def _sentence(generator: random.Random) -> str:
    """Mostly of a dozen words, now and then of one or of eighty."""
    words = generator.choices(WORDS, k=min(1 + int(generator.gammavariate(2.5, 5)), 80))
    text = " ".join(words).capitalize() + "."
    return text.upper() if generator.random() < 0.03 else text


def blocks(generator: random.Random, sizes: Sequence[int] = (1, 1, 1, 4, 16, 64)) -> Iterator[list[bytes]]:
    """Lines that come together: one, or some."""
    endless = lines(generator)
    while True:
        yield [next(endless) for _ in range(generator.choice(sizes))]
