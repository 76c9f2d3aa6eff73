"""The algorithms in our own code: by hand, and against the library."""

import math
from collections import Counter
from itertools import combinations, pairwise
from random import Random

import pytest

from openwork.base.errors import ConfigError
from openwork.text.pieces.bytepair import BytePair, Merging
from openwork.text.pieces.unigram import Lattice, Unigram
from openwork.text.pieces.wordpiece import Matching, WordPiece
from openwork.text.pieces.words import Characters
from openwork.text.work import Arc, Match, Merge

LINES = ["playing walking talking singing ringing", "play walk talk sing ring", "我们爱说中文"] * 30

# e + r first, then l + o, lo + w, low + er.
MERGES = Merging(
    {"vocab": {}, "merges": [["e", "r"], ["l", "o"], ["lo", "w"], ["low", "er"]], "unk_token": "<unk>"}
    | {"vocab": dict.fromkeys(["l", "o", "w", "e", "r", "er", "lo", "low", "lower"], 0)}
)


def test_merges_by_hand() -> None:
    work = MERGES.work("lower")
    assert work.start == ("l", "o", "w", "e", "r")
    assert work.steps == (
        Merge(0, 3, "e", "r"),
        Merge(1, 0, "l", "o"),
        Merge(2, 0, "lo", "w"),
        Merge(3, 0, "low", "er"),
    )
    assert work.pieces == ("lower",)
    assert MERGES.work("wololo").pieces == ("w", "o", "lo", "lo")
    assert MERGES.work("xlow").pieces == ("<unk>", "low")


def probabilities(word: str, dropout: float) -> dict[tuple[str, ...], float]:
    """Every outcome of BPE-dropout with its probability, by the letter of the paper's algorithm 1.

    Before each merge all candidates are drawn, and the best of those that stay is merged.
    """
    outcomes: Counter[tuple[str, ...]] = Counter()

    def go(pieces: tuple[str, ...], probability: float) -> None:
        candidates = sorted(
            (MERGES.ranks[pair], place) for place, pair in enumerate(pairwise(pieces)) if pair in MERGES.ranks
        )
        for size in range(len(candidates) + 1):
            for stay in combinations(candidates, size):
                share = probability * (1 - dropout) ** size * dropout ** (len(candidates) - size)
                if not stay:
                    outcomes[pieces] += share
                else:
                    _, place = min(stay)
                    go((*pieces[:place], pieces[place] + pieces[place + 1], *pieces[place + 2 :]), share)

    go(tuple(word), 1.0)
    return dict(outcomes)


@pytest.mark.slow
@pytest.mark.parametrize("dropout", [0.1, 0.4])
def test_dropout_is_that_of_the_paper(dropout: float) -> None:
    exact = probabilities("lower", dropout)
    random, draws = Random(5), 20_000
    seen = Counter(tuple(MERGES.sample("lower", random, dropout)) for _ in range(draws))
    assert sum(exact.values()) == pytest.approx(1)
    assert set(seen) <= set(exact)
    for pieces, probability in exact.items():
        spread = 4 * math.sqrt(probability * (1 - probability) / draws)
        assert abs(seen[pieces] / draws - probability) <= spread + 1e-4, pieces


def test_matches_by_hand() -> None:
    model = {"vocab": {"un": 0, "##happi": 1, "##ness": 2, "##h": 3, "[UNK]": 4}, "unk_token": "[UNK]"}
    matching = Matching({**model, "continuing_subword_prefix": "##", "max_input_chars_per_word": 20})
    work = matching.work("unhappiness")
    assert work.pieces == ("un", "##happi", "##ness")
    assert [step for step in work.steps if isinstance(step, Match) and step.found] == [
        Match(0, "un", True), Match(2, "##happi", True), Match(7, "##ness", True),
    ]  # fmt: skip
    assert work.steps[0] == Match(0, "unhappi", False)  # no piece is longer
    assert matching.work("undo").pieces == ("[UNK]",)  # one part that does not fit, and all is unknown
    assert matching.work("un" * 11).pieces == ("[UNK]",)


SCORES = {"a": -1.0, "b": -2.0, "ab": -2.5, "ba": -2.0, "aba": -9.0, "<unk>": -3.0}
LATTICE = Lattice({"vocab": [[name, score] for name, score in SCORES.items()], "unk_id": 5})


def test_the_best_way_by_hand() -> None:
    work = LATTICE.work("aba")
    # a + ba is -3, ab + a is -3.5, a + b + a is -4, aba is -9
    assert work.pieces == ("a", "ba")
    assert Arc(1, 3, "ba", -2.0, -3.0, True) in work.steps
    assert Arc(0, 3, "aba", -9.0, -9.0, False) in work.steps
    assert Arc(2, 3, "a", -1.0, -3.5, False) in work.steps
    assert LATTICE.work("axxa").pieces == ("a", "<unk>", "a")
    assert Arc(1, 2, "<unk>", -19.0, -20.0, True) in LATTICE.work("axxa").steps  # ten less than the worst piece


@pytest.mark.slow
@pytest.mark.parametrize("strength", [0.2, 1.0])
def test_ways_are_drawn_with_their_probability(strength: float) -> None:
    ways = {("a", "ba"): -3.0, ("ab", "a"): -3.5, ("a", "b", "a"): -4.0, ("aba",): -9.0}
    total = sum(math.exp(strength * score) for score in ways.values())
    random, draws = Random(7), 20_000
    seen = Counter(tuple(LATTICE.sample("aba", random, strength)) for _ in range(draws))
    assert set(seen) <= set(ways)
    for way, score in ways.items():
        probability = math.exp(strength * score) / total
        assert abs(seen[way] / draws - probability) <= 4 * math.sqrt(probability / draws)


# ------------------------------------------------------------------------------------------------ whole texts


def test_sampling_follows_from_the_seed() -> None:
    texts = ["playing and singing", "talking", ""] * 3
    for tokenizer, strength in ((BytePair.learn(LINES, 400), 0.3), (Unigram.learn(LINES, 330), 0.2)):
        once = tokenizer.encode_batch_sampled(texts, 11, strength)
        assert tokenizer.encode_batch_sampled(texts, 11, strength) == once
        assert tokenizer.encode_batch_sampled(texts, 12, strength) != once
        assert len({tuple(once[place]) for place in (0, 3, 6)}) > 1  # the same text again is cut anew
        assert tokenizer.decode_batch(once) == texts


def test_more_dropout_gives_more_pieces() -> None:
    tokenizer = BytePair.learn(LINES, 400)
    counts = [sum(map(len, tokenizer.encode_batch_sampled(LINES, 1, p))) for p in (0.0, 0.1, 0.5, 0.99)]
    assert counts == sorted(counts) and len(set(counts)) == 4
    assert counts[0] == sum(map(len, tokenizer.encode_batch(LINES)))


def test_kinds_with_one_way_refuse_to_be_sampled() -> None:
    for tokenizer in (WordPiece.learn(LINES, 400), Characters.learn(LINES, 400)):
        with pytest.raises(ConfigError, match=f"{tokenizer.kind} cannot be sampled"):
            tokenizer.encode_batch_sampled(["a"], 1, 0.1)
