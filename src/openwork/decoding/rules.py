"""Which tokens may come next, beyond the symbols that never do: one small rule for each wish.

A rule looks at the beginnings of targets, one a row, and marks refused tokens; it keeps nothing between steps, so rows
can be reordered and dropped as a search likes. Probabilities stay those of the model: a rule only takes targets away.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from openwork.decoding.automaton import REFUSED, Automaton, phrase_automaton
from openwork.decoding.constraints import Phrase, SentenceConstraints
from openwork.decoding.phrases import RequiredPhrases
from openwork.decoding.scoring import length_limits
from openwork.decoding.settings import DecodingSettings
from openwork.text.symbols import SymbolIds


@dataclass(frozen=True)
class Beginnings:
    """What the rows hold so far: their sentences, as places in the batch, and their tokens, the start symbol first."""

    sentences: Int[Tensor, "rows"]
    tokens: Int[Tensor, "rows position"]


Rule = Callable[[Tensor, Beginnings], None]
"""Marks in `refused`, booleans (rows, vocabulary), or takes marks of earlier rules away."""


def restrict(
    scores: Float[Tensor, "rows vocabulary"], rules: Sequence[Rule], beginnings: Beginnings
) -> Float[Tensor, "rows vocabulary"]:
    """The scores, minus infinity where the rules refuse a token."""
    if not rules:
        return scores
    refused = torch.zeros_like(scores, dtype=torch.bool)
    for rule in rules:
        rule(refused, beginnings)
    return scores.masked_fill(refused, -torch.inf)


class NoRepeat:
    """No `size` consecutive tokens come twice in a target."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __call__(self, refused: Bool[Tensor, "rows vocabulary"], beginnings: Beginnings) -> None:
        written = beginnings.tokens[:, 1:]
        if written.shape[1] < self.size:
            return
        sequences = written.unfold(1, self.size, 1)
        latest = written[:, written.shape[1] - self.size + 1 :]
        row, place = (sequences[..., :-1] == latest[:, None]).all(-1).nonzero(as_tuple=True)
        refused[row, sequences[row, place, -1]] = True


class Required:
    """No end before the required phrases are there, and no token after which they would not fit any more.

    What continues a phrase under way may repeat what `NoRepeat` refuses; what begins one, where nothing else is left.
    """

    def __init__(
        self, phrases: Sequence[RequiredPhrases | None], limits: Int[Tensor, "batch"], symbols: SymbolIds
    ) -> None:
        self.phrases = phrases
        self.limits = limits.tolist()
        self.symbols = symbols

    def __call__(self, refused: Bool[Tensor, "rows vocabulary"], beginnings: Beginnings) -> None:
        written = beginnings.tokens.shape[1] - 1
        for row, (sentence, tokens) in enumerate(
            zip(beginnings.sentences.tolist(), beginnings.tokens.tolist(), strict=True)
        ):
            if (phrases := self.phrases[sentence]) is None:
                continue
            progress = phrases.progress(tuple(tokens))
            if not phrases.needed(progress):
                continue
            refused[row, self.symbols.end] = True
            refused[row, phrases.continuing(progress)] = False
            room = self.limits[sentence] - written - 2  # after one more token, and before the end symbol
            roomy = phrases.needed(phrases.advance(progress, self.symbols.end)) <= room  # after a token of no phrase
            if not roomy or self._nothing_left(refused[row]):
                refused[row] = True
                for token in phrases.wanted(progress):
                    refused[row, token] = phrases.needed(phrases.advance(progress, token)) > room

    def _nothing_left(self, refused: Bool[Tensor, "vocabulary"]) -> bool:
        """Whether every token is refused, those aside that never come."""
        never = list(self.symbols.forbidden)
        return int(refused.sum() - refused[never].sum()) == refused.shape[0] - len(never)


class Forbidden:
    """What the automata of a sentence refuse."""

    def __init__(self, forbidden: Sequence[Sequence[Phrase | Automaton]], device: torch.device) -> None:
        self.device = device
        users: dict[Phrase | Automaton, list[int]] = {}
        for sentence, items in enumerate(forbidden):
            for item in items:
                users.setdefault(item, []).append(sentence)
        self.users = {item: torch.tensor(sentences, device=device) for item, sentences in users.items()}
        self.automata: dict[Phrase | Automaton, Automaton] = {}

    def __call__(self, refused: Bool[Tensor, "rows vocabulary"], beginnings: Beginnings) -> None:
        for item, sentences in self.users.items():
            rows = torch.isin(beginnings.sentences, sentences).nonzero().squeeze(-1)
            if rows.numel():
                automaton = self._automaton(item, refused.shape[1])
                state = automaton.states(beginnings.tokens[rows, 1:])
                refused[rows] |= automaton.table[state] == REFUSED

    def _automaton(self, item: Phrase | Automaton, vocabulary: int) -> Automaton:
        """Made when the size of the vocabulary is seen."""
        if item not in self.automata:
            made = item if isinstance(item, Automaton) else phrase_automaton(item, vocabulary)
            self.automata[item] = made.to(self.device)
        return self.automata[item]


class Prefix:
    """The target begins as it is told to, whatever the other rules say."""

    def __init__(self, prefixes: Sequence[Phrase], device: torch.device) -> None:
        longest = max(map(len, prefixes))
        rows = [[*prefix, *[-1] * (longest - len(prefix))] for prefix in prefixes]
        self.tokens = torch.tensor(rows, device=device)

    def __call__(self, refused: Bool[Tensor, "rows vocabulary"], beginnings: Beginnings) -> None:
        place = beginnings.tokens.shape[1] - 1
        if place >= self.tokens.shape[1]:
            return
        told = self.tokens[beginnings.sentences, place]
        rows = (told >= 0).nonzero().squeeze(-1)
        refused[rows] = True
        refused[rows, told[rows]] = False


def rules_for(
    settings: DecodingSettings,
    constraints: Sequence[SentenceConstraints] | None,
    source_lengths: Int[Tensor, "batch"],
    symbols: SymbolIds,
) -> tuple[Rule, ...]:
    """The rules that a batch is searched with, one line each; a later one has the last word."""
    device = source_lengths.device
    rules: list[Rule] = []
    if settings.no_repeat:
        rules.append(NoRepeat(settings.no_repeat))
    if not constraints:
        return tuple(rules)
    if any(one.required for one in constraints):
        rules.append(Required(phrases_of(constraints, symbols), length_limits(source_lengths, settings), symbols))
    if any(one.forbidden for one in constraints):
        rules.append(Forbidden([one.forbidden for one in constraints], device))
    if any(one.prefix for one in constraints):
        rules.append(Prefix([one.prefix for one in constraints], device))
    return tuple(rules)


def phrases_of(constraints: Sequence[SentenceConstraints], symbols: SymbolIds) -> list[RequiredPhrases | None]:
    """The required phrases of each sentence; None where there are none."""
    return [RequiredPhrases(one.required, symbols.start) if one.required else None for one in constraints]
