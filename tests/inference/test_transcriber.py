"""Transcripts of sounds: segments and windows by hand, and times in subtitles."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openwork.base.errors import DataError, UsageError
from openwork.bundles.bundle import Bundle
from openwork.bundles.settings import BundleSettings
from openwork.decoding.settings import DecodingSettings, TranscriptSettings
from openwork.inference import transcriber as module
from openwork.inference.filters.transcripts import check_format, clock, json_line, srt, vtt
from openwork.inference.requests import Request
from openwork.inference.transcriber import Segment, SoundTranscriber, Transcript, WindowPart, parts_of
from openwork.inference.translation import Translation
from openwork.models.build import build_model
from openwork.models.families import model_settings
from openwork.models.presets import PRESETS
from openwork.signals.mel import SoundFrames
from openwork.signals.settings import SoundSettings
from openwork.text.pair import TokenizerPair
from openwork.text.pieces.kinds import KINDS

FIRST = 10_000  # the id of the time 0


def at(seconds: float) -> int:
    return FIRST + round(seconds * 50)


def test_segments_by_hand() -> None:
    whole = [at(0.5), 1, 2, at(2), at(2), 3, at(3.5)]
    assert parts_of(whole, FIRST, 30.0) == ([WindowPart(0.5, 2.0, (1, 2)), WindowPart(2.0, 3.5, (3,))], 30.0)
    opened = [at(0.5), 1, 2, at(2), at(2), 3]  # the last segment is left to the window that begins at 2 s
    assert parts_of(opened, FIRST, 30.0) == ([WindowPart(0.5, 2.0, (1, 2))], 2.0)
    assert parts_of([at(0), 1, at(9)], FIRST, 30.0) == ([WindowPart(0.0, 9.0, (1,))], 30.0)
    assert parts_of([at(0), 1], FIRST, 30.0) == ([WindowPart(0.0, 30.0, (1,))], 30.0)
    assert parts_of([1, 2], None, 4.0) == ([WindowPart(0.0, 4.0, (1, 2))], 4.0)
    assert parts_of([], FIRST, 4.0) == ([WindowPart(0.0, 4.0, ())], 4.0)


def test_a_time_after_the_end_of_the_sound_is_its_end() -> None:
    assert parts_of([at(0), 1, at(9)], FIRST, 4.0) == ([WindowPart(0.0, 4.0, (1,))], 4.0)


@given(st.lists(st.integers(0, 9) | st.integers(FIRST, FIRST + 1500), max_size=20), st.floats(0.1, 30.0))
def test_each_window_moves_on_and_stays_inside(pieces: list[int], seconds: float) -> None:
    parts, taken = parts_of(pieces, FIRST, seconds)
    assert 0 < taken <= seconds
    assert all(0 <= part.start <= seconds and 0 <= part.end <= seconds for part in parts)
    texts = [piece for part in parts for piece in part.pieces]
    assert texts == [piece for piece in pieces if piece < FIRST][: len(texts)]


def bundle(transcript: TranscriptSettings | None = None) -> Bundle:
    """A tiny random model that reads two seconds."""
    sound = SoundSettings(mels=8, seconds=2)
    target = KINDS["byte-pair"].learn(["a few words to learn pieces of"] * 3, 300, minimum_frequency=2)
    values = {**PRESETS["whisper-small"], "width": 8, "heads": 2, "feedforward_width": 8, "encoder_layers": 1}
    model = model_settings({**values, "decoder_layers": 1, "maximum_length": 30})
    pair = TokenizerPair(SoundFrames(sound), target)
    settings = BundleSettings(model=model, sound=sound, transcript=transcript, decoding=DecodingSettings(beam=1))
    return Bundle(settings, pair, build_model(model, *pair.sizes).eval())


class Scripted:
    """Writes the given pieces for one window after the other, and remembers windows and requests."""

    def __init__(self, texts: Sequence[Sequence[int]], decoding: DecodingSettings) -> None:
        self.texts, self.decoding = iter(texts), decoding
        self.windows: list[np.ndarray] = []
        self.requests: list[Request] = []

    def translate(self, sounds: Sequence[np.ndarray], requests: Sequence[Request]) -> list[list[Translation]]:
        self.windows += sounds
        self.requests += requests
        return [[Translation("", -1.0, -2.0, pieces=(*r.symbols, *next(self.texts)))] for r in requests]


def scripted(texts: Sequence[Sequence[int]], **options: Any) -> tuple[SoundTranscriber, Scripted]:
    one = bundle(TranscriptSettings(languages={"en": 90, "de": 91}, tasks={"translate": 92}, no_timestamps=99,
                                    timestamps=FIRST, language="en"))  # fmt: skip
    made = SoundTranscriber(one, one.settings.decoding, **options)
    made.translator = script = Scripted(texts, one.settings.decoding)  # type: ignore[assignment]
    return made, script


def test_the_next_window_begins_at_the_last_whole_segment() -> None:
    """Five seconds in windows of two: 0 to 2 with a whole segment up to 1.5, 1.5 to 3.5, and 3.5 to 5."""
    target = bundle().tokenizers.target
    a, few, words = target.encode("a"), target.encode("few"), target.encode("words")
    texts = [[at(0), *a, at(1.5), at(1.5), *few], [at(0.1), *few, at(1.9)], [at(0), *words, at(1.5)]]
    made, script = scripted(texts, language="de", task="translate")
    sound = np.arange(5 * 16_000, dtype=np.float32) / 80_000
    ((found,),) = made.transcribe([sound])
    assert [(round(float(window[0] * 5), 4), len(window) / 16_000) for window in script.windows] == [
        (0.0, 2.0), (1.5, 2.0), (3.5, 1.5),
    ]  # fmt: skip
    assert {request.symbols for request in script.requests} == {(91, 92)}
    assert [(round(s.start, 3), round(s.end, 3), s.text) for s in found.segments] == [
        (0.0, 1.5, "a"), (1.5, 3.4, "few"), (3.5, 5.0, "words"),
    ]  # fmt: skip
    assert found.text == "a few words" and found.language == "de"
    assert (found.log_probability, found.score, found.finished) == (-6.0, -1.0, True)


def test_a_short_sound_has_timestamps_only_if_asked() -> None:
    made, script = scripted([[50]])
    made.transcribe([np.zeros(16_000, np.float32)])
    assert script.requests[0].symbols == (90, 99)
    made, script = scripted([[at(0), 50, at(0.5)]], timestamps=True)
    ((found,),) = made.transcribe([np.zeros(16_000, np.float32)])
    assert script.requests[0].symbols == (90,) and found.segments[0].end == 0.5


def test_windows_of_a_model_without_timestamps_follow_each_other() -> None:
    one = bundle()
    made = SoundTranscriber(one, one.settings.decoding, timestamps=True)
    made.translator = script = Scripted([[50], [51], [52]], one.settings.decoding)  # type: ignore[assignment]
    ((found,),) = made.transcribe([np.zeros(5 * 16_000, np.float32)])
    assert [len(window) / 16_000 for window in script.windows] == [2.0, 2.0, 1.0]
    assert [(s.start, s.end) for s in found.segments] == [(0.0, 2.0), (2.0, 4.0), (4.0, 5.0)]
    assert found.language == "" and script.requests[0].symbols == ()


def test_a_real_model_writes_long_and_short_sounds_in_their_order() -> None:
    one = bundle()
    made = SoundTranscriber(one, one.settings.decoding)
    noise = np.random.default_rng(4).standard_normal(5 * 16_000).astype(np.float32)
    counts: list[int] = []
    found = made.transcribe([noise[:9000], noise, noise[:20_000]], advanced=counts.append)
    assert sum(counts) == 3 and len(found) == 3
    alone = [made.transcribe([part])[0][0] for part in (noise[:9000], noise, noise[:20_000])]
    assert [one.text for (one,) in found] == [one.text for one in alone]
    parts = [made.transcribe([noise[start : start + 32_000]])[0][0].text for start in (0, 32_000, 64_000)]
    assert alone[1].text == " ".join(filter(None, parts))


def test_several_transcripts_are_of_one_window(monkeypatch: pytest.MonkeyPatch) -> None:
    one = bundle()
    made = SoundTranscriber(one, DecodingSettings(beam=2, best=2))
    assert len(made.transcribe([np.ones(16_000, np.float32)])[0]) == 2
    with pytest.raises(DataError) as refused:
        made.transcribe([np.ones(33_000, np.float32)])
    assert refused.value.code == "D156"
    monkeypatch.setattr(module, "LONGEST", 3)
    with pytest.raises(DataError, match="more than 3 seconds") as refused:
        SoundTranscriber(one, DecodingSettings(beam=1)).transcribe([np.ones(50_000, np.float32)])
    assert refused.value.code == "D156"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"language": "de"}, "--language de: "),
        ({"language": "transcribe"}, "--language transcribe: "),
        ({"task": "translate"}, "--task translate: "),
    ],
)
def test_a_symbol_that_the_model_has_not_is_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        SoundTranscriber(bundle(), DecodingSettings(), **options)  # type: ignore[arg-type]
    assert refused.value.code == "U122" and "trained on one" in refused.value.why
    known = bundle(TranscriptSettings(languages={"en": 9}, tasks={"transcribe": 8}))
    with pytest.raises(UsageError, match=said) as refused:
        SoundTranscriber(known, DecodingSettings(), **options)  # type: ignore[arg-type]
    assert refused.value.code == "U122" and refused.value.why.startswith("it has symbols for")


SEGMENTS = (Segment(0.0, 1.5, "And so --> on"), Segment(3661.0016, 3662.25, "a < b & c"))


def test_subtitles_by_hand() -> None:
    assert srt(SEGMENTS) == (
        "1\n00:00:00,000 --> 00:00:01,500\nAnd so -> on\n\n2\n01:01:01,002 --> 01:01:02,250\na < b & c\n\n"
    )
    assert vtt(SEGMENTS) == (
        "WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nAnd so --&gt; on\n\n"
        "01:01:01.002 --> 01:01:02.250\na &lt; b &amp; c\n\n"
    )
    assert srt(()) == "" and vtt(()) == "WEBVTT\n\n"


def test_a_line_of_json_by_hand() -> None:
    one = Transcript("a", -1.0, -2.0, segments=(Segment(0.0, 1.5, "a"),), language="en")
    assert json_line("a.wav", [one]) == (
        '{"source": "a.wav", "transcripts": [{"text": "a", "score": -1.0, "log_probability": -2.0, "finished": true, '
        '"language": "en", "segments": [{"start": 0.0, "end": 1.5, "text": "a"}]}]}\n'
    )


@given(st.floats(0, 4e5), st.floats(0, 4e5))
def test_times_are_read_back_and_keep_their_order(one: float, other: float) -> None:
    def read(text: str) -> float:
        parts = re.fullmatch(r"(\d{2,}):([0-5]\d):([0-5]\d),(\d{3})", text)
        assert parts is not None
        hours, minutes, seconds, thousandths = map(int, parts.groups())
        return hours * 3600 + minutes * 60 + seconds + thousandths / 1000

    assert read(clock(one, ",")) == pytest.approx(one, abs=0.0005 + 1e-9)
    assert (read(clock(one, ",")) <= read(clock(other, ","))) or one >= other


def test_subtitles_are_of_one_sound() -> None:
    check_format("srt", 1)
    check_format("json", 3)
    with pytest.raises(UsageError, match="for one sound, and there are 2") as refused:
        check_format("vtt", 2)
    assert refused.value.code == "U123" and "one.vtt" in refused.value.hint
