"""Hugging Face's Whisper beside ours, read and written: memory, logits, transcripts."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

pytest.importorskip("transformers", reason="the extra parity is not installed: make parity")
from transformers import AutoFeatureExtractor, AutoModelForSpeechSeq2Seq, WhisperForConditionalGeneration
from transformers import WhisperConfig as TheirConfig

from openwork.bundles.bundle import Bundle, load_bundle, write_bundle
from openwork.bundles.settings import BundleSettings
from openwork.inference.batches import batches_of
from openwork.inference.translator import BatchTranslator
from openwork.interop.forms import bundle_from_hugging_face, write_hugging_face_folder
from openwork.interop.hugging_face.folder import read_json_object
from openwork.interop.hugging_face.whisper import read_whisper
from openwork.interop.vocabulary import Vocabulary
from openwork.models.build import build_model
from openwork.models.families import model_settings
from openwork.models.presets import PRESETS
from openwork.models.stem import StemTransformer
from openwork.signals.mel import SoundFrames
from openwork.signals.settings import SoundSettings
from openwork.text.pair import TokenizerPair
from openwork.text.pieces.kinds import KINDS

pytestmark = pytest.mark.slow  # what is held against needs seconds to load

TOLERANCE = 1e-4
SIZES: dict[str, Any] = {
    "d_model": 16, "encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": 4, "max_source_positions": 50,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "max_target_positions": 20,
    "vocab_size": 23, "num_mel_bins": 20, "pad_token_id": 22, "eos_token_id": 5, "decoder_start_token_id": 21,
    "bos_token_id": 5, "suppress_tokens": None, "begin_suppress_tokens": None,
}  # fmt: skip
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "usual": {},
    "of another activation and width": {"activation_function": "gelu_new", "d_model": 24, "num_mel_bins": 128},
    "end and padding are one, as in Whisper's own": {"pad_token_id": 5, "scale_embedding": True},
    "three seconds, an output matrix of its own": {"max_source_positions": 150, "tie_word_embeddings": False},
}
SOUNDS = [np.random.default_rng(seed).standard_normal(16_000 - 5_000 * seed).astype(np.float32) for seed in range(3)]


def close(one: Tensor, other: Tensor) -> None:
    assert float(one.std()) > 0.01  # there is something to compare
    torch.testing.assert_close(one, other, rtol=0, atol=TOLERANCE)


def make(folder: Path, **changes: Any) -> Any:
    """A model in evaluation mode whose norms and biases are random as well."""
    torch.manual_seed(5)
    model = WhisperForConditionalGeneration(TheirConfig(**SIZES | changes)).eval()
    for name, tensor in model.named_parameters():
        if "encoder.embed_positions" not in name:
            tensor.data = torch.randn(tensor.shape) * 0.3 + (1.0 if "norm" in name and name.endswith("weight") else 0.0)
    model.tie_weights()
    model.save_pretrained(folder)
    return model


def compare(model: Any, ours: StemTransformer, sound: SoundSettings, vocabulary: Vocabulary) -> None:
    encoder = SoundFrames(sound)
    source, lengths = batches_of(encoder).padded(encoder.encode_batch(SOUNDS), torch.device("cpu"))
    assert lengths.tolist() == [sound.rows] * 3
    own = torch.tensor([[2, 7, 4, 9, 11], [2, 4, 4, 6, 8], [2, 19, 10, 9, 4]])
    theirs = torch.tensor([number or 0 for number in vocabulary.external])[own]
    with torch.no_grad():
        expected = model(input_features=source.transpose(1, 2), decoder_input_ids=theirs)
        close(ours.encode(source, lengths), expected.encoder_last_hidden_state)
        logits = ours.step(own, ours.start(source, lengths))[0]
    known = [number for number, external in enumerate(vocabulary.external) if external is not None]
    close(logits[..., known], expected.logits[..., [vocabulary.external[number] for number in known]])


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_read(name: str, tmp_path: Path) -> None:
    model = make(tmp_path, **CONFIGURATIONS[name])
    read, sound = read_whisper(tmp_path, read_json_object(tmp_path / "config.json"))
    compare(model, read.model, sound, read.target)


def ours(**changes: Any) -> Bundle:
    sound = SoundSettings(mels=20, seconds=1)
    target = KINDS["byte-pair"].learn(["a few words to learn pieces of"] * 3, 300, minimum_frequency=2)
    values = {**PRESETS["whisper-small"], "width": 16, "heads": 2, "feedforward_width": 20, "encoder_layers": 2}
    settings = model_settings({**values, "maximum_length": 30, **changes})
    torch.manual_seed(2)
    pair = TokenizerPair(SoundFrames(sound), target)
    model = build_model(settings, *pair.sizes).eval()
    for weight in model.parameters():
        weight.data += 0.1 * torch.randn(weight.shape)
    return Bundle(BundleSettings(model=settings, sound=sound), pair, model)


@pytest.mark.parametrize("changes", [{}, {"attention_bias": False, "feedforward": "relu", "tying": "none"}])
def test_of_ours_written_and_read_again(changes: dict[str, Any], tmp_path: Path) -> None:
    bundle = ours(**changes)
    write_hugging_face_folder(tmp_path / "written", bundle)
    model = AutoModelForSpeechSeq2Seq.from_pretrained(tmp_path / "written").eval()
    again = bundle_from_hugging_face(tmp_path / "written")
    write_bundle(tmp_path / "bundle", again)
    again = load_bundle(tmp_path / "bundle")
    assert again.settings.sound == bundle.settings.sound and bundle.settings.sound is not None
    own = Vocabulary(tuple(range(bundle.tokenizers.sizes[1])))
    for one in (bundle, again):
        assert isinstance(one.model, StemTransformer)
        compare(model, one.model, bundle.settings.sound, own)
    extractor = AutoFeatureExtractor.from_pretrained(tmp_path / "written")
    features = extractor(SOUNDS, sampling_rate=16_000, return_tensors="pt")["input_features"]
    found = bundle.tokenizers.encoder.encode_batch(SOUNDS)
    close(features.transpose(1, 2), torch.from_numpy(np.stack(found)))
    written = model.generate(features, num_beams=1, max_length=12)
    decoding = bundle.settings.decoding.model_copy(update={"beam": 1, "maximum_length": 11})
    for one in (bundle, again):
        for row, (best, *_) in zip(written.tolist(), BatchTranslator.of(one, decoding).translate(SOUNDS), strict=True):
            pieces = tuple(piece for piece in row if piece > 3)  # their limits of length differ by one or two
            assert len(pieces) > 1 and abs(len(best.pieces) - len(pieces)) <= 2
            assert all(map(int.__eq__, pieces, best.pieces))
