"""Additive attention: one case by hand, the definition written as loops, and what masks do."""

import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from openwork.nn.masks import padding
from openwork.nn.recurrent_decoders import AdditiveAttention, RecurrentMemory, additive_scores, masked_softmax


def test_by_hand() -> None:
    # Everything has width 1; W_q = W_k = 1, v = 2 ln 3, the query is 0.2. The keys make q + k = artanh(1/2) and
    # artanh(-1/2), so the scores are v/2 = ln 3 and -ln 3; exp gives 3 and 1/3, so the weights are 0.9 and 0.1, and
    # the sum of the values (10, 0) and (20, 100) is (11, 10). The third key is padding.
    attention = AdditiveAttention(1, 1, 1)
    with torch.no_grad():
        attention.query.weight.fill_(1.0)
        attention.key.weight.fill_(1.0)
        attention.score.weight.fill_(2 * math.log(3))
    query = torch.tensor([[[0.2]]])
    memory = torch.tensor([[[math.atanh(0.5) - 0.2], [math.atanh(-0.5) - 0.2], [9.0]]])
    values = torch.tensor([[[10.0, 0.0], [20.0, 100.0], [777.0, 777.0]]])
    context, weights = attention(query, RecurrentMemory(values, attention.keys(memory), padding(torch.tensor([2]), 3)))
    torch.testing.assert_close(weights, torch.tensor([[[0.9, 0.1, 0.0]]]))
    torch.testing.assert_close(context, torch.tensor([[[11.0, 10.0]]]))


@settings(max_examples=20, deadline=None)
@given(*[st.integers(1, 4)] * 4, st.integers(0, 99))
def test_scores_are_the_formula(batch: int, queries: int, keys: int, inner: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    q = torch.randn(batch, queries, inner, generator=generator)
    k = torch.randn(batch, keys, inner, generator=generator)
    v = torch.randn(inner, generator=generator)
    found = additive_scores(q, k, v)
    for b in range(batch):
        for i in range(queries):
            for j in range(keys):
                expected = sum(v[n] * math.tanh(q[b, i, n] + k[b, j, n]) for n in range(inner))
                torch.testing.assert_close(found[b, i, j], torch.as_tensor(expected))


def test_nothing_to_attend_gives_zeros_and_finite_gradients() -> None:
    attention = AdditiveAttention(3, 5, 4)
    memory = torch.randn(2, 6, 5, requires_grad=True)
    mask = padding(torch.tensor([0, 6]), 6)
    context, weights = attention(torch.randn(2, 2, 3), RecurrentMemory(memory, attention.keys(memory), mask))
    assert torch.equal(context[0], torch.zeros(2, 5))
    assert torch.equal(weights[0], torch.zeros(2, 6))
    torch.testing.assert_close(weights[1].sum(-1), torch.ones(2))
    context.sum().backward()
    assert memory.grad is not None and bool(memory.grad.isfinite().all())
    assert torch.equal(memory.grad[0], torch.zeros(6, 5))
    assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in attention.parameters())


def test_weights_do_not_see_what_is_masked() -> None:
    scores = torch.randn(2, 3, 5)
    mask = padding(torch.tensor([2, 5]), 5)[:, 0]
    changed = scores.clone()
    changed[0, :, 2:] = 1e30
    assert torch.equal(masked_softmax(scores, mask), masked_softmax(changed, mask))
    torch.testing.assert_close(masked_softmax(scores, mask)[0, :, :2], scores[0, :, :2].softmax(-1))
