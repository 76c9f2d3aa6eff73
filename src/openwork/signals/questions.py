"""Questions about a picture or a sound: the model reads a row for each of their words, behind the rows of the source.

A source is a path, a tab and a question, or a pair of a path or an array and a question: words of the list that the
settings have, with spaces between. A row has the numbers of a patch or of 10 ms of sound, and then one number for each
word of the list. Those are 0 in the rows of the source; in the row of a word, all are 0 but its own, which is 1. So the
model's first matrix has a column for each word, which is its embedding.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openwork.base.errors import DataError
from openwork.base.sources import NumberForm

Words = tuple[str, ...] | None


def file_of(source: str) -> str:
    """The path in a source without its question."""
    return source.partition("\t")[0]


def parted(source: Any, words: Words) -> tuple[Any, list[int]]:
    """The path or array of a source, and which words of the list its question has.

    DataError for a word that is not in the list, and for a question to a model without a list.
    """
    file, question = source if isinstance(source, tuple) else (source, "")
    if isinstance(file, str) and not question:
        file, _, question = file.partition("\t")
    asked = question.split()
    if words is None:
        if asked:
            raise DataError(
                f"{question}: the model was not trained to answer questions",
                hint="leave the question out, or train with picture.words or sound.words",
                code="D166",
            )
        return file, []
    unknown = next((word for word in asked if word not in words), None)
    if unknown is not None:
        raise DataError(
            f"{question}: the question has a word that the model does not know: {unknown}",
            why=f"its words are {', '.join(words)}",
            hint="ask with these words, or train with more of them",
            code="D165",
        )
    return file, [words.index(word) for word in asked]


def with_question(rows: NDArray[Any], asked: Sequence[int], words: Words, rows_each: int = 1) -> NDArray[Any]:
    """The rows of a source (row, feature) and those of its question (row, feature + word), `rows_each` for each word.

    With more than one the question begins at a multiple of them, so that a stem which joins so many rows joins no word
    with what is before it.
    """
    if words is None:
        return rows
    count, features = rows.shape
    first = -(-count // rows_each) * rows_each
    found = np.zeros((first + rows_each * len(asked), features + len(words)), rows.dtype)
    found[:count, :features] = rows
    for number, place in enumerate(asked):
        found[first + rows_each * number : first + rows_each * (number + 1), features + place] = 1
    return found


def form_with(form: NumberForm, words: Words) -> NumberForm:
    """The form of such rows: a word's number is read as it is."""
    if words is None:
        return form
    each = form.features // len(form.scale)
    scale = tuple(one for one in form.scale for _ in range(each)) + (1.0,) * len(words)
    shift = tuple(one for one in form.shift for _ in range(each)) + (0.0,) * len(words)
    return replace(form, features=form.features + len(words), scale=scale, shift=shift)
