"""`decode(encode(text)) == text`, whatever the text: the promise everything above the floor of text relies on."""

from functools import cache

from hypothesis import example, given
from hypothesis import strategies as some

from openwork.text.bytepair import train_byte_pair
from openwork.text.tokenizer import FIXED_NAMES, Tokenizer

CORPORA = {
    "nothing": [],
    "words": ["the cat sat on the mat", "Die Katze saß auf der Matte, 12 Uhr.", "我爱猫。你爱狗吗？"] * 30,
    "look-alikes": [" ".join(FIXED_NAMES), "".join(FIXED_NAMES), "<<s>></s><0xE6"] * 10,
    "marks": ["e\u0301 न\u093fष 👩\u200d👩\u200d👧 🇩🇪 \r\n\t \u00a0\u3000 \u200f\u202e"] * 30,
}


@cache
def trained(corpus: str) -> Tokenizer:
    return train_byte_pair(CORPORA[corpus], 500, minimum_frequency=1)


ANY = some.characters(exclude_categories=["Cs"])
CHINESE = some.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF)
EMOJI = some.sampled_from([*"😀👩👧🏽🇩🇪❤", "\u200d", "\ufe0f", "👩\u200d👩\u200d👧", "🇩🇪", "1\ufe0f\u20e3"])
MARKS = some.sampled_from(["e\u0301", "\u0301", "\u0300\u0316", "न\u093f", "\u0e33", "ﷺ", "\ufeff", "İ", "ß"])
SPACES = some.sampled_from([" ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u3000", "\u2028", "\x85", "\x0b", "\x1c"])
CONTROLS = some.characters(categories=["Cc", "Cf", "Co", "Cn"])
NAMES = some.sampled_from([*FIXED_NAMES[:8], "<0xE6>", "<0xe6>", "<", ">", "</", "s>", "<0x", "▁", "Ġ", "##"])
WORDS = some.sampled_from(["the", "Katze", "mat", "我", "12", "3.5", "don't", "..."])
TEXTS = some.text(ANY) | some.lists(
    some.one_of(ANY, CHINESE, EMOJI, MARKS, SPACES, CONTROLS, NAMES, WORDS), max_size=30
).map("".join)


@given(TEXTS, some.sampled_from(sorted(CORPORA)))
@example("", "words")
@example("\x00", "nothing")
@example("\ufffd\uffff\U0010ffff", "words")
def test_no_text_is_changed(text: str, corpus: str) -> None:
    tokenizer = trained(corpus)
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert all(4 <= number < tokenizer.vocabulary_size for number in ids)


@given(TEXTS, some.sampled_from(sorted(CORPORA)))
def test_offsets_cover_the_text_in_order(text: str, corpus: str) -> None:
    tokenizer = trained(corpus)
    split = tokenizer.encode_pieces(text)
    assert split.ids == tokenizer.encode(text)
    covered = 0
    bytes_so_far = b""
    for number, name, (begin, end) in zip(split.ids, split.pieces, split.offsets, strict=True):
        assert begin <= covered <= end  # bytes of one character repeat its span, nothing is skipped
        if number < len(FIXED_NAMES):
            assert end == begin + 1
            bytes_so_far += bytes([number - 4])
            assert text[begin].encode().startswith(bytes_so_far)
            if text[begin].encode() == bytes_so_far:
                bytes_so_far = b""
        else:
            assert not bytes_so_far
            assert text[begin:end] == name
        covered = end
    assert covered == len(text)


@given(some.lists(TEXTS, max_size=8))
def test_a_batch_is_its_texts(texts: list[str]) -> None:
    tokenizer = trained("words")
    batch = tokenizer.encode_batch(texts)
    assert batch == [tokenizer.encode(text) for text in texts]
    assert tokenizer.decode_batch(batch) == texts


@given(some.lists(some.integers(0, 300), max_size=30))
def test_any_ids_make_a_text(ids: list[int]) -> None:
    tokenizer = trained("words")
    text = tokenizer.decode([number % tokenizer.vocabulary_size for number in ids])
    text.encode()  # never half a character
