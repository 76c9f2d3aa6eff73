"""The recorder of a beam search: the search calls it at each step, and it decides nothing.

A search calls `start` once, `step` after each step and `stop` at its end. What was kept and what is finished is what
the search gives. Only the reason of what was dropped is concluded here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.scoring import Hypothesis, penalty_of
from openwork.decoding.search_tree import FinishedNode, Reason, SearchNode, SearchTree
from openwork.decoding.settings import DecodingSettings

Tokens = tuple[int, ...]


class Considered(NamedTuple):
    """A token after the hypothesis at a place of the beam, and the log-probability (nats) of the whole."""

    parent: int
    token: int
    log_probability: float


@dataclass
class SearchRecorder:
    """Records the search of one sentence; without a call of `start` there was no search."""

    settings: DecodingSettings = field(default_factory=DecodingSettings)
    limit: int = 0
    stopped: Reason = ""
    nodes: list[SearchNode] = field(default_factory=list)
    tokens: list[Tokens] = field(default_factory=list)  # of each node, the start symbol left out
    found: list[Hypothesis] = field(default_factory=list)
    _beam: list[int] = field(default_factory=list)  # the nodes that go on, by their places

    @property
    def has_searched(self) -> bool:
        return bool(self.nodes)

    def start(self, settings: DecodingSettings, limit: int) -> None:
        self.settings, self.limit = settings, limit
        self.nodes.append(SearchNode(0, None, 0, "", 0.0, 0.0, 0))
        self.tokens.append(())
        self._beam = [0]

    def step(
        self,
        candidates: Sequence[Considered],
        survivors: Sequence[tuple[int, int]],
        found: Sequence[Hypothesis],
        unruled: Sequence[Considered] = (),
    ) -> None:
        """Takes the candidates of a step, the most wanted first; `survivors` are places and tokens of those that go on.

        `found`: all hypotheses so far. `unruled`: the candidates that the step would have without rules.
        """
        ended = {one.tokens for one in found[len(self.found) :]}
        self.found, before = list(found), self._beam
        after: dict[tuple[int, int], int] = {}
        possible = [one for one in candidates if one.log_probability > -float("inf")]
        for rank, one in enumerate(possible, start=1):
            node = self._add(before[one.parent], one, rank)
            if one.token != SYMBOL_IDS.end:
                after[one.parent, one.token] = node
                if (one.parent, one.token) not in survivors:
                    self._drop(node, "rank")
            elif self.tokens[before[one.parent]] in ended:
                self.nodes[node] = replace(self.nodes[node], fate="finished")
            else:
                self._drop(node, "end-rank")
        known = {(one.parent, one.token) for one in possible}
        for one in unruled:
            if (one.parent, one.token) not in known and one.log_probability > -float("inf"):
                self._drop(self._add(before[one.parent], one, 0), "constraint")
        self._beam = [after[one] for one in survivors]

    def stop(self, found: Sequence[Hypothesis]) -> None:
        """Ends the record with all hypotheses, those without an end symbol included."""
        self.found = list(found)
        self.stopped = self._reason()
        cut = {one.tokens for one in found if not one.finished}
        for node in self._beam:
            if self.tokens[node] in cut:
                self.nodes[node] = replace(self.nodes[node], fate="finished", reason="cut")
            else:
                self._drop(node, self.stopped)

    def tree(self, source: str, piece: Callable[[int], str], text: Callable[[Tokens], str]) -> SearchTree:
        """The tree of the search: `piece` names a token, `text` is that of a target."""
        names = [piece(SYMBOL_IDS.start), *(piece(tokens[-1]) for tokens in self.tokens[1:])]
        nodes = tuple(replace(node, piece=name) for node, name in zip(self.nodes, names, strict=True))
        places = {tokens: node.id for tokens, node in zip(self.tokens, nodes, strict=True) if node.fate == "finished"}
        ranked = sorted(self.found, key=lambda one: -one.score)  # of equal scores the one found first, as in `best_of`
        finished = []
        for rank, one in enumerate(ranked, start=1):
            length = len(one.tokens) + one.finished
            penalty = penalty_of(length, self.settings)
            node = places[(*one.tokens, *[SYMBOL_IDS.end] * one.finished)]
            credit = one.score - one.log_probability / penalty
            finished.append(
                FinishedNode(node, text(one.tokens), one.log_probability, length, penalty, credit, one.score, rank)
            )
        return SearchTree(
            source, self.settings.beam, self.settings.length_penalty, self.settings.length_rule, self.limit,
            self.stopped, nodes, tuple(finished),
        )  # fmt: skip

    def _add(self, parent: int, one: Considered, rank: int) -> int:
        above, score = self.nodes[parent], one.log_probability
        node = SearchNode(len(self.nodes), parent, above.step + 1, "", score - above.score, score, rank)
        self.nodes.append(node)
        self.tokens.append((*self.tokens[parent], one.token))
        return node.id

    def _drop(self, node: int, reason: Reason) -> None:
        self.nodes[node] = replace(self.nodes[node], fate="dropped", reason=reason)

    def _reason(self) -> Reason:
        """Why nothing goes on, in the order in which a search asks (`is_settled` in `scoring.py`)."""
        if not self._beam:
            return ""
        if self.nodes[self._beam[0]].step >= self.limit:
            return "limit"
        ended = sum(one.finished for one in self.found)
        return "better" if ended < self.settings.patience * self.settings.beam else "enough"
