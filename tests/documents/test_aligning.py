"""Alignment by a model's attention: a batch is each pair alone, and the pieces are those of the texts."""

import pytest
import torch

from openwork.base.symbols import SYMBOL_IDS
from openwork.bundles.bundle import Bundle
from openwork.documents.alignment import UNALIGNED
from openwork.inference.batches import padded
from openwork.inference.documents.aligning import Aligner
from openwork.models.build import build_model
from openwork.models.convolutional_settings import ByteNetSettings
from openwork.models.interfaces import can_attend
from openwork.text.pair import train_pair
from openwork.text.placeholders import Protected, encode_protected, places_protected, protect
from openwork.text.settings import TextSettings

PAIRS = [("a b c", "c b"), ("d e", "d e f g h"), ("a", "b a c"), ("g h i j k", "k")]


def test_a_batch_is_each_pair_alone(tiny_bundle: Bundle) -> None:
    aligner = Aligner(tiny_bundle.model, tiny_bundle.tokenizers)
    sources, targets = zip(*PAIRS, strict=True)
    for pair, found in zip(PAIRS, aligner.align(sources, targets), strict=True):
        (alone,) = aligner.align([pair[0]], [pair[1]])
        assert (found.source, found.target) == (alone.source, alone.target)
        torch.testing.assert_close(torch.tensor(found.weights), torch.tensor(alone.weights))
        assert "".join(pair[0][begin:end] for begin, end in found.source) == pair[0]
        assert "".join(pair[1][begin:end] for begin, end in found.target) == pair[1]


def test_weights_are_those_of_the_step_that_writes_the_piece(tiny_bundle: Bundle) -> None:
    """Piece by piece, as a search goes on."""
    model, tokenizers = tiny_bundle.model, tiny_bundle.tokenizers
    (found,) = Aligner(model, tokenizers).align(["a b c"], ["c b"])
    ids, lengths = padded([tokenizers.source.encode("a b c")], torch.device("cpu"))
    with torch.no_grad():
        state = model.start(ids, lengths)
        rows = []
        for piece in [SYMBOL_IDS.start, *tokenizers.target.encode("c b")]:
            _, weights, state = model.attend(torch.tensor([[piece]]), state)  # type: ignore[attr-defined]
            rows.append(weights[0, 0, :-1])
    torch.testing.assert_close(torch.tensor(found.weights), torch.stack(rows[:-1]))


def test_what_cannot_be_aligned(tiny_bundle: Bundle) -> None:
    aligner = Aligner(tiny_bundle.model, tiny_bundle.tokenizers)
    found = aligner.align(["", "a", "a b", "a" * 5000], ["a", "", "b a", "a"])
    assert [one == UNALIGNED for one in found] == [True, True, False, True]


def test_a_model_that_does_not_say_where_it_attends(tiny_bundle: Bundle) -> None:
    size = tiny_bundle.tokenizers.source.vocabulary_size
    model = build_model(ByteNetSettings(width=8, encoder_layers=1, decoder_layers=1), size, size)
    assert not can_attend(model)
    assert Aligner(model, tiny_bundle.tokenizers).align(["a b"], ["b"]) == [UNALIGNED]


@pytest.mark.parametrize("text", ["click <b>here</b> for 5 %s", "plain", "<b>", "a%s", "%s%s b"])
def test_places_of_pieces_and_placeholders(text: str) -> None:
    lines = ["click here for 5", "plain a b"] * 3
    tokenizers = train_pair(lines, lines, TextSettings(vocabulary_size=320, placeholders=2))
    for sentence in (protect(text, 2), Protected((text,))):
        (ids,) = encode_protected(tokenizers.source, [sentence], tokenizers.source.encode_batch)
        places = places_protected(tokenizers.source, sentence)
        assert len(places) == len(ids)
        assert "".join(text[begin:end] for begin, end in places) == text
        whole = {text[begin:end] for begin, end in places}
        assert whole >= set(sentence.spans)
