"""The forms of a transcript: a line of text, subtitles (SubRip, WebVTT), a line of JSON."""

from collections.abc import Sequence
from html import escape
from typing import Literal

from openwork.base.errors import UsageError
from openwork.base.printing import json_text
from openwork.inference.filters.output import OutputFormat
from openwork.inference.transcriber import Segment, Transcript

Format = Literal["text", "srt", "vtt", "json"]
SUBTITLES = ("srt", "vtt")


def clock(seconds: float, mark: str) -> str:
    """A time as HH:MM:SS, `mark`, and milliseconds, rounded; `mark` is a comma in SubRip and a point in WebVTT."""
    minutes, thousandths = divmod(round(seconds * 1000), 60_000)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{thousandths // 1000:02}{mark}{thousandths % 1000:03}"


def srt(segments: Sequence[Segment]) -> str:
    """The segments in SubRip's form: number, times, text, blank line."""
    return "".join(
        f"{number}\n{clock(one.start, ',')} --> {clock(one.end, ',')}\n{one.text.replace('-->', '->')}\n\n"
        for number, one in enumerate(segments, start=1)
    )


def vtt(segments: Sequence[Segment]) -> str:
    """The segments in WebVTT's form (W3C)."""
    cues = (f"{clock(o.start, '.')} --> {clock(o.end, '.')}\n{escape(o.text, quote=False)}\n\n" for o in segments)
    return "WEBVTT\n\n" + "".join(cues)


def json_line(path: str, found: Sequence[Transcript]) -> str:
    """The transcripts of a sound as a JSON object: text, scores, language and segments of each."""
    listed = [
        {"text": one.text, "score": one.score, "log_probability": one.log_probability, "finished": one.finished}
        | ({"language": one.language} if one.language else {})
        | ({"problem": one.problem} if one.problem else {})
        | {"segments": [vars(segment) for segment in one.segments]}
        for one in found
    ]
    return json_text({"source": path, "transcripts": listed}) + "\n"


def written(form: Format, path: str, found: Sequence[Transcript]) -> str:
    """The transcripts of the sound at `path` in this form, with the end of the last line."""
    if form == "json":
        return json_line(path, found)
    if form in SUBTITLES:
        return (srt if form == "srt" else vtt)(found[0].segments)
    return OutputFormat(len(found)).line(path, list(found)) + "\n"


def check_format(form: Format, files: int) -> None:
    """UsageError for subtitles of several sounds, which are several files."""
    if form in SUBTITLES and files > 1:
        raise UsageError(
            f"--format {form} is for one sound, and there are {files}",
            hint=f"call it once for each: openwork transcribe BUNDLE one.wav --format {form} > one.{form}",
            code="U123",
        )
