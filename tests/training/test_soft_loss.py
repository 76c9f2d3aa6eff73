"""The loss with a teacher's probabilities: by hand, and equal to the cross-entropy that autograd derives."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from openwork.training.batches.batch import SoftTokens, TensorBatch
from openwork.training.loss import Soft, projected_loss


def test_by_hand() -> None:
    # p = 1/2, 1/4, 1/4; the right token is the first, the teacher says 1/2 for it and 1/2 for the last.
    # 1/2 ln 2 + 1/2 (1/2 ln 2 + 1/2 ln 4) = (1/2 + 3/4) ln 2
    logits, right = torch.tensor([[2.0, 1.0, 1.0]]).log(), torch.tensor([0])
    soft = Soft(torch.tensor([[0, 2]]), torch.tensor([[0.5, 0.5]]), 0.5)
    found = projected_loss([torch.ones(1, 1)], logits.T.contiguous(), right, 0.0, soft=soft)
    assert found.smoothed.item() == pytest.approx(1.25 * math.log(2))
    assert found.likelihood.item() == pytest.approx(math.log(2))


@given(st.integers(1, 9), st.integers(3, 12), st.floats(0, 0.5), st.floats(0, 1), st.sampled_from([0.0, 2.0]))
def test_value_and_gradients_are_those_of_the_formula(
    tokens: int, vocabulary: int, smoothing: float, share: float, alpha: float
) -> None:
    generator = torch.Generator().manual_seed(tokens * 100 + vocabulary)
    hidden = [torch.randn(tokens, 5, generator=generator, requires_grad=True) for _ in range(2 if alpha else 1)]
    weight = torch.randn(vocabulary, 5, generator=generator, requires_grad=True)
    right = torch.randint(vocabulary, (tokens,), generator=generator)
    p, ids = torch.randn(tokens, vocabulary, generator=generator).softmax(-1).topk(2)
    p = p / p.sum(-1, keepdim=True)
    q = torch.full((tokens, vocabulary), smoothing / vocabulary).scatter_add(
        1, right[:, None], torch.full((tokens, 1), 1 - smoothing)
    )
    q = (1 - share) * q + share * torch.zeros(tokens, vocabulary).scatter(1, ids, p)
    logs = [(one @ weight.T).log_softmax(-1) for one in hidden]
    expected = torch.stack([-(q * one).sum() for one in logs]).mean()
    if alpha:
        difference = logs[0] - logs[1]
        expected = expected + alpha / 4 * ((logs[0].exp() - logs[1].exp()) * difference).sum()
    found = projected_loss(hidden, weight, right, smoothing, alpha=alpha, soft=Soft(ids, p, share))
    torch.testing.assert_close(found.smoothed, expected, rtol=1e-5, atol=1e-5)
    inputs = (*hidden, weight)
    for ours, theirs in zip(
        torch.autograd.grad(found.smoothed, inputs), torch.autograd.grad(expected, inputs), strict=True
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_parts_of_a_batch_keep_the_teacher_of_their_tokens() -> None:
    real = torch.tensor([0, 1, 3, 4, 5, 6])  # of (3, 3): two, three and one tokens
    batch = TensorBatch(
        torch.ones(3, 2, dtype=torch.long), torch.tensor([2, 2, 2]), torch.ones(3, 3, dtype=torch.long), real,
        torch.arange(10, 16), 3, 6, SoftTokens(torch.arange(10, 16)[:, None], torch.ones(6, 1)),
    )  # fmt: skip
    for part in batch.parts(2):
        assert part.teacher is not None
        assert part.teacher.ids[:, 0].tolist() == part.real_targets.tolist()
