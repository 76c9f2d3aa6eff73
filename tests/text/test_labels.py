"""Labels as targets, texts cut word by word for taggers, and texts of two parts."""

from pathlib import Path

import pytest

from openwork.base.config import build
from openwork.base.errors import ConfigError
from openwork.text.external.adapted import AdaptedTokenizer
from openwork.text.external.library import HuggingFaceTokenizer
from openwork.text.external.reading import bert_library, load_tokenizer
from openwork.text.forms import SegmentPairTokenizer, WordLevelTokenizer, word_starts
from openwork.text.pair import TokenizerPair, train_pair
from openwork.text.pieces.kinds import KINDS
from openwork.text.pieces.words import Labels
from openwork.text.settings import TextSettings

TAGS = ["O B-x O", "O O B-y", "I-y"]
LINES = ["fly to st. louis from o'hare at 838 am"] * 9
TEXT = "fly o'hare st. x-ray 838 <s> 爱猫 é"


def test_labels_are_learnt_whole_and_all_of_them() -> None:
    labels = Labels.learn(TAGS, 300)
    assert labels.names == ["O", "B-x", "B-y", "I-y"]  # by frequency, then by name
    assert labels.encode("  B-y  O ") == [6, 4]
    assert labels.decode([2, 6, 4, 3]) == "B-y O"
    pieces = labels.encode_pieces("B-y  O")
    assert (pieces.pieces, pieces.offsets) == (["B-y", "O"], [(0, 3), (5, 6)])


def test_what_was_not_learnt_is_unknown_and_no_symbol_is_forged() -> None:
    labels = Labels.learn([*TAGS, "</s> <pad>"], 300)
    assert labels.names == ["O", "B-x", "B-y", "I-y"]
    assert labels.encode("B-z </s> <pad> O") == [1, 1, 1, 4]
    assert labels.decode([1, 4]) == "<unk> O"


def test_new_labels_come_after_the_old_ones() -> None:
    labels = Labels.learn(TAGS, 300)
    assert labels.extended(["B-z O B-x"], 300).names == [*labels.names, "B-z"]
    assert labels.extended(["B-z"], labels.vocabulary_size) is labels


def test_more_labels_than_a_vocabulary_holds_are_no_labels() -> None:
    with pytest.raises(ConfigError, match="400 different names") as refused:
        Labels.learn([f"word{number}" for number in range(400)], 300)
    assert "target_kind" in refused.value.why


def test_a_pair_of_text_and_labels_is_kept(tmp_path: Path) -> None:
    settings = TextSettings(vocabulary_size=400, shared=False, target_kind="labels")
    pair = train_pair(LINES, TAGS, settings)
    pair.save(tmp_path)
    loaded = TokenizerPair.load(tmp_path)
    assert isinstance(loaded.target, Labels) and loaded.fingerprint == pair.fingerprint
    assert (loaded.source.kind, loaded.target.kind) == ("byte-pair", "labels")
    words = train_pair(LINES, LINES, settings.model_copy(update={"target_kind": "words"}))
    assert (words.source.kind, words.target.kind) == ("byte-pair", "words")


@pytest.mark.parametrize(
    ("values", "remedy"),
    [
        ({"target_kind": "labels"}, "set text.shared = false"),
        ({"target_kind": "labels", "shared": False, "target_file": "vocab.txt"}, "leave one of them out"),
        ({"target_kind": "labels", "shared": False, "sampling": 0.1}, "text.sampling = 0 and text.placeholders = 0"),
        ({"target_kind": "labels", "shared": False, "placeholders": 3}, "text.sampling = 0 and text.placeholders = 0"),
        ({"kind": "positions"}, "byte-pair"),
    ],
)
def test_settings_that_do_not_fit_are_refused(values: dict[str, object], remedy: str) -> None:
    with pytest.raises(ConfigError) as refused:
        build(TextSettings, values)
    assert remedy in f"{refused.value.what} {refused.value.why} {refused.value.hint}"


@pytest.mark.parametrize("kind", KINDS)
def test_each_word_begins_once_whatever_it_is(kind: str) -> None:
    tokenizer = WordLevelTokenizer(KINDS[kind].learn(LINES, 420))
    for text in (TEXT, "fly", "", f"  {TEXT}\t{TEXT} "):
        ids = tokenizer.encode(text)
        assert sum(tokenizer.begins[number] for number in ids) == len(text.split())
        found = tokenizer.encode_pieces(text)
        assert found.ids == ids and [text[b:e] for b, e in dict.fromkeys(found.offsets)] == text.split()
    if kind != "words":
        assert tokenizer.decode(tokenizer.encode(TEXT)) == f" {TEXT}"
    assert [word.text for word in tokenizer.work("fly to")] == [" fly", " to"]


@pytest.mark.parametrize("kind", ["byte-pair", "byte-level"])
def test_words_that_are_cut_at_random_begin_once_too(kind: str) -> None:
    tokenizer = WordLevelTokenizer(KINDS[kind].learn(LINES, 420))
    rows = [tokenizer.encode_batch_sampled([TEXT], seed, 0.5)[0] for seed in range(5)]
    assert len({tuple(row) for row in rows}) > 1
    assert {sum(tokenizer.begins[number] for number in row) for row in rows} == {len(TEXT.split())}


def bert() -> AdaptedTokenizer:
    names = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "fly",
        "o",
        "'",
        "hare",
        "st",
        ".",
        "8",
        "##38",
        "x",
        "-",
        "ray",
        "a",
        "b",
    ]
    return AdaptedTokenizer(HuggingFaceTokenizer(bert_library(names, True)))


def test_of_a_foreign_word_the_pieces_up_to_a_second_beginning_stay() -> None:
    tokenizer = WordLevelTokenizer(bert())
    shown = [tokenizer.piece(number) for number in tokenizer.encode(TEXT)]
    assert shown == ["fly", "o", "st", "x", "8", "##38", "<unk>", "<unk>", "<unk>"]
    begins = dict(zip(map(tokenizer.piece, range(tokenizer.vocabulary_size)), word_starts(tokenizer), strict=True))
    assert begins["fly"] and begins["."] and begins["<unk>"]
    assert not (begins["##38"] or begins["<pad>"] or begins["<s>"] or begins["</s>"])


def test_it_is_wrapped_once_saved_as_what_it_wraps_and_extended(tmp_path: Path) -> None:
    inner = KINDS["byte-pair"].learn(LINES, 400)
    tokenizer = WordLevelTokenizer(inner)
    assert tokenizer.fingerprint != inner.fingerprint and tokenizer.placeholders == inner.placeholders == 0
    tokenizer.save(tmp_path / "tokenizer.json")
    again = load_tokenizer(tmp_path / "tokenizer.json")
    assert again.fingerprint == inner.fingerprint
    larger = tokenizer.extended(["der Hund"] * 9, 410)
    assert isinstance(larger, WordLevelTokenizer) and larger.vocabulary_size > tokenizer.vocabulary_size


def test_parts_are_closed_by_an_end_symbol() -> None:
    tokenizer = SegmentPairTokenizer(bert())
    assert [tokenizer.piece(n) for n in tokenizer.encode("a b\tfly")] == ["a", "b", "</s>", "fly"]
    assert tokenizer.encode("a b") == tokenizer.inner.encode("a b")
    found = tokenizer.encode_pieces("a b\tfly")
    assert found.ids == tokenizer.encode("a b\tfly") and found.offsets == [(0, 1), (2, 3), (3, 4), (4, 7)]
    assert [word.text for word in tokenizer.work("a\tfly")] == ["a", "fly"]
