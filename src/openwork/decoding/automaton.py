"""Finite automata over tokens: they read a target token by token and refuse what would complete a forbidden thing."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

REFUSED = -1


@dataclass(frozen=True, eq=False)
class Automaton:
    """`table[state, token]` is the state after the token, or REFUSED where it may not come; state 0 begins."""

    table: Int[Tensor, "state vocabulary"]

    def states(self, tokens: Int[Tensor, "rows position"]) -> Int[Tensor, "rows"]:
        """The state after each row of tokens; what was refused on the way begins anew."""
        state = tokens.new_zeros(tokens.shape[0])
        for column in tokens.unbind(1):
            state = self.table[state, column].clamp(min=0)
        return state

    def to(self, device: torch.device) -> "Automaton":
        """The same on another device."""
        return Automaton(self.table.to(device))


def matches(phrase: Sequence[int]) -> list[dict[int, int]]:
    """For each number of matched tokens (0 to all but one) the number matched after a token; 0 for tokens left out.

    Matched is the longest beginning of the phrase that what was read ends with (Knuth, Morris and Pratt 1977, as an
    automaton).
    """
    steps: list[dict[int, int]] = []
    behind = 0  # the state of the phrase read from its second token on
    for state, token in enumerate(phrase):
        steps.append({**(steps[behind] if state else {}), token: state + 1})
        if state:
            behind = steps[behind].get(token, 0)
    return steps


def phrase_automaton(phrase: Sequence[int], vocabulary: int) -> Automaton:
    """Refuses the phrase as consecutive tokens."""
    table = torch.zeros(len(phrase), vocabulary, dtype=torch.int64)
    for state, steps in enumerate(matches(phrase)):
        for token, after in steps.items():
            table[state, token] = REFUSED if after == len(phrase) else after
    return Automaton(table)


def text_automaton(text: bytes, pieces: Sequence[bytes]) -> Automaton:
    """Refuses the text however it is cut into pieces: `pieces` are the bytes that each token adds to a target."""
    whole = len(text)
    steps = torch.zeros(whole + 1, 256, dtype=torch.int64)
    for state, known in enumerate(matches(text)):
        for byte, after in known.items():
            steps[state, byte] = after
    steps[whole] = whole  # once found, found
    lengths = torch.tensor([len(piece) for piece in pieces])
    longest = max(len(piece) for piece in pieces)
    columns = torch.tensor([list(piece.ljust(longest, b"\0")) for piece in pieces]).reshape(len(pieces), longest).T
    table = torch.arange(whole)[:, None].expand(whole, len(pieces))
    for place, column in enumerate(columns):
        table = torch.where(lengths > place, steps[table, column], table)
    return Automaton(table.masked_fill(table == whole, REFUSED))
