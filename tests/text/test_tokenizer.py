"""The tokenizer: symbols cannot be forged, offsets fit, and foreign files are refused."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openwork.base.errors import BundleError, ConfigError, DataError
from openwork.text.external.reading import load_tokenizer
from openwork.text.pieces.bytelevel import ByteLevel
from openwork.text.pieces.bytepair import BytePair
from openwork.text.pieces.wordpiece import WordPiece
from openwork.text.tokenizer import BYTE_NAMES, FIXED_NAMES, SYMBOL_NAMES, Tokenizer

ENGLISH = ["the cat sat on the mat.", "the other cat, the third!", "爱猫 爱 猫 12"] * 20


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return BytePair.learn(ENGLISH, 400)


def test_the_vocabulary_starts_with_symbols_and_bytes(tokenizer: Tokenizer) -> None:
    names = [tokenizer.piece(number) for number in range(tokenizer.vocabulary_size)]
    assert names[:6] == ["<pad>", "<unk>", "<s>", "</s>", "<0x00>", "<0x01>"]
    assert tuple(names[:260]) == FIXED_NAMES
    assert (tokenizer.pad_id, tokenizer.unknown_id, tokenizer.start_id, tokenizer.end_id) == (0, 1, 2, 3)
    assert len(set(names)) == len(names) <= 400


def test_merges_by_hand() -> None:
    # "ab" is seen 12 times, "abc" 8, "abcd" 3 times, which is less than the 4 asked for.
    learnt = BytePair.learn(["ab"] * 4 + ["abc"] * 5 + ["abcd"] * 3, 300, minimum_frequency=4, character_frequency=3)
    assert [learnt.piece(number) for number in range(260, learnt.vocabulary_size)] == ["a", "b", "c", "d", "ab", "abc"]
    assert learnt.encode_pieces("abcd abe").pieces == ["abc", "d", "<0x20>", "ab", "<0x65>"]


@pytest.mark.parametrize("train", [BytePair.learn, ByteLevel.learn, WordPiece.learn])
def test_a_piece_has_at_most_32_characters(train: Callable[[list[str], int], Tokenizer]) -> None:
    word = "abcdefghijklmnopqrstuvwxyzABCDEFG"
    assert len(train([word] * 5, 600).encode_pieces(word).pieces) == 2
    longest = 32 if train is WordPiece.learn else 31  # the library's own limit leaves out its number
    assert train([word[:longest]] * 5, 600).encode_pieces(word[:longest]).pieces == [word[:longest]]


def test_wordpieces_are_sought_in_100_characters_at_a_time() -> None:
    pieces = WordPiece.learn(["ab"] * 5, 300).encode_pieces("b" * 201).pieces
    assert [place for place, piece in enumerate(pieces) if not piece.startswith("##")] == [0, 100, 200]


def test_words_carry_the_space_before_them(tokenizer: Tokenizer) -> None:
    pieces = tokenizer.encode_pieces("the cat 12").pieces
    assert pieces == ["the", " cat", " 1", "2"]  # digits stand alone


FORGERIES = ["</s>", "<pad>", "<s><unk>", "<0xE6>", " <s> ", "x</s>y", "<<s>>", "<0xE7><0x88>", "\n</s>\n"]


@pytest.mark.slow
@pytest.mark.parametrize("text", FORGERIES)
def test_text_cannot_forge_a_symbol(tokenizer: Tokenizer, text: str) -> None:
    # The second vocabulary was learnt from nothing but names of symbols and bytes.
    names = [f" {name}{name}" for name in FIXED_NAMES] * 30
    for trained in (tokenizer, BytePair.learn(names, 2000, minimum_frequency=1, character_frequency=1)):
        ids = trained.encode(text)
        assert min(ids) >= len(SYMBOL_NAMES)
        assert trained.decode(ids) == text
        spelt = [number for number in ids if number < len(FIXED_NAMES)]
        assert all(trained.piece(number) in BYTE_NAMES[:128] for number in spelt)  # bytes of the text's own ASCII


def test_offsets_point_at_the_pieces(tokenizer: Tokenizer) -> None:
    text = " the  cat, 爱12 the"
    split = tokenizer.encode_pieces(text)
    assert split.ids == tokenizer.encode(text)
    assert [text[begin:end] for begin, end in split.offsets] == split.pieces
    assert split.offsets[-1][1] == len(text)


def test_all_bytes_of_a_character_carry_its_span() -> None:
    nothing = BytePair.learn([], 300)
    split = nothing.encode_pieces("aé😀爱")
    assert split.pieces == [BYTE_NAMES[byte] for byte in "aé😀爱".encode()]
    assert split.offsets == [(0, 1)] + [(1, 2)] * 2 + [(2, 3)] * 4 + [(3, 4)] * 3


def test_decoding_skips_symbols_and_marks_broken_bytes(tokenizer: Tokenizer) -> None:
    the, cat = tokenizer.encode("the cat")
    assert tokenizer.decode([2, the, 1, cat, 3, 0, 0]) == "the cat"
    assert tokenizer.decode([]) == tokenizer.decode([2, 3]) == ""
    assert tokenizer.decode([4 + 0xE7, the]) == "\ufffdthe"
    assert tokenizer.decode_batch([[the], [2], [cat]]) == ["the", "", " cat"]


def test_ids_outside_the_vocabulary_are_refused(tokenizer: Tokenizer) -> None:
    with pytest.raises(ValueError, match="outside the vocabulary"):
        tokenizer.decode([tokenizer.vocabulary_size])
    with pytest.raises(ValueError, match="outside the vocabulary"):
        tokenizer.piece(tokenizer.vocabulary_size)


def test_a_lone_surrogate_is_refused_in_words(tokenizer: Tokenizer) -> None:
    with pytest.raises(DataError, match="text 2 is not Unicode: lone surrogate at character 3"):
        tokenizer.encode_batch(["fine", "ab\udc80"])


def test_a_batch_is_its_texts(tokenizer: Tokenizer) -> None:
    texts = ["", "the cat", " ", "爱"]
    assert tokenizer.encode_batch(texts) == [tokenizer.encode(text) for text in texts]
    assert tokenizer.encode_batch([]) == []


def test_saved_and_loaded_is_the_same(tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    tokenizer.save(path)
    loaded = load_tokenizer(path)
    assert loaded.fingerprint == tokenizer.fingerprint
    assert loaded.vocabulary_size == tokenizer.vocabulary_size
    assert loaded.encode("the other <s> 爱") == tokenizer.encode("the other <s> 爱")
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_a_file_cut_anywhere_is_refused(tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    tokenizer.save(path)
    whole = path.read_bytes().rstrip()
    for cut in (0, 1, len(whole) // 3, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(
            BundleError, match=r"tokenizer\.json: this is not a tokenizer of openwork, or it is damaged"
        ):
            load_tokenizer(path)


def test_a_damaged_file_is_judged_as_one_of_its_own_kind(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    WordPiece.learn(["ab"] * 5, 300).save(path)
    content = json.loads(path.read_text("utf-8"))
    content["model"]["vocab"]["a"] = 9999
    path.write_text(json.dumps(content), "utf-8")
    with pytest.raises(BundleError) as refused:
        load_tokenizer(path)
    assert refused.value.why == "it holds no pieces, or their ids have gaps"


def put(*keys: str, value: Any) -> Callable[[Any], None]:
    def change(content: Any) -> None:
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = value

    return change


FOREIGN_CHANGES = [
    put("model", "type", value="WordPiece"),
    put("model", "byte_fallback", value=False),
    put("model", "continuing_subword_prefix", value="##"),
    put("model", "dropout", value=0.1),
    put("model", "merges", value=[["q", "zz"]]),
    put("model", "merges", value=[["<", "s>"]]),
    put("model", "merges", value=["a b"]),
    put("model", "vocab", value={"<s>": 0}),
    put("model", "vocab", "a", value=9999),
    put("normalizer", value={"type": "NFC"}),
    put("pre_tokenizer", value=None),
    put("pre_tokenizer", "pattern", value={"Regex": "((("}),
    put("decoder", value=None),
    put("added_tokens", value=[{"id": 2, "content": "<s>", "special": True}]),
]


@pytest.mark.parametrize("change", FOREIGN_CHANGES)
def test_a_foreign_file_is_refused(tokenizer: Tokenizer, tmp_path: Path, change: Callable[[Any], None]) -> None:
    path = tmp_path / "tokenizer.json"
    tokenizer.save(path)
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    with pytest.raises(BundleError) as caught:
        load_tokenizer(path)
    assert caught.value.why


@pytest.mark.parametrize("data", [b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"model": {"type": "BPE"}}'])
def test_what_is_no_tokenizer_at_all_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(data)
    with pytest.raises(BundleError):
        load_tokenizer(path)
    with pytest.raises(BundleError, match="not a tokenizer of openwork"):
        load_tokenizer(tmp_path / "none.json")


# ------------------------------------------------------------------------------------------------ training


def test_the_size_is_a_limit_and_half_of_the_room_is_for_characters() -> None:
    many = [chr(0x4E00 + number) * 9 for number in range(500)]
    trained = BytePair.learn(many, 360)
    characters = [name for name in map(trained.piece, range(260, trained.vocabulary_size)) if len(name) == 1]
    assert len(characters) == 50
    assert trained.vocabulary_size == 360
    assert trained.decode(trained.encode("".join(many))) == "".join(many)


def test_rare_characters_are_left_to_bytes() -> None:
    trained = BytePair.learn(["abcab"] * 4 + ["ab\x00龘ab"] * 4, 300)
    # a and b occur 16 times, c, the NUL and the rare character 4 times.
    assert [trained.piece(number) for number in range(260, trained.vocabulary_size)] == ["a", "b", "ab"]


def test_a_vocabulary_without_room_is_refused() -> None:
    with pytest.raises(ConfigError, match="200 pieces is too small"):
        BytePair.learn(["a"], 200)


@pytest.mark.slow
def test_a_forked_child_encodes_without_a_warning() -> None:
    program = (
        "import os\nfrom openwork.text.pieces.bytepair import BytePair\n"
        "t = BytePair.learn(['a b c'] * 50, 300)\nt.encode_batch(['a b c'] * 100)\n"
        "child = os.fork()\n"
        "if child == 0:\n    os._exit(0 if len(t.encode_batch(['a b'] * 100)) == 100 else 1)\n"
        "print(os.waitpid(child, 0)[1])"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("TOKENIZERS_PARALLELISM", None)
    # Python 3.12 warns of any fork beside threads, and a library's threads are enough
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=1500)
    assert (run.stdout, run.stderr) == ("0\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("text", ["a", "the", "爱", " ", "!", "<", " \t", "the cat", "\U0001f600"])
def test_the_pieces_of_100_000_characters_are_soon_known(tokenizer: Tokenizer, text: str) -> None:
    long = (text * 100_000)[:100_000]
    began = time.process_time()
    assert tokenizer.encode_pieces(long).offsets[-1][1] == len(long)
    assert time.process_time() - began < 10  # a quadratic algorithm takes minutes


@pytest.mark.slow
def test_multi30k_survives_the_round_trip(openwork_data: Callable[[str], Path]) -> None:
    from openwork.base.files import read_lines

    folder = openwork_data("multi30k")
    lines = [line for side in ("en", "de") for line in read_lines(folder / f"train.{side}.gz")]
    trained = BytePair.learn(lines, 8000)
    ids = trained.encode_batch(lines)
    assert trained.decode_batch(ids) == lines
    assert trained.vocabulary_size == 8000
    assert 13 < sum(map(len, ids)) / len(lines) < 16
