"""Tatoeba: short everyday sentences that volunteers translated, in pairs with English.

Read from a folder tatoeba-en-XX with files such as train.en.gz and train.XX.gz; or, where these are not, from the
export that manythings.org offers (deu.txt and the like: English, tab, translation, tab, attribution), which is split
here by content. The export grows with time, so there is no checksum, and scores on its splits are comparable only
between runs on the same file.
"""

import unicodedata
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from openwork.base.errors import DataError
from openwork.base.files import read_lines
from openwork.data.corpora.corpus import NamedCorpus
from openwork.data.corpora.places import find_file, find_folder
from openwork.data.corpora.splits import divide
from openwork.data.readers.parallel import read_parallel
from openwork.data.records import Pair

TERMS = (
    "Tatoeba sentences (tatoeba.org, through manythings.org/anki); CC BY 2.0 FR: the names of the authors, where the "
    "corpus gives them (attribution.tsv.gz, or the third column), must go with what is published of it"
)
EXPORTS = {"de": "deu.txt", "fr": "fra.txt", "zh": "cmn.txt"}
"""The languages that have a name here, and the file that the export is."""

_ORIGIN = "https://www.manythings.org/anki/"
_PARTS = 100  # one in a hundred pairs each for validation and test
_PAIRS = {"de": (164_889, 2_000, None), "fr": (161_341, 2_000, None), "zh": (27_003, 1_000, None)}


def _corpus(other: str, *, reverse: bool) -> NamedCorpus:
    home = f"tatoeba-en-{other}"
    languages = (other, "en") if reverse else ("en", other)

    def read(split: str, folder: Path | None, count: int | None, seed: int) -> Iterator[Pair]:
        return islice(_read(home, languages, split, folder), count)

    def found(folder: Path | None) -> str:
        files = [f"{split}.{language}" for split in ("train", "valid") for language in languages]
        return find_folder(home, files, folder) or find_folder(home, [EXPORTS[other]], folder)

    origin = f"{_ORIGIN}{EXPORTS[other].removesuffix('.txt')}-eng.zip (by hand)"
    return NamedCorpus(read, TERMS, origin, languages, _PAIRS[other], found=found)


def _read(home: str, languages: tuple[str, str], split: str, folder: Path | None) -> Iterator[Pair]:
    source, target = (find_file(home, f"{split}.{language}", folder) for language in languages)
    if source is not None and target is not None:
        return read_parallel(source, target)
    export = EXPORTS[languages[0] if languages[1] == "en" else languages[1]]
    has_splits = find_file(home, f"train.{languages[0]}", folder) is not None
    if not has_splits and (path := find_file(home, export, folder)):  # beside them it would bring training pairs back
        pairs = divide(list(read_export(path)), split, _PARTS)
        return pairs if languages[0] == "en" else (Pair(pair.target, pair.source) for pair in pairs)
    if split == "test" and has_splits:
        raise DataError(
            f"{home}: there is no test split here",
            why="its sentences are kept apart, so that choices are made on the split valid",
            hint=f"use valid, or put test.{languages[0]}.gz and test.{languages[1]}.gz beside the others",
            code="D061",
        )
    name = f"{split}.{languages[0]}.gz"
    raise DataError(
        f"{home}: {name} is not on this machine",
        why="the corpus can be had in public as an export that changes with time, so it is not fetched unasked",
        hint=f"download {_ORIGIN}{export.removesuffix('.txt')}-eng.zip, put its {export} into a folder FOLDER/{home}, "
        "and set OPENWORK_DATA=FOLDER",
        code="D062",
    )


def read_export(path: Path) -> Iterator[Pair]:
    """The pairs of an export, each once, in normal form C and without double spaces."""
    seen: set[Pair] = set()
    for number, line in enumerate(read_lines(path), start=1):
        columns = line.split("\t")
        if len(columns) < 2:
            raise DataError(
                f"{path}:{number}: one column where two or three are needed",
                why="a line is English, a tab, the translation, and perhaps a tab and the attribution",
                hint="unpack the file again",
                code="D063",
            )
        pair = Pair(*(" ".join(unicodedata.normalize("NFC", text).split()) for text in columns[:2]))
        if pair not in seen:
            seen.add(pair)
            yield pair


CORPORA = {f"tatoeba-en-{other}": _corpus(other, reverse=False) for other in EXPORTS} | {
    f"tatoeba-{other}-en": _corpus(other, reverse=True) for other in EXPORTS
}
