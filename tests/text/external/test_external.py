"""Tokenizers of others: what their reference library gives, and the steps that lead there."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tokenizers import AddedToken, decoders, implementations, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as LibraryTokenizer

from openwork.base.errors import BundleError, ConfigError, DataError, OpenworkError
from openwork.text.external import ExternalTokenizer, Marks, library
from openwork.text.external.adapted import AdaptedTokenizer
from openwork.text.external.reading import load_tokenizer, read_tokenizer
from openwork.text.pair import TokenizerPair
from openwork.text.pieces.kinds import KINDS
from openwork.text.pieces.learnt import LearntTokenizer
from text.external.learnt_from import LINES

ODD = [
    "", " ", "  two  spaces ", "Déjà vu 👩‍👩‍👧 x\u0301y", "hello [MASK] world[SEP]", "<s> the </s> <0x41>",
    "a<|endoftext|> b", "<mask> in <mask>  x", "▁▁a ▁", "x" * 150 + " cat", "\ttab\nline", "龘龘 龘", "½ ﷺ İ",
]  # fmt: skip
TEXTS = LINES + ODD


def hold_equal(reference: LibraryTokenizer, external: ExternalTokenizer) -> None:
    for text in TEXTS:
        plain = reference.encode(text, add_special_tokens=False)
        assert external.encode(text) == plain.ids, text
        assert external.encode_framed(text) == reference.encode(text).ids, text
        pieces = external.encode_pieces(text)
        assert pieces.ids == plain.ids and pieces.offsets == plain.offsets
        assert [piece for word in external.work(text) for piece in word.pieces] == pieces.pieces, text
        assert external.decode(plain.ids) == reference.decode(plain.ids)
    assert external.encode_batch(TEXTS) == [external.encode(text) for text in TEXTS]


def read_external(path: Path) -> ExternalTokenizer:
    found = read_tokenizer(path)
    assert isinstance(found, ExternalTokenizer) and not isinstance(found, LearntTokenizer)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("lower", [True, False])
def test_bert(tmp_path: Path, lower: bool) -> None:
    learnt = implementations.BertWordPieceTokenizer(lowercase=lower)
    learnt.train_from_iterator(LINES, vocab_size=150, show_progress=False)
    names = sorted(learnt.get_vocab(), key=learnt.get_vocab().__getitem__)
    (tmp_path / "vocab.txt").write_text("\n".join(names) + "\n")
    reference = implementations.BertWordPieceTokenizer(str(tmp_path / "vocab.txt"), lowercase=lower)
    found = read_external(tmp_path / "vocab.txt")
    hold_equal(reference._tokenizer, found)
    assert all(word.steps for text in LINES for word in found.work(text) if "[UNK]" not in word.pieces)
    assert found.marks == Marks(pad=0, unknown=1, start=2, end=3)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": not lower}))
    other = implementations.BertWordPieceTokenizer(str(tmp_path / "vocab.txt"), lowercase=not lower)
    hold_equal(other._tokenizer, read_external(tmp_path))  # what the folder says counts


@pytest.mark.slow
def test_gpt2(tmp_path: Path) -> None:
    learnt = implementations.ByteLevelBPETokenizer()
    learnt.train_from_iterator(LINES, vocab_size=330, special_tokens=["<|endoftext|>"], show_progress=False)
    learnt.save_model(str(tmp_path))
    files = str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt")
    reference = implementations.ByteLevelBPETokenizer.from_file(*files)
    reference.add_special_tokens(["<|endoftext|>"])
    for path in (tmp_path / "vocab.json", tmp_path / "merges.txt", tmp_path):
        hold_equal(reference._tokenizer, read_external(path))
    shown = read_external(tmp_path).encode_pieces("the 龘").pieces
    assert shown == ["the", " ", "<0xE9>", "<0xBE>", "<0x98>"]  # text or bytes, never the signs of the file


def unigram() -> LibraryTokenizer:
    made = LibraryTokenizer(models.Unigram())
    made.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Lowercase(), normalizers.Replace("  ", " ")]
    )
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    made.decoder = decoders.Metaspace(prepend_scheme="first")
    special = ["<unk>", "<mask>"]
    trainer = trainers.UnigramTrainer(vocab_size=150, special_tokens=special, unk_token="<unk>", show_progress=False)
    made.train_from_iterator(LINES, trainer)
    return made


def words() -> LibraryTokenizer:
    made = LibraryTokenizer(models.WordLevel(unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.train_from_iterator(LINES, trainers.WordLevelTrainer(special_tokens=["<unk>"], show_progress=False))
    return made


def suffixes() -> LibraryTokenizer:
    made = implementations.CharBPETokenizer()
    made.train_from_iterator(LINES, vocab_size=150, show_progress=False)
    made.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    made.add_tokens(["cats", "mat"])
    return made._tokenizer


def bytes_and_prefix() -> LibraryTokenizer:
    made = LibraryTokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    names = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    made.train_from_iterator(LINES, trainers.BpeTrainer(vocab_size=400, special_tokens=names, show_progress=False))
    return made


def whole_words_first() -> LibraryTokenizer:
    content = json.loads(bytes_and_prefix().to_str())
    content["model"]["ignore_merges"] = True
    return LibraryTokenizer.from_str(json.dumps(content))


MADE = [unigram, words, suffixes, bytes_and_prefix, whole_words_first]


@pytest.mark.slow
@pytest.mark.parametrize("make", MADE)
def test_tokenizer_json(tmp_path: Path, make: Callable[[], LibraryTokenizer]) -> None:
    made = make()
    made.enable_truncation(4)
    made.enable_padding(length=7)
    made.save(str(tmp_path / "tokenizer.json"))
    made.no_truncation()
    made.no_padding()
    hold_equal(made, read_external(tmp_path / "tokenizer.json"))


def test_our_own_file_is_ours(tmp_path: Path) -> None:
    ours = KINDS["unigram"].learn(LINES, 400)
    ours.save(tmp_path / "any-name.json")
    found = read_tokenizer(tmp_path / "any-name.json")
    assert isinstance(found, LearntTokenizer) and found.fingerprint == ours.fingerprint


# ------------------------------------------------------------------------------------------------ to train on


@pytest.mark.parametrize("make", MADE)
def test_an_adopted_tokenizer_has_our_ids(tmp_path: Path, make: Callable[[], LibraryTokenizer]) -> None:
    made = make()
    made.save(str(tmp_path / "external.json"))
    external = read_external(tmp_path / "external.json")
    adopted = AdaptedTokenizer(external)
    names = [adopted.piece(number) for number in range(adopted.vocabulary_size)]
    assert names[:4] == ["<pad>", "<unk>", "<s>", "</s>"]
    marks = external.marks
    known = {mark for mark in (marks.pad, marks.unknown, marks.start, marks.end) if mark is not None}
    assert names[4:] == [external.piece(number) for number in external.numbers if number not in known]
    for text in TEXTS:
        ids = adopted.encode(text)
        assert not {0, 2, 3} & set(ids)
        if 1 not in ids:
            assert adopted.decode(ids) == external.decode(external.encode(text))
            assert adopted.encode_pieces(text).pieces == external.encode_pieces(text).pieces
    TokenizerPair(adopted, adopted).save(tmp_path)
    loaded = TokenizerPair.load(tmp_path).source
    assert loaded.kind == "adopted" and loaded.fingerprint == adopted.fingerprint
    assert loaded.encode_batch(TEXTS) == adopted.encode_batch(TEXTS)
    with pytest.raises(ConfigError, match="cannot be extended"):
        adopted.extended(LINES, adopted.vocabulary_size + 5)
    with pytest.raises(ConfigError, match="cannot be sampled"):
        adopted.encode_batch_sampled(LINES, 1, 0.1)


def test_one_symbol_for_several_is_the_end(tmp_path: Path) -> None:
    learnt = implementations.ByteLevelBPETokenizer()
    learnt.train_from_iterator(LINES, vocab_size=300, special_tokens=["<|endoftext|>"], show_progress=False)
    learnt.save_model(str(tmp_path))
    adopted = AdaptedTokenizer(read_external(tmp_path))
    assert adopted.vocabulary_size == 300 + 3
    assert adopted.encode("<|endoftext|>") == [1]
    assert adopted.decode([2, *adopted.encode("the cat"), 3]) == "the cat"


@pytest.mark.parametrize("damage", [{"form": "none"}, {"content": "{}"}, {"content": 7}, {"form": "sentencepiece"}])
def test_a_damaged_adopted_file_is_refused(tmp_path: Path, damage: dict[str, object]) -> None:
    words().save(str(tmp_path / "external.json"))
    AdaptedTokenizer(read_external(tmp_path / "external.json")).save(tmp_path / "t.json")
    content = json.loads((tmp_path / "t.json").read_text())
    (tmp_path / "t.json").write_text(json.dumps({**content, **damage}))
    with pytest.raises(BundleError, match="not a tokenizer of openwork"):
        load_tokenizer(tmp_path / "t.json")


# ------------------------------------------------------------------------------------------------ bad files

BAD = {
    "missing": (None, "vocab.txt", "no such file"),
    "unknown form": (b"x", "vocab.bin", "form of the tokenizer is not known"),
    "no vocabulary": (b"the\ncat\n", "vocab.txt", "not BERT's vocabulary"),
    "empty": (b"", "vocab.txt", "not BERT's vocabulary"),
    "invalid UTF-8": (b"[UNK]\nab\xff\n", "vocab.txt", r"vocab\.txt:2: invalid UTF-8"),
    "NUL": (b"[UNK]\na\x00b\n", "vocab.txt", r"vocab\.txt:2: the line holds a NUL"),
    "cut gzip": (b"\x1f\x8b\x08\x00", "vocab.txt", "damaged or cut short"),
    "huge line": (b"[UNK]\n" + b"x" * 1_000_001, "vocab.txt", r"vocab\.txt:2: the line is longer"),
    "no JSON": (b"{", "tokenizer.json", "not whole JSON"),
    "deep JSON": (b"[" * 100_000, "tokenizer.json", "not whole JSON"),
    "other JSON": (b"[1]", "tokenizer.json", "not a tokenizer of the tokenizers library"),
    "other model": (b'{"model": {"type": "Markov"}}', "tokenizer.json", "not a tokenizer of the tokenizers library"),
    "no merges": (b'{"a": 0}', "vocab.json", r"merges\.txt: no such file"),
    "odd vocabulary": (b'{"a": "b"}', "vocab.json", "not GPT-2's vocabulary"),
    "number below nought": (b'{"a": -1}', "vocab.json", "not GPT-2's vocabulary"),
    "empty vocabulary": (b"{}", "vocab.json", "not GPT-2's vocabulary"),
    "no model": (b"\x00\x01nonsense", "m.model", "not a SentencePiece model"),
    "empty model": (b"", "m.spm", "not a SentencePiece model"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_refused_in_words(tmp_path: Path, case: str) -> None:
    data, name, said = BAD[case]
    if name.endswith((".model", ".spm")):
        pytest.importorskip("sentencepiece")
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(OpenworkError, match=said):
        read_tokenizer(tmp_path / name)


@pytest.mark.parametrize(
    ("merges", "said"),
    [
        ("#version: 0.2\na b\n", "Token `ab` out of vocabulary"),
        ("a\n", "invalid at line 1"),
        ("a b c\n", "invalid at line 1"),
        ("a a\na c\n", "Token `c` out of vocabulary"),
    ],
)
def test_a_merge_that_is_none_is_refused(tmp_path: Path, merges: str, said: str) -> None:
    (tmp_path / "vocab.json").write_text('{"a": 0, "b": 1, "aa": 2}')
    (tmp_path / "merges.txt").write_text(merges)
    with pytest.raises(DataError, match=r"merges\.txt: these are not the merges of vocab\.json") as caught:
        read_tokenizer(tmp_path / "vocab.json")
    assert said in caught.value.why and caught.value.hint


def test_a_folder_without_a_tokenizer_says_what_it_was_searched_for(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the folder holds no tokenizer") as caught:
        read_tokenizer(tmp_path)
    assert "vocab.txt" in caught.value.why
    (tmp_path / "vocab.txt").mkdir()
    with pytest.raises(DataError, match="the folder holds no tokenizer"):
        read_tokenizer(tmp_path)


# The library takes memory for every id below the largest: at this one the whole process would die of it.
FAR = 2**31 - 1


def test_an_id_beyond_all_bounds_is_refused_before_it_takes_memory(tmp_path: Path) -> None:
    """Found by `make fuzz`."""
    (tmp_path / "vocab.json").write_text(f'{{"a": 0, "b": {FAR}}}')
    (tmp_path / "merges.txt").write_text("")
    with pytest.raises(DataError, match="not GPT-2's vocabulary"):
        read_tokenizer(tmp_path / "vocab.json")
    content = json.loads(words().to_str())
    content["model"]["vocab"]["far"] = FAR
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(DataError, match="tokenizer") as refused:
        read_tokenizer(tmp_path / "tokenizer.json")
    assert str(FAR) in refused.value.why


def test_a_file_beyond_all_bounds_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(library, "MOST_BYTES", 20)
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": "x" * 20}))
    with pytest.raises(DataError, match="too large for a tokenizer"):
        library.read_json(tmp_path / "tokenizer.json")
    (tmp_path / "vocab.txt").write_bytes(gzip.compress(b"[UNK]\n" * 4))  # a small archive unpacks to any size
    with pytest.raises(DataError, match="too large for a tokenizer"):
        read_tokenizer(tmp_path / "vocab.txt")
    (tmp_path / "a.model").write_bytes(gzip.compress(b"x" * 21))
    with pytest.raises(DataError, match="too large for a tokenizer"):
        read_tokenizer(tmp_path / "a.model")
