"""SentencePiece models: the package's own encoding."""

import builtins
import io
import json
import struct
from pathlib import Path
from typing import Any

import pytest

from openwork.base.errors import DataError, UsageError
from openwork.text.external import ExternalTokenizer, Marks
from openwork.text.external.adapted import AdaptedTokenizer
from openwork.text.external.marian import read_marian
from openwork.text.external.reading import load_tokenizer, read_tokenizer
from text.external.learnt_from import LINES

TEXTS = [
    *LINES,
    "",
    "  ",
    "Two  men, 爱 déjà <s> ½ ok.",
    "a<sep>cat <0x41> 龘龘 龘",
    "▁▁a ▁",
    "👩‍👩‍👧 \t x\u0301y",
    "cat " * 200,
]
NOTHING: dict[str, Any] = {}
OWN = {"user_defined_symbols": ["<sep>", "cat"]}
EXACT = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False, "add_dummy_prefix": False}


def made(path: Path, **options: Any) -> Path:
    package = pytest.importorskip("sentencepiece")
    stream = io.BytesIO()
    package.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_writer=stream, hard_vocab_limit=False, minloglevel=2, **options
    )
    path.write_bytes(stream.getvalue())
    return path


def read(path: Path) -> ExternalTokenizer:
    found = read_tokenizer(path)
    assert isinstance(found, ExternalTokenizer)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("options", [NOTHING, OWN, EXACT], ids=["plain", "own pieces", "exact"])
@pytest.mark.parametrize(
    ("model_type", "has_bytes"),
    [("unigram", True), ("unigram", False), ("bpe", True), ("bpe", False), ("char", False), ("word", False)],
)
def test_what_the_package_gives(tmp_path: Path, model_type: str, has_bytes: bool, options: dict[str, Any]) -> None:
    path = made(
        tmp_path / "m.model", model_type=model_type, byte_fallback=has_bytes,
        vocab_size=400 if has_bytes else 90, **options,
    )  # fmt: skip
    package = pytest.importorskip("sentencepiece")
    reference = package.SentencePieceProcessor(model_file=str(path))
    external = read(path)
    assert external.marks == Marks(pad=None, unknown=0, start=1, end=2)
    for text in TEXTS:
        ids = reference.encode(text)
        assert external.encode(text) == ids
        assert external.encode_framed(text) == reference.encode(text, add_bos=True, add_eos=True)
        pieces = external.encode_pieces(text)
        assert pieces.ids == ids
        assert external.decode(ids) == reference.decode(ids)
    assert external.encode_batch(TEXTS) == reference.encode(TEXTS)


def test_a_piece_without_a_score_has_the_score_zero(tmp_path: Path) -> None:
    """As protocol buffers have it: "ab" is worth less than "a" and "b", and "cd" more than "c" and "d"."""
    pytest.importorskip("sentencepiece")
    scores = {"▁": -1.0, "a": 0.25, "b": 0.25, "ab": None, "c": -0.25, "d": -0.25, "cd": None}
    data = field(1, field(1, b"<unk>") + b"\x18\x02")  # the type: unknown
    for text, score in scores.items():
        data += field(1, field(1, text.encode()) + (b"" if score is None else b"\x15" + struct.pack("<f", score)))
    (tmp_path / "m.model").write_bytes(data)
    external = read(tmp_path / "m.model")
    assert external.encode_pieces("abcd").pieces == ["▁", "a", "b", "cd"]


def field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2, len(content)]) + content


def test_the_work_is_the_package_s_own(tmp_path: Path) -> None:
    external = read(made(tmp_path / "m.model", model_type="unigram", vocab_size=90))
    (word,) = external.work("the cat")
    assert (word.text, word.steps, list(word.pieces)) == ("the cat", (), external.encode_pieces("the cat").pieces)


def test_it_can_be_trained_on(tmp_path: Path) -> None:
    external = read(made(tmp_path / "m.model", model_type="unigram", byte_fallback=True, vocab_size=400))
    adopted = AdaptedTokenizer(external)
    assert [adopted.piece(number) for number in range(5)] == ["<pad>", "<unk>", "<s>", "</s>", "<0x00>"]
    ids = adopted.encode("the cat sat 龘")
    assert min(ids) > 3
    assert adopted.decode([2, *ids, 3]) == "the cat sat 龘"
    adopted.save(tmp_path / "t.json")
    loaded = load_tokenizer(tmp_path / "t.json")
    assert loaded.fingerprint == adopted.fingerprint and loaded.encode("the cat sat 龘") == ids


def test_without_the_package_one_sentence_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m.model").write_bytes(b"anything")
    load = builtins.__import__

    def refuse(name: str, *rest: Any) -> Any:
        if name == "sentencepiece":
            raise ImportError(name)
        return load(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(UsageError, match="needs the package sentencepiece") as caught:
        read_tokenizer(tmp_path / "m.model")
    assert caught.value.hint == "pip install sentencepiece (the extra spm)"


@pytest.mark.parametrize(
    ("vocabulary", "why"),
    [
        (["cat", "sat"], "it does not give each piece its id"),
        ({"<unk>": 0, "cat": 0}, "several pieces have one id"),
        ({"cat": 0}, "it has no <unk>"),
        ({"<unk>": 0, "cat": 10**9}, "it does not give each piece its id"),
        ({"<unk>": 0, "\ud800": 1}, "the name of a piece is no Unicode text"),
    ],
    ids=["list", "one id", "no unknown", "far id", "half a pair"],
)
def test_a_vocabulary_that_is_not_marians(tmp_path: Path, vocabulary: object, why: str) -> None:
    model = made(tmp_path / "source.spm", model_type="unigram", vocab_size=90)
    (tmp_path / "vocab.json").write_text(json.dumps(vocabulary))
    with pytest.raises(DataError, match="this is not a vocabulary of Marian's") as refused:
        read_marian(model, tmp_path / "vocab.json")
    assert refused.value.why == why and "vocab.json" in refused.value.hint


def test_the_language_at_the_beginning_is_one_piece_of_marians(tmp_path: Path) -> None:
    model = made(tmp_path / "source.spm", model_type="unigram", vocab_size=90)
    text = ">>de<< the cat"
    pieces = read(model).encode_pieces(text[6:]).pieces
    names = dict.fromkeys(["<unk>", ">>de<<", *pieces])
    (tmp_path / "vocab.json").write_text(json.dumps({name: number for number, name in enumerate(names)}))
    marian = read_marian(model, tmp_path / "vocab.json")
    assert marian.vocabulary_size == len(names)
    found = marian.encode_pieces(text)
    assert found.pieces == [">>de<<", *pieces] and found.ids[0] == 1 and 0 not in found.ids
    assert found.offsets[0] == (0, 6) and found.offsets[-1][1] == len(text)
    assert "".join(text[begin:end] for begin, end in found.offsets).replace(" ", "") == ">>de<<thecat"
