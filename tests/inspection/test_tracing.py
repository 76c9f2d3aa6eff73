"""A traced forward pass is the model's own: the same numbers, each following from what it says it was made of."""

import math
import pydoc
from collections.abc import Callable

import numpy as np
import pytest
import torch

from openwork.base.errors import UsageError
from openwork.inspection.recorder import Recorder, Side
from openwork.inspection.trace import Selection, Step, Trace, select
from openwork.inspection.tracing import exact_copy, trace_forward
from openwork.models.build import build_transformer
from openwork.models.seq2seq import Transformer
from openwork.models.settings import TransformerSettings
from openwork.nn.attention import MultiHeadAttention
from openwork.nn.normalisation import running_statistics
from openwork.nn.recording import recording

pytestmark = pytest.mark.slow

PAPER = {"width": 12, "heads": 2, "encoder_layers": 2, "decoder_layers": 2, "feedforward_width": 10, "dropout": 0.3}
VARIANTS = {
    "paper": PAPER,
    "pre-norm, all biases, learnt": PAPER
    | {"norm": "pre", "attention_bias": True, "positions": "learned", "tying": "none", "feedforward": "gelu"},
    "rotary, shared keys, gated, rms": PAPER
    | {"positions": "rotary", "key_value_heads": 1, "feedforward": "swiglu", "norm": "pre", "normalisation": "rms"},
    "distances lower scores, narrow embeddings": PAPER
    | {"positions": "alibi", "embedding_width": 6, "feedforward": "glu", "tying": "target"},
    "bucketed": PAPER | {"positions": "bucketed"},
    "without norms": PAPER | {"norm": "none"},
    "without residuals": PAPER | {"norm": "no-residual"},
    "norms over batches": PAPER | {"normalisation": "batch", "embedding_norm": True},
    "unscaled, normalised embeddings, output bias": PAPER
    | {"embedding_scale": False, "embedding_norm": True, "output_bias": True, "feedforward": "swish"},
    "relative, narrow, pre-norm": PAPER | {"positions": "relative", "embedding_width": 6, "norm": "pre", "heads": 3},
}
SOURCE, GIVEN = (5, 6, 7, 8, 3), (2, 9, 10, 11)
PIECES: dict[Side, tuple[str, ...]] = {
    "source": ("ein", " Hund", "猫", " ", "</s>"),
    "target": ("<s>", "a", " dog", "s"),
}


@pytest.fixture(scope="module", params=VARIANTS)
def model(request: pytest.FixtureRequest) -> Transformer:
    with torch.random.fork_rng():
        torch.manual_seed(1)
        made = build_transformer(TransformerSettings(**VARIANTS[request.param]), 17, 17)
        for parameter in made.parameters():  # gains, shifts and biases that show when they are left out
            parameter.data.add_(0.3 * torch.randn_like(parameter))
        for statistic in running_statistics(made).values():
            statistic.add_(0.3 * torch.rand_like(statistic))
    return made


def traced(model: Transformer) -> tuple[Recorder, torch.Tensor]:
    recorder = Recorder(PIECES)
    return recorder, trace_forward(model, recorder, SOURCE, GIVEN)


def test_the_traced_values_are_those_of_the_untraced_model(model: Transformer):
    recorder, logits = traced(model)
    copy = exact_copy(model)
    ids, lengths, given = torch.tensor([SOURCE]), torch.tensor([len(SOURCE)]), torch.tensor([GIVEN])
    with torch.inference_mode(), recording(copy) as record:
        memory = copy.encode(ids, lengths)
        expected = copy.project(copy(ids, lengths, given))
    torch.testing.assert_close(logits, expected, rtol=0, atol=1e-12)
    trace = Trace("", "", tuple(recorder.steps))
    np.testing.assert_array_equal(trace.step("logits").value, logits[0].numpy())
    of_source = [step for step in trace.steps if step.name.startswith("encoder.")]
    np.testing.assert_allclose(of_source[-1].value, memory[0].numpy(), rtol=0, atol=1e-12)
    assert len(record) == 6
    for name, calls in record.items():
        np.testing.assert_allclose(trace.step(f"{name}.weights").value, calls[-1][0].numpy(), rtol=0, atol=1e-12)
    # single precision is as near as it can be
    single = model.eval().project(model(ids, lengths, given))
    torch.testing.assert_close(logits.float(), single, rtol=1e-3, atol=1e-3)


def test_the_model_is_as_before(model: Transformer):
    model.train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    attentions = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]
    kernels = [attention.kernel for attention in attentions]
    traced(model)
    assert model.training
    assert all(value.dtype == before[name].dtype for name, value in model.state_dict().items())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert [attention.kernel for attention in attentions] == kernels
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_every_step_follows_from_its_inputs_and_weights(model: Transformer):
    """Each value again, in numpy, from the values of the steps and the weights that it names and from nothing else."""
    recorder, _ = traced(model)
    copy = exact_copy(model)
    weights = {name: value.detach().numpy() for name, value in (*copy.named_parameters(), *copy.named_buffers())}
    values: dict[str, np.ndarray] = {}
    again = 0
    for step in recorder.steps:
        assert set(step.inputs) <= set(values), step.name
        if step.name.endswith(".contract"):  # a network without its bend would be a trace of two products
            assert step.inputs[0].endswith((".activation", ".gated"))
        inputs, parameters = [values[name] for name in step.inputs], [weights[name] for name in step.parameters]
        for ending, compute in FORMULAS.items():
            if step.name.endswith(ending):
                expected = compute(model, step, inputs, parameters)
                np.testing.assert_allclose(step.value, expected, rtol=1e-6, atol=1e-6, err_msg=step.name)
                again += 1
                break
        else:
            assert step.name.endswith((".ids", ".positions", ".bias"))
        values[step.name] = step.value
    assert again == len(recorder.steps) - sum(s.name.endswith((".ids", ".positions", ".bias")) for s in recorder.steps)


Inputs = list[np.ndarray]


def linear(model: Transformer, step: Step, inputs: Inputs, parameters: Inputs) -> np.ndarray:
    return inputs[0] @ parameters[0].T + (parameters[1] if len(parameters) > 1 else 0.0)


def heads(model: Transformer, step: Step, inputs: Inputs, parameters: Inputs) -> np.ndarray:
    count, _, each = step.value.shape
    flat = linear(model, step, inputs, parameters)
    return np.stack([flat[:, head * each : (head + 1) * each] for head in range(count)])


def turned(model: Transformer, step: Step, inputs: Inputs, parameters: Inputs) -> np.ndarray:
    """As complex numbers: (x_2i + x_2i+1 i) exp(i pos / 10000^(2i / d)); shared keys stand once for each query head."""
    pairs = inputs[0][..., 0::2] + 1j * inputs[0][..., 1::2]
    width = inputs[0].shape[-1]
    angle = np.arange(inputs[0].shape[1])[:, None] / 10000 ** (np.arange(0, width, 2) / width)
    spun = pairs * np.exp(1j * angle)
    flat = np.stack([spun.real, spun.imag], axis=-1).reshape(inputs[0].shape)
    return np.repeat(flat, len(step.value) // len(flat), axis=0)


def products(model: Transformer, step: Step, inputs: Inputs, parameters: Inputs) -> np.ndarray:
    query, key = inputs
    return np.einsum("hqd,hkd->hqk", query, np.repeat(key, len(query) // len(key), axis=0))


def scores(model: Transformer, step: Step, inputs: Inputs, parameters: Inputs) -> np.ndarray:
    scale = math.sqrt(model.encoder.layers[0].self_attention.heads.width)  # type: ignore[union-attr]
    return inputs[0] / scale + (inputs[1] if len(inputs) > 1 else 0.0)


def masked(model: Transformer, step: Step, inputs: Inputs, parameters: Inputs) -> np.ndarray:
    later = np.triu(np.ones(inputs[0].shape[-2:], dtype=bool), 1)
    return np.where(later, -np.inf, inputs[0])


def softmax(model: Transformer, step: Step, inputs: Inputs, parameters: Inputs) -> np.ndarray:
    powers = np.exp(inputs[0] - inputs[0].max(-1, keepdims=True))  # the largest would be beyond a float64
    return powers / powers.sum(-1, keepdims=True)


def weighted(model: Transformer, step: Step, inputs: Inputs, parameters: Inputs) -> np.ndarray:
    weights, value = inputs
    return np.einsum("hqk,hkd->hqd", weights, np.repeat(value, len(weights) // len(value), axis=0))


def joined(model: Transformer, step: Step, inputs: Inputs, parameters: Inputs) -> np.ndarray:
    return linear(model, step, [np.concatenate(list(inputs[0]), axis=-1)], parameters)


def norm(model: Transformer, step: Step, inputs: Inputs, parameters: Inputs) -> np.ndarray:
    x = inputs[0]
    if len(parameters) == 4:
        gain, shift, mean, variance = parameters
        return (x - mean) / np.sqrt(variance + 1e-6) * gain + shift
    if len(parameters) == 1:
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * parameters[0]
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-6) * parameters[0] + parameters[1]


def activation(model: Transformer, step: Step, inputs: Inputs, parameters: Inputs) -> np.ndarray:
    z = inputs[0]
    normal = np.vectorize(lambda one: 0.5 * (1 + math.erf(one / math.sqrt(2))))
    sigmoid = 1 / (1 + np.exp(-z))
    return {
        "max(0, z)": np.maximum(z, 0),
        "z P(X <= z), X normal": z * normal(z),
        "z sigmoid(z)": z * sigmoid,
        "sigmoid(z)": sigmoid,
    }[step.equation]


# The first ending that fits tells how the value is made.
FORMULAS: dict[str, Callable[[Transformer, Step, Inputs, Inputs], np.ndarray]] = {
    ".lookup": lambda _, __, inputs, parameters: parameters[0][inputs[0]],
    ".embedding": lambda model, _, inputs, ___: (
        inputs[0] * (math.sqrt(inputs[0].shape[-1]) if model.source_embedding.scale != 1 else 1)
    ),
    ".sum": lambda _, __, inputs, ___: inputs[0] + inputs[1],
    ".turned_query": turned,
    ".turned_key": turned,
    ".query": heads,
    ".key": heads,
    ".value": heads,
    ".products": products,
    ".scores": scores,
    ".masked": masked,
    ".weights": softmax,
    ".heads": weighted,
    ".output": joined,
    ".residual": lambda _, __, inputs, ___: inputs[0] + inputs[1],
    "norm": norm,
    ".expand": linear,
    ".gate": linear,
    ".activation": activation,
    ".gated": lambda _, __, inputs, ___: inputs[0] * inputs[1],
    ".contract": linear,
    ".projection": linear,
    "narrow": linear,
    "logits": linear,
}


def test_names_are_unique_and_code_and_labels_are_there(model: Transformer):
    recorder, _ = traced(model)
    names = [step.name for step in recorder.steps]
    assert len(set(names)) == len(names)
    for step in recorder.steps:
        assert not step.code or callable(pydoc.locate(step.code)), step.code
        for axis, labels in step.labels.items():
            assert len(labels) == step.value.shape[step.axes.index(axis)], step.name
    trace = Trace("", "", tuple(recorder.steps))
    cross = trace.step("decoder.layers.0.cross_attention.weights")
    assert (cross.labels["query"], cross.labels["key"]) == (PIECES["target"], PIECES["source"])
    assert trace.step("decoder.layers.0.cross_attention.value").labels["key"] == PIECES["source"]


def test_a_selection_bridges_what_it_leaves_out(model: Transformer):
    recorder, _ = traced(model)
    overview = select(recorder.steps, recorder.inner, Selection())
    one_layer = select(recorder.steps, recorder.inner, Selection(layer=1))
    everything = select(recorder.steps, recorder.inner, Selection(every=True))
    assert len(everything) == len(recorder.steps)
    for step, recorded in zip(everything, recorder.steps, strict=True):
        assert vars(step).keys() == vars(recorded).keys()
        assert all(value is vars(recorded)[name] or value == vars(recorded)[name] for name, value in vars(step).items())
    assert not any(".layers.0." in step.name for step in one_layer)
    inside = [step for step in recorder.steps if ".layers.1." in step.name]
    assert [step.name for step in one_layer if ".layers.1." in step.name] == [step.name for step in inside]
    assert sum(step.name.endswith(".weights") for step in overview) == 6
    for chosen in (overview, one_layer):
        kept: set[str] = set()
        for step in chosen:
            assert set(step.inputs) <= kept, step.name
            assert step.inputs or step.name.endswith((".ids", ".positions", ".bias"))
            kept.add(step.name)


def test_one_head_is_shown_alone_with_the_keys_of_its_group(model: Transformer):
    recorder, _ = traced(model)
    shown = {step.name: step for step in select(recorder.steps, recorder.inner, Selection(layer=0, head=1))}
    for step in recorder.steps:
        if "head" in step.axes and step.name in shown:
            own = min(1, len(step.value) - 1)
            np.testing.assert_array_equal(shown[step.name].value, step.value[own : own + 1])
            assert shown[step.name].labels["head"] == (str(own),)


@pytest.mark.parametrize("selection", [Selection(layer=2), Selection(layer=-1), Selection(head=9), Selection(head=-1)])
def test_there_is_no_such_layer_or_head(selection: Selection):
    recorder, _ = traced(build_transformer(TransformerSettings(**PAPER), 17, 17))
    with pytest.raises(UsageError, match="there is no") as refused:
        select(recorder.steps, recorder.inner, selection)
    assert "the last one is 1" in refused.value.hint
