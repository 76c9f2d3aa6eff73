"""Packed batches: laid out by hand, and the loss, its gradients and a whole training as from padded ones."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from openwork.base.errors import ConfigError
from openwork.data.batching import Batch, BatchPlan, BatchSettings, assemble
from openwork.data.store import TokenStore, write_store
from openwork.models.build import build_model
from openwork.models.interfaces import SequenceModel
from openwork.models.settings import DecoderSettings, TransformerSettings
from openwork.models.weights import model_weights
from openwork.nn.kernels.gpu import doubled
from openwork.nn.masks import Mask
from openwork.training.batches import packing
from openwork.training.batches.batch import BatchStream, to_tensors
from openwork.training.batches.packing import FINE, choose_layout, pack, round_up
from openwork.training.loss import batch_loss
from openwork.training.progress import Progress
from training.tiny import CPU, MODEL, RECURRENT, SETTINGS, VOCABULARY, make_training

TOKENS, SENTENCES, LENGTH = 128, 64, 16  # what a row's sizes are multiples of


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    """Forty pairs whose sides have lengths of their own."""
    generator = np.random.default_rng(0)
    lengths = generator.integers(1, 7, (40, 2)).tolist()
    pairs = [[generator.integers(4, VOCABULARY, length).tolist() for length in sides] for sides in lengths]
    folder = tmp_path_factory.mktemp("corpus") / "store"
    return write_store(folder, ((source, target) for source, target in pairs), vocabulary_size=VOCABULARY)


def double(**changes: object) -> SequenceModel:
    """A model of two layers a side in double precision, without dropout."""
    wanted = {"width": 16, "encoder_layers": 2, "decoder_layers": 2, "dropout": 0.0, **changes}
    torch.manual_seed(1)
    return build_model(MODEL.model_copy(update=wanted), VOCABULARY, VOCABULARY).double()


def test_two_pairs_by_hand() -> None:
    batch = Batch(
        rows=np.arange(2),
        source=np.array([[7, 8, 3], [9, 3, 0]]),
        source_lengths=np.array([3, 2]),
        target_input=np.array([[2, 5, 0], [2, 4, 6]]),
        target_output=np.array([[5, 3, 0], [4, 6, 3]]),
        target_lengths=np.array([2, 3]),
    )
    found = pack(batch, CPU)
    source, target = found.source, found.target_input
    assert source.tokens.shape == target.tokens.shape == (1, TOKENS)
    assert source.tokens[0, :6].tolist() == [7, 8, 3, 9, 3, 0] and not source.tokens[0, 5:].any()
    assert target.tokens[0, :6].tolist() == [2, 5, 2, 4, 6, 0]
    # two sentences; 123 tokens of padding in 32 sentences, of 3 or 4 tokens each; empty sentences
    assert source.segments.starts[:5].tolist() == [0, 3, 5, 8, 11] and source.segments.starts[34:].unique() == TOKENS
    assert target.segments.starts[:5].tolist() == [0, 2, 5, 8, 11] and target.segments.starts[34:].unique() == TOKENS
    assert source.segments.starts.diff()[2:34].unique().tolist() == [3, 4]
    assert source.segments.starts.shape == target.segments.starts.shape == (SENTENCES + 1,)
    assert source.segments.starts.dtype is torch.int32
    assert target.segments.places[:9].tolist() == [0, 1, 0, 1, 2, 0, 0, 0, 0]
    assert source.segments.maximum_length == LENGTH
    assert found.real_targets.tolist() == [5, 3, 4, 6, 3]
    assert (found.sentences, found.source_tokens, found.target_tokens) == (2, 5, 5)


@pytest.mark.parametrize("length", [1, 31, 64, TOKENS - 1])
def test_padding_is_short_sentences_that_all_have_tokens(length: int) -> None:
    rectangle = np.full((2, length), 5)
    batch = Batch(np.arange(2), rectangle, np.full(2, length), rectangle, rectangle, np.full(2, length))
    row = pack(batch, CPU).source
    lengths = row.segments.starts.diff()
    assert lengths[:2].tolist() == [length, length]
    fillers = lengths[2 : 2 + FINE.fillers]
    assert fillers.min() >= 1 and fillers.max() <= 5 <= LENGTH
    assert lengths.sum() == row.tokens.shape[1] and row.tokens.shape[1] % TOKENS == 0
    assert row.segments.maximum_length >= lengths.max() and row.segments.maximum_length % LENGTH == 0


def test_numbers_are_rounded_up() -> None:
    assert round_up(1, 8) == 8 and round_up(8, 8) == 8 and round_up(9, 8) == 16
    assert [doubled(count, 16) for count in (1, 16, 17, 32, 33, 100)] == [16, 16, 32, 32, 64, 128]


def test_few_shapes_occur(store: TokenStore) -> None:
    shapes = set()
    for seed in range(3):
        for rows in BatchPlan.of(store, BatchSettings(tokens=40), seed).epoch(0):
            batch = pack(assemble(store, rows), CPU)
            shapes.add((batch.source.tokens.shape, batch.target_input.segments.starts.shape))
    assert len(shapes) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"norm": "pre", "positions": "learned", "maximum_length": 16},
        {"positions": "rotary", "tying": "embeddings"},
        {"separate_prompt": True},
    ],
    ids=str,
)
def test_a_language_models_loss_and_gradients_are_those(store: TokenStore, changes: dict[str, object]) -> None:
    """Also where prompts are empty, which they all are in a text."""
    values = {"kind": "decoder", "width": 16, "heads": 2, "feedforward_width": 24, "layers": 2, "dropout": 0.0}
    torch.manual_seed(1)
    model = build_model(DecoderSettings.model_validate(values | changes), VOCABULARY, VOCABULARY).double()
    assert choose_layout("packed", model, "float32", CPU) == "packed"
    near = 1e-6 if changes.get("positions") == "rotary" else 1e-10
    batch = assemble(store, np.arange(12))
    sources, lengths = batch.source.copy(), batch.source_lengths.copy()
    sources[3:9], lengths[3:9] = 0, 1
    sources[3:9, 0] = 3
    for some in (batch, replace(batch, source=sources, source_lengths=lengths)):
        padded, row = to_tensors(some, CPU), pack(some, CPU)
        torch.testing.assert_close(row.hidden(model), padded.hidden(model), rtol=0, atol=near)
        gradients = []
        for way in (padded, row):
            model.zero_grad()
            batch_loss(model, way, 0.1, "float32").smoothed.backward()
            gradients.append({name: weight.grad for name, weight in model.named_parameters()})
        for name, gradient in gradients[0].items():
            torch.testing.assert_close(gradients[1][name], gradient, rtol=0, atol=100 * near)


def test_empty_sentences_that_fill_a_batch_up_are_empty_in_a_language_model_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each sentence of the one row begins where the last one ends, or behind: a GPU's kernel reads these places."""
    masks: list[Mask] = []
    rectangle = np.full((2, 3), 5)
    batch = Batch(np.arange(2), rectangle, np.full(2, 3), rectangle, rectangle, np.full(2, 3))
    model = build_model(DecoderSettings(width=8, heads=2, layers=1), VOCABULARY, VOCABULARY)
    monkeypatch.setattr(model.stack, "forward", lambda x, state, mask: (masks.append(mask), (x, state))[1])
    pack(batch, CPU).hidden(model)
    assert masks[0].segments is not None
    segments = masks[0].segments[0]
    lengths = segments.starts.diff()
    assert lengths[:2].tolist() == [5, 5] and lengths.min() == 0 and lengths.sum() == segments.places.shape[0]
    assert not lengths[2 + FINE.fillers : -1].any()


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"norm": "pre", "normalisation": "rms"},
        {"normalisation": "batch", "embedding_norm": True},
        {"positions": "learned", "maximum_length": 8, "embedding_norm": True},
        {"positions": "none", "key_value_heads": 1},
        {"embedding_width": 8, "output_bias": True, "attention_bias": True, "tying": "target"},
        {"positions": "rotary"},
    ],
    ids=str,
)
def test_loss_and_gradients_are_those_of_the_padded_batch(store: TokenStore, changes: dict[str, object]) -> None:
    model = double(**changes)
    assert choose_layout("packed", model, "float32", CPU) == "packed"
    # angles of rotary positions are kept in float32: further along the row they are rounded otherwise
    near = 1e-6 if changes.get("positions") == "rotary" else 1e-10
    batch = assemble(store, np.arange(12))
    assert batch.source.size + batch.target_output.size > batch.source_lengths.sum() + batch.target_lengths.sum() + 10
    padded, row = to_tensors(batch, CPU), pack(batch, CPU)
    assert torch.equal(padded.real_targets, row.real_targets)
    torch.testing.assert_close(row.hidden(model), padded.hidden(model), rtol=0, atol=near)
    losses, gradients = [], []
    for way in (padded, row):
        sums = batch_loss(model, way, 0.1, "float32")
        losses.append(sums.smoothed)
        # the loss's own sums are in float32; the gradient of the vectors is exact
        gradients.append(
            torch.autograd.grad(way.hidden(model).square().sum(), list(model.parameters()), allow_unused=True)
        )
    torch.testing.assert_close(losses[0], losses[1], rtol=1e-6, atol=0)
    assert any(gradient is not None and gradient.abs().max() > 1e-3 for gradient in gradients[0])
    for one, other in zip(*gradients, strict=True):
        if one is not None:
            torch.testing.assert_close(other, one, rtol=0, atol=100 * near)


def test_what_stands_in_the_padding_changes_nothing(store: TokenStore) -> None:
    model = double()
    row = pack(assemble(store, np.arange(5)), CPU)
    before = row.hidden(model)
    real = int(row.source.segments.starts[5])
    tokens = row.source.tokens.clone()
    tokens[0, real:] = 7
    other = replace(row, source=replace(row.source, tokens=tokens))
    assert torch.equal(other.hidden(model), before)
    tokens[0, real - 1] = 8  # whereas a real token does
    assert not torch.equal(other.hidden(model), before)


@pytest.mark.slow
def test_a_training_on_packed_batches_ends_with_the_same_weights(store: TokenStore) -> None:
    settings = MODEL.model_copy(update={"width": 16, "dropout": 0.0})
    trainings = [make_training(store, SETTINGS, settings) for _ in range(2)]
    plan = BatchPlan.of(store, BatchSettings(tokens=40), SETTINGS.seed)
    trainings[1] = replace(trainings[1], stream=BatchStream(store, plan, CPU, pack))
    before = {name: weight.clone() for name, weight in model_weights(trainings[0].model).items()}
    for training in trainings:
        training.go(SETTINGS, Progress())
    padded, packed = (model_weights(training.model) for training in trainings)
    for name, weight in padded.items():
        torch.testing.assert_close(packed[name], weight, rtol=0, atol=2e-4)
    assert any((padded[name] - weight).abs().max() > 0.02 for name, weight in before.items())


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"positions": "alibi"}, "add a number to each score"),
        ({"positions": "relative"}, "add a number to each score"),
        ({"positions": "bucketed"}, "add a number to each score"),
        ({"attention_dropout": 0.1}, "no dropout of attention weights"),
        ({"head_width": 12, "value_width": 12}, "takes heads of 8, 16"),
        ({"value_width": 16}, "takes heads of 8, 16"),
    ],
    ids=str,
)
def test_what_cannot_be_packed_is_refused_or_padded(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, object], why: str
) -> None:
    model = double(**changes)
    with pytest.raises(ConfigError, match="cannot be trained on packed batches") as refusal:
        choose_layout("packed", model, "bfloat16", CPU)
    assert why in str(refusal.value.why)
    monkeypatch.setattr(packing, "is_supported", lambda device: True)
    assert choose_layout("auto", model, "bfloat16", CPU) == "padded"


def test_a_recurrent_model_has_rectangles() -> None:
    model = build_model(RECURRENT, VOCABULARY, VOCABULARY)
    with pytest.raises(ConfigError) as refusal:
        choose_layout("packed", model, "float32", CPU)
    assert "in a row of its own" in str(refusal.value.why)
    assert choose_layout("auto", model, "float32", CPU) == "padded"


def test_the_layout_follows_from_device_and_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    model = double()
    assert choose_layout("auto", model, "bfloat16", CPU) == "padded"
    assert choose_layout("packed", model, "float32", CPU) == "packed"
    monkeypatch.setattr(packing, "is_supported", lambda device: True)
    assert choose_layout("auto", model, "bfloat16", CPU) == "packed"
    assert choose_layout("auto", model, "float32", CPU) == "padded"
    assert choose_layout("padded", model, "bfloat16", CPU) == "padded"


def test_settings_of_the_paper_can_be_packed() -> None:
    model = build_model(TransformerSettings(encoder_layers=1, decoder_layers=1), 8, 8)
    assert choose_layout("packed", model, "float32", CPU) == "packed"
