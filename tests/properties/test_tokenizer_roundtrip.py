"""`decode(encode(text)) == text`, whatever the text: the promise everything above the floor of text relies on."""

from functools import cache

import pytest
from hypothesis import example, given
from hypothesis import strategies as some

from openwork.text.pieces.kinds import KINDS
from openwork.text.pieces.learnt import LearntTokenizer
from openwork.text.tokenizer import FIXED_NAMES

CORPORA = {
    "nothing": [],
    "words": ["the cat sat on the mat", "Die Katze saß auf der Matte, 12 Uhr.", "我爱猫。你爱狗吗？"] * 30,
    "look-alikes": [" ".join(FIXED_NAMES), "".join(FIXED_NAMES), "<<s>></s><0xE6", "⟦1⟧ ⟦2⟧ ##s ### Ġthe ▁the"] * 10,
    "marks": ["e\u0301 न\u093fष 👩\u200d👩\u200d👧 🇩🇪 \r\n\t \u00a0\u3000 \u200f\u202e"] * 30,
}
LOSSLESS = [name for name in KINDS if name != "words"]


@cache
def trained(kind: str, corpus: str) -> LearntTokenizer:
    return KINDS[kind].learn(CORPORA[corpus], 500, minimum_frequency=1, placeholders=2)


ANY = some.characters(exclude_categories=["Cs"])
CHINESE = some.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF)
EMOJI = some.sampled_from([*"😀👩👧🏽🇩🇪❤", "\u200d", "\ufe0f", "👩\u200d👩\u200d👧", "🇩🇪", "1\ufe0f\u20e3"])
MARKS = some.sampled_from(["e\u0301", "\u0301", "\u0300\u0316", "न\u093f", "\u0e33", "ﷺ", "\ufeff", "İ", "ß"])
SPACES = some.sampled_from([" ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u3000", "\u2028", "\x85", "\x0b", "\x1c"])
CONTROLS = some.characters(categories=["Cc", "Cf", "Co", "Cn"])
NAMES = some.sampled_from(
    [*FIXED_NAMES[:8], "<0xE6>", "<0xe6>", "<", ">", "</", "s>", "<0x", "▁", "Ġ", "#", "##", "##s", "⟦1⟧", "⟦", "⟧"]
)
WORDS = some.sampled_from(["the", "Katze", "mat", "我", "12", "3.5", "don't", "..."])
TEXTS = some.text(ANY) | some.lists(
    some.one_of(ANY, CHINESE, EMOJI, MARKS, SPACES, CONTROLS, NAMES, WORDS), max_size=30
).map("".join)
TOKENIZERS = some.builds(trained, some.sampled_from(LOSSLESS), some.sampled_from(sorted(CORPORA)))


@given(TEXTS, TOKENIZERS)
@example("", trained("byte-pair", "words"))
@example("\x00", trained("byte-pair", "nothing"))
@example("\ufffd\uffff\U0010ffff", trained("wordpiece", "words"))
@example("### ##s #", trained("wordpiece", "look-alikes"))
def test_no_text_is_changed(text: str, tokenizer: LearntTokenizer) -> None:
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert all(4 <= number < tokenizer.vocabulary_size for number in ids)
    assert not any(tokenizer.placeholder_number(number) for number in ids)


@given(TEXTS, some.sampled_from(sorted(CORPORA)))
def test_words_give_back_what_they_know(text: str, corpus: str) -> None:
    tokenizer = trained("words", corpus)
    split = tokenizer.encode_pieces(text)
    assert not {0, 2, 3, 4, 5} & set(split.ids)  # no symbol but <unk>, and no placeholder
    for number, name, (begin, end) in zip(split.ids, split.pieces, split.offsets, strict=True):
        assert number == 1 or text[begin:end] == name
    if 1 not in split.ids:
        assert tokenizer.decode(split.ids) == text


@given(TEXTS, TOKENIZERS)
def test_offsets_cover_the_text_in_order(text: str, tokenizer: LearntTokenizer) -> None:
    split = tokenizer.encode_pieces(text)
    assert split.ids == tokenizer.encode(text)
    covered = 0
    for number, (begin, end) in zip(split.ids, split.offsets, strict=True):
        assert begin <= covered <= end  # pieces of one character's bytes repeat its span, nothing is skipped
        assert tokenizer.piece_bytes[number] in text[begin:end].encode()
        covered = end
    assert covered == len(text)


@given(TEXTS, some.sampled_from(sorted(KINDS)), some.sampled_from(sorted(CORPORA)))
def test_the_work_that_is_shown_is_what_is_done(text: str, kind: str, corpus: str) -> None:
    tokenizer = trained(kind, corpus)
    shown = [piece for word in tokenizer.work(text) for piece in word.pieces]
    assert shown == tokenizer.encode_pieces(text).pieces


@given(TEXTS, some.sampled_from(["byte-pair", "byte-level", "unigram"]), some.integers(0, 2**64))
def test_a_text_that_is_cut_at_random_is_the_same_text(text: str, kind: str, seed: int) -> None:
    tokenizer = trained(kind, "words")
    for strength in (0.0, 0.5):
        (ids,) = tokenizer.encode_batch_sampled([text], seed, strength)
        assert tokenizer.decode(ids) == text
        assert all(4 <= number < tokenizer.vocabulary_size for number in ids)
    if kind != "unigram":
        assert tokenizer.encode_batch_sampled([text], seed, 0.0) == [tokenizer.encode(text)]


@given(some.lists(TEXTS, max_size=8))
def test_a_batch_is_its_texts(texts: list[str]) -> None:
    for kind in KINDS:
        tokenizer = trained(kind, "words")
        batch = tokenizer.encode_batch(texts)
        assert batch == [tokenizer.encode(text) for text in texts]
        assert tokenizer.decode_batch(batch) == texts or kind == "words"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@given(ids=some.lists(some.integers(0, 300), max_size=30))
def test_any_ids_make_a_text(kind: str, ids: list[int]) -> None:
    tokenizer = trained(kind, "words")
    text = tokenizer.decode([number % tokenizer.vocabulary_size for number in ids])
    text.encode()  # never half a character
