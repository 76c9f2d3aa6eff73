"""Sounds as sources: a row of numbers every 10 ms, the log-mel spectrogram of Whisper (Radford et al. 2023, 2.2)."""

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from openwork.base.config import fingerprint
from openwork.base.sources import SourceEncoder
from openwork.signals.questions import form_with, parted, with_question
from openwork.signals.settings import SoundSettings
from openwork.signals.sounds import Samples, Sound, at_speed, read_sound

Numbers = NDArray[np.float64]
STRIDE = 2  # rows of a position, of which the stem of convolutions makes one
FLOOR, DEPTH = 1e-10, 8.0  # the least power of a band, and decades below the loudest band that are kept
LOUD = 0.5  # of a row's loudest band, as it is scaled: two decades below the loudest of the sound
# Slaney's mel scale (Auditory Toolbox 1998): 200/3 hertz a mel up to 1,000 hertz, from there 6.4 times in 27 mels.
LINEAR, BREAK, STEP = 200 / 3, 1000.0, np.log(6.4) / 27


def mels_of(hertz: Numbers) -> Numbers:
    """Frequencies on the mel scale."""
    above = BREAK / LINEAR + np.log(np.maximum(hertz, BREAK) / BREAK) / STEP
    return np.where(hertz < BREAK, hertz / LINEAR, above)


def hertz_of(mels: Numbers) -> Numbers:
    """The inverse of `mels_of`."""
    above = BREAK * np.exp(STEP * (np.maximum(mels, BREAK / LINEAR) - BREAK / LINEAR))
    return np.where(mels < BREAK / LINEAR, mels * LINEAR, above)


@cache
def mel_filters(rate: int, window: int, mels: int) -> Numbers:
    """Weights (frequency, band): triangles evenly spaced on the mel scale, each of area 1 in hertz."""
    edges = hertz_of(np.linspace(0.0, float(mels_of(np.array(rate / 2))), mels + 2))
    frequencies = np.fft.rfftfreq(window, 1 / rate)[:, None]
    low, middle, high = edges[:-2], edges[1:-1], edges[2:]
    rising, falling = (frequencies - low) / (middle - low), (high - frequencies) / (high - middle)
    return np.maximum(0.0, np.minimum(rising, falling)) * 2 / (high - low)


def log_mel(samples: Samples, settings: SoundSettings) -> NDArray[np.float32]:
    """The log-mel spectrogram (row, band) of samples, a row for each 10 ms, the sound reflected at both ends.

        power = |FFT(hann * samples)|^2,  x = log10(max(filters power, 1e-10)),  (max(x, max(x) - 8) + 4) / 4

    If the settings say `centred`, each band's mean over the loud rows is then subtracted: a microphone or a room
    multiplies the powers of a band by the same number everywhere (Atal 1974). Silence would say how long it is.

    A sound shorter than a window is followed by silence, and so is any shorter than `seconds` if it is `padded`.
    """
    least = settings.seconds * settings.rate if settings.padded else settings.window
    x = np.pad(samples.astype(np.float64), (0, max(0, least - len(samples))))
    x = np.pad(x, settings.window // 2, mode="reflect")
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(settings.window) / settings.window)
    windows = sliding_window_view(x, settings.window)[:: settings.hop][:-1]
    power = np.abs(np.fft.rfft(windows * hann)) ** 2
    bands = np.log10(np.maximum(power @ mel_filters(settings.rate, settings.window, settings.mels), FLOOR))
    scaled = (np.maximum(bands, bands.max() - DEPTH) + 4) / 4
    loud = scaled.max(1) > scaled.max() - LOUD
    return (scaled - scaled[loud].mean(0) if settings.centred else scaled).astype(np.float32)


class SoundFrames(SourceEncoder):
    """Reads sounds, each a path or an array of samples, as the settings say."""

    kind = "sounds"
    at_once = 64

    def __init__(self, settings: SoundSettings) -> None:
        self.settings = settings
        self.numbers = self._form = form_with(settings.form, settings.words)
        self.fingerprint = fingerprint(settings)

    @property
    def size(self) -> int:
        return self._form.features

    def opened(self, source: str) -> tuple[Samples, str]:
        """The samples in a sound's file at the rate of the settings, and the question about it."""
        path, _, question = source.partition("\t")
        return read_sound(path, self.settings), question

    def encode_batch(
        self, sources: Sequence[Sound | tuple[Sound, str]], speed: float = 1.0
    ) -> list[NDArray[np.float32]]:
        """The log-mel spectrogram (row, band) of each sound at a speed. DataError names one that cannot be read."""
        settings = self.settings
        most = settings.seconds * settings.rate  # a slow sound is cut where it is longer
        asked = (parted(source, settings.words) for source in sources)
        return [
            with_question(
                log_mel(at_speed(read_sound(sound, settings), speed)[:most], settings), words, settings.words, STRIDE
            )
            for sound, words in asked
        ]
