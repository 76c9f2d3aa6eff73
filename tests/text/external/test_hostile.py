"""Tokenizers of strangers that would take all memory, or hours: refused when they are read, or ended by Ctrl-C."""

import base64
import json
import signal
import struct
import subprocess
import sys
import time
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Regex, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as LibraryTokenizer

from fuzz.sentence_piece import sentence_piece_model
from openwork.base.errors import BundleError, DataError
from openwork.text.external import untrusted
from openwork.text.external.adapted import AdaptedTokenizer
from openwork.text.external.library import HuggingFaceTokenizer
from openwork.text.external.reading import load_tokenizer, read_tokenizer
from openwork.text.pieces.bytepair import BytePair

BACKTRACKING = r"(?:a|a)*c$|(a+)+c$"
HOSTILE = "a" * 40 + "cb"


def library(**parts: Any) -> LibraryTokenizer:
    """A tokenizer of three letters with these rules."""
    made = LibraryTokenizer(models.BPE({"a": 0, "b": 1, "c": 2}, [], unk_token="a"))
    for name, part in parts.items():
        setattr(made, name, part)
    return made


def doubling(count: int) -> normalizers.Normalizer:
    return normalizers.Sequence([normalizers.Replace("a", "aa") for _ in range(count)])


def characters(longest: int) -> str:
    """A compiled map of characters, one of which becomes so many."""
    return base64.b64encode(struct.pack("<I", 4) + b"tree" + b"x\0" + b"y" * longest + b"\0").decode()


# ------------------------------------------------------------------------------------------------------ how much longer


@pytest.mark.parametrize("count", [1, 2, 5, 14])
def test_the_bound_is_what_the_library_does(count: int) -> None:
    """Two ways: what the file says, and what becomes of a letter."""
    made = library(normalizer=doubling(count))
    assert made.normalizer is not None
    content = json.loads(made.to_str())
    factor = untrusted.prod(untrusted._factor(rule) for rule in untrusted._rules(content["normalizer"]))
    assert factor == len(made.normalizer.normalize_str("a")) == 2**count
    assert HuggingFaceTokenizer(made).encode("a") == [0] * 2**count


@pytest.mark.parametrize("rule", [
    normalizers.NFC(), normalizers.NFD(), normalizers.NFKC(), normalizers.NFKD(), normalizers.Lowercase(),
    normalizers.BertNormalizer(), normalizers.ByteLevel(), normalizers.Strip(), normalizers.StripAccents(),
    normalizers.Nmt(), normalizers.Prepend("▁"), normalizers.Replace(Regex("x*"), "▁"),
])  # fmt: skip
def test_no_character_becomes_more_than_the_table_says(rule: normalizers.Normalizer) -> None:
    content = json.loads(library(normalizer=rule).to_str())
    most = untrusted.prod(untrusted._factor(one) for one in untrusted._rules(content["normalizer"]))
    for text in (*"aÀİ\u0390\u1f82\ufdfa中\U0001d160\U0001f600\u0958", "\t", "\0"):
        assert len(rule.normalize_str(text)) <= most, ascii(text)


@pytest.mark.slow
@pytest.mark.parametrize("count", [15, 38, 2000])
@pytest.mark.parametrize("part", ["normalizer", "pre_tokenizer", "decoder"])
def test_a_text_that_would_double_again_and_again(part: str, count: int, tmp_path: Path) -> None:
    content = json.loads(library().to_str())
    replace = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
    cut = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    content[part] = {
        "normalizer": {"type": "Sequence", "normalizers": [replace] * count},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [cut] * count},
        "decoder": {"type": "Sequence", "decoders": [replace] * count},
    }[part]
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(DataError, match="not a tokenizer of the tokenizers library") as refused:
        read_tokenizer(tmp_path / "tokenizer.json")
    assert "16,384 times as long" in refused.value.why


def test_in_a_bundle_too(tmp_path: Path) -> None:
    saved = {"format": "", "form": "tokenizers", "content": library(normalizer=doubling(38)).to_str()}
    AdaptedTokenizer(HuggingFaceTokenizer(library())).save(tmp_path / "tokenizer.json")
    saved["format"] = json.loads((tmp_path / "tokenizer.json").read_text())["format"]
    (tmp_path / "tokenizer.json").write_text(json.dumps(saved))
    with pytest.raises(BundleError, match="not a tokenizer of openwork") as refused:
        load_tokenizer(tmp_path / "tokenizer.json")
    assert "times as long" in refused.value.why


@pytest.mark.parametrize("longest", [18, untrusted.MOST_GROWTH, untrusted.MOST_GROWTH + 1])
def test_maps_of_characters(longest: int) -> None:
    rule = {"type": "Precompiled", "precompiled_charsmap": characters(longest)}
    assert untrusted._factor(rule) == longest
    if longest <= untrusted.MOST_GROWTH:
        untrusted.check_growth({"normalizer": rule})
    else:
        with pytest.raises(ValueError, match="times as long"):
            untrusted.check_growth({"normalizer": rule})


def test_numbers_that_no_float_holds() -> None:
    halves = {"type": "Replace", "pattern": {"String": "ab"}, "content": "abc"}
    rules = [{"type": "NFKC"}, halves] * 10_000
    with pytest.raises(ValueError, match="times as long"):
        untrusted.check_growth({"normalizer": {"type": "Sequence", "normalizers": rules}})


def test_a_sentence_piece_model_with_a_long_map(tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece")
    data = sentence_piece_model("unigram")
    long = base64.b64decode(characters(untrusted.MOST_GROWTH + 1))
    inner = b"\x12" + varint(len(long)) + long
    (tmp_path / "a.model").write_bytes(data)
    assert read_tokenizer(tmp_path / "a.model").vocabulary_size
    (tmp_path / "a.model").write_bytes(data + b"\x2a" + varint(len(inner)) + inner)
    with pytest.raises(DataError, match="not a SentencePiece model"):
        read_tokenizer(tmp_path / "a.model")


def varint(number: int) -> bytes:
    data = b""
    while number >= 0x80:
        data += bytes([number & 0x7F | 0x80])
        number >>= 7
    return data + bytes([number])


# ------------------------------------------------------------------------------------------------------------- patterns


def backtracking() -> HuggingFaceTokenizer:
    return HuggingFaceTokenizer(library(pre_tokenizer=pre_tokenizers.Split(Regex(BACKTRACKING), "isolated")))


@pytest.mark.slow
def test_a_pattern_that_goes_back_again_and_again_ends_in_a_sentence() -> None:
    """The library's panic is no `Exception`."""
    made = backtracking()
    assert made.encode("ab") == [0, 1]
    with pytest.raises(DataError, match="the rules of this tokenizer cannot be carried out") as refused:
        made.encode(HOSTILE)
    assert "retry-limit" in refused.value.why


@pytest.mark.slow
@pytest.mark.parametrize("use", ["encode_framed", "encode_pieces", "work"])
def test_it_does_so_wherever_a_text_is_cut(use: str) -> None:
    with pytest.raises(DataError, match="the rules of this tokenizer cannot be carried out"):
        getattr(backtracking(), use)(HOSTILE)


ALBERT: dict[str, Any] = {
    "normalizer": {"type": "Sequence", "normalizers": [
        {"type": "Replace", "pattern": {"String": "``"}, "content": '"'},
        {"type": "Replace", "pattern": {"String": "''"}, "content": '"'},
        {"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"},
        {"type": "Precompiled", "precompiled_charsmap": characters(18)},
        {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
    ]},
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "Metaspace"}]},
    "post_processor": {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "[CLS]"}}, {"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "[SEP]"}}],
        "pair": [{"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "[SEP]"}}, {"Sequence": {"id": "B"}}],
    },
    "decoder": {"type": "Metaspace"},
}  # fmt: skip


def test_the_widest_rules_in_use_are_allowed() -> None:
    untrusted.check_growth(ALBERT)
    product = untrusted.prod(untrusted._factor(rule) for rule in untrusted._rules(list(ALBERT.values())[:3]))
    assert product == 18 * 2 * 18 * 3 * 2  # NFKD, Lowercase, the map, the spaces, Metaspace


def test_our_own_tokenizers_have_our_own_patterns(tmp_path: Path) -> None:
    BytePair.of([]).save(tmp_path / "tokenizer.json")
    assert load_tokenizer(tmp_path / "tokenizer.json")
    content = json.loads((tmp_path / "tokenizer.json").read_text())
    content["pre_tokenizer"]["pattern"]["Regex"] = BACKTRACKING
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(BundleError) as refused:
        load_tokenizer(tmp_path / "tokenizer.json")
    assert "pre_tokenizer is not openwork's" in refused.value.why


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_no_character_becomes_more_than_the_bound_says(form: Any) -> None:
    most = max(len(unicodedata.normalize(form, chr(code))) for code in range(0x20000) if not 0xD800 <= code < 0xE000)
    assert untrusted._factor({"type": form}) == most


def test_what_is_put_before_a_text_is_counted_by_its_characters() -> None:
    assert untrusted._factor({"type": "Prepend", "prepend": "ab"}) == len("ab" + "x")


SLOW = """
import signal
import sys
import time
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from openwork.text.external.library import HuggingFaceTokenizer
made = Tokenizer(models.BPE({"a": 0, "c": 1}, [], unk_token="a"))
made.pre_tokenizer = pre_tokenizers.Split(Regex(r"(a+)+c$"), "isolated")
made = HuggingFaceTokenizer(made)
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a background job of a shell would not have
try:
    print("ready", flush=True)
    made.encode(("a" * 19 + "cb ") * 1_000_000)
except KeyboardInterrupt:
    print("heard", flush=True)
"""


@pytest.mark.slow
def test_ctrl_c_is_heard_while_a_pattern_takes_its_time() -> None:
    process = subprocess.Popen([sys.executable, "-c", SLOW], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(1)  # until it is within the library; where it is not yet, the signal is heard all the same
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=1500)[0] == "heard\n"
        assert process.returncode == 0
    finally:
        process.kill()
        process.wait()
