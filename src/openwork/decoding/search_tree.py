"""The beam search of one sentence as a tree: every continuation that the search looked at, and what became of it."""

from dataclasses import dataclass
from typing import Any, Literal

from openwork.decoding.settings import LengthRule

Fate = Literal["kept", "finished", "dropped"]

Reason = Literal["", "rank", "end-rank", "constraint", "limit", "enough", "better", "cut"]
"""Why a node was dropped, or how it finished.

    rank        `beam` others that go on come before it
    end-rank    it ends, but is not among the best `beam` candidates of its step
    constraint  without rules it is among the candidates; a rule (required, forbidden or repeated texts, a prefix, a
                minimum length) excludes it, or puts others before it
    limit       it would go on, but has as many tokens as a target may have
    enough      it would go on, but enough hypotheses are finished, as `patience` says
    better      it would go on, but no continuation can score as much as the finished hypotheses
    cut         of a finished node: it has no end symbol, and is taken as it is, as the settings say
"""


@dataclass(frozen=True)
class SearchNode:
    """A token after a prefix. The root is the start symbol; the prefix of a node is its path from the root.

    `log_probability` (nats) is what the token added to `score`, the log-probability of the whole path. `rank` is the
    node's place among the candidates of its step, from 1 in the order of the search; 0 of the root and of what a rule
    excluded. `step` is the number of tokens after the start symbol.
    """

    id: int
    parent: int | None
    step: int
    piece: str
    log_probability: float
    score: float
    rank: int
    fate: Fate = "kept"
    reason: Reason = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "parent": self.parent,
            "step": self.step,
            "piece": self.piece,
            "logProbability": self.log_probability,
            "score": self.score,
            "rank": self.rank,
            "fate": self.fate,
            "reason": self.reason,
        }


@dataclass(frozen=True)
class FinishedNode:
    """A hypothesis of the search: final = score / penalty + credit (Wu et al. 2016, equation 14).

    `node`: its last one. `score` (nats): its log-probability. `length`: its tokens, the end symbol included where it
    has one. `credit`: the coverage penalty, never above zero. `rank`: by `final`, from 1.
    """

    node: int
    text: str
    score: float
    length: int
    penalty: float
    credit: float
    final: float
    rank: int

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class SearchTree:
    """The search of one sentence.

    `nodes` are in the order in which the search met them, so a parent comes before its children; their ids are their
    places. `finished` has the best hypothesis first. `limit`: the most tokens of a target. `stopped`: why the search
    ended, one of the reasons of what would have gone on; empty where nothing would.
    """

    source: str
    beam: int
    length_penalty: float
    length_rule: LengthRule
    limit: int
    stopped: Reason
    nodes: tuple[SearchNode, ...]
    finished: tuple[FinishedNode, ...]

    def path(self, node: int) -> tuple[int, ...]:
        """The ids from the root to this node."""
        found: list[int] = []
        here: int | None = node
        while here is not None:
            found.append(here)
            here = self.nodes[here].parent
        return tuple(reversed(found))

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "source": self.source,
            "beam": self.beam,
            "lengthPenalty": {"alpha": self.length_penalty, "rule": self.length_rule},
            "limit": self.limit,
            "stopped": self.stopped,
            "nodes": [node.to_json() for node in self.nodes],
            "finished": [one.to_json() for one in self.finished],
        }
