"""Each choice has its parts and its effect, is explained where it stands, and leaves the paper's model as it was."""

from typing import Any, get_args

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from openwork.base.errors import ConfigError
from openwork.decoding.search import decode
from openwork.decoding.settings import DecodingSettings
from openwork.models.build import build_model, build_transformer
from openwork.models.families import model_settings
from openwork.models.interfaces import count_weights
from openwork.models.parts import CONNECTIONS, DISTANCES, FEEDFORWARDS, NORMS, PATTERNS, POSITIONS, SCORE_FUNCTIONS
from openwork.models.seq2seq import Transformer
from openwork.models.settings import TransformerSettings
from openwork.nn.kernels import Kernel, fused, reference
from openwork.nn.recording import recording

pytestmark = pytest.mark.slow

SMALL: dict[str, Any] = {"width": 12, "heads": 2, "feedforward_width": 20, "encoder_layers": 2, "decoder_layers": 2}
SOURCE, LENGTHS = torch.tensor([[5, 6, 7, 8, 3], [9, 4, 3, 0, 0]]), torch.tensor([5, 3])
TARGET = torch.tensor([[2, 4, 5, 6, 7], [2, 12, 4, 4, 9]])
OPTIONS: dict[str, dict[str, Any]] = {
    "learned": {"positions": "learned"},
    "rotary": {"positions": "rotary"},
    "alibi": {"positions": "alibi"},
    "relative": {"positions": "relative"},
    "relative, clipped": {"positions": "relative", "relative_distance": 1},
    "bucketed": {"positions": "bucketed"},
    "none": {"positions": "none"},
    "rms": {"normalisation": "rms"},
    "batch": {"normalisation": "batch"},
    "pre": {"norm": "pre"},
    "multi-query": {"key_value_heads": 1},
    "projected": {"embedding_width": 8},
    "branch": {"norm": "branch"},
    "without norms": {"norm": "none"},
    "without residuals": {"norm": "no-residual"},
    "unscaled products": {"attention": "unscaled"},
    "rectified": {"attention": "relu"},
    "additive": {"attention": "additive"},
    "linear": {"attention": "linear"},
    "window": {"attention_pattern": "window", "attention_window": 1, "global_tokens": 0},
    "blocks": {
        "attention_pattern": "blocks",
        "attention_block": 2,
        "attention_window": 2,
        "global_tokens": 1,
        "random_blocks": 0,
    },
    "low rank": {"attention_pattern": "low-rank", "mixtures": 2, "positions": "learned", "maximum_length": 24},
    "shared layers": {"layer_sharing": True},
    "shared, projected": {"layer_sharing": True, "embedding_width": 6, "encoder_layers": 3},
    "factorised": {"feedforward_rank": 3},
    "factorised and gated": {"feedforward_rank": 3, "feedforward": "swiglu"},
    "gelu": {"feedforward": "gelu"},
    "swish": {"feedforward": "swish"},
    "another epsilon": {"norm_epsilon": 0.1},
    "unscaled": {"embedding_scale": False},
    "embedding norm": {"embedding_norm": True},
    "output bias": {"output_bias": True},
    "glu": {"feedforward": "glu"},
    "reglu": {"feedforward": "reglu"},
    "geglu": {"feedforward": "geglu"},
    "swiglu": {"feedforward": "swiglu"},
}


def build(changes: dict[str, Any], kernel: Kernel = fused.attention) -> Transformer:
    """The same numbers wherever a part of the same name and shape is: what differs then is the option's doing."""
    torch.manual_seed(2)
    model = build_transformer(TransformerSettings.model_validate(SMALL | changes), 13, 13, kernel)
    for name, weight in model.named_parameters():
        generator = torch.Generator().manual_seed(sum(name.encode()))
        noise = torch.randn(weight.shape, generator=generator) * 0.3
        weight.detach().copy_(noise + (1.0 if "norm" in name and name.endswith("weight") else 0.0))
    return model.eval()


def output(model: Transformer, target: Tensor = TARGET) -> Tensor:
    with torch.no_grad():
        return model.step(target, model.start(SOURCE, LENGTHS))[0]


def test_every_option_gives_another_model() -> None:
    found = {name: output(build(changes)) for name, changes in {"paper": {}, **OPTIONS}.items()}
    names = [*found]
    for place, name in enumerate(names):
        for other in names[:place]:
            assert not torch.allclose(found[name], found[other], atol=1e-3), (name, other)


@pytest.mark.parametrize("name", OPTIONS)
def test_the_kernels_agree_on_every_option(name: str) -> None:
    source = torch.randint(4, 13, (2, 20), generator=torch.Generator().manual_seed(1))
    lengths, target = torch.tensor([20, 17]), source.flip(1)
    found = [build(OPTIONS[name], kernel)(source, lengths, target) for kernel in (fused.attention, reference.attention)]
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-4)


# Without residuals nearly all positions of an untrained model are one: roundings decide between equal hypotheses.
@pytest.mark.parametrize("name", sorted(OPTIONS.keys() - {"without residuals"}))
def test_searching_one_sentence_is_searching_it_in_company(name: str) -> None:
    model, settings = build(OPTIONS[name]), DecodingSettings(beam=3, best=2, extra_length=4)
    together = decode(model, SOURCE, LENGTHS, settings)
    for row, length in enumerate(LENGTHS.tolist()):
        (alone,) = decode(model, SOURCE[row : row + 1, :length], LENGTHS[row : row + 1], settings)
        assert [h.tokens for h in alone] == [h.tokens for h in together[row]]


@pytest.mark.parametrize("embedding_width", [None, 6])
def test_layer_sharing_are_layers_of_the_same_numbers_counted_once(embedding_width: int | None) -> None:
    sizes = {"encoder_layers": 4, "decoder_layers": 3, "embedding_width": embedding_width}
    shared, apart = build(sizes | {"layer_sharing": True}), build(sizes)
    for stack in ("encoder", "decoder"):
        ours, theirs = getattr(shared, stack).layers, getattr(apart, stack).layers
        for one, other in zip(ours, theirs, strict=True):
            other.load_state_dict(one.state_dict())
    torch.testing.assert_close(output(shared), output(apart))
    own = 1 if embedding_width is None else 2  # the first layer reads narrow embeddings
    alone = build(sizes | {"encoder_layers": own, "decoder_layers": own})
    assert count_weights(shared) == count_weights(alone) < count_weights(apart)


@pytest.mark.parametrize("kind", ["relu", "swiglu"])
def test_a_factorised_network_is_one_whose_matrices_are_products(kind: str) -> None:
    narrow = build({"feedforward_rank": 3, "feedforward": kind}).encoder.layers[0].feedforward
    wide = build({"feedforward": kind}).encoder.layers[0].feedforward
    for name, layer in wide.named_children():
        if isinstance(layer, torch.nn.Linear):
            factors = narrow.get_submodule(name)
            layer.weight.detach().copy_(factors.up.weight @ factors.down.weight)
            if layer.bias is not None:
                layer.bias.detach().copy_(factors.up.bias)
            assert factors.down.weight.shape[0] == 3
    x = torch.randn(2, 5, 12)
    torch.testing.assert_close(narrow(x), wide(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["transformer", "decoder", "encoder"])
def test_chunks_change_nothing_but_the_memory(kind: str) -> None:
    """Of outputs and of all gradients, in the three kinds of Transformer."""
    found = []
    for chunk in (None, 3):
        sizes = {"width": 12, "heads": 2, "feedforward_width": 20, "attention_chunk": chunk, "dropout": 0.0}
        torch.manual_seed(3)
        model = build_model(model_settings({"kind": kind, **sizes}), 13, 13)
        hidden = model(SOURCE, LENGTHS, TARGET)
        model.project(hidden).logsumexp(-1).sum().backward()
        found.append([hidden.detach(), *(weight.grad for weight in model.parameters() if weight.grad is not None)])
    assert len(found[0]) == len(found[1]) > 30
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "name", ["alibi", "relative", "bucketed", "rotary", "multi-query", "rectified", "additive", "linear"]
)
def test_the_weights_that_are_shown_are_those_that_are_used(name: str) -> None:
    model = build(OPTIONS[name])
    expected = output(model)
    with recording(model) as record:
        torch.testing.assert_close(output(model), expected, rtol=1e-4, atol=1e-5)
    assert all(weights.shape[1] == 2 for calls in record.values() for weights in calls)


def test_the_papers_model_has_the_parts_and_names_it_always_had() -> None:
    sides = {"encoder": ("self_attention",), "decoder": ("self_attention", "cross_attention")}
    wirings = {"encoder": ("attention", "feedforward"), "decoder": ("self", "cross", "feedforward")}
    names = {"source_embedding.table.weight", "target_embedding.table.weight", "output"}
    for side, attentions in sides.items():
        layer = f"{side}.layers.0"
        names |= {f"{layer}.{a}.{part}.weight" for a in attentions for part in ("query", "key", "value", "output")}
        names |= {f"{layer}.feedforward.{part}.{k}" for part in ("expand", "contract") for k in ("weight", "bias")}
        names |= {f"{layer}.{w}_wiring.norm.{kind}" for w in wirings[side] for kind in ("weight", "bias")}
    settings = TransformerSettings.model_validate(SMALL | {"encoder_layers": 1, "decoder_layers": 1})
    assert set(build_transformer(settings, 9, 9).state_dict()) == names


def test_a_file_from_before_the_options_means_the_papers_model() -> None:
    before = {
        "kind": "transformer", "width": 512, "encoder_layers": 6, "decoder_layers": 6, "heads": 8,
        "feedforward_width": 2048, "norm": "post", "tying": "three-way", "attention_bias": False, "dropout": 0.1,
        "attention_dropout": 0.0, "feedforward_dropout": 0.0,
    }  # fmt: skip
    assert TransformerSettings.model_validate(before) == TransformerSettings()


@pytest.mark.parametrize(
    "key", ["positions", "normalisation", "norm", "feedforward", "attention", "tying", "attention_pattern"]
)
def test_every_value_of_a_choice_is_explained(key: str) -> None:
    field = TransformerSettings.model_fields[key]
    extra = field.json_schema_extra
    assert isinstance(extra, dict) and isinstance(extra["values"], dict)
    assert tuple(extra["values"]) == get_args(field.annotation)


def test_the_tables_hold_what_the_settings_offer() -> None:
    offered = {name: set(get_args(field.annotation)) for name, field in TransformerSettings.model_fields.items()}
    assert set(CONNECTIONS) == offered["norm"]
    assert set(NORMS) == offered["normalisation"]
    assert set(FEEDFORWARDS) == offered["feedforward"]
    assert set(PATTERNS) | {"full", "low-rank"} == offered["attention_pattern"]
    assert set(SCORE_FUNCTIONS) == offered["attention"]
    assert set(POSITIONS) | set(DISTANCES) | {"none"} == offered["positions"]


def test_learned_positions_end_where_their_table_ends() -> None:
    model = build({"positions": "learned", "maximum_length": 5})
    assert model.maximum_length == 5 and build({}).maximum_length is None
    assert output(model).shape == (2, 5, 13)
    with pytest.raises(ConfigError, match="a sentence of 6 tokens"):
        output(model, TARGET[:, [0, 1, 2, 3, 4, 4]])
    with pytest.raises(ConfigError, match="a sentence of 6 tokens"):
        model.start(SOURCE[:, [0, 1, 2, 3, 4, 4]], LENGTHS)
    _, state = model.step(TARGET, model.start(SOURCE, LENGTHS))
    with pytest.raises(ConfigError, match="a sentence of 6 tokens"):
        model.step(TARGET[:, :1], state)


def test_source_and_target_have_learned_tables_of_their_own() -> None:
    model = build_transformer(TransformerSettings.model_validate(SMALL | {"positions": "learned"}), 9, 9)
    tables = [weight for name, weight in model.named_parameters() if "positions" in name]
    assert [table.shape for table in tables] == [(1024, 12), (1024, 12)]


def test_embeddings_of_256_before_a_width_of_512_cost_131072_weights_a_stack() -> None:
    sizes = {"width": 512, "heads": 8, "encoder_layers": 1, "decoder_layers": 1}
    with torch.device("meta"):
        narrow = build_transformer(TransformerSettings.model_validate(sizes | {"embedding_width": 256}), 100, 100)
        wide = build_transformer(TransformerSettings.model_validate(sizes), 100, 100)
    projections = {n: w.numel() for n, w in narrow.named_parameters() if n.endswith("wiring.projection.weight")}
    assert projections == {
        "encoder.layers.0.attention_wiring.projection.weight": 131_072,
        "decoder.layers.0.self_wiring.projection.weight": 131_072,
    }
    # besides: the way to the output matrix; half the embeddings; W^Q, W^K and W^V of the first layers read half
    expected = 2 * 131_072 + 131_072 - 100 * 256 - 2 * 3 * 256 * 512
    assert count_weights(narrow) - count_weights(wide) == expected


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"key_value_heads": 4, "heads": 6}, "set key_value_heads to one of 1, 2, 3, 6"),
        ({"positions": "rotary", "head_width": 5}, "set head_width to 6"),
        ({"maximum_length": 100}, 'set positions = "learned"'),
        ({"relative_distance": 4, "positions": "alibi"}, 'set positions = "relative"'),
    ],
)
def test_what_does_not_go_together_is_refused_with_the_way_out(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        TransformerSettings.model_validate(SMALL | changes)
