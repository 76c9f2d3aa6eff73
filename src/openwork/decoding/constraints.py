"""What the target of one sentence must and must not hold, in token ids.

Targets that break a constraint are never proposed; the others keep the probabilities that the model gives them, so
a constrained search looks for the best target among those that are allowed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.settings import TranscriptSettings

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


Phrase = tuple[int, ...]


@dataclass(frozen=True)
class TranscriptForm:
    """The symbols of a transcript, with or without timestamps."""

    settings: TranscriptSettings
    timestamps: bool = False


@dataclass(frozen=True)
class SentenceConstraints:
    """The constraints on the target of one sentence.

    prefix: the tokens that the target begins with.
    required: the ways to write each phrase, one of which appears somewhere as consecutive tokens; phrases may share
        tokens, and a way that begins with the start symbol opens the target.
    forbidden: what refuses tokens.
    transcript: the form of what follows the prefix; the same for all sentences of a batch.
    """

    prefix: Phrase = ()
    required: tuple[tuple[Phrase, ...], ...] = ()
    forbidden: tuple[Automaton, ...] = ()
    transcript: TranscriptForm | None = None


UNCONSTRAINED = SentenceConstraints()

Progress = tuple[int, ...]
"""For each way to write a phrase the number of its tokens that the target ends with; -1 once the phrase is there."""

MET = -1


class RequiredPhrases:
    """The phrases of one sentence.

    `needed` counts the tokens that surely complete all of them: the phrases one after the other, the one that is under
    way first. Where phrases can share tokens, fewer may do; the search may find that, but does not count on it.
    """

    def __init__(self, required: Sequence[Sequence[Phrase]]) -> None:
        start = SYMBOL_IDS.start
        self.groups = [group for group in required if all(group)]  # an empty phrase is everywhere
        self.phrases = [(number, phrase) for number, group in enumerate(self.groups) for phrase in group]
        self.steps = [matches(phrase) for _, phrase in self.phrases]
        # one that begins with the start symbol can begin only at the start
        self.shortest = [
            min((len(phrase) for phrase in group if phrase[0] != start), default=len(group[0])) for group in self.groups
        ]
        self.at_start = self.advance((0,) * len(self.phrases), start)
        self._known: dict[Phrase, Progress] = {(start,): self.at_start}

    def progress(self, tokens: Phrase) -> Progress:
        """After a target's beginning, the start symbol first."""
        known = self._known.get(tokens)
        if known is None:
            known = self._known[tokens] = self.advance(self.progress(tokens[:-1]), tokens[-1])
        return known

    def advance(self, progress: Progress, token: int) -> Progress:
        after = [
            state if state == MET else steps[state].get(token, 0)
            for state, steps in zip(progress, self.steps, strict=True)
        ]
        met = {
            number for (number, phrase), state in zip(self.phrases, after, strict=True) if state in (MET, len(phrase))
        }
        return tuple(MET if number in met else state for (number, _), state in zip(self.phrases, after, strict=True))

    def needed(self, progress: Progress) -> int:
        """Tokens that surely complete all phrases; 0 when they are there."""
        still = {number for (number, _), state in zip(self.phrases, progress, strict=True) if state != MET}
        total = sum(self.shortest[number] for number in still)
        saved = [
            self.shortest[self.phrases[place][0]] - (len(self.phrases[place][1]) - state)
            for place, state in enumerate(progress)
            if state > 0
        ]
        return total - max([0, *saved])

    def continuing(self, progress: Progress) -> list[int]:
        """The tokens that come next in the phrases that are under way."""
        return [phrase[state] for (_, phrase), state in zip(self.phrases, progress, strict=True) if state > 0]

    def wanted(self, progress: Progress) -> set[int]:
        """The tokens that begin or continue a phrase that is still to come."""
        open_steps = (steps[s] for s, steps in zip(progress, self.steps, strict=True) if s != MET)
        return {token for known in open_steps for token in known}
