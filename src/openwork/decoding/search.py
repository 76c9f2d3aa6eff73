"""The search that the settings ask for."""

from collections.abc import Sequence

import torch
from torch import Tensor

from openwork.decoding.beam import Expand, beam_search
from openwork.decoding.constraints import SentenceConstraints
from openwork.decoding.ensemble import CoverageModel
from openwork.decoding.expansions import ExpandInBanks, diverse_search
from openwork.decoding.left_to_right import OnToken, greedy_search, sample
from openwork.decoding.lone import search_one
from openwork.decoding.rules import phrases_of, rules_for
from openwork.decoding.scoring import GivenUp, Hypothesis, length_limits, nothing_given_up
from openwork.decoding.search_recorder import SearchRecorder
from openwork.decoding.settings import DecodingSettings
from openwork.models.interfaces import StepModel
from openwork.nn.shapes import AnySource, Lengths

# The beam grows with the tokens of required phrases up to here; with more of them, banks share the places.
MOST_BANKS = 32
NO_BANKS = 0
GREEDY = {"patience": 1.0, "stopping": "enough", "unfinished": "last"}  # greedy search ends with its first end symbol


def decode(
    model: StepModel,
    source: AnySource,
    source_lengths: Lengths,
    settings: DecodingSettings,
    constraints: Sequence[SentenceConstraints] | None = None,
    on_token: OnToken | None = None,
    given_up: GivenUp = nothing_given_up,
    recorder: SearchRecorder | None = None,
) -> list[list[Hypothesis]]:
    """For each sentence its hypotheses, best first (samples: as they were drawn).

    `constraints` are those of each sentence. A sentence whose constraints no target can meet within its length limit
    has no hypothesis. The texts in the settings are ignored: the caller makes constraints of them.
    `on_token` gets each token as it is chosen, in greedy search and sampling; a beam settles nothing so soon.
    Sentences that are `given_up` leave the batch at the next step, except among diverse groups and required phrases;
    what they have by then is no result.
    `recorder` gets what the search of one sentence does, unless it is sampled or has diverse groups.
    """
    if settings.samples:
        return sample(model, source, source_lengths, settings, constraints, on_token, given_up)
    if settings.groups > 1:
        return diverse_search(model, source, source_lengths, settings, constraints)
    if constraints and any(one.required for one in constraints):
        return _by_banks(model, source, source_lengths, settings, constraints, recorder)
    rules = rules_for(settings, constraints, source_lengths)
    # for one sentence plain numbers are faster than tensors, where the numbers are at hand
    is_lone = source.shape[0] == 1 and source.device.type == "cpu"
    if is_lone and not rules and on_token is None and not settings.coverage_penalty:
        return [search_one(model, source, source_lengths, settings, given_up, recorder)]
    if settings.beam == 1:
        if recorder is None:
            return greedy_search(model, source, source_lengths, settings, rules, on_token, given_up)
        settings = settings.model_copy(update=GREEDY)  # a beam of one finds the same, and can be recorded
    return _beam(model, source, source_lengths, settings, Expand(rules, model), given_up, recorder)


def _beam(
    model: StepModel,
    source: Tensor,
    lengths: Tensor,
    settings: DecodingSettings,
    expansion: Expand,
    given_up: GivenUp = nothing_given_up,
    recorder: SearchRecorder | None = None,
) -> list[list[Hypothesis]]:
    if not settings.coverage_penalty:
        return beam_search(model, source, lengths, settings, expansion, given_up=given_up, recorder=recorder)
    watched = CoverageModel(model, settings.coverage_penalty)
    return beam_search(watched, source, lengths, settings, expansion, watched.credit, given_up, recorder)


def _by_banks(
    model: StepModel,
    source: Tensor,
    source_lengths: Tensor,
    settings: DecodingSettings,
    constraints: Sequence[SentenceConstraints],
    recorder: SearchRecorder | None = None,
) -> list[list[Hypothesis]]:
    """Required phrases widen the beam to a place for each bank; sentences of one width are searched together."""
    widths: dict[int, list[int]] = {}
    limits = length_limits(source_lengths, settings).tolist()
    for sentence, phrases in enumerate(phrases_of(constraints)):
        needed = phrases.needed(phrases.at_start) if phrases else 0
        if needed < limits[sentence]:  # with the end symbol; otherwise no target can hold the phrases
            width = max(settings.beam, min(1 + needed, MOST_BANKS)) if phrases else NO_BANKS
            widths.setdefault(width, []).append(sentence)
    found: list[list[Hypothesis]] = [[] for _ in constraints]
    for width, sentences in widths.items():
        places = torch.tensor(sentences, device=source.device)
        own = [constraints[sentence] for sentence in sentences]
        batch = source[places], source_lengths[places]
        if width != NO_BANKS:
            wide = settings.model_copy(update={"beam": width})
            expansion = ExpandInBanks(rules_for(wide, own, batch[1]), phrases_of(own))
            results = _beam(model, *batch, wide, expansion, recorder=recorder)
        else:
            results = decode(model, *batch, settings, own, recorder=recorder)
        for sentence, one in zip(sentences, results, strict=True):
            found[sentence] = one
    return found
