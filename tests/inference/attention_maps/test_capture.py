"""Captured attention: weights of the computation that translates, with pieces that are those of the texts."""

import base64
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from inference.attention_maps.bundles import bundle_of
from openwork.base.errors import UsageError
from openwork.base.printing import UNSAFE
from openwork.bundles.bundle import Bundle
from openwork.inference.attention_maps import capture
from openwork.inference.attention_maps.capture import KINDS, AttentionCapture, attention_of
from openwork.inference.attention_maps.forced import ForcedTranslation
from openwork.inference.attention_maps.labels import found_places, piece_label
from openwork.inference.documents.aligning import Aligner
from openwork.inference.scorer import Scorer
from openwork.inference.translator import BatchTranslator
from openwork.nn.recording import recording


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
    assert piece_label("<0xE6>") == "⟨E6⟩" and piece_label(" the") == " the" and piece_label("</s>") == "</s>"
    assert piece_label("<0xE6><0x88>") == "⟨E6 88⟩" and piece_label("\x1ba\u202e") == "⟨U+001B⟩a⟨U+202E⟩"


@pytest.mark.parametrize("kind", ["byte-pair", "byte-level", "characters"])
def test_bytes_have_the_whole_character(kind: str) -> None:
    found = attention_of(bundle_of(kind), "a 我𝄞 b", "我 c")
    names = [piece.text for piece in found.source_pieces]
    assert not any(sign in name for name in names for sign in "\ufffdĠæ")
    assert {piece.span for piece in found.source_pieces if piece.text.startswith("⟨")} <= {(2, 3), (3, 4), (1, 3)}
    assert sum(name.startswith("⟨") for name in names) == 7
    assert {piece.span for piece in found.target_pieces if piece.text.startswith("⟨")} == {(0, 1)}


MODELS: dict[str, dict[str, Any]] = {
    "own": {},
    "window": {"attention_pattern": "window", "attention_window": 1, "global_tokens": 0},
    "shared layers": {"layer_sharing": True},
    "shared keys": {"key_value_heads": 1},
    "linear": {"attention": "linear"},
    "low rank": {"attention_pattern": "low-rank", "positions": "learned"},
}


@pytest.mark.parametrize("name", MODELS)
def test_recording_changes_no_probability_and_each_layer_has_weights(name: str) -> None:
    bundle = bundle_of(**MODELS[name])
    found = attention_of(bundle, "a b c d")
    forced = ForcedTranslation.of(bundle.model, found.source_ids, found.output_ids)  # type: ignore[arg-type]
    with torch.inference_mode():
        logits = forced.logits(forced.start(forced.source[None]))
        with recording(bundle.model):
            again = forced.logits(forced.start(forced.source[None]))
    torch.testing.assert_close(again, logits, atol=1e-5, rtol=0)
    counts = {kind: len(found.of(kind)) for kind in KINDS}
    assert counts == {"encoder": 0 if name == "low rank" else 2, "decoder": 2, "cross": 2}
    for layer in found.layers:
        np.testing.assert_allclose(layer.weights.sum(-1), 1.0, atol=1e-5)
    first, second = found.of("cross")
    assert not np.allclose(first.weights, second.weights)


def test_a_window_has_no_weight_outside() -> None:
    found = attention_of(bundle_of(**MODELS["window"]), "a b c d")
    far = abs(np.subtract.outer(*2 * [np.arange(len(found.source_pieces))])) > 1
    assert far.any() and not any(layer.weights[:, far].any() for layer in found.of("encoder"))


def test_the_mean_is_the_aligners_where_layers_share_their_weights() -> None:
    bundle = bundle_of(layer_sharing=True)
    found = attention_of(bundle, "a b c", "c b")
    (aligned,) = Aligner(bundle.model, bundle.tokenizers).align(["a b c"], ["c b"])
    mean = np.mean([layer.weights.mean(0) for layer in found.of("cross")], axis=0)
    np.testing.assert_allclose(mean[:-1, :-1], aligned.weights, atol=1e-6)


def test_the_pieces_of_the_search_are_kept(tiny_bundle: Bundle) -> None:
    """ "ab" as two pieces, which encoding makes one of, has another probability."""
    tokenizer = tiny_bundle.tokenizers.target
    text = next(piece for piece in map(tokenizer.piece, range(260, 400)) if len(piece) > 1 and piece.isascii())
    pieces = [tokenizer.encode(letter)[0] for letter in text]
    if len(text.strip()) < len(text):
        pieces = [number for letter in text for number in tokenizer.encode(letter)]
    found = AttentionCapture(tiny_bundle).of("a b", text, pieces)
    assert list(found.output_ids) == [*pieces, tokenizer.end_id] != [*tokenizer.encode(text), tokenizer.end_id]
    assert [piece.span for piece in found.target_pieces[:-1]] == [(n, n + 1) for n in range(len(text))]


WRITTEN = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12) | st.sampled_from(
    ["\x00\x1b[31m", "👩‍👩‍👧 a", "שלום a", "\u202ea b", "e\u0301", "𝄞我爱", "a\nb\tc", "%s <b>a</b> {0}"]
)


@given(WRITTEN.map(lambda text: " ".join(text.splitlines())).filter(lambda text: "\ufffd" not in text))
def test_places_from_the_first_pieces_are_those_of_the_tokenizer(tiny_bundle: Bundle, text: str) -> None:
    """Two ways: by decoding ever more pieces, and by encoding the whole text."""
    tokenizers = tiny_bundle.tokenizers
    pieces = tokenizers.target.encode_pieces(text)
    assert found_places(tokenizers, text, (), pieces.ids) == pieces.offsets


@given(WRITTEN, WRITTEN)
def test_labels_can_be_shown(tiny_bundle: Bundle, source: str, target: str) -> None:
    if not source.strip() or not target.strip():
        return
    found = attention_of(tiny_bundle, source, target)
    shown = [piece.text for piece in (*found.source_pieces, *found.target_pieces)]
    assert not any(UNSAFE.search(one) or "\ufffd" in one for one in shown)
    covered = {place for piece in found.source_pieces if piece.span for place in range(*piece.span)}
    assert covered == set(range(len(source)))


def test_weights_that_are_no_shares_are_refused() -> None:
    with pytest.raises(UsageError, match="Transformers that translate") as refused:
        AttentionCapture(bundle_of(attention="relu"))
    assert "do not add up to 1" in refused.value.why


def test_a_side_is_bounded_by_the_size_of_all_maps(tiny_bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    """3 attentions of 2 heads with sides of 5 pieces have 150 weights, of 6 pieces 216."""
    monkeypatch.setattr(capture, "MOST_WEIGHTS", 200)
    with pytest.raises(UsageError, match="5 and 1 pieces") as refused:
        attention_of(tiny_bundle, "a b c d e", "a")
    assert refused.value.why == "attention is shown for 1 to 4 of each"


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
