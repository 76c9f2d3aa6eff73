"""Hugging Face's feature extractor of Whisper beside our log-mel spectrogram."""

import numpy as np
import pytest

pytest.importorskip("transformers", reason="the extra parity is not installed: make parity")
from transformers import WhisperFeatureExtractor

from openwork.signals.mel import log_mel
from openwork.signals.settings import SoundSettings

pytestmark = pytest.mark.slow  # what is held against needs seconds to load


@pytest.mark.parametrize("mels", [80, 128])
@pytest.mark.parametrize("seconds", [0.02, 0.3, 2.0])
def test_theirs_is_ours(mels: int, seconds: float) -> None:
    settings = SoundSettings(mels=mels, seconds=2)
    generator = np.random.default_rng(3)
    time = np.arange(int(seconds * 16_000)) / 16_000
    samples = (0.4 * np.sin(6000 * time**2) + 0.05 * generator.standard_normal(len(time))).astype(np.float32)
    extractor = WhisperFeatureExtractor(feature_size=mels, chunk_length=2)
    theirs = extractor(samples, sampling_rate=16_000, return_tensors="np")["input_features"][0]
    np.testing.assert_allclose(log_mel(samples, settings), theirs.T, rtol=0, atol=1e-4)
