"""Attention after the cells, and none: scores by hand, and the decoder against its equations step by step."""

import math

import pytest
import torch
from torch import Tensor

from nn.cells import CELLS, GateWeights, Passed, unroll
from openwork.nn.masks import padding
from openwork.nn.recurrent_decoders import (
    DotAttention,
    GeneralAttention,
    GlobalAttention,
    LuongDecoder,
    NoAttention,
    RecurrentMemory,
)


def memory_of(attention: GlobalAttention, values: Tensor, lengths: list[int]) -> RecurrentMemory:
    mask = padding(torch.tensor(lengths), values.shape[1])
    return RecurrentMemory(values[..., : attention.context_width], attention.keys(values), mask)


# The query (ln 3, 1) gives the first two keys the scores ln 3 and 0, so weights 3/4 and 1/4; the third is padding.
QUERY = torch.tensor([[[math.log(3), 1.0]]])
KEYS = torch.tensor([[[1.0, 0.0], [0.0, 0.0], [9.0, 9.0]]])


def test_dot_by_hand() -> None:
    attention = DotAttention(2)
    context, weights = attention(QUERY, memory_of(attention, KEYS, [2]))
    torch.testing.assert_close(weights, torch.tensor([[[0.75, 0.25, 0.0]]]))
    torch.testing.assert_close(context, torch.tensor([[[0.75, 0.0]]]))


def test_general_by_hand() -> None:
    attention = GeneralAttention(2, 3)
    with torch.no_grad():  # W_a takes the third number of a memory to the first of a query
        attention.key.weight.copy_(torch.tensor([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]))
    values = torch.tensor([[[5.0, 4.0, 1.0], [7.0, 8.0, 0.0], [9.0, 9.0, 9.0]]])
    context, weights = attention(QUERY, memory_of(attention, values, [2]))
    torch.testing.assert_close(weights, torch.tensor([[[0.75, 0.25, 0.0]]]))
    torch.testing.assert_close(context, torch.tensor([[[5.5, 5.0, 0.75]]]))


def test_no_attention_looks_at_all_alike_and_sees_nothing() -> None:
    attention = NoAttention()
    context, weights = attention(torch.randn(3, 2, 5), memory_of(attention, torch.randn(3, 4, 7), [4, 1, 0]))
    assert context.shape == (3, 2, 0)
    assert weights[0].tolist() == [[0.25] * 4] * 2
    assert weights[1].tolist() == [[1.0, 0.0, 0.0, 0.0]] * 2
    assert not weights[2].any()


@pytest.mark.parametrize("attention", [DotAttention(4), GeneralAttention(4, 6)], ids=["dot", "general"])
def test_nothing_to_attend_gives_zeros_and_finite_gradients(attention: DotAttention) -> None:
    values = torch.randn(2, 3, attention.context_width, requires_grad=True)
    context, weights = attention(torch.randn(2, 2, 4), memory_of(attention, values, [0, 3]))
    assert not context[0].any() and not weights[0].any()
    torch.testing.assert_close(weights[1].sum(-1), torch.ones(2))
    context.sum().backward()
    assert values.grad is not None and bool(values.grad.isfinite().all()) and not values.grad[0].any()


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("attention", ["general", "none"])
def test_the_decoder_is_its_equations(cell: str, attention: str) -> None:
    torch.manual_seed(5)
    kind, width, memory_width = CELLS[cell], 4, 6
    looking = GeneralAttention(width, memory_width) if attention == "general" else NoAttention()
    decoder = LuongDecoder(width, 3, 2, 0.0, looking, cell)
    values, whole, x = torch.randn(2, 3, memory_width), torch.randn(2, 3), torch.randn(2, 5, width)
    memory, state = decoder.start(values, whole, padding(torch.tensor([2, 3]), 3))
    found, last = decoder(x, memory, state)
    w = {name: value.detach() for name, value in decoder.named_parameters()}
    inner = (whole @ w["bridge.weight"].T + w["bridge.bias"]).view(2, 2, width)
    s, ends = x, []
    for layer in range(2):
        first = Passed(inner[:, layer].tanh(), inner[:, layer] if cell == "lstm" else None)
        s, end = unroll(kind, s.unbind(1), first, GateWeights.of(decoder.stack, f"_l{layer}"))
        ends.append(end)
    for row, length in enumerate([2, 3]):
        for place in range(5):
            seen = s[row, place]
            if attention == "general":
                scores = torch.stack([seen @ w["attention.key.weight"] @ values[row, j] for j in range(length)])
                seen = torch.cat([seen, scores.softmax(0) @ values[row, :length]])
            torch.testing.assert_close(found[row, place], (w["readout.weight"] @ seen + w["readout.bias"]).tanh())
    torch.testing.assert_close(last.hidden, torch.stack([end.hidden for end in ends], dim=1))
    assert (last.cell is None) == (cell != "lstm")
    if last.cell is not None:
        torch.testing.assert_close(last.cell, torch.stack([end.cell for end in ends], dim=1))  # type: ignore[arg-type]
