"""What is written of encoders and language models, loaded by Hugging Face's own classes: the same numbers and texts."""

from pathlib import Path
from typing import Any

import pytest
import torch

pytest.importorskip("transformers", reason="the extra parity is not installed: make parity")
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
)

from interop.alone import LABELS, adopted, decoder, encoder, own
from openwork.bundles.bundle import Bundle
from openwork.inference.completer import Completer
from openwork.inference.labeller import Labeller
from openwork.inference.translator import BatchTranslator
from openwork.interop.forms import write_hugging_face_folder
from openwork.models.encoder_lm import EncoderModel
from openwork.text.tokenizer import Tokenizer

pytestmark = pytest.mark.slow  # what is held against needs seconds to load

TOLERANCE = 1e-4
TEXTS = ["the cats sat", "how are you ?", "a"]


def written(folder: Path, bundle: Bundle, kind: Any) -> tuple[Any, Any]:
    """Their model and their tokenizer."""
    write_hugging_face_folder(folder / "out", bundle)
    return kind.from_pretrained(folder / "out").eval(), AutoTokenizer.from_pretrained(folder / "out")


@pytest.fixture(params=["own", "adopted"])
def tokenizer(request: pytest.FixtureRequest, tmp_path: Path) -> Tokenizer:
    return own() if request.param == "own" else adopted(tmp_path)


def rows(bundle: Bundle, text: str) -> tuple[torch.Tensor, torch.Tensor]:
    """One source as our models take it."""
    ids = [*bundle.tokenizers.source.encode(text), 3]
    return torch.tensor([ids]), torch.tensor([len(ids)])


@pytest.mark.parametrize("preset", ["gpt-small", "llama-small"])
@pytest.mark.parametrize("scaled", [False, True])
def test_language_models(preset: str, scaled: bool, tokenizer: Tokenizer, tmp_path: Path) -> None:
    bundle = decoder(tokenizer, preset, embedding_scale=scaled)
    theirs, their_tokenizer = written(tmp_path, bundle, AutoModelForCausalLM)
    completer = Completer(BatchTranslator.of(bundle))
    for text in TEXTS:
        given = their_tokenizer(text, return_tensors="pt", return_token_type_ids=False)
        source, lengths = rows(bundle, text)
        with torch.no_grad():
            expected = theirs(**given).logits[0, -1]
            found = bundle.model.step(torch.tensor([[2]]), bundle.model.start(source, lengths))[0][0, 0]
        # by the piece's name, since an adopted one has other ids here than there
        names = [(number, tokenizer.piece(number)) for number in range(4, tokenizer.vocabulary_size)]
        known = their_tokenizer.get_vocab()
        pairs = [(number, known[name]) for number, name in names if name in known]
        assert len(pairs) > 8
        ours, ids = (list(column) for column in zip(*pairs, strict=True))
        torch.testing.assert_close(found[ours], expected[ids], rtol=0, atol=TOLERANCE)
        ((best,),) = completer.complete([text])
        continued = theirs.generate(**given)[0, given["input_ids"].shape[1] :].tolist()
        # pieces, since texts of half a character are shown differently
        assert continued[: len(best.pieces)] == [known[tokenizer.piece(number)] for number in best.pieces]
        assert len(continued) == len(best.pieces) or continued[-1] == theirs.config.eos_token_id


def test_classifiers(tokenizer: Tokenizer, tmp_path: Path) -> None:
    bundle = encoder(tokenizer, "classify")
    theirs, their_tokenizer = written(tmp_path, bundle, AutoModelForSequenceClassification)
    assert list(theirs.config.id2label.values()) == LABELS
    found = Labeller(bundle.model, bundle.tokenizers, "classify").label([*TEXTS, "how are you ?\tthe cat sat"], 3)
    for text, one in zip([*TEXTS, ("how are you ?", "the cat sat")], found, strict=True):
        parts = text if isinstance(text, tuple) else (text,)
        with torch.no_grad():
            shares = theirs(**their_tokenizer(*parts, return_tensors="pt")).logits[0].softmax(dim=-1)
        told = {choice.label: choice.probability for choice in one.places[0]}
        expected = dict(zip(LABELS, shares.tolist(), strict=True))
        assert told == pytest.approx(expected, abs=TOLERANCE)


def test_vectors(tokenizer: Tokenizer, tmp_path: Path) -> None:
    bundle = encoder(tokenizer, "embed")
    theirs, their_tokenizer = written(tmp_path, bundle, AutoModel)
    assert isinstance(bundle.model, EncoderModel)
    for text in TEXTS:
        with torch.no_grad():
            expected = theirs(**their_tokenizer(text, return_tensors="pt"))
            found = bundle.model.encode(*rows(bundle, text))
            pooled = bundle.model(*rows(bundle, text), torch.full((1, 2), 2))[:, 1]
        torch.testing.assert_close(found, expected.last_hidden_state, rtol=0, atol=TOLERANCE)
        torch.testing.assert_close(pooled, expected.pooler_output, rtol=0, atol=TOLERANCE)


def test_masked_pieces(tokenizer: Tokenizer, tmp_path: Path) -> None:
    bundle = encoder(tokenizer, "fill", mask_piece=4)
    theirs, their_tokenizer = written(tmp_path, bundle, AutoModelForMaskedLM)
    assert their_tokenizer.mask_token == tokenizer.piece(4)
    for text in TEXTS:
        source, lengths = rows(bundle, text)
        with torch.no_grad():
            expected = theirs(**their_tokenizer(text, return_tensors="pt")).logits[0, 1:]
            found = bundle.model.step(torch.zeros_like(source), bundle.model.start(source, lengths))[0][0]
        known = their_tokenizer.get_vocab()
        names = ((number, tokenizer.piece(number)) for number in range(4, tokenizer.vocabulary_size))
        ours, ids = zip(*((number, known[name]) for number, name in names if name in known), strict=True)
        torch.testing.assert_close(found[:, ours], expected[:, ids], rtol=0, atol=TOLERANCE)
