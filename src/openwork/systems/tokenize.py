"""A bundle's tokenizer as a filter: lines in, lines out."""

import json
import sys
from collections.abc import Callable
from enum import Enum
from pathlib import Path

from openwork.base.errors import DataError, UsageError
from openwork.systems.bundle_folder import check_files, find_bundle, read_manifest
from openwork.systems.lines import clean_line, lines_of, standard_input
from openwork.text.pair import TokenizerPair
from openwork.text.tokenizer import Tokenizer


class Form(Enum):
    """What is printed for each line."""

    PIECES = "pieces"
    IDS = "ids"
    TEXT = "text"
    JSON = "json"


def visible(piece: str) -> str:
    """A piece that can be told from its neighbours: spaces as ▁, tabs and line ends escaped."""
    return piece.replace(" ", "▁").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def one_line(tokenizer: Tokenizer, line: str, form: Form, number: int) -> str:
    """What is printed for `line`."""
    if form is Form.TEXT:
        return " ".join(tokenizer.decode(_numbers(tokenizer, line, number)).splitlines())
    pieces = tokenizer.encode_pieces(line)
    if form is Form.IDS:
        return " ".join(map(str, pieces.ids))
    if form is Form.PIECES:
        return " ".join(map(visible, pieces.pieces))
    values = {"text": line, "pieces": pieces.pieces, "ids": pieces.ids, "offsets": pieces.offsets}
    return json.dumps(values, ensure_ascii=False)


def _numbers(tokenizer: Tokenizer, line: str, number: int) -> list[int]:
    size = tokenizer.vocabulary_size
    words = line.split()
    # no number of ten digits is a piece's, and Python refuses to read one of thousands
    if wrong := [word for word in words if not (word.isascii() and word.isdigit() and int(word[:10]) < size)]:
        raise DataError(f"line {number}: {wrong[0]!r} is not a piece's number", why=f"numbers run from 0 to {size - 1}")
    return [int(word) for word in words]


def tokenize_stream(bundle: Path, side: str, form: Form, say: Callable[[str], None]) -> None:
    """Standard input to standard output, line for line."""
    if side not in ("source", "target"):
        raise UsageError(f"--side {side}: there is no such side", hint="source or target")
    folder = find_bundle(bundle)
    check_files(folder, read_manifest(folder))
    pair = TokenizerPair.load(folder)
    tokenizer = pair.source if side == "source" else pair.target
    for number, data in enumerate(lines_of(standard_input()), start=1):
        text, problem = clean_line(data)
        if problem:
            say(f"line {number}: {problem}")
        sys.stdout.buffer.write(one_line(tokenizer, text, form, number).encode("utf-8", errors="replace") + b"\n")
        sys.stdout.buffer.flush()
