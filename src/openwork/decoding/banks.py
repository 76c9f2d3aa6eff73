"""Beam search with required phrases: dynamic beam allocation (Post and Vilar 2018).

The hypotheses of a sentence are in banks by the number of tokens that their required phrases still need, and the beam
takes one of each bank in turn. So hypotheses with an early phrase, which are less probable, are kept beside those
without.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from openwork.base.symbols import SymbolIds
from openwork.decoding import rows
from openwork.decoding.beam import Candidates, Expand, Live
from openwork.decoding.constraints import RequiredPhrases
from openwork.decoding.rules import TokenRule
from openwork.decoding.scoring import best_tokens
from openwork.nn.shapes import Logits


class ExpandInBanks(Expand):
    """Candidates are the best tokens and those that begin or continue a phrase, in the order of the banks."""

    def __init__(
        self, symbols: SymbolIds, rules: Sequence[TokenRule], phrases: Sequence[RequiredPhrases | None]
    ) -> None:
        super().__init__(symbols, rules)
        self.phrases = phrases

    def __call__(self, live: Live, logits: Logits, beam: int) -> Candidates:
        width = live.tokens.shape[1]
        scores, normaliser = self.scores(live, logits)
        _, best = best_tokens(scores, 2 * beam)
        wanted = self._wanted(live).to(best.device)
        tokens = torch.cat([best, wanted], dim=-1)
        values = scores.gather(1, tokens) - normaliser
        values[:, best.shape[1] :].masked_fill_((wanted[:, :, None] == best[:, None, :]).any(-1), -torch.inf)
        choices = tokens.shape[1]
        values = rows.unfold(values, width) + live.log_probabilities[..., None]
        tokens = rows.unfold(tokens, width).flatten(1)
        ordered, order = values.flatten(1).sort(dim=-1, descending=True, stable=True)
        parents, tokens = order // choices, tokens.gather(1, order)
        places = self._round_the_banks(live, ordered, parents, tokens).to(order.device)[:, : 2 * beam]
        return Candidates(ordered.gather(1, places), parents.gather(1, places), tokens.gather(1, places))

    def _wanted(self, live: Live) -> Int[Tensor, "rows choice"]:
        """The tokens of phrases for each row, filled up with the padding symbol, which never comes."""
        prefixes = live.prefixes()
        found = []
        for sentence, tokens in zip(prefixes.sentences.tolist(), prefixes.tokens.tolist(), strict=True):
            phrases = self.phrases[sentence]
            found.append(sorted(phrases.wanted(phrases.progress(tuple(tokens)))) if phrases else [])
        most = max(map(len, found))
        return torch.tensor([[*one, *[self.symbols.pad] * (most - len(one))] for one in found], dtype=torch.int64)

    def _round_the_banks(
        self, live: Live, values: Tensor, parents: Tensor, tokens: Tensor
    ) -> Int[Tensor, "sentence candidate"]:
        """The order in which a sentence's candidates, sorted by probability, are taken."""
        orders = []
        for number, sentence in enumerate(live.sentences.tolist()):
            phrases = self.phrases[sentence]
            if phrases is None:
                orders.append(list(range(values.shape[1])))
                continue
            progresses = [phrases.progress(tuple(one)) for one in live.tokens[number].tolist()]
            banks: dict[int, list[int]] = {}
            impossible = []
            for place, (value, parent, token) in enumerate(
                zip(values[number].tolist(), parents[number].tolist(), tokens[number].tolist(), strict=True)
            ):
                if value == -torch.inf:
                    impossible.append(place)
                else:
                    needed = phrases.needed(phrases.advance(progresses[parent], token))
                    banks.setdefault(needed, []).append(place)
            orders.append([*in_turn([banks[needed] for needed in sorted(banks)]), *impossible])
        return torch.tensor(orders)


def in_turn(banks: Sequence[Sequence[int]]) -> list[int]:
    """The first of each bank, then the second of each, and so on; a bank that is empty passes its turn on."""
    longest = max(map(len, banks), default=0)
    return [bank[turn] for turn in range(longest) for bank in banks if turn < len(bank)]
