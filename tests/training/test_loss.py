"""Label smoothing by hand, the framework's cross-entropy, and the joined projection equal to both."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import cross_entropy

from openwork.models.build import build_model
from openwork.models.settings import TransformerSettings
from openwork.training import loss as loss_module
from openwork.training.batches.batch import TensorBatch
from openwork.training.loss import make_objective, projected_loss, smoothed_cross_entropy
from openwork.training.settings import TrainingSettings


def test_by_hand() -> None:
    # Logits ln 2, ln 1, ln 1 give p = 1/2, 1/4, 1/4; the right token is the first.
    # -log p = ln 2; the mean over the vocabulary is (ln 2 + 2 ln 4) / 3 = 5/3 ln 2.
    # smoothing 0.1: 0.9 ln 2 + 0.1 * 5/3 ln 2 = (0.9 + 1/6) ln 2
    logits, right = torch.tensor([[2.0, 1.0, 1.0]]).log(), torch.tensor([0])
    sums = smoothed_cross_entropy(logits, right, 0.1)
    assert sums.likelihood.item() == pytest.approx(math.log(2))
    assert sums.smoothed.item() == pytest.approx((0.9 + 1 / 6) * math.log(2))
    assert sums.tokens == 1
    # the same logits as a projection: hidden vectors of width 1
    joined = projected_loss([torch.ones(1, 1)], logits.T.contiguous(), right, 0.1)
    assert joined.smoothed.item() == pytest.approx((0.9 + 1 / 6) * math.log(2))
    assert joined.likelihood.item() == pytest.approx(math.log(2))


def test_the_documents_form_by_hand() -> None:
    # The same p = 1/2, 1/4, 1/4, but q = 0.9, 0.05, 0.05: 0.9 ln 2 + 0.1 ln 4 = 1.1 ln 2.
    logits, right = torch.tensor([[2.0, 1.0, 1.0]]).log(), torch.tensor([0])
    plain = smoothed_cross_entropy(logits, right, 0.1, "others")
    joined = projected_loss([torch.ones(1, 1)], logits.T.contiguous(), right, 0.1, form="others")
    for sums in (plain, joined):
        assert sums.smoothed.item() == pytest.approx(1.1 * math.log(2))
        assert sums.likelihood.item() == pytest.approx(math.log(2))
    # a vocabulary of one token leaves nothing to share
    assert smoothed_cross_entropy(torch.zeros(1, 1), right, 0.1, "others").smoothed.item() == 0.0


@pytest.mark.slow
@given(st.integers(1, 9), st.integers(2, 12), st.floats(0.0, 0.9))
def test_both_forms_are_the_cross_entropy_with_their_q(tokens: int, vocabulary: int, smoothing: float) -> None:
    hidden, weight, targets = case(tokens, 5, vocabulary)
    logits = hidden @ weight.T
    for form, others, right in (
        ("vocabulary", smoothing / vocabulary, 1 - smoothing + smoothing / vocabulary),
        ("others", smoothing / (vocabulary - 1), 1 - smoothing),
    ):
        q = torch.full_like(logits, others).scatter(1, targets[:, None], right)
        expected = -(q * logits.log_softmax(-1)).sum()
        gradients = torch.autograd.grad(expected, (hidden, weight), retain_graph=True)
        for sums in (
            smoothed_cross_entropy(logits, targets, smoothing, form),
            projected_loss([hidden], weight, targets, smoothing, form=form),
        ):
            torch.testing.assert_close(sums.smoothed, expected, rtol=1e-4, atol=1e-5)
            found = torch.autograd.grad(sums.smoothed, (hidden, weight), retain_graph=True)
            torch.testing.assert_close(found, gradients, rtol=1e-3, atol=1e-4)


def case(tokens: int, width: int, vocabulary: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(tokens)
    hidden = torch.randn(tokens, width, generator=generator, requires_grad=True)
    weight = torch.randn(vocabulary, width, generator=generator, requires_grad=True)
    return hidden, weight, torch.randint(vocabulary, (tokens,), generator=generator)


@pytest.mark.slow
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@given(st.integers(1, 23), st.integers(1, 7))
def test_value_and_gradients_are_the_references_and_the_frameworks(smoothing: float, tokens: int, rows: int) -> None:
    hidden, weight, targets = case(tokens, 5, 11)
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loss_module, "LOSS_CHUNK", 11 * rows)  # chunks of so many rows, the last one shorter
        joined = projected_loss([hidden], weight, targets, smoothing)
    plain = smoothed_cross_entropy(hidden @ weight.T, targets, smoothing)
    framework = cross_entropy(hidden @ weight.T, targets, reduction="sum", label_smoothing=smoothing)
    assert joined.tokens == plain.tokens == tokens
    torch.testing.assert_close(joined.likelihood.float(), plain.likelihood)
    for value in (joined.smoothed, plain.smoothed, framework):
        gradients = torch.autograd.grad(value / tokens, (hidden, weight), retain_graph=True)
        found.append((value.detach(), *gradients))
    for ours in found[:2]:
        for mine, theirs in zip(ours, found[2], strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)


def test_large_logits_do_not_overflow() -> None:
    sums = projected_loss([torch.tensor([[500.0]])], torch.tensor([[1.0], [-1.0]]), torch.tensor([1]), 0.0)
    assert sums.likelihood.item() == pytest.approx(1000.0)


def test_products_in_bfloat16_are_close() -> None:
    hidden, weight, targets = case(64, 32, 50)
    exact = projected_loss([hidden], weight, targets, 0.1)
    narrow = projected_loss([hidden], weight, targets, 0.1, torch.bfloat16)
    assert narrow.smoothed.item() == pytest.approx(exact.smoothed.item(), rel=0.01)
    for theirs, ours in zip(*(torch.autograd.grad(x.smoothed, (hidden, weight)) for x in (exact, narrow)), strict=True):
        assert ours.dtype is theirs.dtype
        assert (ours - theirs).norm() < 0.02 * theirs.norm()


def test_sums_add_over_parts() -> None:
    hidden, weight, targets = case(10, 4, 9)
    whole = projected_loss([hidden], weight, targets, 0.1)
    parts = [projected_loss([hidden[i : i + 5]], weight, targets[i : i + 5], 0.1) for i in (0, 5)]
    assert sum(part.smoothed.item() for part in parts) == pytest.approx(whole.smoothed.item(), rel=1e-6)
    assert sum(part.tokens for part in parts) == whole.tokens


def test_nothing_costs_nothing() -> None:
    hidden, weight, targets = case(0, 4, 9)
    sums = projected_loss([hidden], weight, targets, 0.1)
    sums.smoothed.backward()
    assert sums.smoothed.item() == 0.0 and weight.grad is not None and not weight.grad.any()


@pytest.mark.parametrize("r_drop", [0.0, 1.0])
def test_the_bias_of_a_model_is_in_its_loss(r_drop: float) -> None:
    """The loss that is joined with the projection, against the model's own logits: the number and the gradients."""
    settings = TransformerSettings(
        width=8, heads=2, encoder_layers=1, decoder_layers=1, feedforward_width=6, dropout=0.0, output_bias=True
    )
    torch.manual_seed(1)
    model = build_model(settings, 9, 9)
    bias = model.output_bias
    assert bias is not None
    bias.detach().copy_(torch.randn(9))
    source, lengths, target = torch.tensor([[5, 6, 3], [4, 3, 0]]), torch.tensor([3, 2]), torch.tensor([[2, 7], [2, 8]])
    right = torch.tensor([7, 3, 8, 3])
    batch = TensorBatch(source, lengths, target, torch.arange(4), right, 2, 5)
    training = TrainingSettings(label_smoothing=0.1, r_drop=r_drop)
    sums = make_objective(training, "float32")(model, batch)
    expected = smoothed_cross_entropy(model.project(model(source, lengths, target)).flatten(0, 1), right, 0.1)
    torch.testing.assert_close(sums.smoothed, expected.smoothed)  # without dropout both passes are one
    found, wanted = (torch.autograd.grad(one.smoothed, (bias, model.output_weight)) for one in (sums, expected))
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
