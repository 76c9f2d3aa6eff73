"""The convolutional models: how far they see, where the one with attention looks, and that searches know them.

What all models promise stands in contract.py.
"""

import pytest
import torch
from torch import Tensor

from decoding.rescoring import score
from openwork.decoding.search import decode
from openwork.decoding.settings import DecodingSettings
from openwork.models.build import build_model
from openwork.models.convolutional_settings import ByteNetSettings, ConvS2SSettings, WaveNetSettings
from openwork.models.families import ModelSettings
from openwork.models.prompts import read_prompts
from openwork.nn.convolution import dilations

pytestmark = pytest.mark.slow

SOURCE = torch.tensor([[5, 6, 7, 8, 3], [9, 3, 0, 0, 0], [4, 10, 3, 0, 0]])
LENGTHS = torch.tensor([5, 2, 3])
TARGET = torch.tensor([[2, 4, 5, 6, 7], [2, 12, 4, 4, 9], [2, 8, 9, 10, 11]])
CONVS2S = ConvS2SSettings(width=8, encoder_layers=2, decoder_layers=2, maximum_length=100)
BYTENET = ByteNetSettings(width=8, encoder_layers=3, decoder_layers=3, cycle=2)
WAVENET = WaveNetSettings(width=8, skip_width=8, layers=3, cycle=2)
FAMILIES = [CONVS2S, BYTENET]
ALL = [*FAMILIES, WAVENET]


def build(settings: ModelSettings):
    torch.manual_seed(7)
    return build_model(settings, 13, 13).eval()


def test_weights_of_a_place_add_up_and_the_logits_are_the_steps() -> None:
    model = build(CONVS2S)
    state = model.start(SOURCE, LENGTHS)
    told, state = model.attend(TARGET[:, :2], state)[::2]
    logits, weights, state = model.attend(TARGET[:, 2:], state)
    whole, _ = model.step(TARGET, model.start(SOURCE, LENGTHS))
    torch.testing.assert_close(torch.cat([told, logits], dim=1), whole, rtol=1e-4, atol=1e-5)
    assert weights.shape == (3, 3, 5)
    torch.testing.assert_close(weights.sum(-1), torch.ones(3, 3))
    assert not weights[1, :, 2:].any() and not weights[2, :, 3:].any()
    again, _ = model.step(TARGET[:, 2:], model.step(TARGET[:, :2], model.start(SOURCE, LENGTHS))[1])
    torch.testing.assert_close(again, logits, rtol=1e-4, atol=1e-5)
    empty = model.attend(TARGET, model.start(SOURCE, torch.tensor([5, 0, 3])))[1]
    assert not empty[1].any()


def test_bytenets_source_reaches_beyond_its_end() -> None:
    """Sources of 5, 2 and 3 tokens have 6, 3 and 4 columns: 1.2 n rounded up."""
    state = build(BYTENET).start(SOURCE, LENGTHS)
    assert state.columns.abs().sum(-1).bool().sum(-1).tolist() == [6, 3, 4]
    assert state.columns.shape[1] == 6


def reads(settings: ModelSettings, size: int, place: int) -> tuple[set[int], set[int]]:
    """Source and target positions that the vector at a target place depends on, by the gradients of the embeddings."""
    model = build(settings)
    parts: dict[str, Tensor] = {}
    for name in ("source", "target"):
        embedding = model.get_submodule(f"{name}_embedding")

        def keep(_module: object, _inputs: object, output: Tensor, name: str = name) -> Tensor:
            parts[name] = output.detach().requires_grad_()
            return parts[name]

        embedding.register_forward_hook(keep)
    tokens = torch.full((1, size), 5)
    hidden = model(tokens, torch.tensor([size]), tokens)
    gradients = torch.autograd.grad(hidden[0, place].square().sum(), list(parts.values()))
    source, target = ({int(i) for i in gradient[0].abs().sum(-1).nonzero()} for gradient in gradients)
    return source, target


def test_how_far_convs2s_sees() -> None:
    """All of the source by attention; of the target 1 + 2 x 2 positions, the one that it stands at included."""
    source, target = reads(CONVS2S, 30, 20)
    assert source == set(range(30))
    assert target == set(range(16, 21))


def test_how_far_bytenet_sees() -> None:
    """Dilations 1, 2, 1 of width 3: 9 positions of the target; its columns there saw 4 source positions each way."""
    source, target = reads(BYTENET, 30, 20)
    assert len(target) == 1 + sum(2 * d for d in dilations(3, 2)) == 9
    assert target == set(range(12, 21))
    assert source == set(range(8, 25))


def test_how_far_wavenet_sees() -> None:
    """A convolution of width 2 and dilations 1, 2, 1: 6 positions of the one row that prompt and target are."""
    model = build(WAVENET)
    tokens = torch.full((1, 30), 5)
    embedded: list[Tensor] = []

    def keep(_module: object, _inputs: object, output: Tensor) -> Tensor:
        embedded.append(output.detach().requires_grad_())
        return embedded[-1]

    model.get_submodule("embedding").register_forward_hook(keep)
    state = model.start(tokens, torch.tensor([30]))  # reads START and 28 of 29 tokens
    hidden, _ = model.advance(tokens[:, :3], state)
    prompt, target = torch.autograd.grad(hidden[0, -1].square().sum(), embedded)
    assert prompt[0].abs().sum(-1).nonzero().flatten().tolist() == [26, 27, 28]
    assert target[0].abs().sum(-1).nonzero().flatten().tolist() == [0, 1, 2]
    assert 1 + 1 + sum(dilations(3, 2)) == 6


def test_prompts_stand_on_the_right() -> None:
    prompts = read_prompts(SOURCE, LENGTHS)
    assert prompts.tokens.tolist() == [[2, 5, 6, 7], [0, 0, 0, 2], [0, 0, 2, 4]]
    assert prompts.starts.tolist() == [0, 3, 2] and prompts.pending.tolist() == [8, 9, 10]
    empty = read_prompts(torch.tensor([[3, 0], [0, 0]]), torch.tensor([1, 0]))
    assert empty.tokens.tolist() == [[0], [0]] and empty.starts.tolist() == [1, 1]
    assert empty.pending.tolist() == [2, 2]


@pytest.mark.parametrize("settings", ALL, ids=lambda settings: settings.kind)
@pytest.mark.parametrize("beam", [1, 3])
def test_the_searches_know_these_models(settings: ModelSettings, beam: int) -> None:
    model = build(settings)
    wished = DecodingSettings(beam=beam, best=beam, extra_length=4)
    for row, hypotheses in enumerate(decode(model, SOURCE, LENGTHS, wished)):
        length = LENGTHS[row : row + 1]
        (alone,) = decode(model, SOURCE[row : row + 1, : int(length)], length, wished)
        assert [h.tokens for h in alone] == [h.tokens for h in hypotheses]
        for h in hypotheses:
            again = score(model, SOURCE[row : row + 1], length, [h.tokens], ended=h.finished)
            assert again.item() == pytest.approx(h.log_probability, abs=1e-4)
