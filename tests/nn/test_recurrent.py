"""The recurrent encoder and decoder against their equations, step by step."""

import pytest
import torch
from torch import Tensor, nn

from openwork.nn.masks import padding
from openwork.nn.recurrent import CellState, RecurrentEncoder
from openwork.nn.recurrent_decoders import RecurrentDecoder


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(5)


def lstm_step(x: Tensor, h: Tensor, c: Tensor, weights: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """Hochreiter and Schmidhuber's cell with forget gates; gates in torch's order: input, forget, cell, output."""
    w_x, w_h, b = weights
    i, f, g, o = (w_x @ x + w_h @ h + b).chunk(4)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def weights_of(module: nn.Module, suffix: str = "") -> tuple[Tensor, Tensor, Tensor]:
    w = {name: value.detach() for name, value in module.named_parameters()}
    return w["weight_ih" + suffix], w["weight_hh" + suffix], w["bias_ih" + suffix] + w["bias_hh" + suffix]


def test_the_encoder_reads_both_ways_and_stops_at_the_length() -> None:
    encoder = RecurrentEncoder(3, 4, 1, 0.0)
    x = torch.randn(2, 5, 3)
    lengths = [5, 2]
    memory, backward = encoder(x, torch.tensor(lengths))
    for b, length in enumerate(lengths):
        expected = torch.zeros(5, 8)
        for half, suffix, order in ((0, "_l0", range(length)), (4, "_l0_reverse", reversed(range(length)))):
            h = c = torch.zeros(4)
            for t in order:
                h, c = lstm_step(x[b, t], h, c, weights_of(encoder.layers, suffix))
                expected[t, half : half + 4] = h
        torch.testing.assert_close(memory[b], expected)
        torch.testing.assert_close(backward[b], expected[0, 4:])


@pytest.mark.parametrize("layers", [1, 2])
def test_padding_and_neighbours_change_nothing(layers: int) -> None:
    encoder = RecurrentEncoder(3, 4, layers, 0.0)
    x = torch.randn(3, 6, 3)
    lengths = [2, 6, 1]
    memory, backward = encoder(x, torch.tensor(lengths))
    assert memory.shape == (3, 6, 8)
    for b, length in enumerate(lengths):
        alone, state = encoder(x[b : b + 1, :length], torch.tensor([length]))
        torch.testing.assert_close(memory[b, :length], alone[0])
        torch.testing.assert_close(backward[b], state[0])
        assert not memory[b, length:].any()


def test_the_decoder_is_its_equations() -> None:
    width, memory_width, inner = 4, 6, 5
    decoder = RecurrentDecoder(width, memory_width, inner, 1, 0.0)
    values, backward, x = torch.randn(1, 3, memory_width), torch.randn(1, width), torch.randn(1, 2, width)
    memory, state = decoder.start(values, backward, padding(torch.tensor([2]), 3))
    found, last = decoder(x, memory, state)
    w = {name: value.detach() for name, value in decoder.named_parameters()}
    s = torch.tanh(w["bridge.weight"] @ backward[0] + w["bridge.bias"])
    c = torch.zeros(width)
    for i in range(2):
        scores = torch.stack(
            [
                w["attention.score.weight"][0]
                @ torch.tanh(w["attention.query.weight"] @ s + w["attention.key.weight"] @ values[0, j])
                for j in range(2)  # the third is padding
            ]
        )
        context = scores.softmax(0) @ values[0, :2]
        s, c = lstm_step(torch.cat([x[0, i], context]), s, c, weights_of(decoder.first))
        readout = torch.tanh(w["readout.weight"] @ torch.cat([s, context]) + w["readout.bias"])
        torch.testing.assert_close(found[0, i], readout)
    torch.testing.assert_close(last.hidden[0, 0], s)
    torch.testing.assert_close(last.cell[0, 0], c)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_in_pieces_or_at_once(layers: int) -> None:
    decoder = RecurrentDecoder(4, 6, 5, layers, 0.0)
    memory, state = decoder.start(torch.randn(2, 3, 6), torch.randn(2, 4), padding(torch.tensor([3, 1]), 3))
    x = torch.randn(2, 5, 4)
    whole, last = decoder(x, memory, state)
    pieces = []
    for piece in (x[:, :1], x[:, 1:4], x[:, 4:]):
        out, state = decoder(piece, memory, state)
        pieces.append(out)
    torch.testing.assert_close(torch.cat(pieces, dim=1), whole)
    torch.testing.assert_close(state.hidden, last.hidden)
    torch.testing.assert_close(state.cell, last.cell)
    assert last.hidden.shape == (2, layers, 4)


def test_select_reorders_repeats_and_drops() -> None:
    state = CellState(torch.arange(6.0).view(3, 1, 2), torch.zeros(3, 1, 2))
    chosen = state.select(torch.tensor([2, 0, 2, 2]))
    assert chosen.hidden[:, 0].tolist() == [[4, 5], [0, 1], [4, 5], [4, 5]]
    assert state.hidden.shape == (3, 1, 2)


def test_first_weights() -> None:
    cell = RecurrentDecoder(50, 100, 20, 1, 0.0).first
    bound = (6 / (150 + 50)) ** 0.5  # Glorot for one gate: 150 numbers in, 50 out
    assert cell.weight_ih.abs().max() <= bound
    assert cell.weight_ih.abs().max() > 0.95 * bound
    i, f, g, o = (cell.bias_ih + cell.bias_hh).chunk(4)
    assert f.tolist() == [1.0] * 50
    assert not torch.cat([i, g, o]).any()
