"""Other ways to expand a beam: diverse groups (Vijayakumar et al. 2016), and banks (Post and Vilar 2018).

Diverse beam search: the beam is in groups, each of which avoids what earlier ones do. At each step the groups choose
one after the other. For a group, a token's log-probability is lowered by `diversity` for each hypothesis of an earlier
group that goes on with this token at this step (Hamming diversity). That decides what is kept; the hypotheses
themselves keep the model's log-probabilities and are ranked by these.

Dynamic beam allocation, for required phrases: the hypotheses of a sentence are in banks by the number of tokens that
their required phrases still need, and the beam takes one of each bank in turn. So hypotheses with an early phrase,
which are less probable, are kept beside those without.
"""

from collections.abc import Sequence
from itertools import zip_longest

import torch
from jaxtyping import Int
from torch import Tensor

from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding import rows
from openwork.decoding.beam import Candidates, Expand, Live, beam_search
from openwork.decoding.constraints import RequiredPhrases, SentenceConstraints
from openwork.decoding.ensemble import Repeated
from openwork.decoding.rules import TokenRule, rules_for
from openwork.decoding.scoring import Hypothesis, best_of, best_tokens
from openwork.decoding.settings import DecodingSettings
from openwork.models.interfaces import StepModel
from openwork.nn.shapes import AnySource, Lengths, Logits


def diverse_search(
    model: StepModel,
    source: AnySource,
    source_lengths: Lengths,
    settings: DecodingSettings,
    constraints: Sequence[SentenceConstraints] | None = None,
) -> list[list[Hypothesis]]:
    """The best of all groups together, each hypothesis once; each group is a beam search of its own."""
    groups, beam = settings.groups, settings.beam // settings.groups
    each = settings.model_copy(update={"beam": beam, "best": beam})
    repeated, lengths = source.repeat_interleave(groups, 0), source_lengths.repeat_interleave(groups, 0)
    rules = rules_for(each, [one for one in constraints or () for _ in range(groups)], lengths)
    expansion = ExpandInGroups(rules, groups, settings.diversity)
    found = beam_search(Repeated(model, groups), repeated, lengths, each, expansion)
    return [_together(found[first : first + groups], settings) for first in range(0, len(found), groups)]


def _together(found: Sequence[Sequence[Hypothesis]], settings: DecodingSettings) -> list[Hypothesis]:
    """The highest score first, of equals the one of the earlier group; unfinished ones as the settings say."""
    distinct = {(one.tokens, one.finished): one for group in reversed(found) for one in reversed(group)}
    finished = any(one.finished for one in distinct.values())
    ranked = settings.unfinished == "ranked"
    kept = [one for one in reversed(distinct.values()) if ranked or one.finished == finished]
    return best_of(kept, settings)


class ExpandInGroups(Expand):
    """Group g of sentence s is row s x groups + g of the batch."""

    def __init__(self, rules: Sequence[TokenRule], groups: int, diversity: float) -> None:
        super().__init__(rules)
        self.groups = groups
        self.diversity = diversity

    def __call__(self, live: Live, logits: Logits, beam: int) -> Candidates:
        width = live.tokens.shape[1]
        scores, normaliser = self.scores(live, logits)
        log_probabilities = rows.unfold(scores - normaliser, width)
        sentences = live.sentences // self.groups
        taken = scores.new_zeros(int(sentences.max()) + 1, scores.shape[1])
        size = min(2 * beam, scores.shape[1]) * width
        values = scores.new_empty(live.sentences.shape[0], size)
        parents, tokens = (live.tokens.new_empty(values.shape) for _ in range(2))
        for group in range(self.groups):
            members = (live.sentences % self.groups == group).nonzero().squeeze(-1)
            own = log_probabilities[members]
            wish = own - self.diversity * taken[sentences[members]][:, None]
            _, best = best_tokens(rows.fold(wish), 2 * beam)
            best = rows.unfold(best, width)
            so_far = live.log_probabilities[members][..., None]
            order = (wish.gather(2, best) + so_far).flatten(1).sort(dim=-1, descending=True, stable=True).indices
            values[members] = (own.gather(2, best) + so_far).flatten(1).gather(1, order)
            parents[members] = order // best.shape[2]
            tokens[members] = best.flatten(1).gather(1, order)
            self._take(taken, sentences[members], tokens[members], values[members], beam)
        kept = slice(None), slice(2 * beam)
        return Candidates(values[kept], parents[kept], tokens[kept])

    def _take(self, taken: Tensor, sentences: Tensor, tokens: Tensor, values: Tensor, beam: int) -> None:
        """Counts the tokens with which a group goes on: those of its first `beam` candidates that do not end."""
        goes_on = (tokens != SYMBOL_IDS.end) & (values > -torch.inf)
        goes_on &= goes_on.cumsum(-1) <= beam
        goes_on[:, 2 * beam :] = False
        taken.index_put_((sentences[:, None].expand_as(tokens), tokens), goes_on.to(taken.dtype), accumulate=True)


class ExpandInBanks(Expand):
    """Candidates are the best tokens and those that begin or continue a phrase, in the order of the banks."""

    def __init__(self, rules: Sequence[TokenRule], phrases: Sequence[RequiredPhrases | None]) -> None:
        super().__init__(rules)
        self.phrases = phrases

    @property
    def is_ruled(self) -> bool:
        return True

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
        return torch.tensor([[*one, *[SYMBOL_IDS.pad] * (most - len(one))] for one in found], dtype=torch.int64)

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
            candidates = zip(*(column[number].tolist() for column in (values, parents, tokens)), strict=True)
            for place, (value, parent, token) in enumerate(candidates):
                if value == -torch.inf:
                    impossible.append(place)
                else:
                    needed = phrases.needed(phrases.advance(progresses[parent], token))
                    banks.setdefault(needed, []).append(place)
            orders.append([*in_turn([banks[needed] for needed in sorted(banks)]), *impossible])
        return torch.tensor(orders)


def in_turn(banks: Sequence[Sequence[int]]) -> list[int]:
    """The first of each bank, then the second of each, and so on; a bank that is empty passes its turn on."""
    return [place for turn in zip_longest(*banks) for place in turn if place is not None]
