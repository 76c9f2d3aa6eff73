"""Transcripts of sounds of any length: windows, the segments in them, and the language (Whisper's own transcribe.py).

A window is as long as the model's sources. With timestamps the next window begins where the last whole segment ends, so
that no word is cut in two; without them, windows follow each other.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import torch

from openwork.base.errors import UsageError
from openwork.base.lines import OnProgress, ignore_progress
from openwork.base.symbols import SYMBOL_IDS
from openwork.base.tasks import command_for
from openwork.bundles.bundle import Bundle
from openwork.decoding.settings import DecodingSettings, TranscriptSettings
from openwork.inference.requests import Request, opening_of
from openwork.inference.translation import Translation
from openwork.inference.translator import BatchTranslator
from openwork.signals.sounds import LONGEST, Samples, read_sound

STEPS = 50  # timestamps a second; a position of the memory is as long, two rows of 10 ms
LEAST = 0.1  # seconds: a shorter rest after the last whole segment holds no word


@dataclass(frozen=True)
class Segment:
    """A part of a sound, from `start` to `end` in seconds, and its text."""

    start: float
    end: float
    text: str


@dataclass(frozen=True, repr=False)
class Transcript(Translation):
    """The text of a sound, its segments, and its language; of several windows `score` is the mean.

    `language` is empty where the model has no symbols of languages.
    """

    segments: tuple[Segment, ...] = ()
    language: str = ""


class WindowPart(NamedTuple):
    """A segment of a window: seconds from its start, and the pieces of the text."""

    start: float
    end: float
    pieces: tuple[int, ...]


def parts_of(pieces: Sequence[int], first: int | None, seconds: float) -> tuple[list[WindowPart], float]:
    """The segments that a window's pieces say, and the seconds after which the next window begins.

    `first`: the id of the time 0, None for a model without timestamps. `seconds`: the window's length. Where an end is
    followed by a start, the segments up to there are whole, and an open one after them is left to the next window.
    """

    def time(piece: int) -> float:
        return min((piece - first) / STEPS, seconds) if first is not None and piece >= first else 0.0

    def part(start: float, end: float, found: Sequence[int]) -> WindowPart:
        return WindowPart(start, end, tuple(piece for piece in found if first is None or piece < first))

    is_time = [first is not None and piece >= first for piece in pieces]
    ends = [place for place in range(1, len(pieces)) if is_time[place - 1] and is_time[place]]
    is_closed = is_time[-2:] == [False, True]
    if not ends:
        last = next((time(piece) for piece in reversed(pieces) if first is not None and piece >= first), 0.0)
        return [part(0.0, last or seconds, pieces)], seconds
    cuts = [0, *ends, *([len(pieces)] if is_closed else [])]
    found = [part(time(pieces[a]), time(pieces[b - 1]), pieces[a:b]) for a, b in pairwise(cuts)]
    return found, seconds if is_closed else found[-1].end or seconds


class SoundTranscriber:
    """Writes the text of sounds with a bundle that reads them.

    `language`: by default the bundle's, or the one it detects. `task`: transcribe, or translate (into English); by
    default the bundle's. `timestamps`: segments within windows, where the model knows timestamps; sounds of several
    windows always have them. `question`: that about each sound, for a model with `sound.words`. UsageError for a
    language or task that the bundle has no symbol for.
    """

    def __init__(
        self,
        bundle: Bundle,
        decoding: DecodingSettings,
        *,
        language: str | None = None,
        task: str | None = None,
        timestamps: bool = False,
        question: str = "",
    ) -> None:
        assert bundle.settings.sound is not None, "the bundle reads sounds"
        self.sound, self.symbols = bundle.settings.sound, bundle.settings.transcript or TranscriptSettings()
        if language is not None and language not in self.symbols.languages:
            raise _no_symbol("language", language, self.symbols.languages)
        if task not in (None, "transcribe", *self.symbols.tasks):
            raise _no_symbol("task", task, self.symbols.tasks)
        self.translator = BatchTranslator.of(bundle, decoding)
        self.tokenizers = bundle.tokenizers
        self.language, self.task, self.question = language, task, question
        self.is_alone = decoding.best == 1
        self.in_windows = timestamps and self.symbols.timestamps is not None and self.is_alone
        self.window = self.sound.seconds * self.sound.rate

    def transcribe(self, sounds: Sequence[Any], *, advanced: OnProgress = ignore_progress) -> list[list[Transcript]]:
        """For each sound its best transcripts, best first.

        DataError for a sound that cannot be read, or that is longer than two hours, or than a window where several
        transcripts are asked for.
        """
        found: dict[int, list[Transcript]] = {}
        waiting: dict[int, Samples] = {}
        for place, sound in enumerate(sounds):
            samples = read_sound(sound, self.sound, LONGEST if self.is_alone else None)
            if self.in_windows or len(samples) > self.window:
                found[place] = [self._in_windows(samples)]
                advanced(1)
            else:
                waiting[place] = samples
            if len(waiting) == self.tokenizers.encoder.at_once or place == len(sounds) - 1:
                found |= zip(waiting, self._whole(list(waiting.values())), strict=True)
                advanced(len(waiting))
                waiting = {}
        return [found[place] for place in range(len(sounds))]

    def _whole(self, sounds: Sequence[Samples]) -> list[list[Transcript]]:
        """The transcripts of sounds that are no longer than a window, without timestamps."""
        languages = list(map(self._language, sounds))
        found = self.translator.translate(
            self._asked(sounds), [self._request(language, timestamps=False) for language in languages]
        )
        return [
            [_joined([one], [Segment(0.0, len(samples) / self.sound.rate, one.text.strip())], language) for one in best]
            for samples, language, best in zip(sounds, languages, found, strict=True)
        ]

    def _in_windows(self, samples: Samples) -> Transcript:
        """The transcript of a sound, window by window; the language is that of the first."""
        language, first, rate = self._language(samples[: self.window]), self.symbols.timestamps, self.sound.rate
        request = self._request(language, timestamps=first is not None)
        place, windows, segments = 0, [], []
        while not windows or len(samples) - place >= LEAST * rate:
            window = samples[place : place + self.window]
            ((best, *_),) = self.translator.translate(self._asked([window]), [request])
            parts, taken = parts_of(best.pieces[len(request.symbols) :], first, len(window) / rate)
            texts = [self.tokenizers.decode_target(part.pieces).text.strip() for part in parts]
            for part, text in zip(parts, texts, strict=True):
                segments.append(Segment(round(place / rate + part.start, 3), round(place / rate + part.end, 3), text))
            windows.append(best)
            place += round(taken * rate)
        return _joined(windows, segments, language)

    def _asked(self, sounds: Sequence[Samples]) -> Sequence[Any]:
        return [(samples, self.question) for samples in sounds] if self.question else sounds

    def _request(self, language: str | None, *, timestamps: bool) -> Request:
        return opening_of(self.symbols, language, self.task, timestamps=timestamps)

    def _language(self, samples: Samples) -> str | None:
        """The language of a sound; None where the model has no symbols of languages."""
        if not self.symbols.languages:
            return None
        return self.language or self.symbols.language or self._detected(samples)

    def _detected(self, samples: Samples) -> str:
        """The language with the most probable symbol after the start of the transcript."""
        translator, languages = self.translator, self.symbols.languages
        ((numbers, _),) = self.tokenizers.encode_sources([samples])
        with torch.inference_mode(), translator.engine.computing():
            model = translator.engine.ready()
            state = model.start(*translator.sources.padded([numbers], translator.device))
            logits, _ = model.step(torch.full((1, 1), SYMBOL_IDS.start, device=translator.device), state)
        return list(languages)[int(logits[0, -1, list(languages.values())].argmax())]


def _joined(windows: Sequence[Translation], segments: Sequence[Segment], language: str | None) -> Transcript:
    """One transcript of all windows; segments without a word or without a length are left out."""
    kept = tuple(one for one in segments if one.text and one.end > one.start)
    total = sum(one.log_probability for one in windows)
    return Transcript(
        " ".join(one.text for one in kept),
        sum(one.score for one in windows) / len(windows),
        total,
        all(one.finished for one in windows),
        problem=next((one.problem for one in windows if one.problem), ""),
        pieces=tuple(piece for one in windows for piece in one.pieces),
        source_pieces=sum(one.source_pieces for one in windows),
        segments=kept,
        language=language or "",
    )


def _no_symbol(kind: str, name: str | None, known: Collection[str]) -> UsageError:
    return UsageError(
        f"--{kind} {name}: this model has no symbol for it",
        why=f"it has symbols for {', '.join(known)}"
        if known
        else "it was trained on one only, and has no symbols for it",
        hint=f"leave --{kind} out, or name another bundle",
        code="U122",
    )


def check_reads_sounds(bundle: Bundle, path: Path) -> None:
    """UsageError for a bundle at `path` whose sources are no sounds."""
    if bundle.settings.sound is None:
        raise UsageError(
            f"{path}: the sources of this model are no sounds",
            hint=f"{command_for(bundle.settings)} is for it, or name another bundle",
            code="U120",
        )
