"""What is kept are the weights that the model uses, and the model is as before afterwards."""

import pytest
import torch

from openwork.models.build import build_transformer
from openwork.models.settings import TransformerSettings
from openwork.nn.recording import recording

SETTINGS = TransformerSettings(width=12, heads=3, encoder_layers=2, decoder_layers=2, feedforward_width=20, dropout=0.1)


@pytest.fixture
def model():
    torch.manual_seed(0)
    return build_transformer(SETTINGS, 17, 17).eval()


SOURCE = torch.tensor([[5, 6, 7, 3], [8, 3, 0, 0]])
LENGTHS = torch.tensor([4, 2])
TARGET = torch.tensor([[2, 9, 10], [2, 11, 12]])


def test_the_forward_pass_is_the_same_with_and_without_recording(model):
    with torch.inference_mode():
        plain = model(SOURCE, LENGTHS, TARGET)
        with recording(model) as record:
            recorded = model(SOURCE, LENGTHS, TARGET)
        after = model(SOURCE, LENGTHS, TARGET)
    torch.testing.assert_close(recorded, plain, atol=1e-5, rtol=0)
    assert torch.equal(after, plain)
    assert len(record) == 2 + 2 * 2  # an attention in each encoder layer, two in each decoder layer


def test_weights_of_a_layer_sum_to_one_and_are_none_on_padding(model):
    with recording(model) as record:
        model(SOURCE, LENGTHS, TARGET)
    layers = [record[f"decoder.layers.{layer}.cross_attention"] for layer in range(2)]
    for (weights,) in layers:
        assert weights.shape == (2, 3, 3, 4)
        torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 3))
        assert (weights[1, :, :, 2:] == 0).all()


def test_the_kernels_come_back_after_an_error(model):
    before = [layer.self_attention.kernel for layer in model.encoder.layers]
    with pytest.raises(RuntimeError, match="on purpose"), recording(model):
        raise RuntimeError("on purpose")
    assert [layer.self_attention.kernel for layer in model.encoder.layers] == before
