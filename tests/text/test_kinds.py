"""What every kind of piece must do: keep its file, its ids and its promise that no text forges a symbol."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import get_args

import pytest

from openwork.base.config import build
from openwork.base.errors import BundleError, ConfigError
from openwork.text.external.reading import load_tokenizer
from openwork.text.pair import TokenizerPair, train_pair
from openwork.text.pieces.bytelevel import ByteLevel
from openwork.text.pieces.bytepair import BytePair
from openwork.text.pieces.kinds import KINDS, WHOLE_KINDS
from openwork.text.pieces.learnt import LearntTokenizer
from openwork.text.pieces.unigram import Unigram
from openwork.text.pieces.wordpiece import WordPiece
from openwork.text.pieces.words import Words
from openwork.text.settings import TextSettings
from openwork.text.tokenizer import FIXED_NAMES

pytestmark = pytest.mark.slow

LINES = ["the cat sat on the mat.", "the other cat, the third!", "爱猫 爱 猫 12 # ##"] * 20
NEW_LINES = ["der Hund und die Maus, schön 龙龙", "der Hund!"] * 10
FORGERIES = ["</s>", "<pad>", "<s><unk>", "<0xE6>", " <s> ", "x</s>y", "<<s>>", "<0xE7><0x88>", "\n</s>\n", "⟦1⟧"]


@pytest.fixture(scope="module", params=list(KINDS))
def tokenizer(request: pytest.FixtureRequest) -> LearntTokenizer:
    return KINDS[request.param].learn(LINES, 420, placeholders=3)


def test_the_settings_know_the_kinds_of_the_table() -> None:
    assert get_args(TextSettings.model_fields["kind"].annotation) == WHOLE_KINDS
    assert all(kind.kind == name for name, kind in KINDS.items())
    with pytest.raises(ConfigError):
        build(TextSettings, {"kind": "syllables"})


def test_saved_and_loaded_is_the_same_kind(tokenizer: LearntTokenizer, tmp_path: Path) -> None:
    TokenizerPair(tokenizer, tokenizer).save(tmp_path)
    loaded = TokenizerPair.load(tmp_path).source
    assert type(loaded) is type(tokenizer)
    assert (loaded.fingerprint, loaded.placeholders) == (tokenizer.fingerprint, 3)
    text = "the other cats <s> 爱é"
    assert loaded.encode(text) == tokenizer.encode(text)
    assert loaded.encode_pieces(text) == tokenizer.encode_pieces(text)


@pytest.mark.parametrize("kind", KINDS)
def test_the_kind_of_a_run_is_the_one_that_is_asked_for(kind: str) -> None:
    pair = train_pair(LINES, LINES, TextSettings(kind=kind, vocabulary_size=420, placeholders=2))
    assert pair.source.kind == kind
    assert pair.source.placeholders == 2


def test_a_cut_file_is_refused(tokenizer: LearntTokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    tokenizer.save(path)
    whole = path.read_bytes().rstrip()
    for cut in (1, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(BundleError, match="not a tokenizer of openwork, or it is damaged"):
            load_tokenizer(path)


def test_a_changed_file_is_refused(tokenizer: LearntTokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    tokenizer.save(path)
    for part, value in (("normalizer", {"type": "NFC"}), ("decoder", None), ("truncation", {"max_length": 3})):
        content = json.loads(path.read_text())
        content[part] = value
        changed = tmp_path / "changed.json"
        changed.write_text(json.dumps(content))
        with pytest.raises(BundleError) as caught:
            load_tokenizer(changed)
        assert caught.value.why
    content = json.loads(path.read_text())
    vocabulary = content["model"]["vocab"]
    content["model"]["vocab"] = vocabulary[5:] if isinstance(vocabulary, list) else {"a": 0, "b": 7}
    changed.write_text(json.dumps(content))
    with pytest.raises(BundleError):
        load_tokenizer(changed)


def test_characters_do_not_merge(tmp_path: Path) -> None:
    KINDS["characters"].learn(LINES, 400).save(tmp_path / "t.json")
    content = json.loads((tmp_path / "t.json").read_text())
    content["model"]["vocab"]["th"] = len(content["model"]["vocab"])
    content["model"]["merges"] = [["t", "h"]]
    (tmp_path / "t.json").write_text(json.dumps(content))
    with pytest.raises(BundleError) as caught:
        load_tokenizer(tmp_path / "t.json")
    assert caught.value.why == "it merges characters"


@pytest.mark.parametrize("text", FORGERIES)
@pytest.mark.parametrize("kind", KINDS)
def test_text_cannot_forge_a_symbol(kind: str, text: str) -> None:
    names = [f" {name}{name}" for name in (*FIXED_NAMES, "⟦1⟧", "⟦2⟧")] * 10  # learnt from nothing but forgeries
    trained = KINDS[kind].learn(names, 1500, minimum_frequency=1, placeholders=2)
    ids = trained.encode(text)
    assert not {0, 2, 3} & set(ids)
    assert not any(trained.placeholder_number(number) for number in ids)
    if kind != "words":
        assert 1 not in ids
        assert trained.decode(ids) == text


def test_placeholders_have_ids_of_their_own(tokenizer: LearntTokenizer) -> None:
    assert [tokenizer.piece(tokenizer.placeholder_id(n)) for n in (1, 2, 3)] == ["⟦1⟧", "⟦2⟧", "⟦3⟧"]
    assert [tokenizer.placeholder_number(tokenizer.placeholder_id(n)) for n in (1, 2, 3)] == [1, 2, 3]
    assert tokenizer.placeholder_number(0) is tokenizer.placeholder_number(tokenizer.vocabulary_size) is None
    assert tokenizer.decode([tokenizer.placeholder_id(2)]) == "⟦2⟧"
    for wrong in (0, 4):
        with pytest.raises(ConfigError, match="the vocabulary reserves 3"):
            tokenizer.placeholder_id(wrong)


def test_an_extended_vocabulary_keeps_every_id(tokenizer: LearntTokenizer) -> None:
    size = tokenizer.vocabulary_size
    more = tokenizer.extended(NEW_LINES, size + 15)
    assert size < more.vocabulary_size <= size + 15
    assert [more.piece(number) for number in range(size)] == [tokenizer.piece(number) for number in range(size)]
    assert type(more) is type(tokenizer)
    assert more.placeholders == 3
    text = "der Hund und die Maus"
    if tokenizer.kind == "words":
        assert 1 in tokenizer.encode(text) and 1 not in more.encode(text)
    else:
        assert more.decode(more.encode(text)) == text
        if tokenizer.kind not in ("characters", "unigram"):
            assert len(more.encode(text)) < len(tokenizer.encode(text))
    assert any(number >= size for number in more.encode("der schön Hund"))
    assert tokenizer.extended(NEW_LINES, size) is tokenizer


@pytest.mark.parametrize("size", [300, 330, 400])
def test_further_merges_are_those_of_the_library(size: int) -> None:
    letters = "abcdefghij"
    lines = [f"{a}{b}{c} {c}{a}{a}" for a in letters for b in letters for c in "xyz"] + LINES
    whole = BytePair.learn(lines, 420, minimum_frequency=2)
    characters = [name for name in whole.ids_of_names if len(name) == 1]
    begin = {name: number for name, number in whole.ids_of_names.items() if number < 260 + len(characters)}
    assert BytePair.of(BytePair.names_after_fixed(begin)).extended(lines, 420).fingerprint == whole.fingerprint
    byte_level = ByteLevel.learn(lines, size)
    begin = {name: number for name, number in byte_level.ids_of_names.items() if number < 260}
    assert ByteLevel.of(ByteLevel.names_after_fixed(begin)).extended(lines, size).fingerprint == byte_level.fingerprint


def test_training_is_the_same_in_every_process_and_with_any_threads() -> None:
    program = (
        "from openwork.text.pieces.kinds import KINDS\n"
        "letters = 'abcdefghijklmnopqrstuvwxyzäöü爱猫'\n"
        "lines = [f'{a}{b}{c} {c}{a}' for a in letters for b in letters for c in 'xyz']\n"
        "print(*(kind.learn(lines, 500, minimum_frequency=1).fingerprint for kind in KINDS.values()))"
    )
    prints = set()
    for threads in ("1", "4"):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "RAYON_NUM_THREADS": threads}
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
        prints.add((run.stdout, run.stderr))
    assert len(prints) == 1
    ((fingerprints, errors),) = prints
    assert len(fingerprints.split()) == len(KINDS) and not errors


def test_an_iterator_serves_as_well_as_a_list(tokenizer: LearntTokenizer) -> None:
    again = KINDS[tokenizer.kind].learn(iter(LINES), 420, placeholders=3)
    assert again.fingerprint == tokenizer.fingerprint


@pytest.mark.slow
@pytest.mark.parametrize("text", ["a", "爱", " ", "#", "<", "the cat", "\U0001f600"])
def test_a_line_of_100_000_characters_is_no_trap(tokenizer: LearntTokenizer, text: str) -> None:
    long = (text * 100_000)[:100_000]
    began = time.process_time()
    ids = tokenizer.encode(long)
    assert tokenizer.kind == "words" or tokenizer.decode(ids) == long
    assert time.process_time() - began < 10  # a quadratic algorithm takes minutes


def test_too_small_a_vocabulary_is_refused_with_the_room_that_placeholders_take() -> None:
    with pytest.raises(ConfigError, match="310 pieces is too small") as caught:
        BytePair.learn(LINES, 310, placeholders=20)
    assert caught.value.hint == "choose at least 320"


# ------------------------------------------------------------------------------------------------ one kind each


def test_word_pieces_by_hand() -> None:
    # "ab" is seen 12 times, "abc" 8: "##b" and "##bc" follow "a". A rare character becomes its bytes.
    learnt = WordPiece.learn(["ab"] * 4 + ["abc"] * 8, 300, minimum_frequency=4)
    names = [learnt.piece(number) for number in range(260, learnt.vocabulary_size)]
    assert names == ["a", "b", "c", "##a", "##b", "##c", "ab", "abc"]
    assert learnt.encode_pieces("abca xb").pieces == ["abc", "##a", "<0x20>", "<0x78>", "##b"]


def test_a_hash_in_a_text_is_no_prefix() -> None:
    learnt = WordPiece.learn(["### ##s a## #a"] * 9, 400, minimum_frequency=1)
    assert isinstance(learnt, WordPiece)
    for text in ("###", "##s", "a##", "####a #"):
        assert learnt.decode(learnt.encode(text)) == text
        assert not any(name.startswith("##") for name in learnt.encode_pieces("###").pieces)


def test_unigram_pieces_are_the_probable_ones() -> None:
    learnt = Unigram.learn(["playing walking talking singing ringing", "play walk talk sing ring"] * 50, 300)
    assert learnt.encode_pieces(" talking").pieces[-1] == "ing"
    scores = [score for _, score in learnt.scored]
    assert scores == sorted(scores, reverse=True)


def test_words_are_known_or_unknown() -> None:
    learnt = Words.learn(["the cat, the dog!", "the cat"] * 2 + ["a bird"], 300, minimum_frequency=2)
    names = [learnt.piece(number) for number in range(4, learnt.vocabulary_size)]
    assert names == [" cat", "the", " dog", " the", "!", ","]  # by how often they occur, then by code points
    split = learnt.encode_pieces("the bird, the cat!")
    assert split.pieces == ["the", "<unk>", ",", " the", " cat", "!"]
    assert split.offsets == [(0, 3), (3, 8), (8, 9), (9, 13), (13, 17), (17, 18)]
    assert learnt.decode(split.ids) == "the <unk>, the cat!"
    assert learnt.decode([2, 1, 4, 3]) == "<unk> cat"


def test_byte_level_pieces_show_text_or_bytes() -> None:
    learnt = ByteLevel.learn(["猫"] * 9, 300)
    assert learnt.encode_pieces("猫 é!").pieces == ["猫", " ", "<0xC3>", "<0xA9>", "!"]
    assert learnt.encode_pieces("猫é").offsets == [(0, 1), (1, 2), (1, 2)]
    assert learnt.decode([2, *learnt.encode("猫"), 4 + 0xE7, 3]) == "猫\ufffd"


@pytest.mark.parametrize("kind", ["byte-pair", "byte-level", "characters"])
def test_a_file_without_its_merges_is_refused(kind: str, tmp_path: Path) -> None:
    """Found by `make fuzz`: a key that is misspelt is a key that is missing."""
    path = tmp_path / "t.json"
    KINDS[kind].learn(["a b a b"] * 5, 400, minimum_frequency=2, placeholders=0).save(path)
    path.write_text(path.read_text("utf-8").replace('"merges"', '"merge"'), "utf-8")
    with pytest.raises(BundleError):
        load_tokenizer(path)
