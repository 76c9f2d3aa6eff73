"""The captured weights are those of the model's own way of computing, and every piece is labelled as it is read."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inference.attention_maps.bundles import CONVOLUTIONS, bundle_of
from openwork.base.errors import DataError, OpenworkError, UsageError
from openwork.base.printing import UNSAFE
from openwork.bundles.bundle import Bundle
from openwork.decoding.rescore import score_tokens
from openwork.inference.attention_maps.capture import (
    SentenceAttention,
    capture,
    column_names,
    longest_side,
    recorded,
    row_names,
)
from openwork.inference.attention_maps.forced import ForcedTranslation
from openwork.inference.attention_maps.maps import KINDS, LayerMap, packed, unpacked
from openwork.inference.attention_maps.pieces import found_places, given_places, label
from openwork.inference.documents.aligning import Aligner
from openwork.inference.translator import BatchTranslator

TEXT = "a b c d"
MODELS: dict[str, dict[str, Any]] = {
    "transformer": {},
    "window": {"attention_pattern": "window", "attention_window": 1, "global_tokens": 0},
    "shared layers": {"layer_sharing": True},
    "shared keys": {"key_value_heads": 1},
    "linear": {"attention": "linear"},
    "convolutions": CONVOLUTIONS,
    "recurrent": {"kind": "recurrent", "width": 8},
}


@pytest.fixture(scope="module", params=MODELS)
def bundle(request: pytest.FixtureRequest) -> Bundle:
    return bundle_of(**MODELS[request.param])


@pytest.fixture(scope="module")
def found(bundle: Bundle) -> SentenceAttention:
    return capture(bundle, TEXT)


def forced(bundle: Bundle, found: SentenceAttention) -> ForcedTranslation:
    return ForcedTranslation.of(bundle.model, found.source_ids, found.output_ids)  # type: ignore[arg-type]


def test_the_logits_are_those_of_the_fused_kernel(bundle: Bundle, found: SentenceAttention):
    pair = forced(bundle, found)
    _, with_recording = recorded(pair)
    with torch.inference_mode():
        without = pair.logits(pair.start(pair.source[None]))
    torch.testing.assert_close(with_recording, without, atol=1e-5, rtol=0)


def test_the_translation_and_its_score_are_those_of_the_search(bundle: Bundle, found: SentenceAttention):
    said = BatchTranslator.of(bundle).translate([TEXT])[0][0]
    end = [bundle.tokenizers.target.end_id] * said.finished
    assert found.translation == said.text and list(found.output_ids) == [*said.pieces, *end]
    assert found.log_probability == pytest.approx(said.log_probability, abs=1e-4)


def test_each_row_adds_up_to_1(found: SentenceAttention):
    source, target = len(found.source_pieces), len(found.target_pieces)
    shapes = {"encoder": (source, source), "decoder": (target, target), "cross": (target, source)}
    assert found.of_kind("cross")
    for one in found.maps:
        assert one.weights.shape[1:] == shapes[one.kind]
        np.testing.assert_allclose(one.weights.sum(-1), 1, atol=1e-5)
        assert (one.weights >= 0).all()


def test_what_is_masked_has_no_weight(found: SentenceAttention):
    for one in found.of_kind("decoder"):
        assert not np.triu(one.weights, 1).any(), "no later position is attended to"


def test_a_window_has_no_weight_outside():
    found = capture(bundle_of(**MODELS["window"]), TEXT)
    far = abs(np.subtract.outer(*2 * [np.arange(len(found.source_pieces))])) > 1
    assert far.any() and not any(one.weights[:, far].any() for one in found.of_kind("encoder"))


@pytest.mark.parametrize(("name", "count"), [("transformer", 2), ("shared layers", 2), ("convolutions", 0)])
def test_every_layer_has_its_maps(name: str, count: int):
    found = capture(bundle_of(**MODELS[name]), TEXT)
    for kind in KINDS:
        assert [one.layer for one in found.of_kind(kind)] == list(range(2 if kind == "cross" else count))


def test_shared_layers_have_maps_of_their_own():
    first, second = capture(bundle_of(**MODELS["shared layers"]), TEXT).of_kind("encoder")
    assert not np.allclose(first.weights, second.weights)


def test_the_mean_of_the_cross_attention_is_the_aligners(bundle: Bundle):
    """Two ways: the alignment of documents is computed in a batch."""
    found = capture(bundle, TEXT, "c d e")
    (one,) = Aligner(bundle.model, bundle.tokenizers).align([TEXT], ["c d e"])
    whole = np.mean([layer.mean for layer in found.of_kind("cross")], axis=0)
    np.testing.assert_allclose(whole[:-1, :-1], one.weights, atol=1e-6)
    assert [piece.place for piece in found.source_pieces[:-1]] == list(one.source)
    assert [piece.place for piece in found.target_pieces[:-1]] == list(one.target)


def test_a_given_translation_has_the_probability_of_scoring(bundle: Bundle):
    found = capture(bundle, TEXT, "b a")
    source = torch.tensor([found.source_ids])
    score = score_tokens(bundle.model, source, torch.tensor([source.shape[1]]), [found.output_ids[:-1]])
    terms = [piece.log_probability for piece in found.target_pieces]
    np.testing.assert_allclose(terms, score[0], atol=1e-5)
    assert found.translation == "b a" and found.target_pieces[-1].predicted == "</s>"


def test_rows_name_what_is_read_and_what_is_predicted(tiny_bundle: Bundle):
    found = capture(tiny_bundle, "a b", "b")
    assert row_names(found, "cross") == row_names(found, "decoder") == [("<s>", "b"), ("b", "</s>")]
    assert row_names(found, "encoder") == [("a",), (" b",), ("</s>",)]
    assert column_names(found, "cross") == column_names(found, "encoder") == ["a", " b", "</s>"]
    assert column_names(found, "decoder") == ["<s>", "b"]


def test_json(tiny_bundle: Bundle):
    found = capture(tiny_bundle, "a b", "b")
    written = found.to_json()
    assert written["sourcePieces"] == [
        {"text": "a", "start": 0, "end": 1, "special": False},
        {"text": " b", "start": 1, "end": 3, "special": False},
        {"text": "</s>", "start": None, "end": None, "special": True},
    ]
    first, last = written["targetPieces"]
    assert (first["input"], first["predicted"], first["start"], first["end"]) == ("<s>", "b", 0, 1)
    assert last["special"] and last["logProbability"] == found.target_pieces[1].log_probability
    for one, map_written in zip(found.maps, written["maps"], strict=True):
        assert (map_written["kind"], map_written["layer"], map_written["heads"]) == (one.kind, one.layer, 2)
        assert (map_written["rows"], map_written["columns"]) == one.weights.shape[1:]
        assert np.abs(unpacked(map_written) - one.weights).max() <= 0.5 / 65535 + 1e-7


def test_sixteen_bits_worked_by_hand():
    """0.5 is 32767.5, which is rounded to the even 32768 = 0x8000; the low byte comes first."""
    assert packed(np.array([[0.0, 1.0], [0.5, 1 / 65535]])) == {
        "rows": 2, "columns": 2, "weights": "AAD//wCAAQA="
    }  # fmt: skip
    one = LayerMap("cross", 0, np.random.default_rng(0).random((3, 4, 5), np.float32))
    assert np.abs(unpacked(one.to_json()) - one.weights).max() <= 7.7e-6


def test_labels_of_parts_of_characters():
    assert label("<0xE6><0x88>") == "⟨E6 88⟩"
    assert label(" the") == " the" and label("</s>") == "</s>"
    assert label("a\u202eb\x1b") == "a⟨U+202E⟩b⟨U+001B⟩"


@pytest.mark.parametrize("kind", ["byte-pair", "byte-level", "characters"])
def test_bytes_are_shown_as_bytes_and_have_the_whole_character(kind: str):
    bundle = bundle_of(kind)
    found = capture(bundle, "a 我𝄞 b", "我 c")
    names = [piece.text for piece in found.source_pieces]
    assert not any(sign in name for name in names for sign in "�Ġæ")
    assert {piece.place for piece in found.source_pieces if piece.text.startswith("⟨")} <= {(2, 3), (3, 4), (1, 3)}
    assert sum(name.startswith("⟨") for name in names) == 7
    assert {piece.place for piece in found.target_pieces if piece.predicted.startswith("⟨")} == {(0, 1)}


WRITTEN = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["\x00\x1b[31m", "👩‍👩‍👧 a", "שלום a", "\u202ea b", "e\u0301", "𝄞我爱", "a\nb\tc", "%s <b>a</b> {0}"]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=WRITTEN, translation=WRITTEN)
def test_any_text_has_labels_that_can_be_shown(tiny_bundle: Bundle, text: str, translation: str):
    if not text.strip():
        with pytest.raises(UsageError, match="no sentence"):
            capture(tiny_bundle, text, translation)
        return
    found = capture(tiny_bundle, text, translation)
    shown = [piece.text for piece in found.source_pieces] + [piece.predicted for piece in found.target_pieces]
    assert not any(UNSAFE.search(one) or "\ufffd" in one for one in shown)
    covered = {place for piece in found.source_pieces if piece.place for place in range(*piece.place)}
    assert covered == set(range(len(text)))
    for one in found.maps:
        np.testing.assert_allclose(one.weights.sum(-1), 1, atol=1e-5)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(WRITTEN.map(lambda text: " ".join(text.splitlines())))
def test_places_from_the_first_pieces_are_those_of_the_tokenizer(tiny_bundle: Bundle, text: str):
    """Two ways: by decoding ever more pieces, and by encoding the whole text."""
    tokenizers = tiny_bundle.tokenizers
    ids = tokenizers.encode_target(text, ())
    if "\ufffd" not in text:
        assert found_places(tokenizers, text, (), ids) == given_places(tokenizers, text, (), ids)


def test_half_a_character_is_refused_in_a_sentence(tiny_bundle: Bundle):
    with pytest.raises(DataError, match="not Unicode"):
        capture(tiny_bundle, "a \ud800")
    with pytest.raises(DataError, match="not Unicode"):
        capture(tiny_bundle, "a", "\udc80")


@pytest.mark.parametrize(
    "model",
    [
        {"kind": "recurrent", "width": 8, "attention": "none"},
        {"attention": "relu"},
        {"kind": "decoder", "width": 16, "heads": 2, "feedforward_width": 24, "layers": 1},
        {"kind": "encoder", "width": 16, "heads": 2, "feedforward_width": 24, "layers": 1},
        {"kind": "bytenet", "width": 8},
    ],
    ids=lambda model: str(model),
)
def test_models_without_such_weights_are_refused_in_a_sentence(model: dict[str, Any]):
    with pytest.raises(UsageError, match="this model has no attention of a translation to its source") as refused:
        capture(bundle_of(**model), TEXT)
    assert refused.value.code == "U154"


def test_too_long_a_text_is_refused_in_a_sentence(tiny_bundle: Bundle):
    for text, translation in (("a " * 600, None), ("a", "b " * 600)):
        with pytest.raises(OpenworkError, match="too long for this: 512 is the most") as refused:
            capture(tiny_bundle, text, translation)
        assert refused.value.code == "E056"
    with pytest.raises(OpenworkError, match="a text of 6 pieces is too long for this: 5 is the most"):
        capture(tiny_bundle, "a b c d e", most=5)


def test_the_longest_side_is_bounded_by_the_size_of_all_maps(tiny_bundle: Bundle):
    """A model of 100 layers with 16 heads: 4,800 maps of 91 x 91 are 39.7 million weights, of 92 x 92 more than 40."""
    large = tiny_bundle.settings.model.model_copy(update={"encoder_layers": 100, "decoder_layers": 100, "heads": 16})
    bundle = Bundle(tiny_bundle.settings.model_copy(update={"model": large}), tiny_bundle.tokenizers, tiny_bundle.model)
    assert longest_side(bundle, 512) == 91 and longest_side(tiny_bundle, 512) == 512


def test_an_empty_translation_is_its_end(tiny_bundle: Bundle):
    found = capture(tiny_bundle, "a b", "")
    assert [(piece.input, piece.predicted) for piece in found.target_pieces] == [("<s>", "</s>")]
