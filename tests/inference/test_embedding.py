"""Vectors of texts: the mean of the positions, whatever the model and the company; cosines by hand."""

from pathlib import Path

import pytest
import torch

from openwork.base.errors import UsageError
from openwork.bundles.bundle import Bundle, load_bundle, write_bundle
from openwork.bundles.settings import BundleSettings
from openwork.inference.embedder import TextEmbedder, similarity
from openwork.models.build import build_model
from openwork.models.recurrent_settings import RecurrentSettings
from openwork.models.settings import EncoderSettings

TEXTS = ["a b c", "", "d e f g h a b c d e f g h", "d"]
SIZES = {"width": 16, "heads": 2, "feedforward_width": 24, "layers": 1, "positions": "learned", "maximum_length": 9}


def embedding_bundle(tiny: Bundle, task: str = "embed") -> Bundle:
    settings = EncoderSettings.model_validate({**SIZES, "task": task})
    size = tiny.tokenizers.source.vocabulary_size
    torch.manual_seed(2)
    model = build_model(settings, size, size).eval()
    return Bundle(BundleSettings(model=settings), tiny.tokenizers, model, card="# vectors\n")


def test_a_model_of_vectors_gives_the_same_as_its_first_place(tiny_bundle: Bundle) -> None:
    bundle = embedding_bundle(tiny_bundle)
    found = TextEmbedder(bundle).embed(TEXTS)
    assert found.shape == (4, 16) and found.dtype == torch.float32
    for text, vector in zip(TEXTS, found, strict=True):
        ids = bundle.tokenizers.source.encode(text)[:7]  # 9 positions: the start symbol, these and the end symbol
        source, length = torch.tensor([[*ids, 3]]), torch.tensor([len(ids) + 1])
        with torch.no_grad():
            told = bundle.model(source, length, torch.tensor([[2]]))
        torch.testing.assert_close(told[0, 0], vector, rtol=1e-4, atol=1e-5)


def test_an_encoder_of_a_translator_has_vectors_too(tiny_bundle: Bundle) -> None:
    (found,) = TextEmbedder(tiny_bundle).embed(["a b c"])
    source = torch.tensor([[*tiny_bundle.tokenizers.source.encode("a b c"), 3]])
    with torch.no_grad():
        memory = tiny_bundle.model.encode(source, torch.tensor([source.shape[1]]))  # type: ignore[operator]
    torch.testing.assert_close(found, memory[0].mean(dim=0))


def test_the_company_does_not_matter(tiny_bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = TextEmbedder(embedding_bundle(tiny_bundle))
    together = embedder.embed(TEXTS)
    for text, vector in zip(TEXTS, together, strict=True):
        torch.testing.assert_close(embedder.embed([text])[0], vector, rtol=1e-4, atol=1e-5)
    monkeypatch.setattr("openwork.inference.embedder.BATCH_TOKENS", 5)
    torch.testing.assert_close(embedder.embed(TEXTS), together, rtol=1e-4, atol=1e-5)
    assert embedder.embed([]).shape[0] == 0


def test_such_a_bundle_is_kept(tiny_bundle: Bundle, tmp_path: Path) -> None:
    bundle = embedding_bundle(tiny_bundle)
    write_bundle(tmp_path / "bundle", bundle)
    again = TextEmbedder(load_bundle(tmp_path / "bundle")).embed(TEXTS)
    torch.testing.assert_close(again, TextEmbedder(bundle).embed(TEXTS))


def test_a_model_without_an_encoder_is_refused(tiny_bundle: Bundle) -> None:
    size = tiny_bundle.tokenizers.source.vocabulary_size
    settings = RecurrentSettings(width=4)
    model = build_model(settings, size, size)
    with pytest.raises(UsageError, match="no vectors of texts") as refused:
        TextEmbedder(Bundle(BundleSettings(model=settings), tiny_bundle.tokenizers, model))
    assert "openwork import hf" in refused.value.hint


def test_cosines_by_hand() -> None:
    found = similarity(torch.tensor([[3.0, 0.0], [1.0, 1.0]]), torch.tensor([[2.0, 0.0], [0.0, -5.0]]))
    half = 0.5**0.5
    torch.testing.assert_close(found, torch.tensor([[1.0, 0.0], [half, -half]]))
