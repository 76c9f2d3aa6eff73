"""openwork transcribe and caption: the text of a sound or a picture"""

from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from openwork.cli.options import Bundle, DecodingOptions, given, load, settings_with_options
from openwork.cli.terminal import report


def transcribe(
    *,
    bundle: Bundle,
    files: Annotated[list[Path], Argument(help="Sounds: WAV or FLAC.", show_default=False)],
    form: Annotated[
        Literal["text", "srt", "vtt", "json"],
        Option("--format", help="text: a line a sound; srt, vtt: subtitles of one sound; json: a line with segments."),
    ] = "text",
    as_json: Annotated[bool, Option("--json", help="As --format json.")] = False,
    language: Annotated[
        str | None, Option(help="Language of the sounds, such as de, for a model with several; else it is detected.")
    ] = None,
    task: Annotated[
        Literal["transcribe", "translate"] | None, Option(help="Write what is said, or translate it into English.")
    ] = None,
    question: Annotated[str, Option(help="Of each sound, for a model that was trained with sound.words.")] = "",
    searching: DecodingOptions,
) -> None:
    """Write the text of each sound, one line a file.

    A sound may have two hours: it is read in windows as long as the sources of the model.

    openwork transcribe spoken-digits one.wav two.flac

    openwork transcribe tiny.en talk.flac --format srt > talk.srt
    """
    loaded = load(bundle)
    from openwork.base.printing import write_data
    from openwork.inference.filters.transcripts import check_format, written
    from openwork.inference.transcriber import SoundTranscriber, check_reads_sounds

    check_reads_sounds(loaded, bundle)
    form = "json" if as_json else form
    check_format(form, len(files))
    decoding = settings_with_options(loaded.settings.decoding, given(searching))
    transcriber = SoundTranscriber(
        loaded, decoding, language=language, task=task, timestamps=form != "text", question=question
    )
    size = loaded.tokenizers.encoder.at_once
    for first in range(0, len(files), size):
        paths = list(map(str, files[first : first + size]))
        for path, found in zip(paths, transcriber.transcribe(paths), strict=True):
            write_data(written(form, path, found))


def caption(
    *,
    bundle: Bundle,
    as_json: Annotated[bool, Option("--json", help="One JSON object a line, with scores.")] = False,
    searching: DecodingOptions,
) -> None:
    """Write the text of each picture on standard input.

    A line is a path. With a model that answers questions (picture.words), a tab and the question follow it.

    ls photos/*.png | openwork caption composed

    openwork caption composed --best 3 --json < paths.txt > captions.jsonl
    """
    loaded = load(bundle)
    from openwork.inference.captions import check_captions
    from openwork.inference.filters.lines import answer_stream, translation_filter
    from openwork.inference.filters.output import OutputFormat
    from openwork.inference.translator import BatchTranslator

    check_captions(loaded, bundle)
    decoding = settings_with_options(loaded.settings.decoding, given(searching))
    translator = BatchTranslator.of(loaded, decoding)
    answer_stream(translation_filter(translator, OutputFormat(decoding.best, as_json)), report)
