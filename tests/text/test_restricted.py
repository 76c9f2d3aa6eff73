"""A tokenizer without the pieces that some texts do not use cuts these texts as before, and loses no other text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openwork.text.pieces.kinds import KINDS
from openwork.text.pieces.learnt import LearntTokenizer

LINES = ["the lower the newest widest", "low lower lowest", "new newer newest 100%", "宽 更宽 最宽的 新的 the"] * 4


@pytest.mark.parametrize("kind", sorted(KINDS))
@given(st.lists(st.sampled_from(" ".join(LINES[:4]).split()), min_size=1, max_size=6), st.text(max_size=12))
def test_used_pieces_are_enough(kind: str, words: list[str], other: str) -> None:
    whole = KINDS[kind].learn(LINES, 330, placeholders=2)
    assert isinstance(whole, LearntTokenizer)
    text = " ".join(words)
    small = whole.restricted(set(whole.encode(text)))
    assert small.vocabulary_size <= whole.vocabulary_size and small.placeholders == 2
    assert [small.piece(number) for number in small.encode(text)] == [
        whole.piece(number) for number in whole.encode(text)
    ]
    if kind not in ("words", "characters"):  # which have an unknown piece
        assert small.decode(small.encode(other)) == whole.decode(whole.encode(other)) == other
    assert type(small)(small._library).fingerprint == small.fingerprint
