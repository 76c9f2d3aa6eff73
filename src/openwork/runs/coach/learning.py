"""Checks of learning: the loss of fresh weights, one batch overfitted, and the same batch without the teacher."""

import math

from openwork.checks.check import NotApplicable
from openwork.decoding.settings import DecodingSettings
from openwork.inference.translator import BatchTranslator
from openwork.runs.coach.lesson import Observation, seen
from openwork.runs.coach.trial import GOOD, SECONDS, Trial

BELOW, ABOVE, TIED = 1.0, 1.5, 3.0  # nats around ln V; the last for an output matrix that is also the embedding
SAID = 0.75  # least share of the batch that must be said freely


def initial_loss(trial: Trial) -> Observation:
    """Fresh weights know nothing: about ln V nats a token.

    Logits of variance 1, which `nn/initialise.py` makes, give ln V + 1/2. Where the output matrix is the embedding, the
    piece that was just read is thought likely, by a logit of up to about sqrt(width) / 2: of a hundred pieces that
    costs 2 nats, of thousands next to nothing (measured over our presets: 0.0 to 2.1).
    """
    uniform, first = math.log(trial.tokenizers.target.vocabulary_size), trial.learning.first
    most = TIED if trial.settings.model.tying != "none" else ABOVE
    held = uniform - BELOW <= first <= uniform + most
    return seen(
        held,
        f"{first:.2f} nats a token",
        f"ln V = {uniform:.2f}, from {BELOW:g} below to {most:g} above",
    )


def overfit(trial: Trial) -> Observation:
    """A model that cannot overfit eight sentences learns no corpus."""
    found = trial.learning
    if found.excess > GOOD and found.seconds > SECONDS:
        raise NotApplicable(_too_slow_reason(found.updates))
    return seen(
        found.excess <= GOOD,
        f"{found.excess:.3f} nats above the floor {found.floor:.3f} after {found.updates} updates",
        f"at most {GOOD:g} above: {len(trial.rows)} pairs overfitted",
    )


def _too_slow_reason(updates: int) -> str:
    return f"only {updates} updates were made in {SECONDS:g} seconds: too few to tell"


def said_freely(trial: Trial) -> Observation:
    """What was learnt with the right beginnings given, the model must also say from nothing but the source.

    Compared are pieces, so that this is not about the tokenizer's text.
    """
    if trial.learning.excess > GOOD:
        raise NotApplicable(_not_learnt_reason())
    translator = BatchTranslator(trial.model, trial.tokenizers, DecodingSettings(beam=1))
    said = translator.translate([trial.pairs[row].source for row in trial.rows])
    wanted = [tuple(trial.store.pair(row)[1].tolist()) for row in trial.rows]
    right = sum(best.pieces == target for (best, *_), target in zip(said, wanted, strict=True))
    return seen(
        right >= SAID * len(wanted),
        f"{right} of {len(wanted)} said",
        f"at least {math.ceil(SAID * len(wanted))} of {len(wanted)}",
    )


def _not_learnt_reason() -> str:
    return "nothing was learnt that could be said"
