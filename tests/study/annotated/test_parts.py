"""The named parts are what runs: hooks, subclasses and layers of one's own take effect; weights have their names."""

import pytest
import torch
from torch import Tensor, nn

from openwork.study import annotated
from openwork.study.annotated import sequence_first

SOURCE, TARGET = torch.tensor([[1, 2, 3]]), torch.tensor([[4, 5]])


def model(dropout: float = 0.1) -> annotated.EncoderDecoder:
    torch.manual_seed(2)
    return annotated.make_model(7, 7, 16, n=2, h=2, d_ff=12, dropout=dropout)


def test_a_hook_on_each_part_of_001_fires() -> None:
    subject, called = model(), set()
    for name, part in subject.named_modules():
        part.register_forward_hook(lambda *_, name=name: called.add(name))
    subject(SOURCE, TARGET, None, None)
    # lists are no functions: they are never called, and hold what is
    expected = {name for name, part in subject.named_modules() if not isinstance(part, nn.ModuleList)}
    assert called == expected - {"encoder.layers", "decoder.layers"}
    assert {"encoder.layers.1.self_attn.linears.2", "decoder.layers.0.src_attn.attn.softmax", "final_layer.l1"} < called


def test_a_hook_on_each_part_of_003_fires() -> None:
    called: set[str] = set()
    subject = sequence_first.TransformerEncoder(sequence_first.TransformerEncoderLayer(8, 2, 12), 2)
    for name, part in subject.named_modules():
        part.register_forward_hook(lambda *_, name=name: called.add(name))
    subject(torch.randn(3, 1, 8))
    assert called == {name for name, part in subject.named_modules() if not isinstance(part, nn.ModuleList)}
    parts = ("self_attn", "linear1", "dropout", "linear2", "norm1", "norm2", "dropout1", "dropout2")
    assert {f"layers.1.{part}" for part in parts} < called


def test_a_subclass_of_the_attention_is_heeded() -> None:
    class Nothing(annotated.MultiHeadAttention):
        def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: object = None) -> Tensor:
            return torch.zeros_like(query)

    attention, x = Nothing(2, 8), torch.randn(1, 3, 8)
    layer = annotated.EncoderLayer(8, attention, annotated.FeedForward(8, 12), 0.0).eval()
    torch.testing.assert_close(layer(x, None), layer.sub2(x, layer.feed_forward))
    decoder = annotated.DecoderLayer(8, attention, Nothing(2, 8), annotated.FeedForward(8, 12), 0.0).eval()
    torch.testing.assert_close(decoder(x, x, None, None), decoder.sub3(x, decoder.feed_forward))


def test_layers_of_ones_own() -> None:
    class Adding(nn.Module):
        """Adds 1; takes what the layers of 001 or 003 take."""

        size = 4

        def forward(self, x: Tensor, *_: object, src_mask: object = None) -> Tensor:
            return x + 1

    x = torch.zeros(1, 3, 4)
    assert annotated.Encoder(Adding(), 3)(x, None).shape == (1, 3, 4)
    stack = annotated.Decoder(Adding(), 3)
    stack.norm = nn.Identity()  # type: ignore[assignment]
    assert stack(x, x, None, None).unique().tolist() == [3.0]
    assert sequence_first.TransformerEncoder(Adding(), 2)(x).unique().tolist() == [2.0]


ATTENTION = [*(f"linears.{i}.{kind}" for i in range(3) for kind in ("weight", "bias")), "final_linear.weight"]
NETWORK = ["l1.weight", "l1.bias", "l2.weight", "l2.bias"]
NORM = ["gamma", "beta"]


def names_of_001(layers: int) -> set[str]:
    """The names in the state of 001's model, its fourth projections left out."""
    names = {f"{side}_embed.{part}" for side in ("src", "tgt") for part in ("0.emb.weight", "1.pe")}
    names |= {"final_layer.l1.weight", "final_layer.l1.bias"}
    for stack, attentions, connections in (("encoder", 1, 2), ("decoder", 2, 3)):
        names |= {f"{stack}.norm.{one}" for one in NORM}
        for number in range(layers):
            layer = f"{stack}.layers.{number}"
            names |= {f"{layer}.{part}.{one}" for part in ("self_attn", "src_attn")[:attentions] for one in ATTENTION}
            names |= {f"{layer}.feed_forward.{one}" for one in NETWORK}
            names |= {f"{layer}.sub{i + 1}.norm.{one}" for i in range(connections) for one in NORM}
    return names


def test_the_state_has_the_names_of_001_and_is_loaded_from_it() -> None:
    subject, other = model().eval(), model().eval()
    state = subject.state_dict()
    assert state.keys() == names_of_001(2)
    assert state["src_embed.1.pe"].shape == (1, 5000, 16)
    with torch.no_grad():
        for weight in other.parameters():
            weight.zero_()
    # as the document's code saves it: with a fourth projection in each attention, and a table of positions
    for name in [name for name in state if name.endswith("linears.2.weight")]:
        for kind in ("weight", "bias"):
            state[name.replace("2.weight", f"3.{kind}")] = torch.ones(16, 16)
    other.load_state_dict(state)
    found, expected = (one(SOURCE, TARGET, None, None) for one in (other, subject))
    assert torch.equal(found, expected)


def test_a_state_with_other_names_is_refused() -> None:
    state = model().state_dict()
    state["encoder.layers.0.self_attn.linears.4.weight"] = torch.ones(16, 16)
    with pytest.raises(RuntimeError, match=r"linears\.4\.weight"):
        model().load_state_dict(state)


def test_the_state_of_003_has_the_names_of_the_frameworks_layer() -> None:
    framework = nn.TransformerEncoderLayer(8, 2, 12)
    subject = sequence_first.TransformerEncoderLayer(8, 2, 12)
    shapes = {name: weight.shape for name, weight in framework.state_dict().items()}
    assert {name: weight.shape for name, weight in subject.state_dict().items()} == shapes
    positions = sequence_first.PositionalEncoding(4, 0.0, 6)
    assert positions.state_dict()["pe"].shape == (6, 1, 4)
    positions.load_state_dict(positions.state_dict())


def test_the_output_has_a_log_softmax() -> None:
    output, x = annotated.Output(4, 6), torch.randn(2, 4)
    torch.testing.assert_close(output(x), output.log_softmax(output.l1(x)))
