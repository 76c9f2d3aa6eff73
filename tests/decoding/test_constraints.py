"""Constrained searches against the list of all targets that meet the constraints."""

from collections.abc import Callable, Sequence
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding.phrases import forbidden, phrase_automaton, required
from decoding.tables import TableModel, exhaustive, holds, log_probability, probabilities, random_logits, sources
from openwork.decoding.beam import Live
from openwork.decoding.constraints import (
    REFUSED,
    Automaton,
    RequiredPhrases,
    SentenceConstraints,
    text_automaton,
)
from openwork.decoding.expansions import ExpandInBanks, in_turn
from openwork.decoding.scoring import Hypothesis
from openwork.decoding.search import decode
from openwork.decoding.settings import DecodingSettings

VOCABULARY, LIMIT = 7, 5  # three real tokens: 4, 5 and 6
WIDE = 3**LIMIT
START, END = 2, 3
SEEDS = st.integers(0, 10**6)
PHRASES = st.lists(st.integers(4, 6), min_size=1, max_size=3).map(tuple)
PREFIXES = st.lists(st.integers(4, 6), max_size=3).map(tuple)
CONSTRAINTS = st.builds(
    SentenceConstraints,
    prefix=PREFIXES,
    required=st.lists(PHRASES, max_size=1).map(lambda phrases: required(*phrases)),
    forbidden=st.lists(PHRASES, max_size=2).map(lambda phrases: forbidden(VOCABULARY, *phrases)),
)
Keep = Callable[[tuple[int, ...]], bool]


def options(**others: float) -> DecodingSettings:
    return DecodingSettings.model_validate({"beam": WIDE, "best": 5, "extra_length": 0, **others})


def searched(
    seed: int, constraints: Sequence[SentenceConstraints], chosen: DecodingSettings, limit: int = LIMIT
) -> list[list[Hypothesis]]:
    """One sentence, with a table of its own, for each of the constraints."""
    model = TableModel(random_logits(seed, VOCABULARY, 1.5))
    count = len(constraints)
    return decode(model, *sources(range(count), [limit] * count), chosen, constraints=constraints)


def expect(found: list[Hypothesis], seed: int, keep: Keep, key: int = 0, limit: int = LIMIT) -> None:
    """The found ones are the best of all targets that are to be kept, with the model's own probabilities."""
    logits = random_logits(seed, VOCABULARY, 1.5)
    every = exhaustive(logits, key, VOCABULARY, limit, 0.6, keep)
    assert [h.score for h in found if h.finished] == pytest.approx([score for score, _ in every[:5]], abs=1e-5)
    for h in found:
        assert keep(h.tokens)
        worth = log_probability(logits, key, h.tokens, ended=h.finished)
        assert h.log_probability == pytest.approx(worth, abs=1e-5)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, prefix=PREFIXES)
def test_prefix(seed: int, prefix: tuple[int, ...]) -> None:
    (found,) = searched(seed, [SentenceConstraints(prefix=prefix)], options())
    expect(found, seed, lambda tokens: tokens[: len(prefix)] == prefix)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, phrases=st.lists(PHRASES, max_size=3))
def test_forbidden(seed: int, phrases: list[tuple[int, ...]]) -> None:
    (found,) = searched(seed, [SentenceConstraints(forbidden=forbidden(VOCABULARY, *phrases))], options())
    expect(found, seed, lambda tokens: not any(holds(tokens, phrase) for phrase in phrases))


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, size=st.integers(1, 3))
def test_no_repeat(seed: int, size: int) -> None:
    def keep(tokens: tuple[int, ...]) -> bool:
        runs = [tokens[i : i + size] for i in range(len(tokens) - size + 1)]
        return len(set(runs)) == len(runs)

    (found,) = searched(seed, [SentenceConstraints()], options(no_repeat=size))
    expect(found, seed, keep)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, phrase=PHRASES)
def test_one_required_phrase(seed: int, phrase: tuple[int, ...]) -> None:
    (found,) = searched(seed, [SentenceConstraints(required=required(phrase))], options())
    expect(found, seed, lambda tokens: holds(tokens, phrase))


def overlap(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether a target could hold both and let them share tokens."""
    within = holds(one, other) or holds(other, one)
    ends = (one[-size:] == other[:size] for size in range(1, min(len(one), len(other)) + 1))
    starts = (other[-size:] == one[:size] for size in range(1, min(len(one), len(other)) + 1))
    return within or any(ends) or any(starts)


# Listed and not filtered: few pairs that are drawn by chance are apart.
ALL_PHRASES = [phrase for size in (1, 2, 3) for phrase in product((4, 5, 6), repeat=size)]
APART = [
    (one, other)
    for one, other in product(ALL_PHRASES, repeat=2)
    if not overlap(one, other) and len(one) + len(other) < LIMIT
]


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, phrases=st.sampled_from(APART))
def test_two_required_phrases(seed: int, phrases: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    one, other = phrases
    (found,) = searched(seed, [SentenceConstraints(required=required(one, other))], options())
    expect(found, seed, lambda tokens: holds(tokens, one) and holds(tokens, other))


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, one=PHRASES, other=PHRASES)
def test_one_of_two_ways_to_write_a_phrase(seed: int, one: tuple[int, ...], other: tuple[int, ...]) -> None:
    (found,) = searched(seed, [SentenceConstraints(required=((one, other),))], options())
    expect(found, seed, lambda tokens: holds(tokens, one) or holds(tokens, other))


@pytest.mark.slow
def test_phrase_that_stands_at_the_start_only() -> None:
    """5 at the start, or 4 5 anywhere."""
    either = ((START, 5), (4, 5))
    for seed in range(8):
        (found,) = searched(seed, [SentenceConstraints(required=(either,))], options())
        expect(found, seed, lambda tokens: tokens[:1] == (5,) or holds(tokens, (4, 5)))


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    seed=SEEDS, phrases=st.lists(PHRASES, min_size=1, max_size=3), beam=st.integers(1, 4), no_repeat=st.integers(0, 2)
)
def test_required_phrases_are_there_at_any_beam(
    seed: int, phrases: list[tuple[int, ...]], beam: int, no_repeat: int
) -> None:
    limit = 1 + sum(map(len, phrases))
    for others in ({}, {"samples": 3}, {"beam": 4, "groups": 2}):
        values = {"beam": beam, "best": 1, "no_repeat": no_repeat, **others}
        (found,) = searched(seed, [SentenceConstraints(required=required(*phrases))], options(**values), limit)
        assert found
        assert all(holds(h.tokens, phrase) for h in found for phrase in phrases)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(seed=SEEDS, constraints=st.lists(CONSTRAINTS, min_size=1, max_size=4), beam=st.integers(1, 4))
def test_a_batch_gives_what_its_sentences_give_alone(
    seed: int, constraints: list[SentenceConstraints], beam: int
) -> None:
    model = TableModel(random_logits(seed, VOCABULARY, 1.5))
    lengths = [4 + number % 3 for number in range(len(constraints))]
    for others in ({}, {"no_repeat": 2}, {"samples": 2}, {"beam": 4, "groups": 2}):
        chosen = DecodingSettings.model_validate({"beam": beam, "extra_length": 0, "best": 1, **others})
        together = decode(model, *sources(range(len(lengths)), lengths), chosen, constraints=constraints)
        for key, (length, one) in enumerate(zip(lengths, constraints, strict=True)):
            (alone,) = decode(model, *sources([key], [length]), chosen, constraints=[one])
            assert [h.tokens for h in alone] == [h.tokens for h in together[key]]


@pytest.mark.parametrize("chosen", [{"beam": 1}, {"beam": 3}, {"samples": 2}, {"beam": 2, "groups": 2}])
def test_sentences_without_constraints_are_searched_as_always(chosen: dict[str, int]) -> None:
    decoding = options(**{"best": 1, **chosen})
    model = TableModel(random_logits(5, VOCABULARY, 1.5))
    source, lengths = sources([0, 1], [LIMIT, LIMIT])
    free = decode(model, source, lengths, decoding)
    mixed = [SentenceConstraints(), SentenceConstraints(required=required((6, 6)))]
    assert decode(model, source, lengths, decoding, constraints=[SentenceConstraints()] * 2) == free
    assert decode(model, source, lengths, decoding, constraints=mixed)[0] == free[0]


def test_sentence_whose_constraints_cannot_be_met_has_no_hypothesis() -> None:
    impossible = [
        SentenceConstraints(required=required((4, 5, 6, 4, 5))),  # with the end symbol one more than the limit
        SentenceConstraints(required=required((4, 5)), forbidden=forbidden(VOCABULARY, (5,))),
        SentenceConstraints(),
    ]
    for others in ({}, {"beam": 1}, {"samples": 2}, {"beam": 4, "groups": 2}):
        first, second, third = searched(3, impossible, options(best=1, **{"beam": 2, **others}))
        assert (first, second) == ([], [])
        assert third


@pytest.mark.slow
def test_a_phrase_that_repeats_itself_may() -> None:
    """Nothing comes twice but in the phrase, which stands where it is begun, not where the room ends."""
    for seed in range(10):
        chosen = options(beam=4, best=1, no_repeat=1)
        ((best,),) = searched(seed, [SentenceConstraints(required=required((5, 5)))], chosen, limit=9)
        assert holds(best.tokens, (5, 5)) and len(best.tokens) <= 5
        assert best.tokens.count(4) <= 1 and best.tokens.count(6) <= 1


def test_an_improbable_phrase_is_placed_where_it_costs_least() -> None:
    """By hand: a = 4, b = 5, $ = the end. Both a b and b a are 0.5 x P; only after a does b come easily."""
    table = {
        (): {4: 0.5, 5: 0.01, 3: 0.49}, (4,): {5: 0.3, 3: 0.7}, (5,): {4: 0.5, 3: 0.5},
        (4, 5): {3: 1.0}, (5, 4): {3: 1.0}, (5, 4, 5): {3: 1.0}, (4, 5, 4): {3: 1.0},
    }  # fmt: skip
    model = TableModel(probabilities(table, 6))
    constraints = [SentenceConstraints(required=required((5,)))]
    ((best, *_),) = decode(model, *sources([0], [9]), options(beam=2, best=1), constraints=constraints)
    assert best.tokens == (4, 5)
    assert best.log_probability == pytest.approx(torch.tensor(0.15).log().item(), abs=1e-6)


def test_banks_keep_a_place_for_those_that_began_the_phrase() -> None:
    """By hand: 6 is improbable everywhere, and the target ends after it. Ranked by probability alone, prefixes of 4
    and 5 fill the beam until no room is left for anything but 6; with banks it may come at once."""

    def logits(key: int, prefix: tuple[int, ...]) -> list[float]:
        if 6 in prefix:
            return [0.0, 0.0, 0.0, 5.0, 0.0, 0.0, 0.0]
        return [0.0, 0.0, 0.0, 0.0, 5.0, 5.0, 0.0]

    constraints = [SentenceConstraints(required=required((6,)))]
    chosen = options(beam=2, best=1, length_penalty=0.0)
    ((best,),) = decode(TableModel(logits), *sources([0], [8]), chosen, constraints=constraints)
    assert best.tokens == (6,)


def test_of_equals_in_the_banks_the_better_parent_and_then_the_lower_id_comes_first() -> None:
    """More equals than a sort keeps in order unasked."""
    live = Live(torch.tensor([0]), torch.tensor([[[2, 4], [2, 5]]]), torch.zeros(1, 2))
    expand = ExpandInBanks((), [RequiredPhrases([[(70,)]])])
    found = expand(live, torch.zeros(2, 80), 30)
    assert found.tokens[0].tolist() == [70, END, 70, *range(4, 61)]
    assert found.parents[0].tolist() == [0, 0, 1, *[0] * 57]


def test_banks_are_served_in_turn() -> None:
    assert in_turn([[3, 9], [1], [0, 2, 4]]) == [3, 1, 0, 9, 2, 4]
    assert in_turn([]) == []


@pytest.mark.slow
@given(st.lists(PHRASES, min_size=1, max_size=3), st.lists(st.integers(4, 6), max_size=8))
def test_progress_is_what_the_target_ends_with(phrases: list[tuple[int, ...]], written: list[int]) -> None:
    known = RequiredPhrases(required(*phrases))
    progress = known.progress((START,))
    for place, token in enumerate(written):
        progress = known.advance(progress, token)
        assert progress == known.progress((START, *written[: place + 1]))
    for phrase, state in zip(phrases, progress, strict=True):
        if holds(written, phrase):
            assert state == -1
        else:
            assert state == max(n for n in range(len(phrase)) if tuple(written)[len(written) - n :] == phrase[:n])
    left = known.needed(progress)
    assert (left == 0) == all(holds(written, phrase) for phrase in phrases)
    # `needed` keeps its word: so many of the wanted tokens complete everything
    while known.needed(progress):
        token = min(known.wanted(progress), key=lambda token: known.needed(known.advance(progress, token)))
        after = known.advance(progress, token)
        assert known.needed(after) < known.needed(progress)
        progress = after


def refuses(automaton: Automaton, tokens: list[int]) -> bool:
    """Whether the tokens, from the first one, hold what is refused."""
    states = [0]
    for token in tokens:
        states.append(int(automaton.table[states[-1], token]))
        if states[-1] == REFUSED:
            return True
    return False


@given(PHRASES, st.lists(st.integers(4, 6), max_size=8))
def test_phrase_automaton(phrase: tuple[int, ...], tokens: list[int]) -> None:
    assert refuses(phrase_automaton(phrase, VOCABULARY), tokens) == holds(tokens, phrase)


PIECES = ["", "", "", "", "a", "b", "ab", "ba", "aab", "é", " a"]


@given(st.text("abé ", min_size=1, max_size=4), st.lists(st.integers(4, 10), max_size=6))
def test_text_automaton_sees_through_every_way_to_cut(text: str, tokens: list[int]) -> None:
    automaton = text_automaton(text.encode(), [piece.encode() for piece in PIECES])
    assert refuses(automaton, tokens) == (text in "".join(PIECES[token] for token in tokens))


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, text=st.text("ab", min_size=1, max_size=3))
def test_forbidden_text(seed: int, text: str) -> None:
    pieces = ["", "", "", "", "a", "b", "ab"]
    refused: Automaton = text_automaton(text.encode(), [piece.encode() for piece in pieces])
    (found,) = searched(seed, [SentenceConstraints(forbidden=(refused,))], options())
    expect(found, seed, lambda tokens: text not in "".join(pieces[token] for token in tokens))
