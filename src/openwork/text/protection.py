"""Placeholders as pieces: sentences with numbers in them, to ids and back."""

from collections.abc import Callable, Iterable, Sequence

from openwork.text.placeholders import Protected, Restored, Spans, restore
from openwork.text.tokenizer import Tokenizer

Encode = Callable[[Sequence[str]], list[list[int]]]
"""Texts to ids: a tokenizer's `encode_batch`, or the same with chance in it."""


def encode_protected(tokenizer: Tokenizer, sentences: Sequence[Protected], encode: Encode) -> list[list[int]]:
    """The ids of sentences: the text between placeholders as `encode` has it, and the piece of each number."""
    runs = iter(encode([piece for sentence in sentences for piece in sentence.pieces if isinstance(piece, str)]))
    return [
        [
            number
            for piece in sentence.pieces
            for number in (next(runs) if isinstance(piece, str) else [tokenizer.placeholder_id(piece)])
        ]
        for sentence in sentences
    ]


def decode_protected(tokenizer: Tokenizer, ids: Iterable[int], spans: Spans) -> Restored:
    """The text of the ids, each placeholder of `spans` in the place of its piece."""
    if not tokenizer.placeholders:
        return Restored(tokenizer.decode(ids), spans)
    pieces: list[str | int] = []
    run: list[int] = []
    for identifier in ids:
        number = tokenizer.placeholder_number(identifier)
        if number is None:
            run.append(identifier)
        else:
            pieces += [tokenizer.decode(run), number]
            run = []
    return restore([*pieces, tokenizer.decode(run)], spans)
