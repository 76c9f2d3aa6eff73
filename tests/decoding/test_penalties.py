"""Coverage and repetition penalties, diverse groups: against their definitions in plain Python."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from torch import Tensor

from decoding.tables import (
    TableModel,
    TableState,
    exhaustive,
    log_probability,
    probabilities,
    random_logits,
    sources,
    targets,
)
from openwork.base.errors import OpenworkError
from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.beam import Live
from openwork.decoding.expansions import ExpandInGroups
from openwork.decoding.rules import RULES, Prefixes, TokenRule
from openwork.decoding.scoring import length_penalty
from openwork.decoding.search import decode
from openwork.decoding.settings import DecodingSettings

SEEDS = st.integers(0, 10**6)
VOCABULARY = 7


def options(**values: float) -> DecodingSettings:
    return DecodingSettings.model_validate({"extra_length": 0, **values})


def weights(seed: int, prefix: tuple[int, ...], size: int) -> list[float]:
    """Where a table looks when it produces what follows the prefix."""
    generator = torch.Generator().manual_seed(hash((seed, prefix)) % 2**31)
    return torch.rand(size, generator=generator).pow(3).softmax(0).tolist()


class LookingTable(TableModel):
    """A table model with attention to the source; padding gets a share too, which must not count."""

    def __init__(self, seed: int, lengths: list[int], spread: float = 1.0) -> None:
        super().__init__(random_logits(seed, VOCABULARY, spread))
        self.seed = seed
        self.lengths = lengths

    def attend(self, tokens: Tensor, state: TableState) -> tuple[Tensor, Tensor, TableState]:
        logits, after = self.step(tokens, state)
        longest = max(self.lengths)
        rows = []
        for key, prefix in zip(after.keys, after.prefixes, strict=True):
            length = self.lengths[key]
            rows.append(weights(self.seed, prefix, length) + [0.7] * (longest - length))
        return logits, torch.tensor(rows)[:, None], after


def coverage(seed: int, tokens: tuple[int, ...], size: int, beta: float) -> float:
    """Equation 14 of the paper, by hand: a sum for each step, the end symbol's included."""
    steps = [weights(seed, tokens[:place], size) for place in range(len(tokens) + 1)]
    return beta * sum(math.log(min(sum(step[i] for step in steps), 1.0)) for i in range(size))


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, beta=st.sampled_from([0.2, 2.0]), lengths=st.lists(st.integers(2, 4), min_size=1, max_size=3))
def test_coverage_penalty_is_the_formula(seed: int, beta: float, lengths: list[int]) -> None:
    model = LookingTable(seed, lengths)
    chosen = options(beam=3**4, best=5, coverage_penalty=beta)
    for key, found in enumerate(decode(model, *sources(range(len(lengths)), lengths), chosen)):
        every = exhaustive(model.logits, key, VOCABULARY, lengths[key], 0.6)
        scored = {tokens: score + coverage(seed, tokens, lengths[key], beta) for score, tokens in every}
        assert [h.score for h in found] == pytest.approx(sorted(scored.values(), reverse=True)[:5], abs=1e-4)
        for h in found:
            assert h.score == pytest.approx(scored[h.tokens], abs=1e-4)
            assert h.log_probability == pytest.approx(log_probability(model.logits, key, h.tokens), abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("beam", [2, 4])
def test_coverage_follows_its_hypothesis(beam: int) -> None:
    """In a narrow beam, where hypotheses change places, each keeps what it has looked at itself."""
    for seed in range(30):
        model = LookingTable(seed, [4, 3])
        chosen = options(beam=beam, best=beam, coverage_penalty=0.5)
        for key, found in enumerate(decode(model, *sources([0, 1], [4, 3]), chosen)):
            for h in found:
                length = len(h.tokens) + h.finished
                looked = h.tokens if h.finished else h.tokens[:-1]
                expected = h.log_probability / length_penalty(length, 0.6)
                expected += coverage(seed, looked, [4, 3][key], 0.5)
                assert h.score == pytest.approx(expected, abs=1e-4)


def test_a_model_that_does_not_tell_where_it_looks_is_refused() -> None:
    with pytest.raises(OpenworkError, match="needs a model with attention to the source"):
        decode(TableModel(random_logits(0, VOCABULARY, 1.0)), *sources([0], [3]), options(coverage_penalty=0.1))


def lowered(logits: Any, key: int, tokens: tuple[int, ...], strength: float) -> float:
    """log P of a target, in which each token that stood before it counts `strength` times."""
    total = 0.0
    for place, token in enumerate((*tokens, SYMBOL_IDS.end)):
        begun = log_probability(logits, key, tokens[:place], ended=False)
        alone = log_probability(logits, key, tokens, ended=True) if place == len(tokens) else None
        own = (log_probability(logits, key, tokens[: place + 1], ended=False) if alone is None else alone) - begun
        total += own * (strength if token in tokens[:place] else 1.0)
    return total


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(seed=SEEDS, strength=st.sampled_from([1.2, 3.0]), limits=st.lists(st.integers(2, 4), min_size=1, max_size=2))
def test_repetition_penalty_is_the_formula(seed: int, strength: float, limits: list[int]) -> None:
    logits = random_logits(seed, VOCABULARY, 1.5)
    chosen = options(beam=3**4, best=5, repetition_penalty=strength)
    for key, found in enumerate(decode(TableModel(logits), *sources(range(len(limits)), limits), chosen)):
        every = {tokens: lowered(logits, key, tokens, strength) for tokens in targets(VOCABULARY, limits[key])}
        scored = {tokens: total / length_penalty(len(tokens) + 1, 0.6) for tokens, total in every.items()}
        assert [h.score for h in found] == pytest.approx(sorted(scored.values(), reverse=True)[:5], abs=1e-4)
        for h in found:
            assert h.log_probability == pytest.approx(every[h.tokens], abs=1e-4)


@pytest.mark.parametrize("values", [{"beam": 1}, {"beam": 2}, {"beam": 4, "groups": 2}, {"samples": 1, "best": 1}])
def test_no_search_repeats_what_is_punished_hard(values: dict[str, int]) -> None:
    for seed in range(5):
        model = TableModel(random_logits(seed, VOCABULARY, 0.5))
        (found,) = decode(model, *sources([0], [12]), options(**values, repetition_penalty=1000.0))
        assert len(set(found[0].tokens)) == len(found[0].tokens)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(seed=SEEDS, least=st.integers(0, 4), limits=st.lists(st.integers(1, 4), min_size=1, max_size=2))
def test_minimum_length_keeps_the_longer_targets(seed: int, least: int, limits: list[int]) -> None:
    """A target whose limit comes before is as long as the limit, and unfinished."""
    logits = random_logits(seed, VOCABULARY, 1.5)
    chosen = options(beam=3**4, best=5, minimum_length=least)
    for key, found in enumerate(decode(TableModel(logits), *sources(range(len(limits)), limits), chosen)):
        every = exhaustive(logits, key, VOCABULARY, limits[key], 0.6, lambda tokens: len(tokens) >= least)
        assert [h.score for h in found if h.finished] == pytest.approx([score for score, _ in every[:5]], abs=1e-4)
        assert every or all(len(h.tokens) == limits[key] and not h.finished for h in found)


class Shy(TokenRule):
    """A rule for the test below: the likelier a token is, the less it counts."""

    def __init__(self, shyness: float) -> None:
        self.shyness = shyness

    def lower(self, log_probabilities: Tensor, prefixes: Prefixes) -> Tensor:
        return -self.shyness * log_probabilities.exp()


class ShySettings(DecodingSettings):
    shyness: float = 0.0


def test_a_new_rule_takes_its_class_and_the_line_of_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RULES, "shyness", Shy)
    rows: dict[tuple[int, ...], dict[int, float]] = {(): {4: 0.5, 5: 0.2, 6: 0.3}, (4,): {3: 1.0}, (5,): {3: 1.0}}
    model = TableModel(probabilities({**rows, (6,): {3: 1.0}}, VOCABULARY))
    for shyness, token in ((0.0, 4), (1.0, 5)):
        chosen = ShySettings.model_validate({"beam": 1, "extra_length": 0, "shyness": shyness})
        ((best,),) = decode(model, *sources([0], [3]), chosen)
        assert best.tokens == (token,)


def plain_groups(logits: Any, key: int, limit: int, beam: int, groups: int, diversity: float) -> list[list[Any]]:
    """Diverse beam search of one sentence by the paper's algorithm 1, in plain Python: what each group finished."""
    size = beam // groups
    live: list[list[tuple[float, tuple[int, ...]]]] = [[(0.0, ())] for _ in range(groups)]
    finished: list[list[tuple[float, tuple[int, ...], bool]]] = [[] for _ in range(groups)]
    for length in range(1, limit + 1):
        taken: dict[int, int] = {}
        for group in range(groups):
            candidates = []
            for total, tokens in live[group]:
                for token in [SYMBOL_IDS.end, *range(4, VOCABULARY)]:
                    value = total + log_probability(logits, key, (*tokens, token), ended=False)
                    value -= log_probability(logits, key, tokens, ended=False)
                    candidates.append((value - diversity * taken.get(token, 0), value, tokens, token))
            candidates.sort(key=lambda one: -one[0])
            for _, value, tokens, token in candidates[:size]:
                if token == SYMBOL_IDS.end:
                    finished[group].append((value / length_penalty(length, 0.6), tokens, True))
            kept = [one for one in candidates[: 2 * size] if one[3] != SYMBOL_IDS.end][:size]
            live[group] = [(value, (*tokens, token)) for _, value, tokens, token in kept]
            for one in kept:
                taken[one[3]] = taken.get(one[3], 0) + 1
            if len(finished[group]) >= size or length == limit:
                if not finished[group]:
                    finished[group] = [(v / length_penalty(length, 0.6), t, False) for v, t in live[group]]
                live[group] = []
    return finished


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, shape=st.sampled_from([(2, 2), (4, 2), (4, 4), (6, 3)]), diversity=st.sampled_from([0.0, 0.4, 3.0]))
def test_diverse_groups_are_the_papers(seed: int, shape: tuple[int, int], diversity: float) -> None:
    beam, groups = shape
    logits = random_logits(seed, VOCABULARY, 1.0)
    lengths = [3, 5]
    chosen = options(beam=beam, best=beam, groups=groups, diversity=diversity)
    for key, found in enumerate(decode(TableModel(logits), *sources([0, 1], lengths), chosen)):
        every = [one for group in plain_groups(logits, key, lengths[key], beam, groups, diversity) for one in group]
        finished = any(done for _, _, done in every)
        distinct = {tokens: score for score, tokens, done in every if done == finished}
        expected = sorted(distinct.values(), reverse=True)[:beam]
        # a group also ends when it can no longer improve: it may then have fewer of the worse ones
        assert found[0].score == pytest.approx(expected[0], abs=1e-5)
        assert all(distinct[h.tokens] == pytest.approx(h.score, abs=1e-5) for h in found)
        assert len(found) == len({h.tokens for h in found})


@pytest.mark.slow
def test_without_diversity_each_group_is_a_beam_of_its_own() -> None:
    for seed in range(10):
        model = TableModel(random_logits(seed, VOCABULARY, 1.0))
        source, lengths = sources([0, 1], [4, 5])
        grouped = decode(model, source, lengths, options(beam=6, groups=3, diversity=0.0, best=2))
        assert grouped == decode(model, source, lengths, options(beam=2, best=2))


def test_groups_differ() -> None:
    """By hand: two near ways to say the same, a a and a b, and another, c: a beam of two takes the first two."""
    table = {(): {4: 0.8, 6: 0.2}, (4,): {4: 0.51, 5: 0.49}, (4, 4): {3: 1.0}, (4, 5): {3: 1.0}, (6,): {3: 1.0}}
    source, lengths = sources([0], [5])
    for more, expected in (({}, {(4, 4), (4, 5)}), ({"groups": 2, "diversity": 2.0}, {(4, 4), (6,)})):
        (found,) = decode(TableModel(probabilities(table, 7)), source, lengths, options(beam=2, best=2, **more))
        assert {h.tokens for h in found} == expected


def test_what_cannot_follow_in_one_group_is_not_taken_from_the_next() -> None:
    """Five places a group, and one token that may follow in the first: the other four places stay empty."""
    live = Live(torch.tensor([0, 1]), torch.tensor([[[2, 4]], [[2, 6]]]), torch.zeros(2, 1))
    logits = torch.full((2, 8), -torch.inf)
    logits[0, 4], logits[1, 5], logits[1, 6] = 0.0, 0.5, 0.0
    found = ExpandInGroups((), groups=2, diversity=1.0)(live, logits, 5)
    assert found.tokens[0, 0] == 4 and found.tokens[1, :2].tolist() == [5, 6]


CONFLICTS = [
    ({"groups": 3}, "must divide the beam"),
    ({"groups": 2, "coverage_penalty": 0.2}, "do not go together"),
    ({"samples": 2, "groups": 2}, "belong to beam search"),
    ({"samples": 2, "best": 3}, "at least 3 samples"),
    ({"top_k": 3}, "belong to sampling"),
    ({"temperature": 0.5}, "belong to sampling"),
    ({"beam": 1, "coverage_penalty": 0.2}, "set beam to 2 or more"),
    ({"beam": 1, "minimum_bayes_risk": "chrf"}, "set beam or samples to 2 or more"),
]


@pytest.mark.parametrize(("values", "words"), CONFLICTS)
def test_conflicts_are_refused_in_a_sentence(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        options(**values)
