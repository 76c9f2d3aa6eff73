"""openwork transcribe"""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from openwork.cli.options import Bundle, DecodingOptions, given, load, settings_with_options


def transcribe(
    *,
    bundle: Bundle,
    files: Annotated[list[Path], Argument(help="Sounds: WAV or FLAC.", show_default=False)],
    as_json: Annotated[bool, Option("--json", help="One JSON object a line, with scores.")] = False,
    searching: DecodingOptions,
) -> None:
    """Write the text of each sound, one line a file.

    openwork transcribe spoken-digits one.wav two.flac

    openwork transcribe spoken-digits recordings/*.wav --json > out.jsonl
    """
    loaded = load(bundle)
    from openwork.base.printing import write_data
    from openwork.inference.filters.lines import OutputFormat
    from openwork.inference.transcriber import check_reads_sounds
    from openwork.inference.translator import BatchTranslator

    check_reads_sounds(loaded, bundle)
    decoding = settings_with_options(loaded.settings.decoding, given(searching))
    translator, output = BatchTranslator.of(loaded, decoding), OutputFormat(decoding.best, as_json)
    size = loaded.tokenizers.encoder.at_once
    for first in range(0, len(files), size):
        paths = list(map(str, files[first : first + size]))
        for path, found in zip(paths, translator.translate(paths), strict=True):
            write_data(f"{output.line(path, found)}\n")
