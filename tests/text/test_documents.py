"""What the documents say of tokenising, done with our own parts and the files of examples/."""

from pathlib import Path

import pytest

from openwork.text.external import ExternalTokenizer
from openwork.text.external.reading import read_tokenizer
from openwork.text.pieces.bytepair import BytePair
from openwork.text.work import Merge

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_unhappiness_is_un_and_happiness() -> None:
    """Document 002, section 7.2.1. The corpus has both parts often and the whole once, too rarely for a merge."""
    lines = (EXAMPLES / "unhappiness.txt").read_text("utf-8").splitlines()
    assert lines.count("unhappiness") == 1
    tokenizer = BytePair.learn(lines, 320)
    assert tokenizer.encode_pieces("unhappiness").pieces == ["un", "happiness"]
    (work,) = tokenizer.work("unhappiness")
    assert work.start == tuple("unhappiness")
    merges = [step for step in work.steps if isinstance(step, Merge)]
    assert merges[0].rank == min(merge.rank for merge in merges)
    assert ("u", "n") in [(merge.left, merge.right) for merge in merges]
    assert len(merges) == len("unhappiness") - 2
    assert tokenizer.encode_pieces("undo").pieces == ["undo"]  # frequent words stay whole


SAMPLES = {
    # The document prints the first without 1010: the comma. WordPiece drops nothing; BERT's cutting makes every
    # punctuation mark a word, and "," is a piece like any other.
    "Hello, how are you doing?": [101, 7592, 1010, 2129, 2024, 2017, 2725, 1029, 102],
    "The Frenchman spoke in the [MASK] language and ate 🥖": [
        101, 1996, 26529, 3764, 1999, 1996, 103, 2653, 1998, 8823, 100, 102,
    ],
    "[CLS] [SEP] [MASK] [UNK]": [101, 101, 102, 103, 100, 102],
}  # fmt: skip


@pytest.fixture(scope="module")
def bert() -> ExternalTokenizer:
    found = read_tokenizer(EXAMPLES / "bert-samples.json")
    assert isinstance(found, ExternalTokenizer)
    return found


@pytest.mark.parametrize("text", SAMPLES)
def test_the_three_sample_encodings(bert: ExternalTokenizer, text: str) -> None:
    """Document 001, on tokenising. The file holds these pieces alone: `tests/truth` has a vocabulary of full size."""
    assert bert.encode_framed(text) == SAMPLES[text]
    assert bert.encode(text) == SAMPLES[text][1:-1]


def test_the_comma_is_the_number_that_is_missing(bert: ExternalTokenizer) -> None:
    printed = [101, 7592, 2129, 2024, 2017, 2725, 1029, 102]
    assert [number for number in SAMPLES["Hello, how are you doing?"] if number not in printed] == [1010]
    assert bert.piece(1010) == ","
    assert bert.encode_framed("Hello how are you doing?") == printed  # what is printed is the text without its comma
    assert [word.text for word in bert.work("Hello, how")] == ["hello", ",", "how"]
