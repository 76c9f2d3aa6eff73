"""A prepared model is the model: the same logits, the same attention, the same states, for all that it supports."""

import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from openwork.decoding.search import decode
from openwork.decoding.settings import DecodingSettings
from openwork.inference import prepared
from openwork.inference.prepared import can_be_prepared, fastest, prepare, types_of
from openwork.inference.prepared import transformer as prepared_transformer
from openwork.inference.prepared.caches import FEW_POSITIONS, PreparedState, attend_to_past, stay
from openwork.inference.prepared.native import problem
from openwork.inference.prepared.products import PRODUCTS, available, quantised
from openwork.inference.prepared.transformer import PreparedTransformer
from openwork.models.build import build_model
from openwork.models.interfaces import SequenceModel
from openwork.models.recurrent_settings import RecurrentSettings
from openwork.models.settings import TransformerSettings
from openwork.nn.normalisation import running_statistics

START, END = 2, 3
SOURCE_VOCABULARY, TARGET_VOCABULARY = 23, 29
SMALL = TransformerSettings(width=16, heads=2, feedforward_width=24, encoder_layers=2, decoder_layers=2)
CHOICES: dict[str, dict[str, Any]] = {
    "paper": {},
    "pre-norm": {"norm": "pre"},
    "rms": {"normalisation": "rms"},
    "batch": {"normalisation": "batch", "embedding_norm": True},
    "batch, pre-norm": {"normalisation": "batch", "norm": "pre"},
    "biases": {"attention_bias": True, "output_bias": True},
    "gelu": {"feedforward": "gelu"},
    "swiglu": {"feedforward": "swiglu", "norm": "pre"},
    "learned": {"positions": "learned", "embedding_norm": True, "embedding_scale": False},
    "no positions": {"positions": "none"},
    "head widths": {"head_width": 4, "value_width": 6},
    "embedding width": {"embedding_width": 8, "norm": "pre"},
    "embedding width, post": {"embedding_width": 24},
    "target tying": {"tying": "target"},
    "unscaled": {"attention": "unscaled"},
    "norm on the branch": {"norm": "branch", "embedding_width": 8},
    "without norms": {"norm": "none", "embedding_width": 8},
    "without residuals": {"norm": "no-residual", "embedding_width": 8},
}


def made(**changes: Any) -> SequenceModel[Any]:
    torch.manual_seed(3)
    sizes = {"tying": "target", **changes}
    model = build_model(SMALL.model_copy(update=sizes), SOURCE_VOCABULARY, TARGET_VOCABULARY).eval()
    with torch.no_grad():
        for weight in model.parameters():  # biases and gains that say something
            weight += 0.1 * torch.randn_like(weight)
        for statistic in running_statistics(model).values():
            statistic += 0.1 * torch.rand_like(statistic)
    return model


def batch(sentences: int = 5, longest: int = 7) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(5)
    lengths = torch.randint(2, longest + 1, (sentences,), generator=generator)
    lengths[0] = longest
    source = torch.randint(4, SOURCE_VOCABULARY, (sentences, longest), generator=generator)
    return source.masked_fill(torch.arange(longest) >= lengths[:, None], 0), lengths


def targets(rows: int, size: int) -> Tensor:
    generator = torch.Generator().manual_seed(9)
    tokens = torch.randint(4, TARGET_VOCABULARY, (rows, size), generator=generator)
    tokens[:, 0] = START
    return tokens


def close(found: Tensor, expected: Tensor, tolerance: float = 1e-4) -> None:
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


@pytest.fixture(autouse=True)
def _inference() -> Any:
    with torch.inference_mode():
        yield


@pytest.fixture(params=["operations", "compiled"], autouse=True)
def _way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The decoder's step by the framework's operations, and compiled where it can be."""
    if request.param == "operations":
        monkeypatch.setattr(prepared, "can_be_native", lambda model, products: False)
    elif reason := problem():
        pytest.skip(f"no compiled step: {reason}")


@pytest.mark.slow
@pytest.mark.parametrize("choice", CHOICES)
def test_it_gives_the_logits_and_the_attention_of_the_model(choice: str) -> None:
    model = made(**CHOICES[choice])
    fast = prepare(model)
    assert isinstance(fast, PreparedTransformer)
    source, lengths = batch()
    tokens = targets(5, FEW_POSITIONS + 4)
    expected, weights, _ = model.attend(tokens, model.start(source, lengths))
    found, looked, _ = fast.attend(tokens, fast.start(source, lengths))
    close(found, expected)
    close(looked, weights)
    close(fast.step(tokens, fast.start(source, lengths))[0], expected)


@pytest.mark.parametrize("sentences", [1, 9])
def test_a_source_read_in_parts_is_read_whole(monkeypatch: pytest.MonkeyPatch, sentences: int) -> None:
    monkeypatch.setattr(prepared_transformer, "READ_TOGETHER", 14)
    model = made()
    source, lengths = batch(sentences, 20)  # longer than the least size of a memory
    tokens = targets(sentences, 3)
    fast = prepare(model)
    close(fast.step(tokens, fast.start(source, lengths))[0], model.step(tokens, model.start(source, lengths))[0])


def test_a_sentence_of_nothing_is_as_the_model_has_it() -> None:
    model = made(attention_bias=True)
    source, lengths = batch()
    lengths[1] = 0
    tokens = targets(5, 3)
    fast = prepare(model)
    close(fast.step(tokens, fast.start(source, lengths))[0], model.step(tokens, model.start(source, lengths))[0])


SELECTIONS = [
    [[0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4], [0, 2, 1, 5, 4, 3, 6, 6, 6, 9, 10, 11, 13, 12, 14]],  # beams
    [[0, 0, 1, 1, 2, 2, 3, 3, 4, 4], [0, 1, 2, 3, 6, 7, 8, 9], [2, 3, 5, 4], [1, 0]],  # sentences leave
    [[0, 1, 3, 4], [0, 2, 3], [1, 2], [1]],  # rows leave, one by one
    [[4, 2, 0], [2, 2, 1, 0], [3, 1, 0]],  # any order, unequal shares
    [[0, 0, 1, 2, 2, 2], [0, 2, 3, 4, 5], [1, 2, 3, 4]],
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("selections", SELECTIONS)
def test_rows_are_selected_as_the_model_selects_them(selections: list[list[int]]) -> None:
    model = made()
    fast = prepare(model)
    source, lengths = batch()
    here, there = model.start(source, lengths), fast.start(source, lengths)
    rows = 5
    for number, chosen in enumerate([list(range(5)), *selections, *[None] * 20]):
        if chosen is not None:
            here, there, rows = (
                here.select(torch.tensor(chosen).long()),
                there.select(torch.tensor(chosen).long()),
                len(chosen),
            )
        tokens = (targets(rows, 1 + number)[:, -1:] + number) % TARGET_VOCABULARY
        expected, weights, here = model.attend(tokens, here)
        found, looked, there = fast.attend(tokens, there)
        close(found, expected)
        close(looked, weights)


def test_a_state_is_not_changed_by_those_that_go_on_from_it() -> None:
    fast = prepare(made())
    source, lengths = batch()
    tokens = targets(5, 4)
    _, state = fast.step(tokens[:, :2], fast.start(source, lengths))
    first, after = fast.step(tokens[:, 2:3], state)
    other, _ = fast.step(tokens[:, 3:4], state)  # writes where the first one wrote
    some, _ = fast.step(tokens[:3, 3:4], state.select(torch.arange(3)))
    whole, _ = fast.step(tokens, fast.start(source, lengths))
    close(fast.step(tokens[:, 3:4], after)[0], whole[:, 3:])
    again, _ = fast.step(tokens[:, 2:3], state)
    assert torch.equal(first, again) and not torch.equal(first, other)
    close(some, other[:3])


def test_nothing_moves_while_most_rows_are_alive() -> None:
    fast = PreparedTransformer(made())
    source, lengths = batch(8)
    _, state = fast.step(targets(8, 1), fast.start(source, lengths))
    assert isinstance(state, PreparedState)
    seven = state.select(torch.tensor([0, 1, 2, 3, 5, 6, 7]))
    assert seven.memory is state.memory and seven.past is state.past
    few = seven.select(torch.tensor([0, 1, 6]))
    assert few.memory.sentences == few.past.rows == 3 and few.rows is None and few.sentences is None
    assert (
        stay(torch.tensor([0, 2, 3]), 4)
        and not stay(torch.tensor([0, 3, 2]), 4)
        and not stay(torch.tensor([1, 1, 2]), 4)
    )
    one = replace(state, each=2).select(torch.tensor([0, 1, 4, 5]))
    assert one.memory.sentences == 2 and one.each == 2  # the memory once for each sentence


OPTIONS = [
    DecodingSettings(beam=1),
    DecodingSettings(beam=3, best=3),
    DecodingSettings(beam=3, coverage_penalty=0.2),
    DecodingSettings(beam=4, groups=2),
    DecodingSettings(beam=2, no_repeat=2),
    DecodingSettings(beam=1, samples=3),
]


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS)
def test_searches_find_the_same_with_it(options: DecodingSettings) -> None:
    model = made(norm="pre")
    source, lengths = batch(6)
    options = options.model_copy(update={"extra_length": 6})
    expected = decode(model, source, lengths, options)
    found = decode(prepare(model), source, lengths, options)
    assert [[one.tokens for one in each] for each in found] == [[one.tokens for one in each] for each in expected]
    for here, there in zip(found, expected, strict=True):
        for mine, other in zip(here, there, strict=True):
            assert mine.log_probability == pytest.approx(other.log_probability, abs=1e-3)


@pytest.mark.parametrize("positions", [1, FEW_POSITIONS, FEW_POSITIONS + 1, 40])
def test_attention_to_the_past_is_equation_1(positions: int) -> None:
    generator = torch.Generator().manual_seed(1)
    query = torch.randn(3, 8, generator=generator)
    key, value = (torch.randn(positions, 3, 8, generator=generator) for _ in range(2))
    found = attend_to_past(query, key, value, 2)
    for row in range(3):
        for head in (slice(0, 4), slice(4, 8)):
            weights = (key[:, row, head] @ query[row, head]).softmax(0)
            close(found[row, head], weights @ value[:, row, head], 1e-5)


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "int8"])
@pytest.mark.parametrize("rectified", [False, True])
@pytest.mark.parametrize("rows", [1, 200])
def test_products_of_fewer_bits_are_close(kind: Any, rectified: bool, rows: int) -> None:
    if kind not in available():
        pytest.skip(f"this processor has no {kind} products")
    generator = torch.Generator().manual_seed(1)
    weight, bias = torch.randn(2304, 64, generator=generator) / 8, torch.randn(2304, generator=generator)
    x = torch.randn(rows, 64, generator=generator)
    expected = torch.nn.functional.linear(x, weight, bias)
    expected = expected.relu() if rectified else expected
    found = PRODUCTS[kind](weight, bias, rectified)(x)
    tolerance = {"float32": 1e-5, "bfloat16": 0.02, "int8": 0.02}[kind]
    assert found.dtype is torch.float32
    assert float((found - expected).pow(2).mean().sqrt() / expected.std()) < tolerance


def test_quantised_weights_are_within_half_a_step() -> None:
    weight = torch.tensor([[1.0, -2.0, 0.013], [0.0, 0.0, 0.0], [1e-3, 5e-4, -1e-3]])
    integers, scale = quantised(weight)
    assert integers.tolist()[0] == [64, -127, 1] and integers.tolist()[1] == [0, 0, 0]  # 63.5 goes to the even number
    assert bool(((integers * scale[:, None] - weight).abs() <= scale[:, None] / 2 + 1e-9).all())


@pytest.mark.parametrize("kind", ["bfloat16", "int8"])
def test_a_model_of_fewer_bits_is_close(kind: Any) -> None:
    if kind not in available():
        pytest.skip(f"this processor has no {kind} products")
    model = made(norm="pre")
    fast = prepare(model, kind)
    source, lengths = batch()
    tokens = targets(5, 6)
    expected, _ = model.step(tokens, model.start(source, lengths))
    found, _ = fast.step(tokens, fast.start(source, lengths))
    assert float((found - expected).pow(2).mean().sqrt() / expected.std()) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [{"positions": kind} for kind in ("rotary", "alibi", "relative", "bucketed")] + [{"key_value_heads": 1}],
)
def test_what_is_not_supported_stays_as_it_is(changes: dict[str, Any]) -> None:
    model = made(**changes)
    assert not can_be_prepared(model) and prepare(model, "int8") is model


def test_only_transformers_of_plain_floats_are_prepared() -> None:
    recurrent = build_model(RecurrentSettings(width=8), SOURCE_VOCABULARY, TARGET_VOCABULARY)
    assert not can_be_prepared(recurrent) and not can_be_prepared(made().double())
    model = made(positions="learned", maximum_length=6)
    assert fastest(model) in types_of(model)
    assert len(model.encoder.layers) == len(model.decoder.layers) == 2  # it measures with one, of its own


@pytest.mark.slow
def test_every_product_that_is_available_can_be_made_where_onednn_leaves_instructions_alone() -> None:
    script = """
        import torch
        from openwork.inference.prepared.products import PRODUCTS, available
        weight, x = torch.randn(64, 32), torch.randn(3, 32)
        print(*[kind for kind in available() if PRODUCTS[kind](weight, None)(x).shape == (3, 64)])
    """
    limited = {**os.environ, "ONEDNN_MAX_CPU_ISA": "AVX2", "DNNL_MAX_CPU_ISA": "AVX2"}
    command = [sys.executable, "-c", "\n".join(line.strip() for line in script.splitlines())]
    done = subprocess.run(command, capture_output=True, text=True, env=limited, check=False)
    assert done.returncode == 0, done.stderr
    assert "float32" in done.stdout and "bfloat16" not in done.stdout
