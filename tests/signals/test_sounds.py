"""Sounds as rows of numbers: a sine by hand, resampling, and what is refused."""

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openwork.base.errors import DataError, OpenworkError, UsageError
from openwork.signals import sounds
from openwork.signals.mel import SoundFrames, hertz_of, log_mel, mel_filters, mels_of
from openwork.signals.settings import SoundSettings
from openwork.signals.sounds import at_speed, read_sound

soundfile = pytest.importorskip("soundfile", reason="needs the extra audio")
pytest.importorskip("soxr", reason="needs the extra audio")
SHORT = SoundSettings(seconds=2, padded=False)


def sine(hertz: float, seconds: float = 1.0, rate: int = 16_000) -> np.ndarray:
    return (0.5 * np.sin(2 * np.pi * hertz * np.arange(int(seconds * rate)) / rate)).astype(np.float32)


def test_the_mel_scale_by_hand() -> None:
    """1,000 hertz are 15 mels, 6,400 hertz 27 more; between them equal ratios, below them equal differences."""
    hertz = np.array([0.0, 200 / 3, 1000.0, 6400.0])
    np.testing.assert_allclose(mels_of(hertz), [0, 1, 15, 42])
    np.testing.assert_allclose(hertz_of(mels_of(hertz)), hertz)


def test_a_filter_by_hand() -> None:
    """Two bands up to 800 hertz, at 40 hertz a frequency: triangles from 0 to 533 and from 267 to 800, of area 1."""
    filters = mel_filters(1600, 40, 2)
    assert filters.shape == (21, 2)
    peak = 2 / (1600 / 3)
    np.testing.assert_allclose(filters[5, 0], peak * 200 / (800 / 3))  # 200 hertz, on the rising side
    np.testing.assert_allclose(filters[10, 0], peak * (1600 / 3 - 400) / (800 / 3))  # 400 hertz, on the falling side
    np.testing.assert_allclose(filters[10, 1], peak * (400 - 800 / 3) / (800 / 3))
    np.testing.assert_allclose(filters.sum(axis=0) * 40, 1.0, rtol=0.02)


@pytest.mark.parametrize("hertz", [150.0, 440.0, 1000.0, 3000.0, 7000.0])
def test_a_sine_is_loudest_in_its_band(hertz: float) -> None:
    rows = log_mel(sine(hertz), SHORT)
    assert rows.shape == (100, 80) and rows.dtype == np.float32
    edges = hertz_of(np.linspace(0.0, float(mels_of(np.array(8000.0))), 82))
    nearest = int(np.abs(edges[1:-1] - hertz).argmin())
    assert set(rows[5:-5].argmax(axis=1)) <= {nearest - 1, nearest, nearest + 1}
    assert rows.max() - rows.min() <= 2.0 + 1e-6  # eight decades, divided by four


def test_the_power_of_a_sine_by_hand() -> None:
    """|FFT|^2 of a hann window at an amplitude a and a whole number of periods is (a N / 4)^2, half of it beside it."""
    rows = log_mel(sine(1000.0), SHORT)
    filters, amplitude = mel_filters(16_000, 400, 80), 0.5 * 400 / 4
    frequency = 25  # 1,000 hertz at 40 hertz a frequency
    power = amplitude**2 * (filters[frequency] + (filters[frequency - 1] + filters[frequency + 1]) / 4)
    band = int(power.argmax())
    np.testing.assert_allclose(rows[50, band], (np.log10(power[band]) + 4) / 4, atol=1e-5)


def test_a_short_sound_is_padded_with_silence() -> None:
    padded = SoundSettings(seconds=2)
    whole = log_mel(sine(440.0), padded)
    assert whole.shape == (200, 80) and whole[150].std() == 0.0
    np.testing.assert_allclose(whole[:95], log_mel(sine(440.0), SHORT)[:95], atol=1e-6)
    assert log_mel(np.full(3, 0.1, np.float32), SHORT).shape == (2, 80)


@pytest.mark.parametrize("ending", ["wav", "flac"])
def test_both_formats_and_other_rates_are_read(ending: str, tmp_path: Path) -> None:
    """Two channels, whose mean is the tone, at twice the rate."""
    path, tone = tmp_path / f"one.{ending}", sine(440.0, rate=32_000)
    soundfile.write(path, np.stack([tone * 2, tone * 0], axis=1), 32_000)
    samples = read_sound(str(path), SHORT)
    assert len(samples) == 16_000
    np.testing.assert_allclose(samples[500:-500], sine(440.0)[500:-500], atol=1e-3)
    from_path, from_samples = SoundFrames(SHORT).encode_batch([str(path), samples])
    assert np.array_equal(from_path, from_samples)


def of(kind: str, samples: Any = None, rate: int = 16_000, **options: Any) -> bytes:
    made = io.BytesIO()
    soundfile.write(made, sine(300.0, 0.1) if samples is None else samples, rate, format=kind, **options)
    return made.getvalue()


REFUSED = {
    "text": (b"no sound\n", "D155", ""),
    "empty": (b"", "D155", ""),
    "cut short": (of("FLAC")[:30], "D155", ""),
    "a format that is not read": (of("AIFF"), "D155", "AIFF"),
    "a rate of nothing": (of("WAV", rate=50), "D155", "50 samples"),
    "too long": (of("FLAC", np.zeros(2 * 16_000 + 1)), "D156", "more than 2 seconds"),
    "no samples": (of("WAV", np.zeros(0)), "D157", ""),
    "infinite": (of("WAV", np.array([0.1, np.inf]), subtype="FLOAT"), "D158", ""),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_sound_is_refused_by_name(name: str, tmp_path: Path) -> None:
    data, code, said = REFUSED[name]
    path = tmp_path / "bad.wav"
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"bad\.wav") as refused:
        read_sound(str(path), SHORT)
    assert refused.value.code == code and refused.value.hint
    assert said in f"{refused.value.what} {refused.value.why}"


def test_a_long_sound_is_read_up_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In blocks of few samples, so that no more than the samples of one channel are kept."""
    monkeypatch.setattr(sounds, "BLOCK", 1000)
    path, tone = tmp_path / "long.flac", sine(440.0, 5.0)
    soundfile.write(path, np.stack([tone, tone * 0.5], axis=1), 16_000)
    samples = read_sound(str(path), SHORT, longest=5)
    np.testing.assert_allclose(samples, tone * 0.75, atol=1e-4)
    for longest in (4, None):
        with pytest.raises(DataError, match=r"long\.flac: the sound has more than") as refused:
            read_sound(str(path), SHORT, longest)
        assert refused.value.code == "D156"


def test_damage_at_any_place_is_an_error_or_a_sound(tmp_path: Path) -> None:
    generator, path = np.random.default_rng(5), tmp_path / "bad"
    for kind in ("WAV", "FLAC"):
        whole = np.frombuffer(of(kind), np.uint8)
        for _ in range(60):
            changed = whole.copy()
            changed[generator.integers(0, min(len(changed), 200), 4)] = generator.integers(0, 256, 4)
            path.write_bytes(changed[: generator.integers(1, len(changed) + 1)].tobytes())
            try:
                assert 0 < len(read_sound(str(path), SHORT)) <= 32_000
            except OpenworkError as error:
                assert str(path) in error.what


def test_missing_and_oversized_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (tmp_path / "none.wav", tmp_path):
        with pytest.raises(DataError, match="no such sound file") as refused:
            read_sound(str(path), SHORT)
        assert refused.value.code == "D144"
    (tmp_path / "large.wav").write_bytes(of("WAV"))
    monkeypatch.setattr(sounds, "MOST_BYTES", 50)
    with pytest.raises(DataError, match=r"large\.wav") as refused:
        read_sound(str(tmp_path / "large.wav"), SHORT)
    assert refused.value.code == "D146"


@pytest.mark.parametrize("samples", [np.zeros(9, np.int16), np.zeros((4, 2)), np.array([np.nan]), [0.1], 3])
def test_samples_of_another_form_are_refused(samples: Any) -> None:
    with pytest.raises(UsageError) as refused:
        read_sound(samples, SHORT)
    assert refused.value.code == "U118"
    with pytest.raises(DataError) as too_long:
        read_sound(np.zeros(32_001), SHORT)
    assert too_long.value.code == "D156"


@pytest.mark.parametrize("package", ["soundfile", "soxr"])
def test_one_sentence_without_the_packages(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError, match="soundfile and soxr") as refused:
        read_sound("one.wav", SHORT)
    assert refused.value.code == "U117" and "pip install soundfile soxr" in refused.value.hint


def test_other_settings_have_another_fingerprint() -> None:
    others = [SHORT, SHORT.model_copy(update={"mels": 40}), SHORT.model_copy(update={"padded": True})]
    assert len({SoundFrames(one).fingerprint for one in others}) == 3


def test_a_sound_that_is_played_faster_is_shorter_and_higher() -> None:
    """A tone of 1,000 hertz at one and a half times the speed is one of 1,500, two thirds as long."""
    tone = np.sin(2 * np.pi * 1000 * np.arange(16_000) / 16_000).astype(np.float32)
    faster = at_speed(tone, 1.5)
    assert len(faster) == pytest.approx(16_000 / 1.5, abs=2)
    spectrum = np.abs(np.fft.rfft(faster))
    assert spectrum.argmax() / len(faster) * 16_000 == pytest.approx(1500, abs=5)
    assert at_speed(tone, 1.0) is tone


def test_a_sound_that_is_played_slower_is_cut_at_the_longest() -> None:
    (rows,) = SoundFrames(SHORT).encode_batch([np.ones(32_000, np.float32)], 0.5)
    assert rows.shape == (SHORT.rows, SHORT.mels)


def test_a_centred_sound_has_no_mean_and_no_microphone() -> None:
    """Ten times louder, or with silence behind it: the same numbers where it is loud."""
    random = np.random.default_rng(1)
    samples = random.normal(size=8000).astype(np.float32) * 0.1
    settings = SoundSettings(rate=8000, mels=20, seconds=3, padded=False, centred=True)
    rows = log_mel(samples, settings)
    np.testing.assert_allclose(rows.mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(log_mel(samples * 10, settings), rows, atol=1e-5)
    plain = log_mel(samples, settings.model_copy(update={"centred": False}))
    np.testing.assert_allclose(plain - plain.mean(0), rows, atol=1e-6)
    assert abs(log_mel(samples * 10, settings.model_copy(update={"centred": False})) - plain).min() > 0.4
    longer = log_mel(np.concatenate([samples, np.zeros(8000, np.float32)]), settings)
    np.testing.assert_allclose(longer[:90], rows[:90], atol=0.05)
