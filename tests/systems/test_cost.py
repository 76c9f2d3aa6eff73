"""The cost model against what it models: weights of built models, torch's counter of operations, autograd's memory."""

from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from openwork.models.build import FEEDFORWARDS, NORMS, ModelSettings, build_model, build_transformer
from openwork.models.interfaces import count_weights
from openwork.models.recurrent import build_recurrent
from openwork.models.recurrent_settings import RecurrentSettings
from openwork.models.settings import TransformerSettings
from openwork.nn.kernels import fused, reference
from openwork.systems import cost_transformer
from openwork.systems.cost import Machine, cost_of

pytestmark = pytest.mark.slow

SMALL: dict[str, Any] = {"width": 32, "heads": 4, "feedforward_width": 48, "encoder_layers": 2, "decoder_layers": 3}
TRANSFORMERS: dict[str, dict[str, Any]] = {
    "paper": {},
    "pre": {"norm": "pre"},
    "rms": {"normalisation": "rms", "norm": "pre"},
    "learned": {"positions": "learned", "longest": 40},
    "rotary": {"positions": "rotary"},
    "relative": {"positions": "relative", "relative_distance": 5},
    "bucketed": {"positions": "bucketed"},
    "grouped": {"key_value_heads": 2, "head_width": 6, "value_width": 10},
    "biased": {"attention_bias": True, "key_value_heads": 1},
    "narrow": {"embedding_width": 20},
    "narrow, pre": {"embedding_width": 20, "norm": "pre", "tying": "none", "encoder_layers": 1},
    "geglu": {"feedforward": "geglu"},
    "gelu": {"feedforward": "gelu", "tying": "target"},
    "swish": {"feedforward": "swish", "embedding_scale": False},
    "embedding norm": {"embedding_norm": True, "output_bias": True, "attention_bias": True},
}
MODELS: dict[str, ModelSettings] = {
    name: TransformerSettings.model_validate(SMALL | changes) for name, changes in TRANSFORMERS.items()
} | {
    "recurrent": RecurrentSettings(width=32),
    "deep recurrent": RecurrentSettings(
        width=32, encoder_layers=3, decoder_layers=3, attention_width=20, tying="three-way"
    ),
    "free recurrent": RecurrentSettings(width=32, decoder_layers=2, tying="none"),
}
VOCABULARY, SOURCE, TARGET, BATCH = 50, 9, 7, 3


@pytest.mark.parametrize("name", MODELS)
def test_weights_are_those_of_the_model(name: str) -> None:
    with torch.device("meta"):
        model = build_model(MODELS[name], VOCABULARY, VOCABULARY)
    assert cost_of(MODELS[name], VOCABULARY).weights == count_weights(model)


def test_two_vocabularies() -> None:
    for settings in (TransformerSettings(tying="target"), RecurrentSettings(tying="none")):
        with torch.device("meta"):
            model = build_model(settings, 70, 50)
        assert cost_of(settings, 70, 50).weights == count_weights(model)


def batch() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    source, target = torch.randint(4, VOCABULARY, (BATCH, SOURCE)), torch.randint(4, VOCABULARY, (BATCH, TARGET))
    return source, torch.full((BATCH,), SOURCE), target


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_operations_are_those_that_torch_counts(name: str) -> None:
    settings = TransformerSettings.model_validate(SMALL | TRANSFORMERS[name])
    model = build_transformer(settings, VOCABULARY, VOCABULARY, reference.attention)
    cost = cost_of(settings, VOCABULARY, source_length=SOURCE, target_length=TARGET)
    with FlopCounterMode(display=False) as forward:
        loss = model.project(model(*batch())).sum()
    assert forward.get_total_flops() == pytest.approx(cost.forward_flops * BATCH * TARGET, rel=1e-12)
    with FlopCounterMode(display=False) as backward:
        loss.backward()
    assert backward.get_total_flops() == pytest.approx(cost.backward_flops * BATCH * TARGET, rel=1e-12)


@pytest.mark.parametrize("name", ["recurrent", "deep recurrent"])
def test_operations_of_the_recurrent_model(name: str) -> None:
    """torch's counter leaves out what is inside an LSTM, and the product with the vector v of additive attention."""
    settings = MODELS[name]
    assert isinstance(settings, RecurrentSettings)
    model = build_recurrent(settings, VOCABULARY, VOCABULARY)
    with FlopCounterMode(display=False) as counted:
        model.project(model(*batch()))
    inside = 2 * TARGET * SOURCE * settings.score_width
    for lstm, length in ((model.encoder.layers, SOURCE), (model.decoder.upper, TARGET)):
        weights = [] if lstm is None else [w for n, w in lstm.named_parameters() if n.startswith("weight")]
        inside += 2 * length * sum(weight.numel() for weight in weights)
    cost = cost_of(settings, VOCABULARY, source_length=SOURCE, target_length=TARGET)
    assert cost.forward_flops * TARGET == pytest.approx(counted.get_total_flops() / BATCH + inside, rel=1e-12)


@pytest.mark.parametrize("name", [*TRANSFORMERS, "recurrent"])
def test_what_is_kept_for_the_backward_pass_is_about_what_autograd_keeps(name: str) -> None:
    settings = MODELS[name].model_copy(update={"dropout": 0.1})
    if isinstance(settings, TransformerSettings):
        settings = settings.model_copy(update={"width": 64, "feedforward_width": 256, "heads": 4})
        model = build_transformer(settings, VOCABULARY, VOCABULARY, fused.attention)
    else:
        model = build_model(settings, VOCABULARY, VOCABULARY)
    model.train()
    own = {weight.untyped_storage().data_ptr() for weight in model.parameters()}
    kept: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own and tensor.dtype.is_floating_point:
            kept[storage.data_ptr()] = storage.nbytes()
            held.append(tensor)  # so that no address is used twice
        return tensor

    held: list[torch.Tensor] = []
    source = torch.randint(4, VOCABULARY, (8, 40))
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model(source, torch.full((8,), 40), source)
    cost = cost_of(settings, VOCABULARY, source_length=40, target_length=40)
    assert cost.memory(8 * 40).activations == pytest.approx(sum(kept.values()), rel=0.3)


def test_memory_by_hand() -> None:
    memory = cost_of(TransformerSettings(), 37_000).memory(1000)
    assert (memory.weights, memory.gradients, memory.moments) == (4 * 63_045_632, 4 * 63_045_632, 8 * 63_045_632)
    assert memory.total == 16 * 63_045_632 + memory.activations
    assert memory.activations == pytest.approx(cost_of(TransformerSettings(), 37_000).memory(2000).activations / 2)


def test_the_bill_by_hand() -> None:
    cost = cost_of(TransformerSettings(), 37_000)
    bill = cost.training(1e6, Machine(flops_per_second=1e12, devices=4, price_per_hour=3.0))
    assert bill.flops == cost.training_flops * 1e6 == 3 * cost.forward_flops * 1e6
    assert bill.seconds == bill.flops / 4e12
    assert bill.money == pytest.approx(bill.seconds / 3600 * 4 * 3.0)


def test_the_papers_base_model_by_hand() -> None:
    # A sentence of n = 25 on each side: projections 4 n d^2, scores and sums 2 n^2 d, feed-forward 2 n d f; six layers
    # with one attention and six with two; and the output n d V.
    n, d, f = 25, 512, 2048
    attention, feedforward = 4 * n * d * d + 2 * n * n * d, 2 * n * d * f
    products = 6 * (attention + feedforward) + 6 * (2 * attention + feedforward) + n * d * 37_000
    assert cost_of(TransformerSettings(), 37_000).forward_flops == 2 * products / n


def test_longer_sentences_cost_more_a_token() -> None:
    settings = TransformerSettings()
    short, long = (cost_of(settings, 100, source_length=n, target_length=n).forward_flops for n in (10, 1000))
    assert long - short == 2 * 18 * 2 * 990 * 512  # 18 attentions, scores and sums


def test_the_tables_of_the_formulas_know_every_choice() -> None:
    assert set(cost_transformer.FEEDFORWARDS) == set(FEEDFORWARDS)
    assert set(cost_transformer.NORMS) == set(NORMS)
