"""Captured attention: weights of the computation that translates, with pieces that are those of the texts."""

import base64

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openwork.base.errors import UsageError
from openwork.bundles.bundle import Bundle
from openwork.inference.attention_maps.capture import KINDS, AttentionCapture, attention_of, piece_label
from openwork.inference.documents.aligning import Aligner
from openwork.inference.scorer import Scorer
from openwork.inference.translator import BatchTranslator


def test_its_numbers_are_those_of_the_computation_without_recording(tiny_bundle: Bundle) -> None:
    found = attention_of(tiny_bundle, "a b c", "c b")
    (scored,) = Scorer(tiny_bundle.model, tiny_bundle.tokenizers).score([("a b c", "c b")])
    assert found.log_probabilities == pytest.approx(scored.log_probabilities, abs=1e-5)
    assert [piece.text for piece in found.target_pieces] == list(scored.pieces)
    (aligned,) = Aligner(tiny_bundle.model, tiny_bundle.tokenizers).align(["a b c"], ["c b"])
    mean = np.mean([layer.weights.mean(0) for layer in found.of("cross")], axis=0)
    np.testing.assert_allclose(mean[:-1, :-1], aligned.weights, atol=1e-6)


def test_every_row_adds_up_to_1_and_no_position_sees_a_later_one(tiny_bundle: Bundle) -> None:
    found = attention_of(tiny_bundle, "a b c d", "d c b")
    settings = tiny_bundle.settings.model
    counts = {kind: len(found.of(kind)) for kind in KINDS}
    assert counts == {
        "encoder": settings.encoder_layers, "decoder": settings.decoder_layers, "cross": settings.decoder_layers,
    }  # type: ignore[union-attr]  # fmt: skip
    for layer in found.layers:
        np.testing.assert_allclose(layer.weights.sum(-1), 1.0, atol=1e-6)
    for layer in found.of("decoder"):
        assert not np.triu(layer.weights, 1).any()


def test_the_text_s_pieces_and_their_characters(tiny_bundle: Bundle) -> None:
    found = attention_of(tiny_bundle, "a b c", "c b")
    spans = [piece.span for piece in found.source_pieces]
    assert spans[-1] is None and all(spans[:-1])
    assert "".join("a b c"[span[0] : span[1]] for span in spans[:-1] if span) == "a b c"
    assert found.inputs[0] == "<s>" and list(found.inputs[1:]) == [piece.text for piece in found.target_pieces[:-1]]
    shapes = {layer.kind: layer.weights.shape[1:] for layer in found.layers}
    source, target = len(found.source_pieces), len(found.target_pieces)
    assert shapes == {"encoder": (source, source), "decoder": (target, target), "cross": (target, source)}


def test_the_own_translation_where_none_is_given(tiny_bundle: Bundle) -> None:
    own = BatchTranslator.of(tiny_bundle).translate(["d e"])[0][0].text
    assert own and attention_of(tiny_bundle, "d e").translation == own


def test_written_weights_are_within_half_a_share(tiny_bundle: Bundle) -> None:
    found = attention_of(tiny_bundle, "a b c", "c b")
    for layer, written in zip(found.layers, found.to_json()["maps"], strict=True):
        shares = np.frombuffer(base64.b64decode(written["weights"]), dtype="<u2")
        read = shares.reshape(written["heads"], written["rows"], written["columns"]) / 65_535
        assert np.abs(read - layer.weights).max() <= 7.7e-6


def test_bytes_are_named_and_not_broken() -> None:
    assert piece_label("<0xE6>") == "⟨E6⟩" and piece_label(" the") == " the"


@given(st.text(min_size=1, max_size=12), st.text(min_size=1, max_size=12))
def test_any_text_is_shown_or_refused(tiny_bundle: Bundle, source: str, target: str) -> None:
    try:
        found = attention_of(tiny_bundle, source, target).to_json()
    except UsageError as error:
        assert error.code in {"U155", "U156"}
        return
    assert len(found["sourcePieces"]) == found["maps"][0]["rows"]
    ends = [piece["end"] for piece in found["sourcePieces"] if not piece["special"]]
    assert max(ends) <= len(source) and "\ufffd" not in "".join(piece["text"] for piece in found["sourcePieces"])


def test_what_cannot_be_shown(tiny_bundle: Bundle) -> None:
    with pytest.raises(UsageError, match="0 and 1 pieces"):
        attention_of(tiny_bundle, "", "a")
    with pytest.raises(UsageError, match="pieces"):
        attention_of(tiny_bundle, "a " * 4000, "a")


def test_a_model_without_an_encoder_is_refused() -> None:
    from calling import language_model

    with pytest.raises(UsageError, match="Transformers that translate"):
        AttentionCapture(language_model())
