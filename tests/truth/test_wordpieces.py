"""BERT's way of cutting texts, as openwork reads it from a vocab.txt, by a second implementation."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from openwork.text.external import ExternalTokenizer
from openwork.text.external.reading import read_tokenizer
from truth.wordpieces import LETTERS, SIZE, framed, texts, vocabulary


def from_vocabulary() -> ExternalTokenizer:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "vocab.txt"
        path.write_text("".join(f"{name}\n" for name in vocabulary()), encoding="utf-8")
        found = read_tokenizer(path)
    assert isinstance(found, ExternalTokenizer)
    return found


@cache
def right() -> dict[str, list[str]]:
    return {text: framed(text) for text in texts()}


@pytest.mark.slow
def test_texts_are_cut_as_the_description_says() -> None:
    tokenizer, number = from_vocabulary(), {name: place for place, name in enumerate(vocabulary())}
    assert tokenizer.vocabulary_size == SIZE
    for text, pieces in right().items():
        assert tokenizer.encode_framed(text) == [number[piece] for piece in pieces], text


@pytest.mark.slow
def test_the_steps_that_are_shown_lead_to_the_same_pieces() -> None:
    tokenizer = from_vocabulary()
    for text, pieces in right().items():
        words = tokenizer.work(text)
        assert [piece for word in words for piece in word.pieces] == pieces[1:-1], text
        assert all(word.steps for word in words if not word.pieces[0].startswith("[")), text


@pytest.mark.slow
def test_the_texts_need_every_rule() -> None:
    """Words that are whole, cut in many pieces, and unknown; none is answered by the letters alone."""
    pieces = [piece for found in right().values() for piece in found]
    assert {"[UNK]", "[MASK]", "?"} <= set(pieces)
    tails = [piece for piece in pieces if piece.startswith("##")]
    assert sum(len(tail) > 4 for tail in tails) > 500
    assert len(set(pieces)) > 1000 and not {LETTERS[-1], "##e"} & set(vocabulary())
