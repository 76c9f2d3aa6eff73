"""Beam search by its definition, on tables of random logits.

Thousands of steps then cost little, and stopping rules are tested with short and long targets of nearly the same score.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, product

import torch
from torch import Tensor

from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.settings import DecodingSettings, LengthRule

LIMIT, VOCABULARY = 11, 9  # the most tokens of a target; the four symbols, and five pieces
CLOSE = 1e-4  # nats: candidates closer than this may change their order in float32


def penalty(length: int, settings: DecodingSettings) -> float:
    """Length penalty of a target of so many tokens, the end symbol counted: the log-probability is divided by it.

    exp(alpha log((5 + length) / 6)), or exp(alpha log(length)) with the rule "power" (Wu et al. 2016, equation 14).
    """
    base = float(length) if settings.length_rule == "power" else (5.0 + length) / 6.0
    return math.exp(settings.length_penalty * math.log(base))


def score(length: int, log_probability: float, settings: DecodingSettings) -> float:
    """Score of a hypothesis: its log-probability divided by the length penalty."""
    return log_probability / penalty(length, settings)


def next_log_probabilities(logits: Tensor) -> Tensor:
    """log p(token) (..., vocabulary) in double precision; minus infinity for pad, unknown and start."""
    allowed = logits.double().clone()
    allowed[..., list(SYMBOL_IDS.forbidden)] = -torch.inf
    return allowed.log_softmax(-1)


Tokens = tuple[int, ...]


@dataclass(frozen=True)
class TableState:
    """The table of each row, and the number of tokens read."""

    tables: Tensor
    position: int

    def select(self, rows: Tensor) -> "TableState":
        return TableState(self.tables[rows], self.position)


@dataclass(frozen=True)
class Tables:
    """A model that reads its logits from tables (table, position, last token, vocabulary); a source names its table."""

    logits: Tensor

    def start(self, source: Tensor, source_lengths: Tensor) -> TableState:
        return TableState(source[:, 0], 0)

    def step(self, tokens: Tensor, state: TableState) -> tuple[Tensor, TableState]:
        places = torch.arange(tokens.shape[1]) + state.position
        return self.logits[state.tables[:, None], places, tokens], TableState(state.tables, int(places[-1]) + 1)


def cases(length_rule: LengthRule) -> Iterator[DecodingSettings]:
    """Settings of several length penalties, and with each stopping rule."""
    kinds = product((1, 2, 4), (0.0, 0.6, 2.0), (1.0, 2.0), ("enough", "no-better"), ("last", "ranked"))
    for beam, alpha, patience, stopping, unfinished in kinds:
        for best in {1, beam}:
            if beam > 1 or (patience == 1 and unfinished == "last"):  # greedy search (beam 1) has neither
                yield DecodingSettings(
                    beam=beam, best=best, length_penalty=alpha, length_rule=length_rule, patience=patience,
                    stopping=stopping, unfinished=unfinished, maximum_length=LIMIT,
                )  # fmt: skip


def plain_search(table: list[list[list[float]]], settings: DecodingSettings) -> list[tuple[float, Tokens]] | None:
    """The best targets with their scores, the best first; None where candidates are too close to be ordered.

    `table`: log-probabilities by position, last token and next token. A sentence is finished when it has `patience` x
    `beam` finished hypotheses, or at its limit.
    """
    beam, limit = settings.beam, settings.maximum_length
    live: list[tuple[float, Tokens]] = [(0.0, ())]
    finished: list[tuple[float, Tokens]] = []
    for length in range(1, limit + 1):
        candidates = sorted(
            (
                (value + table[length - 1][tokens[-1] if tokens else SYMBOL_IDS.start][token], (*tokens, token))
                for value, tokens in live
                for token in range(VOCABULARY)
                if token not in SYMBOL_IDS.forbidden
            ),
            reverse=True,
        )[: 2 * beam + 1]
        if _are_close([value for value, _ in candidates]):
            return None
        ends = [one for one in candidates[:beam] if one[1][-1] == SYMBOL_IDS.end]
        finished += [(score(length, value, settings), tokens[:-1]) for value, tokens in ends]
        live = [one for one in candidates[: 2 * beam] if one[1][-1] != SYMBOL_IDS.end][:beam]
        if length < limit and len(finished) >= settings.patience * beam:
            worst = sorted(finished, reverse=True)[beam - 1][0]
            if settings.stopping == "enough" or worst >= score(length, live[0][0], settings):
                break
    else:
        if not finished or settings.unfinished == "ranked":
            finished += [(score(limit, value, settings), tokens) for value, tokens in live]
    ranked = sorted(finished, reverse=True)[: settings.best + 1]
    return None if _are_close([value for value, _ in ranked]) else ranked[: settings.best]


def _are_close(values: list[float]) -> bool:
    return any(abs(one - other) < CLOSE for one, other in pairwise(values))
