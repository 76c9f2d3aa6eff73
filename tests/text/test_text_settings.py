"""What the section [text] refuses, and that each refusal says what to change."""

from pathlib import Path
from typing import Any

import pytest

from openwork.base.config import build
from openwork.base.errors import ConfigError
from openwork.text.pair import train_pair
from openwork.text.pieces.kinds import KINDS
from openwork.text.settings import TextSettings

LINES = ["the cat", "the dog"] * 9


@pytest.mark.parametrize(
    ("values", "remedy"),
    [
        ({"kind": "wordpiece", "sampling": 0.1}, "text.kind to one of byte-pair, byte-level, unigram"),
        ({"kind": "words", "sampling": 0.1}, "set text.sampling = 0"),
        ({"target_file": "vocab.txt"}, "set text.shared = false"),
        ({"source_file": "vocab.txt", "sampling": 0.1}, "set text.sampling = 0"),
        ({"source_file": "vocab.txt", "placeholders": 9}, "set text.placeholders = 0"),
        ({"sampling": 1.0}, "sampling"),
        ({"samplings": 0}, "samplings"),
        ({"placeholders": -1}, "placeholders"),
    ],
)
def test_conflicts_are_refused_with_a_remedy(values: dict[str, Any], remedy: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build(TextSettings, values)
    assert remedy in f"{caught.value.what} {caught.value.why} {caught.value.hint}"


@pytest.mark.parametrize("kind", KINDS)
def test_what_can_be_sampled_is_what_the_settings_allow(kind: str) -> None:
    tokenizer = KINDS[kind].learn(LINES, 400)
    try:
        build(TextSettings, {"kind": kind, "sampling": 0.1})
    except ConfigError:
        with pytest.raises(ConfigError):
            tokenizer.encode_batch_sampled(["the"], 1, 0.1)
    else:
        assert tokenizer.encode_batch_sampled(["the"], 1, 0.1)


def test_a_file_takes_the_place_of_learning(tmp_path: Path) -> None:
    KINDS["words"].learn(["one two"] * 9, 400).save(tmp_path / "words.json")
    file = str(tmp_path / "words.json")
    shared = train_pair(LINES, LINES, TextSettings(source_file=file))
    assert shared.shared and shared.source.kind == "words" and shared.source.vocabulary_size == 6
    one = train_pair(LINES, LINES, TextSettings(target_file=file, shared=False, vocabulary_size=400))
    assert (one.source.kind, one.target.kind) == ("byte-pair", "words")
