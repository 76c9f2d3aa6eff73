"""What may follow the symbols of a transcript: by hand, and held to Whisper's own loop over all rows."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.constraints import SentenceConstraints, TranscriptForm
from openwork.decoding.rules import Prefixes, Transcripts, restrict, rules_for
from openwork.decoding.settings import DecodingSettings, TranscriptSettings

# 4 to 6: words, 7: suppressed, 8: no first word, 9: a language, 10: no timestamps, 11 to 15: 0.00 to 0.08 s
LANGUAGE, NO_TIMES, FIRST, SIZE = 9, 10, 11, 16
SETTINGS = TranscriptSettings(
    languages={"en": LANGUAGE}, no_timestamps=NO_TIMES, timestamps=FIRST, latest_start=2,
    suppressed=(7, LANGUAGE), suppressed_first=(8, SYMBOL_IDS.end),
)  # fmt: skip
END, START = SYMBOL_IDS.end, SYMBOL_IDS.start
WORDS = {4, 5, 6, 8}


def allowed(*written: int, timestamps: bool = True, scores: Tensor | None = None) -> set[int]:
    """What may follow the symbol of the language and what is written, of equal scores but for the times' being low."""
    form = TranscriptForm(SETTINGS, timestamps)
    tokens = torch.tensor([[START, LANGUAGE, *written]])
    even = torch.zeros(1, SIZE)
    even[:, FIRST:] -= 50  # no timestamp comes because all together are probable
    found = Transcripts(form, [(LANGUAGE,)], torch.device("cpu")).lower(
        (even if scores is None else scores).log_softmax(-1), Prefixes(torch.tensor([0]), tokens)
    )
    likely = found[0] > -math.inf
    assert float(found[0].logsumexp(-1)) == pytest.approx(0.0, abs=1e-5)  # probabilities of what may come
    return set(likely.nonzero().flatten().tolist()) - set(SYMBOL_IDS.forbidden)


def test_without_timestamps_by_hand() -> None:
    assert allowed(NO_TIMES, timestamps=False) == {END, *WORDS, NO_TIMES, *range(FIRST, SIZE)}
    first = Transcripts(TranscriptForm(SETTINGS), [(LANGUAGE, NO_TIMES)], torch.device("cpu")).lower(
        torch.zeros(1, SIZE).log_softmax(-1), Prefixes(torch.tensor([0]), torch.tensor([[START, LANGUAGE, NO_TIMES]]))
    )
    assert not {8, END, 7, LANGUAGE} & set((first[0] > -math.inf).nonzero().flatten().tolist())


def test_the_order_of_timestamps_by_hand() -> None:
    assert allowed() == {11, 12, 13}  # a start comes first, of at most 0.04 s
    assert allowed(12) == {END, *WORDS}  # words follow a start
    assert allowed(12, 4) == {END, *WORDS, 13, 14, 15}  # an end is later than the start
    assert allowed(12, 4, 14) == {END, 14, 15}  # an end: the next start, at once or later, or nothing more
    assert allowed(12, 4, 14, 14) == {END, *WORDS}
    assert allowed(12, 4, 14, 14, 5) == {END, *WORDS, 15}
    assert allowed(12, 4, 15, 15, 5) == {END, *WORDS}  # no time is left


def test_a_time_comes_where_all_together_are_more_probable() -> None:
    scores = torch.zeros(1, SIZE)  # 3 times of equal scores against the best word
    assert allowed(12, 4, scores=scores) == {13, 14, 15}
    scores[0, 4] = math.log(3.5)
    assert allowed(12, 4, scores=scores) == {END, *WORDS, 13, 14, 15}


def test_the_prefix_comes_whatever_is_suppressed_and_costs_nothing() -> None:
    constraints = [SentenceConstraints(prefix=(LANGUAGE,), transcript=TranscriptForm(SETTINGS, timestamps=True))]
    rules = rules_for(DecodingSettings(), constraints, torch.tensor([3]))
    scores = torch.randn(1, SIZE, generator=torch.Generator().manual_seed(1))
    normaliser = scores.logsumexp(-1, keepdim=True)
    found = restrict(scores, normaliser, rules, Prefixes(torch.tensor([0]), torch.tensor([[START]]))) - normaliser
    assert found[0, LANGUAGE] == pytest.approx(0.0, abs=1e-6)
    assert (found > -math.inf).sum() == 1


def whisper_loop(log_probabilities: Tensor, tokens: list[int]) -> Tensor:
    """ApplyTimestampRules and the two Suppress filters of Whisper's decoding.py, for one row after the symbols."""
    scores = log_probabilities.clone()
    if not tokens:
        scores[list(SETTINGS.suppressed_first)] = -math.inf
    scores[[*SETTINGS.suppressed, NO_TIMES]] = -math.inf
    last = len(tokens) >= 1 and tokens[-1] >= FIRST
    before = len(tokens) < 2 or tokens[-2] >= FIRST
    if last and before:
        scores[FIRST:] = -math.inf
    elif last:
        scores[[number for number in range(FIRST) if number != END]] = -math.inf
    times = [token for token in tokens if token >= FIRST]
    if times:
        scores[FIRST : times[-1] if last and not before else times[-1] + 1] = -math.inf
    if not tokens:
        scores[:FIRST] = -math.inf
        scores[FIRST + 2 + 1 :] = -math.inf
    if scores[FIRST:].logsumexp(-1) > scores[:FIRST].max():
        scores[:FIRST] = -math.inf
    return scores.log_softmax(-1)


@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 5)), min_size=1, max_size=3), st.integers(0, 2**31), st.data()
)
def test_all_rows_at_once_are_the_loop(rows: list[tuple[int, int]], seed: int, data: st.DataObject) -> None:
    """Rows of any symbols, of what the rules let be written; here each row has a prefix of its own length."""
    generator = torch.Generator().manual_seed(seed)
    width = max(map(sum, rows))
    texts: list[list[int]] = []
    for _, length in rows:
        text: list[int] = []
        for _ in range(length):
            open_to = whisper_loop(torch.randn(SIZE, generator=generator), text)
            choices = [n for n in (open_to > -math.inf).nonzero().flatten().tolist() if n > END]
            if not choices:
                break
            text.append(data.draw(st.sampled_from(choices)))
        texts.append(text)
    prefixes = [(LANGUAGE,) * (width - len(text)) for text in texts]
    tokens = torch.tensor([[START, *prefix, *text] for prefix, text in zip(prefixes, texts, strict=True)])
    scores = torch.randn(len(rows), SIZE, generator=generator).log_softmax(-1)
    rule = Transcripts(TranscriptForm(SETTINGS, timestamps=True), prefixes, torch.device("cpu"))
    found = rule.lower(scores, Prefixes(torch.arange(len(rows)), tokens))
    for row, text in enumerate(texts):
        torch.testing.assert_close(found[row], whisper_loop(scores[row], text), rtol=0, atol=1e-5)
