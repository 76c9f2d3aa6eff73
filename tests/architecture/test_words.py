"""Words of a dialect of our own, for which the field has others, stay out of code, help and README."""

import re
from functools import cache
from pathlib import Path

import pytest

from architecture.house import PACKAGE, REPOSITORY

# The word -> what to say. The old spellings that are still read stand in `PLACES`.
WORDS = {
    r"foretell\w*|foretold": "predict, language model",
    r"by heart": "overfit",
    r"made[ _]ready(_to_train|_with)?": "prepared; TrainingSetup",
    r"wished\w*": "wanted",
    r"outlook|foresee\w*": "estimate",
    r"Learner": "TrainState",
    r"Foreign\w*|\w+Foreign": "external",
    r"adopted_from|is_adopted|Adopted": "adapted",
    r"Listener|Talk": "callback, dialogue",
    r"WordByWord|Parted|LinesInForm|in_form": "word-level tokenizer, segment pairs, tokenizers for a task",
    r"likeness\w*|Likeness\w*": "similarity",
    r"unfilled|marks_prompts": "empty_weights, separate_prompt",
    r"weigh_by|mark_beginnings|MarksBeginnings": "score function, set_word_starts",
    r"bookmark|forged|lent|wherein": "plain words",
    r"begun|Say": "started; Report",
    r"told": "predicted, recognised, reported",
    r"heed\w*|likened": "reads, handles; compared",
}
PLACES = {"models/recurrent_settings.py", "base/config.py"}


@cache
def texts() -> dict[Path, str]:
    files = [path for path in sorted(PACKAGE.rglob("*.py")) if path.relative_to(PACKAGE).as_posix() not in PLACES]
    return {path: path.read_text(encoding="utf-8") for path in [*files, REPOSITORY / "README.md"]}


@cache
def words_in_use() -> frozenset[str]:
    return frozenset(word for text in texts().values() for word in re.findall(r"\w+", text))


def places(pattern: re.Pattern[str]) -> set[str]:
    return {
        f"{path.relative_to(REPOSITORY)}:{number}: {line.strip()}"
        for path, text in texts().items()
        if pattern.search(text)
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    }


@pytest.mark.parametrize("word", WORDS)
def test_a_word_of_the_field_stands_for(word: str):
    pattern = re.compile(rf"\b({word})\b")
    is_used = " " in word or any(map(pattern.fullmatch, words_in_use()))
    assert not is_used or places(pattern) == set(), f"say: {WORDS[word]}"
