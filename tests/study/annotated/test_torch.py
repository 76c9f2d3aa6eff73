"""The documents' layers and models are the framework's own with copied weights: 001's pre-norm, 003's post-norm."""

import pytest
import torch
from torch import Tensor, nn

from nn.framework import copy_transformer, disturb
from openwork.nn.normalisation import EPSILON
from openwork.study.annotated import make_model
from openwork.study.annotated.sequence_first import TransformerEncoder, TransformerEncoderLayer
from study.annotated.as_nn import decoder_of, encoder_of

WIDTH, HEADS, INNER, TOLERANCE = 12, 3, 20, 1e-10
LATER = torch.ones(5, 5).triu(1).bool()


def assert_equal(found: Tensor, expected: Tensor) -> None:
    assert found.shape == expected.shape and (found - expected).abs().max().item() <= TOLERANCE


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_the_model_of_001_is_the_frameworks_pre_norm_transformer() -> None:
    torch.manual_seed(0)
    ours = make_model(9, 11, WIDTH, n=2, h=HEADS, d_ff=INNER).double().eval()
    disturb(ours)
    theirs = nn.Transformer(
        WIDTH, HEADS, 2, 2, INNER, layer_norm_eps=EPSILON, batch_first=True, norm_first=True, dtype=torch.float64
    ).eval()
    copy_transformer(encoder_of(ours), decoder_of(ours), theirs)
    src, tgt = torch.randint(1, 9, (3, 6)), torch.randint(1, 11, (3, 5))
    src_mask, tgt_mask = torch.ones(3, 6), torch.ones(3, 5)
    src_mask[1, 4:], tgt_mask[2, 3:] = 0, 0
    # beside the embeddings, the framework has no output layer either
    expected = theirs(
        ours.src_embed(src), ours.tgt_embed(tgt), tgt_mask=LATER, src_key_padding_mask=src_mask == 0,
        tgt_key_padding_mask=tgt_mask == 0, memory_key_padding_mask=src_mask == 0,
    )  # fmt: skip
    found = ours.decode(ours.encode(src, src_mask), src_mask, tgt, tgt_mask)
    assert_equal(found, expected)
    logits = expected @ ours.final_layer.l1.weight.T + ours.final_layer.l1.bias
    assert_equal(ours(src, tgt, src_mask, tgt_mask), logits - logits.logsumexp(-1, keepdim=True))
    layer, framework, x = ours.encoder.layers[0], theirs.encoder.layers[0], ours.src_embed(src)
    assert_equal(layer(x, src_mask), framework(x, src_key_padding_mask=src_mask == 0))
    layer, framework, y = ours.decoder.layers[0], theirs.decoder.layers[0], ours.tgt_embed(tgt)
    assert_equal(layer(y, x, None, None), framework(y, x, tgt_mask=LATER))


def pair() -> tuple[TransformerEncoderLayer, nn.TransformerEncoderLayer]:
    """003's layer and the framework's, both with all that they take by default."""
    torch.manual_seed(0)
    ours = TransformerEncoderLayer(WIDTH, HEADS).double().eval()
    disturb(ours)
    theirs = nn.TransformerEncoderLayer(WIDTH, HEADS, dtype=torch.float64).eval()
    theirs.load_state_dict(ours.state_dict())
    return ours, theirs


MASKS = {
    "none": None,
    "booleans": LATER,
    "infinity": torch.zeros(5, 5).masked_fill(LATER, -torch.inf).double(),
    "a number": torch.zeros(5, 5).masked_fill(LATER, -1e9).double(),
    "by head": torch.stack([LATER, LATER.mT, LATER, LATER, LATER.mT, LATER]),  # (batch * heads, query, key)
}


@pytest.mark.parametrize("name", MASKS)
def test_the_layer_of_003_is_the_frameworks(name: str) -> None:
    ours, theirs = pair()
    src = torch.randn(5, 2, WIDTH, dtype=torch.float64, requires_grad=True)
    assert_equal(ours(src, MASKS[name]), theirs(src, MASKS[name]))


@pytest.mark.parametrize("name", MASKS)
def test_the_encoder_of_003_is_the_frameworks(name: str) -> None:
    layer, framework = pair()
    ours, theirs = TransformerEncoder(layer, 2), nn.TransformerEncoder(framework, 2, enable_nested_tensor=False)
    assert ours.num_layers == len(ours.layers) == 2 and ours.layers[0] is not layer
    src = torch.randn(5, 2, WIDTH, dtype=torch.float64, requires_grad=True)
    assert_equal(ours(src, MASKS[name]), theirs(src, MASKS[name]))
