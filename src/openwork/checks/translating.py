"""Checks of fast translation: products in eight bits, the compiled step, shortlists, drafts."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from openwork.base.phrases import Joined
from openwork.base.symbols import SYMBOL_IDS
from openwork.bundles.quantised import restored, stored
from openwork.checks.check import Differences, LargestDifference, NotApplicable
from openwork.checks.context import VerifyContext
from openwork.checks.searches import LONGEST_TARGET, TOLERANCE, SmallVocabulary
from openwork.checks.ways import Pass, reading
from openwork.decoding.lone import search_one
from openwork.decoding.rescore import score_tokens
from openwork.decoding.scoring import Hypothesis, allow
from openwork.decoding.search import decode
from openwork.decoding.settings import DecodingSettings
from openwork.decoding.speculative import speculative_search
from openwork.inference.prepared import can_be_prepared, types_of
from openwork.inference.prepared.layers import Make
from openwork.inference.prepared.native import NativeTransformer, can_be_native, problem
from openwork.inference.prepared.native.sources import FUNCTIONS
from openwork.inference.prepared.products import Product, available, quantised
from openwork.inference.prepared.transformer import PreparedTransformer
from openwork.inference.shortlists import Shortlist, in_whole_vocabulary
from openwork.machine.native.building import library
from openwork.models.interfaces import StepModel
from openwork.models.seq2seq import Transformer
from openwork.models.weights import model_weights, restore_weights

# Tolerances, as shares of the standard deviation of the logits at a position.
EIGHT_BITS = 0.25  # rounding to 255 steps in every product
FLOATS = 1e-3  # float32 in another order
SAME_ROUNDING = 0.1  # the same rounding twice: two float32 sums that differ may be rounded to neighbouring steps
EACH = 3  # target pieces of each source piece in a shortlist made for the check
SEED = 20170612


def eight_bits(context: VerifyContext) -> LargestDifference:
    """Products in int8 agree roughly with those in float32, one by one and in the compiled step."""
    model = _eight_bit_transformer(context)
    ways: list[StepModel[Any]] = [PreparedTransformer(model, "int8")] if "int8" in available() else []
    if can_be_native(model, "int8"):
        ways.append(NativeTransformer(model, "int8"))
    differences = Differences(EIGHT_BITS)
    for way in ways:
        for number, probe in enumerate(context.probes):
            one = reading(context, [probe])
            _add(differences, context, number, one.logits()[0], replace(one, model=way).logits()[0])
    return differences.result()


def compiled_step(context: VerifyContext) -> LargestDifference:
    """The compiled step agrees with its formula: in float32 the model's; in int8 each row rounded by a scale of its
    own, and exact sums."""
    model = context.model
    if not can_be_prepared(model):
        raise NotApplicable("it translates with the model as it is: only the paper's attention, on a CPU, is prepared")
    assert isinstance(model, Transformer)
    if reason := problem():
        raise NotApplicable(reason)
    if not can_be_native(model):
        raise NotApplicable("the compiled step does not support parts or sizes of its decoder")
    together = reading(context, context.probes)
    native = NativeTransformer(model)
    ways: list[tuple[Any, Any, float]] = [(native, model, FLOATS)]
    if can_be_native(model, "int8"):
        ways.append((NativeTransformer(model, "int8"), RowsInEightBits(model, "int8"), SAME_ROUNDING))
    results = []
    for way, formula, tolerance in ways:
        found, expected = (replace(together, model=one).logits() for one in (way, formula))
        differences = Differences(tolerance)
        for number, probe in enumerate(context.probes):
            size = len(probe.target)
            _add(differences, context, number, expected[number, :size], found[number, :size])
        wrong = _wrong_choice(native, found[:, 0]) or _wrong_search(way, context)
        results.append(differences.result(wrong))
    return max(results, key=lambda one: (not one.passed, one.difference / one.tolerance))


def shortlisted(context: VerifyContext) -> LargestDifference:
    """A search with a shortlist finds targets of its pieces, as probable as with all other pieces forbidden."""
    if not can_be_prepared(context.model):
        raise NotApplicable("it translates with the model as it is, which searches the whole vocabulary")
    shortlist = _shortlist(context)
    together = reading(context, context.probes)
    pieces = shortlist.pieces(together.source)
    present = set(together.source.flatten().tolist())
    expected = {piece for one in present for piece in shortlist.table[one].tolist() if piece >= 0}
    expected |= {*shortlist.always.tolist(), *(present if shortlist.shared else ())}
    if set(pieces.tolist()) != expected:
        wrong = Joined("the allowed pieces are not those of the shortlist")
        return LargestDifference(0.0, TOLERANCE, wrong=wrong)
    plain = DecodingSettings(beam=4, best=4, maximum_length=context.within(12))
    differences = Differences(TOLERANCE)
    for model in _ways_with_shortlists(context):
        small = SmallVocabulary(model, tuple(pieces.tolist()))
        with torch.inference_mode():
            found = decode(model.among(pieces), together.source, together.lengths, plain)
            best = [hypotheses[0] for hypotheses in in_whole_vocabulary(found, pieces)]
            apart = [
                abs(one.log_probability - again)
                for one, again in zip(best, _scored_together(small, together, best), strict=True)
            ]
        number = apart.index(max(apart))
        differences.add(max(apart), partial(context.spot_of_target, context.probes[number], number, 0))
    return differences.result()


def drafted(context: VerifyContext) -> LargestDifference:
    """What greedy search finds with a draft are at each place the most probable tokens, by teacher forcing.

    The draft is the model itself with its weights in four bits, which agrees with it often and not always.
    """
    if not can_be_prepared(context.model):
        raise NotApplicable("it translates with the model as it is, which takes no steps back")
    model = context.model
    assert isinstance(model, Transformer)
    small = deepcopy(model)
    restore_weights(small, restored(stored(model_weights(model), "int4"), "the draft"), "the draft")
    ways = PreparedTransformer(model), PreparedTransformer(small)
    greedy = DecodingSettings(beam=1, maximum_length=context.within(LONGEST_TARGET))
    differences = Differences(TOLERANCE)
    for number, probe in enumerate(context.probes):
        one = reading(context, [probe])
        found = speculative_search(*ways, one.source, one.lengths, greedy)
        outputs = [*found.tokens, SYMBOL_IDS.end] if found.finished else list(found.tokens)
        forced = reading(context, [replace(probe, target=(SYMBOL_IDS.start, *outputs[:-1]))])
        logits = allow(forced.logits()[0])
        chosen = logits.gather(1, torch.tensor(outputs)[:, None])[:, 0]
        apart = logits.amax(-1) - chosen
        place = int(apart.argmax())
        differences.add(float(apart[place]), partial(context.spot_of_target, probe, number, place))
    return differences.result()


def _scored_together(model: StepModel[Any], batch: Pass, hypotheses: Sequence[Hypothesis]) -> list[float]:
    """log P of one hypothesis of each sentence, in one batch."""
    targets = [one.tokens for one in hypotheses]
    ended = [score_tokens(model, batch.source, batch.lengths, targets, ended=ended).sum(-1).tolist()
             for ended in (False, True)]  # fmt: skip
    return [ended[one.finished][number] for number, one in enumerate(hypotheses)]


class RowsInEightBits(PreparedTransformer):
    """A prepared Transformer that multiplies by `row_product`: the formula of the compiled functions, in torch."""

    def _make(self) -> Make:
        return partial(row_product, most_of_two=library(FUNCTIONS).openwork_integer_most_of_two())


def row_product(weight: Tensor, bias: Tensor | None, rectified: bool = False, most_of_two: int = 0) -> Product:
    """x W^T + b with each row of x and of W quantised to integers from -127 to 127, and exact sums of products.

    `most_of_two`: see `quantised`.
    """
    integers, scale = quantised(weight, most_of_two)
    exact = integers.double().T

    def product(x: Tensor) -> Tensor:
        greatest = x.abs().amax(-1, keepdim=True)
        numbers = (x * torch.where(greatest > 0, 127 / greatest, 0.0)).round()
        made = ((numbers.double() @ exact).float() * (scale * (greatest / 127))).float()
        made = made if bias is None else made + bias
        return made.relu() if rectified else made

    return product


def _eight_bit_transformer(context: VerifyContext) -> Transformer:
    if not can_be_prepared(context.model):
        raise NotApplicable("it translates with the model as it is: only the paper's attention, on a CPU, is prepared")
    assert isinstance(context.model, Transformer)
    if "int8" not in types_of(context.model):
        raise NotApplicable("this machine has no int8 products")
    return context.model


def _ways_with_shortlists(context: VerifyContext) -> list[PreparedTransformer]:
    """In int8 only the compiled step: with torch's products a row depends on the rest of its batch too."""
    model = context.model
    assert isinstance(model, Transformer)
    compiled = [NativeTransformer(model, kind) for kind in types_of(model) if can_be_native(model, kind)]
    return [PreparedTransformer(model), *compiled]


def _add(differences: Differences, context: VerifyContext, number: int, expected: Tensor, found: Tensor) -> None:
    """Adds the difference of a probe's logits: the root mean square at a position, over their standard deviation."""
    apart = (found - expected).double().square().mean(-1).sqrt() / expected.double().std(-1).clamp(min=1e-6)
    apart = apart.nan_to_num(nan=torch.inf)
    first = int((apart > differences.tolerance).int().argmax())
    differences.add(float(apart.max()), partial(context.spot_of_target, context.probes[number], number, first))


def _wrong_choice(native: NativeTransformer, logits: Tensor) -> str:
    """A sentence unless the compiled choice gives the highest logits, lower ids first, and the log-sum-exp of all."""
    count = min(5, logits.shape[-1])
    scores, ids, normaliser = native.best(logits, torch.zeros(logits.shape[-1]), count)
    expected = logits.sort(dim=-1, descending=True, stable=True)
    same = torch.equal(ids, expected.indices[:, :count]) and torch.equal(scores, expected.values[:, :count])
    apart = float((normaliser[:, 0] - logits.double().logsumexp(-1)).abs().max())
    return "" if same and apart < TOLERANCE else Joined("the compiled choice of the best pieces gives others")


class StepsOf:
    """The steps of a model and nothing else that it offers."""

    def __init__(self, model: StepModel[Any]) -> None:
        self.start, self.step = model.start, model.step


def _wrong_search(native: NativeTransformer, context: VerifyContext) -> str:
    """A sentence unless the compiled search of one sentence finds what a search by steps finds."""
    plain = DecodingSettings(beam=4, best=4, maximum_length=context.within(LONGEST_TARGET))
    for probe in context.probes:
        one = reading(context, [probe])
        found, wanted = (search_one(way, one.source, one.lengths, plain) for way in (native, StepsOf(native)))
        apart = [abs(a.score - b.score) for a, b in zip(found, wanted, strict=True)]  # equals may change places
        if max(apart, default=0.0) > TOLERANCE:
            return Joined("the compiled search of one sentence finds others")
    return ""


def _shortlist(context: VerifyContext) -> Shortlist:
    """The symbols, and for each source piece some random target pieces."""
    pair = context.bundle.tokenizers
    generator = torch.Generator().manual_seed(SEED)
    size = (pair.source.vocabulary_size, EACH)
    table = torch.randint(SYMBOL_IDS.end + 1, pair.target.vocabulary_size, size, generator=generator)
    table[::2, -1] = -1  # some have fewer
    return Shortlist(torch.arange(SYMBOL_IDS.end + 1), table, pair.shared)
