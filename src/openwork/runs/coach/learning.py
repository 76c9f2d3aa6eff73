"""Checks of padding, masks, the source and the shift of targets, and of learning: first loss and overfitting."""

import math
from dataclasses import replace

import torch

from openwork.base.messages import msg
from openwork.base.symbols import SYMBOL_IDS
from openwork.checks.check import LargestDifference, NotApplicable
from openwork.checks.ways import TOLERANCE, TwoPasses, compare, future, padded, reading
from openwork.decoding.settings import DecodingSettings
from openwork.inference.translator import BatchTranslator
from openwork.inspection.parting import difference
from openwork.runs.coach.trial import GOOD, SECONDS, Observation, Trial, seen

PADDING = 3
FRAMED = msg("it reads start first and predicts the stored targets and end")
FELT = 1e-6  # of the largest number: less than that is no effect
BELOW, ABOVE, TIED = 1.0, 1.5, 3.0  # nats around ln V; the last for an output matrix that is also the embedding
SAID = 0.75  # least share of the batch that greedy search must repeat


def padding(trial: Trial) -> Observation:
    """Padding behind sources, and behind targets, changes nothing; the loss does not count it."""
    source = padded(trial)
    return _as_seen(_target_padded(trial) if source.passed else source)


def no_future(trial: Trial) -> Observation:
    """A later token of the target changes nothing before it."""
    return _as_seen(future(trial))


def source_matters(trial: Trial) -> Observation:
    """Every real piece of a source changes a prediction: the least change of any logit, relative to the largest one."""
    least = float("inf")
    for probe in trial.probes:
        plain = reading(trial, [probe]).logits()
        for place, token in enumerate(probe.source[:-1]):  # without the end symbol
            source = (*probe.source[:place], trial.other(token, target=False), *probe.source[place + 1 :])
            moved = difference(plain, reading(trial, [replace(probe, source=source)]).logits())
            least = min(least, float(moved.max() / plain.abs().max().clamp_min(torch.finfo(torch.float32).tiny)))
    return seen(least > FELT, f"{least:.1e}", f"more than {FELT:.0e}")


def framed(trial: Trial) -> Observation:
    """The decoder reads start and the target; it predicts the target and end, and no padding."""
    batch = trial.batch()
    begins = bool((batch.target_input[:, 0] == SYMBOL_IDS.start).all())
    if batch.real_targets.tolist() != [number for target in trial.targets for number in (*target, SYMBOL_IDS.end)]:
        return seen(False, "it predicts other tokens than the stored targets and end", FRAMED)
    return seen(begins, FRAMED if begins else "it does not read start first", FRAMED)


def shifted(trial: Trial) -> Observation:
    """A token is predicted from all tokens before it, the last one too, and not from itself.

    One token in the middle of each stored target is exchanged, and the batch is made again as a training makes it: the
    predictions of that token, and of all before, must stay as they were; the prediction of the next one must change.
    """
    places, pairs = [len(target) // 2 for target in trial.targets], []
    for row, target, place in zip(trial.rows, trial.targets, places, strict=True):
        changed = [*target[:place], trial.other(target[place]), *target[place + 1 :]]
        pairs.append((trial.store.pair(row)[0].tolist(), changed))
    before, after = trial.batch(), trial.batch(trial.stored(iter(pairs), "exchanged"), range(len(pairs)))
    with torch.inference_mode():
        vectors = [trial.model.project(batch.hidden(trial.model)) for batch in (before, after)]
    apart = difference(*vectors).amax(dim=-1) / vectors[0].abs().max()
    seen_itself, felt_next, first = 0.0, float("inf"), 0
    for target, place in zip(trial.targets, places, strict=True):
        seen_itself = max(seen_itself, float(apart[first : first + place + 1].max()))
        felt_next = min(felt_next, float(apart[first + place + 1]))
        first += len(target) + 1
    return seen(
        seen_itself <= TOLERANCE and felt_next > FELT,
        f"a token moves what predicts it by {seen_itself:.1e}, what predicts the next by {felt_next:.1e}",
        f"at most {TOLERANCE:.0e}, and more than {FELT:.0e}",
    )


def _target_padded(trial: Trial) -> LargestDifference:
    """The logits of real positions, with padding behind the target and without; and whether the loss counts padding."""
    pad = SYMBOL_IDS.pad
    pairs = []
    for probe in trial.probes:
        one = reading(trial, [probe])
        more = torch.tensor([[*probe.target, *[pad] * PADDING]], device=trial.device)
        pairs.append(TwoPasses(one, replace(one, steps=(more,)), probe))
    found, batch = compare(trial, pairs), trial.batch()
    counted = int((batch.real_targets == pad).sum())
    return replace(found, wrong=msg(f"the loss counts {counted} tokens of padding")) if counted else found


def _as_seen(found: LargestDifference) -> Observation:
    return Observation(
        found.difference, found.tolerance, found.spot, found.wrong,
        measured=f"{found.difference:.1e}", expected=f"at most {found.tolerance:.1e}",
    )  # fmt: skip


def initial_loss(trial: Trial) -> Observation:
    """Fresh weights know nothing: about ln V nats a token.

    Logits of variance 1, which `nn/embedding.py` makes, give ln V + 1/2. Where the output matrix is the embedding, the
    piece that was just read is thought likely, by a logit of up to about sqrt(width) / 2: of a hundred pieces that
    costs 2 nats, of thousands next to nothing (measured over our presets: 0.0 to 2.1).
    """
    uniform, first = math.log(trial.tokenizers.target.vocabulary_size), trial.learning.first
    most = TIED if trial.settings.model.tying != "none" else ABOVE
    return seen(
        uniform - BELOW <= first <= uniform + most,
        f"{first:.2f} nats a token",
        f"ln V = {uniform:.2f}, from {BELOW:g} below to {most:g} above",
    )


def overfit(trial: Trial) -> Observation:
    """A model that cannot overfit eight sentences learns no corpus."""
    found = trial.learning
    if found.excess > GOOD and found.seconds > SECONDS:
        raise NotApplicable(f"only {found.updates} updates were made in {SECONDS:g} seconds: too few to tell")
    return seen(
        found.excess <= GOOD,
        f"{found.excess:.3f} nats above the floor {found.floor:.3f} after {found.updates} updates",
        f"at most {GOOD:g} above: {len(trial.rows)} pairs overfitted",
    )


def predicts_freely(trial: Trial) -> Observation:
    """Greedy search repeats what the model has learnt with teacher forcing; pieces are compared, not their text."""
    if trial.learning.excess > GOOD:
        raise NotApplicable("nothing was learnt that could be repeated")
    translator = BatchTranslator(trial.model, trial.tokenizers, DecodingSettings(beam=1))
    found, wanted = translator.translate([trial.pairs[row].source for row in trial.rows]), trial.targets
    right = sum(list(best.pieces) == target for (best, *_), target in zip(found, wanted, strict=True))
    return seen(
        right >= SAID * len(wanted),
        f"{right} of {len(wanted)} said",
        f"at least {math.ceil(SAID * len(wanted))} of {len(wanted)}",
    )
