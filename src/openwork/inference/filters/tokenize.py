"""Filter from lines to pieces or ids and back, with the tokenizer of a bundle or of a file."""

from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

from openwork.base.errors import DataError, UsageError
from openwork.base.lines import Report, cleaned, lines_of, standard_input
from openwork.base.phrases import Translate
from openwork.base.printing import json_text, one_line, write_data
from openwork.bundles.folder import whole_bundle
from openwork.text.external import ExternalTokenizer
from openwork.text.external.reading import read_tokenizer
from openwork.text.pair import TokenizerPair
from openwork.text.tokenizer import Tokenizer
from openwork.text.work import as_data, as_line, step_lines

AnyTokenizer = Tokenizer | ExternalTokenizer


class TokenFormat(Enum):
    PIECES = "pieces"
    IDS = "ids"
    FRAMED_IDS = "framed ids"
    TEXT = "text"
    JSON = "json"
    STEPS = "steps"
    JSON_STEPS = "json steps"


def printed_for(tokenizer: AnyTokenizer, line: str, form: TokenFormat, number: int, translated: Translate) -> str:
    """The output for `line`; only the steps take more than one line, in the words of `translated`."""
    match form:
        case TokenFormat.TEXT:
            return " ".join(tokenizer.decode(_numbers(tokenizer, line, number)).splitlines())
        case TokenFormat.IDS:
            return " ".join(map(str, tokenizer.encode(line)))
        case TokenFormat.FRAMED_IDS:
            return " ".join(map(str, tokenizer.encode_framed(line)))
        case TokenFormat.PIECES:
            return as_line(tokenizer.encode_pieces(line).pieces)
        case TokenFormat.STEPS:
            ids = " ".join(map(str, tokenizer.encode(line)))
            steps = (one_line(translated(step)) for step in step_lines(tokenizer.work(line)))  # for a person
            return "\n".join([*steps, f"ids: {ids}", ""])
    pieces = tokenizer.encode_pieces(line)
    values: dict[str, Any] = {"text": line, "pieces": pieces.pieces, "ids": pieces.ids, "offsets": pieces.offsets}
    if form is TokenFormat.JSON_STEPS:
        values["words"] = as_data(tokenizer.work(line))
    return json_text(values)


def _numbers(tokenizer: AnyTokenizer, line: str, number: int) -> list[int]:
    size = tokenizer.vocabulary_size
    words = line.split()
    # no number of ten digits is a piece's, and Python refuses to read one of thousands
    if wrong := [word for word in words if not (word.isascii() and word.isdigit() and int(word[:10]) < size)]:
        raise DataError(
            f"line {number}: {wrong[0]!r} is not a piece's number",
            why=f"numbers run from 0 to {size - 1}",
            hint="give the numbers that openwork tokenize --ids prints, with spaces between",
            code="D098",
        )
    return [int(word) for word in words]


def find_tokenizer(
    bundle: Path | None, file: Path | None, side: str, locate: Callable[[Path], Path] = Path
) -> AnyTokenizer:
    """The tokenizer of one side of a bundle, or that of `file`. `locate` finds the bundle of a folder."""
    if side not in ("source", "target"):
        raise UsageError(f"--side {side}: there is no such side", hint="source or target", code="U063")
    if (bundle is None) == (file is None):
        raise UsageError(
            "it is not clear which tokenizer to use",
            why="exactly one of --bundle and --tokenizer is needed",
            hint="--bundle takes the folder that openwork train --out wrote, --tokenizer a tokenizer's file",
            code="U064",
        )
    if file is not None:
        return read_tokenizer(file)
    pair = TokenizerPair.load(whole_bundle(locate(bundle or Path())))
    return pair.source if side == "source" else pair.target


def tokenize_stream(tokenizer: AnyTokenizer, form: TokenFormat, report: Report, translated: Translate = str) -> None:
    """Tokenizes standard input line by line; `translated` puts explanations into the reader's language."""
    for number, data in enumerate(lines_of(standard_input()), start=1):
        text = cleaned(data, f"line {number}", report)
        write_data(f"{printed_for(tokenizer, text, form, number, translated)}\n")
