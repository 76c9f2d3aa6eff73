"""A recorded beam search: a tree worked out by hand, and of random models each fate and reason held to be true."""

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding.tables import TableModel, log_probability, probabilities, random_logits, sources
from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.beam import beam_search
from openwork.decoding.constraints import SentenceConstraints
from openwork.decoding.left_to_right import greedy_search
from openwork.decoding.lone import search_one
from openwork.decoding.scoring import Hypothesis, length_penalty
from openwork.decoding.search import decode
from openwork.decoding.search_recorder import SearchRecorder
from openwork.decoding.search_tree import SearchNode, SearchTree
from openwork.decoding.settings import DecodingSettings

END, A, B, C = SYMBOL_IDS.end, 4, 5, 6
VOCABULARY = 7
TABLE = {
    (): {A: 0.5, B: 0.25, C: 0.15, END: 0.1},
    (A,): {A: 0.6, END: 0.3, B: 0.1},
    (B,): {B: 0.7, END: 0.3},
    (A, A): {END: 0.8, A: 0.2},
    (B, B): {END: 0.6, B: 0.4},
}
Search = Callable[..., list[Hypothesis]]


def by_numbers(model: Any, key: int, chosen: DecodingSettings, recorder: SearchRecorder | None) -> list[Hypothesis]:
    return search_one(model, *sources([key], [3]), chosen, recorder=recorder)


def by_tensors(model: Any, key: int, chosen: DecodingSettings, recorder: SearchRecorder | None) -> list[Hypothesis]:
    return beam_search(model, *sources([key], [3]), chosen, recorder=recorder)[0]


def name(token: int) -> str:
    return {SYMBOL_IDS.start: "<s>", END: "</s>", A: "A", B: "B", C: "C"}.get(token, str(token))


def tree_of(recorder: SearchRecorder) -> SearchTree:
    return recorder.tree("text", name, lambda tokens: "".join(map(name, tokens)))


@pytest.mark.parametrize("search", [by_numbers, by_tensors])
@pytest.mark.parametrize(
    ("changed", "reason"),
    [({"maximum_length": 3}, "limit"), ({}, "enough"), ({"patience": 2.0, "extra_length": 7}, "better")],
)
def test_a_tree_by_hand(search: Search, changed: dict[str, Any], reason: str) -> None:
    """Beam 2, so four candidates a step. Two end in step 3: enough, unless twice as many are waited for.

    Then the best, ln 0.24 / (8/6)^0.6 = -1.20, is more than ln 0.07 / (15/6)^0.6 = -1.53, which no other can exceed.
    """
    recorder = SearchRecorder()
    search(TableModel(probabilities(TABLE, VOCABULARY)), 1, DecodingSettings(beam=2, **changed), recorder)
    tree = tree_of(recorder)
    expected: list[tuple[int | None, int, str, float, int, str, str]] = [
        (None, 0, "<s>", 1.0, 0, "kept", ""),
        (0, 1, "A", 0.5, 1, "kept", ""),
        (0, 1, "B", 0.25, 2, "kept", ""),
        (0, 1, "C", 0.15, 3, "dropped", "rank"),
        (0, 1, "</s>", 0.1, 4, "dropped", "end-rank"),
        (1, 2, "A", 0.3, 1, "kept", ""),
        (2, 2, "B", 0.175, 2, "kept", ""),
        (1, 2, "</s>", 0.15, 3, "dropped", "end-rank"),
        (2, 2, "</s>", 0.075, 4, "dropped", "end-rank"),
        (5, 3, "</s>", 0.24, 1, "finished", ""),
        (6, 3, "</s>", 0.105, 2, "finished", ""),
        (6, 3, "B", 0.07, 3, "dropped", reason),
        (5, 3, "A", 0.06, 4, "dropped", reason),
    ]
    assert [(n.parent, n.step, n.piece, n.rank, n.fate, n.reason) for n in tree.nodes] == [
        (parent, step, piece, rank, fate, why) for parent, step, piece, _, rank, fate, why in expected
    ]
    assert [n.score for n in tree.nodes] == pytest.approx([math.log(one[3]) for one in expected], abs=1e-5)
    assert [n.id for n in tree.nodes] == list(range(len(expected)))
    assert tree.stopped == reason and tree.path(9) == (0, 1, 5, 9)
    first, second = tree.finished
    assert (first.node, first.text, first.length, first.rank) == (9, "AA", 3, 1)
    assert (second.node, second.text, second.length, second.rank) == (10, "BB", 3, 2)
    assert first.penalty == pytest.approx((8 / 6) ** 0.6) and first.credit == 0.0
    assert first.final == pytest.approx(math.log(0.24) / (8 / 6) ** 0.6, abs=1e-5)


def test_json_by_hand() -> None:
    recorder = SearchRecorder()
    by_numbers(TableModel(probabilities(TABLE, VOCABULARY)), 1, DecodingSettings(beam=2), recorder)
    written = tree_of(recorder).to_json()
    assert written["nodes"][3] == {
        "id": 3, "parent": 0, "step": 1, "piece": "C", "rank": 3, "fate": "dropped", "reason": "rank",
        "logProbability": pytest.approx(math.log(0.15), abs=1e-5), "score": pytest.approx(math.log(0.15), abs=1e-5),
    }  # fmt: skip
    assert set(written["finished"][0]) == {
        "node", "text", "score", "length", "penalty", "credit", "final", "rank",
    }  # fmt: skip
    head = {"source": "text", "beam": 2, "lengthPenalty": {"alpha": 0.6, "rule": "paper"}, "limit": 53}
    assert {key: written[key] for key in head} == head and written["stopped"] == "enough"


def test_a_target_cut_at_the_limit_is_finished_without_an_end() -> None:
    recorder = SearchRecorder()
    found = by_numbers(
        TableModel(probabilities(TABLE, VOCABULARY)), 1, DecodingSettings(beam=2, best=2, maximum_length=2), recorder
    )
    tree = tree_of(recorder)
    assert [(tree.nodes[one.node].piece, tree.nodes[one.node].reason) for one in tree.finished] == [
        ("A", "cut"), ("B", "cut"),
    ]  # fmt: skip
    assert [one.final for one in tree.finished] == [one.score for one in found]
    assert [one.length for one in tree.finished] == [2, 2] and not any(one.finished for one in found)


def check(recorder: SearchRecorder, key: int, logits: Any, chosen: DecodingSettings) -> None:
    """Holds every node's numbers, fate and reason against what can be recomputed from the others."""
    tree = tree_of(recorder)
    nodes, beam = tree.nodes, chosen.beam
    ended = [one for one in nodes if one.fate == "finished" and one.reason == ""]
    finals = [one.final for one in tree.finished if nodes[one.node] in ended]
    worst = finals[chosen.best - 1] if len(finals) >= chosen.best else -math.inf
    for node, tokens in zip(nodes[1:], recorder.tokens[1:], strict=True):
        parent = nodes[node.parent or 0]
        assert parent.fate == "kept" and node.step == parent.step + 1 == len(tokens)
        assert node.score == pytest.approx(log_probability(logits, key, tokens, ended=False), abs=1e-4)
        assert node.log_probability == node.score - parent.score <= 0
        step = [one for one in nodes if one.step == node.step]
        before = [one for one in step if 0 < one.rank < node.rank]
        going_on = sum(recorder.tokens[one.id][-1] != END for one in before)
        held = {
            "rank": going_on >= beam,
            "end-rank": node.rank > beam,
            "limit": node.step == tree.limit,
            "enough": node.step < tree.limit and len(ended) >= chosen.patience * beam,
            "better": node.step < tree.limit and reach(node, chosen, tree.limit) < worst + 1e-6,
            "cut": node.fate == "finished",
            "": node.fate != "dropped",
        }
        assert held[node.reason], node
        is_end = tokens[-1] == END
        assert is_end == (node.reason == "end-rank" or node in ended)
        if node.fate == "kept" or node.reason in ("limit", "enough", "better", "cut"):
            assert going_on < beam
        if node in ended:
            assert node.rank <= beam
        if node.fate == "kept":
            assert any(one.step == node.step + 1 for one in nodes)
    for number in range(1, nodes[-1].step + 1):
        step = [one for one in nodes if one.step == number and one.rank]
        assert [one.rank for one in step] == list(range(1, len(step) + 1)) and len(step) <= 2 * beam
        assert [one.score for one in step] == sorted((one.score for one in step), reverse=True)
        width = sum(one.fate == "kept" and one.step == number - 1 for one in nodes)
        assert len(step) == min(2 * beam, width * (len(logits(key, ())) - len(SYMBOL_IDS.forbidden)))


def reach(node: SearchNode, chosen: DecodingSettings, limit: int) -> float:
    """The most that a continuation of the node can score."""
    return node.score / length_penalty(limit, chosen.length_penalty, chosen.length_rule)


SETTINGS: list[dict[str, Any]] = [
    {"beam": 4},
    {"beam": 3, "best": 3},
    {"beam": 2, "best": 2, "patience": 2.0, "stopping": "no-better"},
    {"beam": 3, "best": 2, "unfinished": "ranked", "length_penalty": 0.0},
    {"beam": 1},
]


@given(
    seed=st.integers(0, 10**6), vocabulary=st.integers(5, 9), longest=st.integers(1, 8),
    spread=st.sampled_from([0.5, 1.0, 2.0]), changed=st.sampled_from(SETTINGS),
)  # fmt: skip
@settings(max_examples=40)
def test_a_recorded_search_is_the_search(
    seed: int, vocabulary: int, longest: int, spread: float, changed: dict[str, Any]
) -> None:
    """By numbers and by tensors the same tree; its finished nodes are the hypotheses, and all reasons are true."""
    logits, chosen = random_logits(seed, vocabulary, spread), DecodingSettings(maximum_length=longest, **changed)
    trees = []
    for search in (by_numbers, by_tensors):
        recorder = SearchRecorder()
        found = search(TableModel(logits), seed, chosen, recorder)
        assert found == search(TableModel(logits), seed, chosen, None)
        tree = tree_of(recorder)
        best = tree.finished[: chosen.best]
        assert [(one.score, one.final) for one in best] == [(one.log_probability, one.score) for one in found]
        assert [recorder.tokens[one.node] for one in best] == [(*h.tokens, *[END] * h.finished) for h in found]
        check(recorder, seed, logits, chosen)
        trees.append(tree)
    assert trees[0] == trees[1]


@given(seed=st.integers(0, 10**6), longest=st.integers(1, 8))
@settings(max_examples=30)
def test_greedy_search_is_a_chain(seed: int, longest: int) -> None:
    """Also with rules, where greedy search is another loop than beam search."""
    for changed in ({}, {"no_repeat": 1, "patience": 3.0, "unfinished": "ranked"}):
        logits, recorder = random_logits(seed, 9, 1.0), SearchRecorder()
        chosen = DecodingSettings(beam=1, maximum_length=longest, **changed)
        model, given_sources = TableModel(logits), sources([seed], [3])
        (found,) = decode(model, *given_sources, chosen, recorder=recorder)
        (own,) = decode(model, *given_sources, chosen)
        assert found == own
        if not changed:
            assert own == greedy_search(model, *given_sources, chosen)[0]
        kept = [node for node in recorder.nodes if node.fate != "dropped"]
        assert [node.parent for node in kept[1:]] == [node.id for node in kept[:-1]]
        assert {node.parent for node in recorder.nodes[1:]} == {node.id for node in kept if node.fate == "kept"}


def excluded(recorder: SearchRecorder) -> list[tuple[int, ...]]:
    pairs = zip(recorder.nodes, recorder.tokens, strict=True)
    return [tokens for node, tokens in pairs if node.reason == "constraint"]


@given(seed=st.integers(0, 10**6))
@settings(max_examples=25)
def test_what_a_rule_excludes_breaks_it(seed: int) -> None:
    logits, given_sources = random_logits(seed, 8, 1.0), sources([seed], [3])
    plain = {"beam": 3, "best": 3, "maximum_length": 6}
    cases: list[tuple[dict[str, Any], SentenceConstraints, Callable[[tuple[int, ...]], bool]]] = [
        ({"minimum_length": 4}, SentenceConstraints(), lambda one: one[-1] == END and len(one) < 5),
        ({"no_repeat": 1}, SentenceConstraints(), lambda one: one[-1] in one[:-1]),
        ({}, SentenceConstraints(prefix=(A, B)), lambda one: one[:2] != (A, B)[: len(one)]),
    ]
    for changed, constraints, is_broken in cases:
        recorder, chosen = SearchRecorder(), DecodingSettings(**plain, **changed)
        (found,) = decode(TableModel(logits), *given_sources, chosen, [constraints], recorder=recorder)
        assert found == decode(TableModel(logits), *given_sources, chosen, [constraints])[0]
        assert all(map(is_broken, excluded(recorder)))
        allowed = [t for node, t in zip(recorder.nodes, recorder.tokens, strict=True) if node.rank]
        assert not any(map(is_broken, allowed))
    assert excluded(recorder)  # with a prefix of two there are others at both steps


def test_required_phrases_have_a_wider_beam() -> None:
    logits, recorder = random_logits(3, 8, 1.0), SearchRecorder()
    constraints = [SentenceConstraints(required=(((A, B, C, A),),))]
    chosen = DecodingSettings(beam=2, best=2, maximum_length=8)
    (found,) = decode(TableModel(logits), *sources([1], [3]), chosen, constraints, recorder=recorder)
    assert found == decode(TableModel(logits), *sources([1], [3]), chosen, constraints)[0]
    tree = tree_of(recorder)
    assert tree.beam == 5  # a place for each number of tokens of the phrase that are still to come
    assert [one.final for one in tree.finished][:2] == [one.score for one in found]
    assert {node.reason for node in tree.nodes} >= {"constraint", "rank"}


def test_no_target_meets_the_rules() -> None:
    """A may not come twice, and the end not before four tokens: after A nothing goes on."""
    recorder, table = SearchRecorder(), {(): {A: 0.5, END: 0.5}, (A,): {A: 0.25, END: 0.75}}
    chosen = DecodingSettings(beam=2, no_repeat=1, minimum_length=4)
    model = TableModel(probabilities(table, 5))
    assert decode(model, *sources([1], [3]), chosen, recorder=recorder) == [[]]
    tree = tree_of(recorder)
    assert [(n.parent, n.piece, n.fate, n.reason) for n in tree.nodes[1:]] == [
        (0, "A", "kept", ""), (0, "</s>", "dropped", "constraint"),
        (1, "</s>", "dropped", "constraint"), (1, "A", "dropped", "constraint"),
    ]  # fmt: skip
    assert tree.finished == () and tree.stopped == ""
