"""Which tokens may come next, beyond the symbols that never do: one small rule for each condition.

A rule sees the prefixes of targets, one a row. It keeps nothing between steps, so a search can reorder and drop rows.
Most rules only take targets away: the probabilities of the rest stay those of the model.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.constraints import (
    REFUSED,
    Automaton,
    Phrase,
    RequiredPhrases,
    SentenceConstraints,
    TranscriptForm,
)
from openwork.decoding.scoring import length_limits
from openwork.decoding.settings import DecodingSettings
from openwork.nn.shapes import Lengths, Logits


@dataclass(frozen=True)
class Prefixes:
    """The hypotheses so far, one a row: their sentences, as places in the batch, and tokens with the start symbol."""

    sentences: Int[Tensor, "rows"]
    tokens: Int[Tensor, "rows position"]


class TokenRule:
    """Refuses tokens, or lowers their scores, or both; by itself it does neither."""

    def refuse(self, refused: Bool[Tensor, "rows vocabulary"], prefixes: Prefixes) -> None:
        """Marks in `refused`, or takes marks of earlier rules away."""

    def lower(self, log_probabilities: Logits, prefixes: Prefixes) -> Logits:
        """What the search adds up instead of the log-probabilities."""
        return log_probabilities


def restrict(
    scores: Logits, normaliser: Float[Tensor, "rows 1"], rules: Sequence[TokenRule], prefixes: Prefixes
) -> Logits:
    """The logits `scores`, lowered as the rules want, and minus infinity where they refuse a token."""
    refused = torch.zeros_like(scores, dtype=torch.bool)
    for rule in rules:
        rule.refuse(refused, prefixes)
        if type(rule).lower is not TokenRule.lower:  # subtracting and adding costs time, and a last digit
            lowered = rule.lower(scores - normaliser, prefixes) + normaliser
            scores = lowered.masked_fill(scores == -torch.inf, -torch.inf)
    return scores.masked_fill(refused, -torch.inf)


class Required(TokenRule):
    """No end before the required phrases are there, and no token after which they would not fit any more.

    What continues a phrase under way may repeat what `no_repeat` refuses; what begins one, where nothing else is left.
    """

    def __init__(self, phrases: Sequence[RequiredPhrases | None], limits: Lengths) -> None:
        self.phrases = phrases
        self.limits = limits.tolist()

    def refuse(self, refused: Bool[Tensor, "rows vocabulary"], prefixes: Prefixes) -> None:
        written = prefixes.tokens.shape[1] - 1
        for row, (sentence, tokens) in enumerate(
            zip(prefixes.sentences.tolist(), prefixes.tokens.tolist(), strict=True)
        ):
            if (phrases := self.phrases[sentence]) is None:
                continue
            progress = phrases.progress(tuple(tokens))
            if not phrases.needed(progress):
                continue
            refused[row, SYMBOL_IDS.end] = True
            refused[row, phrases.continuing(progress)] = False
            room = self.limits[sentence] - written - 2  # after one more token, and before the end symbol
            roomy = phrases.needed(phrases.advance(progress, SYMBOL_IDS.end)) <= room  # after a token of no phrase
            if not roomy or self._nothing_left(refused[row]):
                refused[row] = True
                for token in phrases.wanted(progress):
                    refused[row, token] = phrases.needed(phrases.advance(progress, token)) > room

    def _nothing_left(self, refused: Bool[Tensor, "vocabulary"]) -> bool:
        """Whether every token is refused, those aside that never come."""
        never = list(SYMBOL_IDS.forbidden)
        return int(refused.sum() - refused[never].sum()) == refused.shape[0] - len(never)


class Forbidden(TokenRule):
    """What the automata of a sentence refuse."""

    def __init__(self, forbidden: Sequence[Sequence[Automaton]], device: torch.device) -> None:
        users: dict[Automaton, list[int]] = {}
        for sentence, automata in enumerate(forbidden):
            for automaton in automata:
                users.setdefault(automaton, []).append(sentence)
        self.users = [(one.to(device), torch.tensor(sentences, device=device)) for one, sentences in users.items()]

    def refuse(self, refused: Bool[Tensor, "rows vocabulary"], prefixes: Prefixes) -> None:
        for automaton, sentences in self.users:
            rows = torch.isin(prefixes.sentences, sentences).nonzero().squeeze(-1)
            if rows.numel():
                state = automaton.states(prefixes.tokens[rows, 1:])
                refused[rows] |= automaton.table[state] == REFUSED


class Prefix(TokenRule):
    """The target begins with the prefix, whatever the other rules say."""

    def __init__(self, prefixes: Sequence[Phrase], device: torch.device) -> None:
        longest = max(map(len, prefixes))
        rows = [[*prefix, *[-1] * (longest - len(prefix))] for prefix in prefixes]
        self.tokens = torch.tensor(rows, device=device)

    def refuse(self, refused: Bool[Tensor, "rows vocabulary"], prefixes: Prefixes) -> None:
        place = prefixes.tokens.shape[1] - 1
        if place >= self.tokens.shape[1]:
            return
        given = self.tokens[prefixes.sentences, place]
        rows = (given >= 0).nonzero().squeeze(-1)
        refused[rows] = True
        refused[rows, given[rows]] = False


class Transcripts(TokenRule):
    """What may follow the prefix of a transcript: Whisper's suppressed tokens, and its order of timestamps.

    With timestamps a text is `start words end start words end ...`: the first token is a start, a start has words after
    it, an end another start or nothing, and times never fall. Where all timestamps together are more probable than
    any other token, one of them comes. The probabilities are those given the prefix, and that no refused token comes,
    as in Whisper's own code (decoding.py).
    """

    def __init__(self, form: TranscriptForm, prefixes: Sequence[Phrase], device: torch.device) -> None:
        self.settings = form.settings
        self.first = form.settings.timestamps if form.timestamps else None
        self.begins = torch.tensor([len(prefix) for prefix in prefixes], device=device)

    def lower(self, log_probabilities: Logits, prefixes: Prefixes) -> Logits:
        written, begins = prefixes.tokens[:, 1:], self.begins[prefixes.sentences]
        is_free, is_first = (begins[:, None] <= written.shape[1]), (begins[:, None] == written.shape[1])
        refused = torch.zeros_like(log_probabilities, dtype=torch.bool)
        refused[:, list(self.settings.suppressed)] = True
        refused[:, list(self.settings.suppressed_first)] |= is_first
        if self.first is None:
            allowed = log_probabilities.masked_fill(refused, -torch.inf)
        else:
            self._order(refused, written, begins, self.first)
            allowed = log_probabilities.masked_fill(refused, -torch.inf)
            others, times = allowed[:, : self.first], allowed[:, self.first :]
            is_likelier = times.logsumexp(-1, keepdim=True) > others.amax(-1, keepdim=True)
            allowed = torch.cat([others.masked_fill(is_likelier, -torch.inf), times], dim=-1)
        return torch.where(is_free, allowed.log_softmax(-1), 0.0)

    def _order(self, refused: Bool[Tensor, "rows vocabulary"], written: Tensor, begins: Tensor, first: int) -> None:
        """Refuses what breaks the order; `first` is the id of the time 0, and `begins` where each row's text begins."""
        places = torch.arange(written.shape[1], device=written.device)
        is_time = (written >= first) & (places >= begins[:, None])
        last, before = torch.nn.functional.pad(is_time, (2, 0))[:, -2:].unbind(1)[::-1]
        starts = last & (before | (begins + 2 > written.shape[1]))  # the last token is a start, or else an end
        ends = last & ~starts
        end_symbol = refused[:, SYMBOL_IDS.end].clone()
        refused[:, :first] |= ends[:, None]
        refused[:, SYMBOL_IDS.end] = end_symbol
        is_first = begins == written.shape[1]
        refused[:, :first] |= is_first[:, None]
        if self.settings.no_timestamps is not None:
            refused[:, self.settings.no_timestamps] = True
        latest = ((written - first + 1) * is_time).amax(-1, keepdim=True) if len(places) else begins[:, None] * 0
        steps = torch.arange(refused.shape[1] - first, device=written.device)
        refused[:, first:] |= starts[:, None] | (steps < latest - ends[:, None].long())
        if self.settings.latest_start is not None:
            refused[:, first:] |= is_first[:, None] & (steps > self.settings.latest_start)


@dataclass(frozen=True)
class MinimumLength(TokenRule):
    """No end before a target has `length` tokens, the end symbol not counted."""

    length: int

    def refuse(self, refused: Bool[Tensor, "rows vocabulary"], prefixes: Prefixes) -> None:
        written = prefixes.tokens.shape[1] - 1
        if written < self.length:
            refused[:, SYMBOL_IDS.end] = True


@dataclass(frozen=True)
class NoRepeat(TokenRule):
    """No `size` consecutive tokens come twice in a target."""

    size: int

    def refuse(self, refused: Bool[Tensor, "rows vocabulary"], prefixes: Prefixes) -> None:
        written = prefixes.tokens[:, 1:]
        if written.shape[1] < self.size:
            return
        sequences = written.unfold(1, self.size, 1)
        latest = written[:, written.shape[1] - self.size + 1 :]
        row, place = (sequences[..., :-1] == latest[:, None]).all(-1).nonzero(as_tuple=True)
        refused[row, sequences[row, place, -1]] = True


@dataclass(frozen=True)
class RepetitionPenalty(TokenRule):
    """The log-probability of a token that the target holds already counts `strength` times: p becomes p^strength.

    Keskar et al. 2019 (CTRL, section 4.1) divide the logit; but logits have no zero of their own, so that the effect
    of that depends on a constant which changes no probability. On log-probabilities, as searches in common use have
    it, the penalty means the same for every model.
    """

    strength: float

    def lower(self, log_probabilities: Logits, prefixes: Prefixes) -> Logits:
        written = prefixes.tokens[:, 1:]
        return log_probabilities.scatter(1, written, log_probabilities.gather(1, written) * self.strength)


# The keys of the settings that ask for a rule. A new rule is a class, a line here and its key in the settings.
RULES: dict[str, Callable[[Any], TokenRule]] = {
    "no_repeat": NoRepeat,
    "minimum_length": MinimumLength,
    "repetition_penalty": RepetitionPenalty,
}


def rules_for(
    settings: DecodingSettings,
    constraints: Sequence[SentenceConstraints] | None,
    source_lengths: Lengths,
) -> tuple[TokenRule, ...]:
    """The rules that a batch is searched with: the settings', then the constraints; a later one overrides."""
    device = source_lengths.device
    defaults = type(settings).model_fields
    chosen = {key: getattr(settings, key) for key in RULES}
    rules = [RULES[key](value) for key, value in chosen.items() if value != defaults[key].default]
    if not constraints:
        return tuple(rules)
    if any(one.required for one in constraints):
        rules.append(Required(phrases_of(constraints), length_limits(source_lengths, settings)))
    if any(one.forbidden for one in constraints):
        rules.append(Forbidden([one.forbidden for one in constraints], device))
    form = next((one.transcript for one in constraints if one.transcript), None)
    if form is not None:
        rules.append(Transcripts(form, [one.prefix for one in constraints], device))
    if any(one.prefix for one in constraints):
        rules.append(Prefix([one.prefix for one in constraints], device))
    return tuple(rules)


def phrases_of(constraints: Sequence[SentenceConstraints]) -> list[RequiredPhrases | None]:
    """The required phrases of each sentence; None where there are none."""
    return [RequiredPhrases(one.required) if one.required else None for one in constraints]
