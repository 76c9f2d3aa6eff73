"""The documentation of Python in English and Chinese, paragraph by paragraph, with its markup: :meth:`x`, ``x``.

For what short sentences do not show: long paragraphs, names that must come through unchanged, terms. One pair of files,
unique by its English side; the splits are made here, and no paragraph of either language stands in two of them.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from openwork.base.errors import DataError
from openwork.data.corpora.corpus import NamedCorpus, both_ways
from openwork.data.corpora.places import find_file, find_folder
from openwork.data.corpora.splits import divide
from openwork.data.readers.parallel import read_parallel
from openwork.data.records import Pair

HOME = "python-docs-en-zh"
LANGUAGES = ("en", "zh")
TERMS = "Python's documentation (Python licence) and its translation (github.com/python/python-docs-zh-cn; CC0)"
ORIGIN = "https://github.com/python/python-docs-zh-cn (PO files)"

_PARTS = 40  # one in forty paragraphs each for validation and test: about a thousand
_NAME = "python-docs"
_PAIRS = (41_316, 1_143, 1_122)


def _direction(source: str, target: str) -> NamedCorpus:
    def read(split: str, folder: Path | None, count: int | None, seed: int) -> Iterator[Pair]:
        # divided always as English and Chinese, so that both directions have the same splits
        pairs = divide(list(read_parallel(_locate("en", folder), _locate("zh", folder))), split, _PARTS)
        return islice(pairs if source == "en" else (Pair(pair.target, pair.source) for pair in pairs), count)

    def found(folder: Path | None) -> str:
        return find_folder(HOME, [f"{_NAME}.{language}" for language in LANGUAGES], folder)

    return NamedCorpus(read, TERMS, ORIGIN, (source, target), _PAIRS, found=found)


def _locate(language: str, folder: Path | None) -> Path:
    name = f"{_NAME}.{language}"
    path = find_file(HOME, name, folder)
    if path is None:
        file = f"{name}.gz"
        raise DataError(
            f"{HOME}: {file} is not on this machine",
            why="the corpus is made of the PO files of github.com/python/python-docs-zh-cn, which are not fetched",
            hint=f"train on those PO files, or put both files into a folder FOLDER/{HOME} and set OPENWORK_DATA=FOLDER",
            code="D062",
        )
    return path


CORPORA = both_ways("python-docs", LANGUAGES, _direction)
