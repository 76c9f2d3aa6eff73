"""Checks of what makes translating fast: products in eight bits, the compiled step, shortlists."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from openwork.base.symbols import SYMBOL_IDS
from openwork.checks.check import LargestDifference, NotApplicable
from openwork.checks.passes import Pass, reading
from openwork.checks.searches import TOLERANCE, SmallVocabulary
from openwork.checks.subject import VerifyContext
from openwork.decoding.hypothesis import Hypothesis
from openwork.decoding.rescore import score as scored_again
from openwork.decoding.search import decode
from openwork.decoding.settings import DecodingSettings
from openwork.decoding.shortlist import Shortlist, in_whole_vocabulary
from openwork.inference.prepared import can_be_prepared
from openwork.inference.prepared.layers import Make
from openwork.inference.prepared.native import NativeTransformer, can_be_native, problem
from openwork.inference.prepared.products import Product, available, quantised
from openwork.inference.prepared.transformer import PreparedTransformer
from openwork.models.interfaces import StepModel
from openwork.models.seq2seq import Transformer

# Shares of the standard deviation of the logits at a position.
EIGHT_BITS = 0.25  # rounding to 255 steps in every product
ROUNDED_ALIKE = 0.1  # the same rounding twice: where two sums differ in float32, a number may fall on the next step
EACH = 3  # target pieces of each source piece in a shortlist made for the check
SEED = 20170612


def eight_bits(subject: VerifyContext) -> LargestDifference:
    """Products in integers of eight bits give about what those in float32 give, one by one and in the compiled step."""
    model = _eight_bit_transformer(subject)
    ways: list[StepModel[Any]] = [PreparedTransformer(model, "int8")]
    if can_be_native(model):
        ways.append(NativeTransformer(model))
    worst, spot = 0.0, None
    for way in ways:
        for number, probe in enumerate(subject.probes):
            one = reading(subject, [probe])
            apart = _apart(one.logits()[0], replace(one, model=way).logits()[0])
            if spot is None and float(apart.max()) > EIGHT_BITS:
                spot = subject.spot_of_target(probe, number, int((apart > EIGHT_BITS).int().argmax()))
            worst = max(worst, float(apart.max()))
    return LargestDifference(worst, EIGHT_BITS, spot)


def compiled_step(subject: VerifyContext) -> LargestDifference:
    """The compiled step gives what its formula gives: each row rounded by a scale of its own, and exact sums."""
    model = _eight_bit_transformer(subject)
    if reason := problem():
        raise NotApplicable(reason)
    if not can_be_native(model):
        raise NotApplicable("its decoder has parts or sizes that the compiled step does not know")
    native, formula = NativeTransformer(model), RowsInEightBits(model)
    together = reading(subject, subject.probes)
    found, expected = (replace(together, model=way).logits() for way in (native, formula))
    worst, spot = 0.0, None
    for number, probe in enumerate(subject.probes):
        size = len(probe.target)
        apart = _apart(expected[number, :size], found[number, :size])
        if spot is None and float(apart.max()) > ROUNDED_ALIKE:
            spot = subject.spot_of_target(probe, number, int((apart > ROUNDED_ALIKE).int().argmax()))
        worst = max(worst, float(apart.max()))
    return LargestDifference(worst, ROUNDED_ALIKE, spot, _wrong_choice(native, found[:, 0]))


def shortlisted(subject: VerifyContext) -> LargestDifference:
    """A search with a shortlist gives targets of its pieces, as probable as with all other pieces forbidden."""
    if not can_be_prepared(subject.model):
        raise NotApplicable("it translates with the model as it is, which searches the whole vocabulary")
    shortlist = _shortlist(subject)
    together = reading(subject, subject.probes)
    pieces = shortlist.pieces(together.source)
    if set(pieces.tolist()) != _expected_pieces(shortlist, together.source):
        return LargestDifference(0.0, TOLERANCE, wrong=_other_pieces_reason())
    plain = DecodingSettings(beam=4, best=4, maximum_length=subject.within(12))
    worst, spot = 0.0, None
    for model in _ways_with_shortlists(subject):
        small = SmallVocabulary(model, tuple(pieces.tolist()))
        with torch.inference_mode():
            found = decode(model.among(pieces), together.source, together.lengths, plain)
            best = [hypotheses[0] for hypotheses in in_whole_vocabulary(found, pieces)]
            apart = [
                abs(one.log_probability - again)
                for one, again in zip(best, _scored_together(small, together, best), strict=True)
            ]
        if spot is None and max(apart) > TOLERANCE:
            number = apart.index(max(apart))
            spot = subject.spot_of_target(subject.probes[number], number, 0)
        worst = max(worst, *apart)
    return LargestDifference(worst, TOLERANCE, spot)


def _scored_together(model: StepModel[Any], batch: Pass, hypotheses: Sequence[Hypothesis]) -> list[float]:
    """log P of one hypothesis of each sentence, in one batch: rounded to eight bits, a source depends on the others."""
    ended = [scored_again(model, batch.source, batch.lengths, [one.tokens for one in hypotheses], ended=ended).tolist()
             for ended in (False, True)]  # fmt: skip
    return [ended[one.finished][number] for number, one in enumerate(hypotheses)]


class RowsInEightBits(PreparedTransformer):
    """The prepared Transformer whose decoder multiplies by `row_product`: step.cpp in the framework's operations."""

    def __init__(self, model: Transformer) -> None:
        super().__init__(model, "int8")

    def _prepare_steps(self, model: Transformer, make: Make) -> None:
        super()._prepare_steps(model, row_product)


def row_product(weight: Tensor, bias: Tensor | None, rectified: bool = False) -> Product:
    """x W^T + b with each row of x and of W as integers from -127 to 127; their products are added up exactly."""
    integers, scale = quantised(weight)
    exact = integers.double().T

    def product(x: Tensor) -> Tensor:
        greatest = x.abs().amax(-1, keepdim=True)
        numbers = (x * torch.where(greatest > 0, 127 / greatest, 0.0)).round()
        made = ((numbers.double() @ exact).float() * (scale * (greatest / 127))).float()
        made = made if bias is None else made + bias
        return made.relu() if rectified else made

    return product


def _eight_bit_transformer(subject: VerifyContext) -> Transformer:
    if not can_be_prepared(subject.model):
        raise NotApplicable("it translates with the model as it is: only the paper's attention, on a CPU, is prepared")
    if "int8" not in available():
        raise NotApplicable("there are no products of eight bits here")
    assert isinstance(subject.model, Transformer)
    return subject.model


def _ways_with_shortlists(subject: VerifyContext) -> list[PreparedTransformer]:
    """In eight bits only the compiled step: of the framework's products a row depends on its company too."""
    model = subject.model
    assert isinstance(model, Transformer)
    compiled = "int8" in available() and can_be_native(model)
    return [PreparedTransformer(model), *([NativeTransformer(model)] if compiled else [])]


def _apart(expected: Tensor, found: Tensor) -> Tensor:
    """For each position (position,) the root mean square of the difference, as a share of the standard deviation."""
    off = (found - expected).double().square().mean(-1).sqrt() / expected.double().std(-1).clamp(min=1e-6)
    return off.nan_to_num(nan=torch.inf)


def _wrong_choice(native: NativeTransformer, logits: Tensor) -> str:
    """Whether the compiled choice gives the highest logits, lower ids first, and the logarithm of the sum of all."""
    count = min(5, logits.shape[-1])
    scores, ids, normaliser = native.best(logits, torch.zeros(logits.shape[-1]), count)
    expected = logits.sort(dim=-1, descending=True, stable=True)
    same = torch.equal(ids, expected.indices[:, :count]) and torch.equal(scores, expected.values[:, :count])
    apart = float((normaliser[:, 0] - logits.double().logsumexp(-1)).abs().max())
    return "" if same and apart < TOLERANCE else _wrong_choice_reason()


def _shortlist(subject: VerifyContext) -> Shortlist:
    """The symbols, and for each source piece some target pieces by chance."""
    pair = subject.bundle.tokenizers
    generator = torch.Generator().manual_seed(SEED)
    size = (pair.source.vocabulary_size, EACH)
    table = torch.randint(SYMBOL_IDS.end + 1, pair.target.vocabulary_size, size, generator=generator)
    table[::2, -1] = -1  # some have fewer
    return Shortlist(torch.arange(SYMBOL_IDS.end + 1), table, pair.shared)


def _expected_pieces(shortlist: Shortlist, source: Tensor) -> set[int]:
    present = set(source.flatten().tolist())
    chosen = {piece for one in present for piece in shortlist.table[one].tolist() if piece >= 0}
    return chosen | set(shortlist.always.tolist()) | (present if shortlist.shared else set())


def _wrong_choice_reason() -> str:
    return "the compiled choice of the best pieces gives others"


def _other_pieces_reason() -> str:
    return "the pieces that may come are not those of the shortlist"
