"""Chinese: no spaces, full-width forms, and other scripts in between."""

import pytest

from openwork.text.pieces.bytelevel import ByteLevel
from openwork.text.pieces.bytepair import BytePair
from openwork.text.pieces.kinds import KINDS
from openwork.text.pieces.words import Characters

LINES = [
    "我们喜欢机器翻译。",
    "机器翻译很有用，我们都喜欢。",
    "今天天气很好！",
    "２０２４年用Ｐｙｔｈｏｎ写",
    "在Python中使用",
] * 20


def test_pieces_span_characters_without_a_segmenter() -> None:
    tokenizer = BytePair.learn(LINES, 450)
    pieces = tokenizer.encode_pieces("我们喜欢机器翻译，今天很好！").pieces
    assert "".join(pieces) == "我们喜欢机器翻译，今天很好！"
    assert pieces == ["我们喜欢机器翻译", "，", "今天", "很好", "！"]


def test_a_rare_character_is_its_bytes_and_leaves_its_neighbours_alone() -> None:
    tokenizer = BytePair.learn(LINES, 450)
    assert tokenizer.encode_pieces("机器翻译龘机器翻译").pieces == [
        "机器翻译",
        "<0xE9>",
        "<0xBE>",
        "<0x98>",
        "机器翻译",
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_scripts_are_kept_apart(kind: str) -> None:
    tokenizer = KINDS[kind].learn(LINES, 450)
    text = "在Python中使用，用Ｐｙｔｈｏｎ写　コード"
    words = [text[begin:] for _, begin in tokenizer.words(text)]
    if kind != "characters":
        for word in ("Python", "中使用", "，", "用", "Ｐｙｔｈｏｎ", "写", "　", "コード"):
            assert any(rest.startswith(word) for rest in words), word
    for piece, (begin, end) in zip(*(lambda s: (s.pieces, s.offsets))(tokenizer.encode_pieces(text)), strict=True):
        part = text[begin:end]
        assert kind == "words" or not (any(c.isascii() for c in part) and any(c > "\u3000" for c in part)), piece
    assert kind == "words" or tokenizer.decode(tokenizer.encode(text)) == text


def test_full_width_forms_stay_what_they_are() -> None:
    tokenizer = BytePair.learn(LINES, 450)
    assert tokenizer.encode_pieces("２０").pieces == ["２", "０"]  # digits stand alone, full-width ones too
    assert tokenizer.encode("！") != tokenizer.encode("!")
    assert tokenizer.decode(tokenizer.encode("ＡＢＣ，！　１２")) == "ＡＢＣ，！　１２"


def test_characters_are_single() -> None:
    tokenizer = Characters.learn(LINES, 450)
    assert tokenizer.encode_pieces("我们喜欢Python").pieces == list("我们喜欢Python")


def test_byte_level_pieces_grow_over_characters() -> None:
    tokenizer = ByteLevel.learn(LINES, 450)
    assert "机器翻译" in tokenizer.encode_pieces("机器翻译").pieces
