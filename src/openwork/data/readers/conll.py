"""Tagged words in the format of the CoNLL tasks: a line for each word, a blank line between sentences."""

from collections.abc import Iterator
from pathlib import Path

from openwork.base.errors import DataError
from openwork.base.files import read_lines
from openwork.data.records import Pair

DOCUMENT = "-DOCSTART-"  # the first word of a line that begins a document, and is of no sentence


def read_conll(path: Path | str) -> Iterator[Pair]:
    """Yield each sentence of a file (plain or compressed): its words, and their tags, with single spaces between.

    Columns have spaces or a tab between: the word is the first, its tag the last, what is between them is not read
    (Tjong Kim Sang and De Meulder 2003). `DataError` names a line with a word and no tag.
    """
    words: list[str] = []
    tags: list[str] = []
    for number, line in enumerate(read_lines(path), start=1):
        columns = line.split()
        if len(columns) == 1:
            raise DataError(
                f"{path}:{number}: a word without a tag",
                why="a line has the word first and its tag last, with spaces or a tab between",
                hint="give the word its tag, O where it is in no span; a sentence ends with a blank line",
                code="D152",
            )
        if columns and columns[0] != DOCUMENT:
            words.append(columns[0])
            tags.append(columns[-1])
        elif words:
            yield Pair(" ".join(words), " ".join(tags))
            words, tags = [], []
    if words:
        yield Pair(" ".join(words), " ".join(tags))
