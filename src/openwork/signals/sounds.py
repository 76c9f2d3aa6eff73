"""Reading untrusted sounds: WAV and FLAC, bounded sizes, and an error that names the file.

soundfile decodes and soxr resamples (both in the extra `audio`); the longest sound is known before it is decoded.
"""

import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openwork.base.errors import DataError, OpenworkError, UsageError
from openwork.base.messages import msg
from openwork.signals.content import read_content
from openwork.signals.settings import SoundSettings

KIND = msg("sound file")
FORMATS = ("WAV", "WAVEX", "FLAC")  # soundfile's names
ENDINGS = (".wav", ".flac")
RATES = range(1_000, 400_000)  # samples a second that a file may have
BLOCK = 1 << 20  # samples of all channels that are decoded at a time
LONGEST = 2 * 3600  # seconds of a sound that is read as several sources
MOST_BYTES = 256 << 20  # of a file

Samples = NDArray[np.float32]
Sound = str | Samples
"""The path of a sound, or its samples (sample), from -1 to 1, at the rate of the settings."""


def read_sound(source: Sound, settings: SoundSettings, longest: int | None = None) -> Samples:
    """The samples (sample) of a sound at the rate of the settings, the mean of its channels.

    `longest`: its most seconds, where they are others than the settings'. DataError for a file that is missing, too
    large or too long, empty, damaged or of another format; UsageError for samples of another form, and where a package
    is not installed.
    """
    seconds = longest or settings.seconds
    is_path = isinstance(source, str)
    samples = _decoded(Path(source), settings.rate, seconds) if is_path else _checked(source)
    where = source if is_path else "samples"
    if len(samples) > seconds * settings.rate:
        raise _too_long(where, seconds)
    if not len(samples):
        raise DataError(f"{where}: there is no sound in it", hint="record it again, or leave it out", code="D157")
    return samples


def at_speed(samples: Samples, speed: float) -> Samples:
    """The samples as they are when the sound is played so many times as fast: shorter and higher above 1."""
    return samples if speed == 1 else _packages()[1].resample(samples, speed, 1.0)


def _decoded(path: Path, rate: int, seconds: int) -> Samples:
    soundfile, soxr = _packages()
    data = read_content(path, KIND, MOST_BYTES)
    try:
        with soundfile.SoundFile(io.BytesIO(data)) as file:
            if file.format not in FORMATS:
                raise ValueError(msg(f"its format is {file.format}"))
            if file.samplerate not in RATES:
                raise ValueError(msg(f"it has {file.samplerate:,} samples a second"))
            own_rate, size = file.samplerate, max(1, BLOCK // file.channels)
            blocks = file.blocks(size, frames=seconds * own_rate + 1, dtype="float32", always_2d=True)
            alone = [block.mean(axis=1, dtype=np.float32) for block in blocks]
            samples = np.concatenate([np.zeros(0, np.float32), *alone])
    except (RuntimeError, ValueError, TypeError, OverflowError) as error:  # of soundfile, of a damaged file
        raise DataError(
            f"{path}: not a sound that can be read, or damaged",
            why=str(error),
            hint="formats are WAV and FLAC; open the file in a player and save it again, or remove it",
            code="D155",
        ) from error
    if len(samples) > seconds * own_rate:
        raise _too_long(str(path), seconds)
    if not np.isfinite(samples).all():
        raise DataError(
            f"{path}: not all samples of the sound are numbers",
            hint="save it again with 16 bits a sample, or remove it",
            code="D158",
        )
    return samples if rate == own_rate else soxr.resample(samples, own_rate, rate)


def _packages() -> tuple[Any, Any]:
    try:
        import soundfile
        import soxr
    except (ImportError, OSError) as error:  # OSError: the library that soundfile calls is not there
        raise UsageError(
            "sounds need the packages soundfile and soxr, which are not installed",
            hint="pip install soundfile soxr (the extra audio)",
            code="U117",
        ) from error
    return soundfile, soxr


def _too_long(where: str, seconds: int) -> OpenworkError:
    return DataError(
        f"{where}: the sound has more than {seconds:,} seconds",
        why="the model reads no more of one source",
        hint="divide it, or train a model with a larger sound.seconds",
        code="D156",
    )


def _checked(samples: Any) -> Samples:
    is_array = isinstance(samples, np.ndarray) and samples.ndim == 1 and samples.dtype.kind == "f"
    if not is_array or not np.isfinite(samples).all():
        raise UsageError(
            f"samples of the type {getattr(samples, 'dtype', type(samples).__name__)} and shape "
            f"{getattr(samples, 'shape', ())} are no sound",
            why="a sound is an array (sample) of finite floats from -1 to 1, or the path of a file",
            hint="convert it, such as samples.mean(axis=1) / 32768, at the rate of [sound]",
            code="U118",
        )
    return samples.astype(np.float32)
