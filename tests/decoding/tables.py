"""A model that is a table: the logits after each beginning are given, so every target can be listed."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.scoring import length_penalty

FIRST = 4  # the first id that is a real token: 0 to 3 are pad, unknown, start and end

Prefix = tuple[int, ...]
Logits = Callable[[int, Prefix], Sequence[float]]


@dataclass(frozen=True)
class TableState:
    """The key of each row's table and the tokens read so far, without the start symbol."""

    keys: tuple[int, ...]
    prefixes: tuple[Prefix, ...]

    def select(self, rows: Tensor) -> "TableState":
        return TableState(
            tuple(self.keys[row] for row in rows.tolist()), tuple(self.prefixes[row] for row in rows.tolist())
        )


class TableModel:
    """`logits(key, prefix)` for each row; the key of a sentence is its first source token. Counts rows in `seen`."""

    def __init__(self, logits: Logits) -> None:
        self.logits = logits
        self.seen: list[int] = []

    def start(self, source: Tensor, source_lengths: Tensor) -> TableState:
        return TableState(tuple(source[:, 0].tolist()), ((),) * source.shape[0])

    def step(self, tokens: Tensor, state: TableState) -> tuple[Tensor, TableState]:
        self.seen.append(tokens.shape[0])
        rows, prefixes = [], []
        for key, prefix, read in zip(state.keys, state.prefixes, tokens.tolist(), strict=True):
            row = []
            for token in read:
                prefix = prefix if token == SYMBOL_IDS.start else (*prefix, token)
                row.append(list(self.logits(key, prefix)))
            rows.append(row)
            prefixes.append(prefix)
        return torch.tensor(rows), TableState(state.keys, tuple(prefixes))


def random_logits(seed: int, vocabulary: int, spread: float, decimals: int = 6) -> Logits:
    """Logits drawn anew for each key and prefix; few decimals make equals. The same for the same arguments."""

    def logits(key: int, prefix: Prefix) -> list[float]:
        generator = torch.Generator().manual_seed(hash((seed, key, prefix)) % 2**31)
        return (torch.randn(vocabulary, generator=generator) * spread).round(decimals=decimals).tolist()

    return logits


def probabilities(table: dict[Prefix, dict[int, float]], vocabulary: int) -> Logits:
    """Logits from a table of next-token probabilities written by hand; what is not in it has probability zero."""

    def logits(key: int, prefix: Prefix) -> list[float]:
        return [math.log(p) if (p := table[prefix].get(token, 0.0)) else -math.inf for token in range(vocabulary)]

    return logits


def log_probability(logits: Logits, key: int, tokens: Prefix, *, ended: bool = True) -> float:
    """log P of a target by the definition, in double precision: forbidden symbols have no share."""
    total = 0.0
    outputs = (*tokens, SYMBOL_IDS.end) if ended else tokens
    for place, token in enumerate(outputs):
        row = {i: x for i, x in enumerate(logits(key, outputs[:place])) if i not in SYMBOL_IDS.forbidden}
        total += row[token] - math.log(sum(math.exp(x) for x in row.values()))
    return total


def targets(vocabulary: int, limit: int) -> Iterator[Prefix]:
    """Every target of at most `limit` tokens, the end symbol counted but not written."""
    for length in range(limit):
        yield from product(range(FIRST, vocabulary), repeat=length)


def exhaustive(
    logits: Logits,
    key: int,
    vocabulary: int,
    limit: int,
    alpha: float,
    keep: Callable[[Prefix], bool] = lambda tokens: True,
) -> list[tuple[float, Prefix]]:
    """Every target that is to be kept with its score, best first."""
    scored = (
        (log_probability(logits, key, tokens) / length_penalty(len(tokens) + 1, alpha), tokens)
        for tokens in targets(vocabulary, limit)
        if keep(tokens)
    )
    return sorted(scored, key=lambda pair: -pair[0])


def holds(tokens: Sequence[int], phrase: Sequence[int]) -> bool:
    """Whether the phrase stands somewhere in the tokens."""
    size = len(phrase)
    return any(tuple(tokens[i : i + size]) == tuple(phrase) for i in range(len(tokens) - size + 1))


def sources(keys: Sequence[int], lengths: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Sources that begin with the given keys, padded to the longest."""
    source = torch.zeros(len(keys), max([*lengths, 1]), dtype=torch.int64)
    source[:, 0] = torch.tensor(keys, dtype=torch.int64)
    return source, torch.tensor(lengths, dtype=torch.int64)
