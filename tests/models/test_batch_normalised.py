"""Models with batch norms in training: padding never counts, on either side of any family that may have them."""

from typing import Any

import pytest
import torch

from openwork.models.build import build_model
from openwork.models.families import ModelSettings
from openwork.models.settings import DecoderSettings, EncoderSettings, TransformerSettings
from openwork.nn.normalisation import running_statistics
from openwork.training.batches.packing import packing_problem

SIZES: dict[str, Any] = {
    "width": 12, "heads": 2, "feedforward_width": 16, "dropout": 0.0, "normalisation": "batch", "embedding_norm": True,
}  # fmt: skip
FAMILIES: dict[str, ModelSettings] = {
    "transformer": TransformerSettings(**SIZES, encoder_layers=2, decoder_layers=2),
    "pre-norm": TransformerSettings(**SIZES, encoder_layers=1, decoder_layers=1, norm="pre"),
    "branch": TransformerSettings(**SIZES, encoder_layers=1, decoder_layers=1, norm="branch"),
    "decoder": DecoderSettings(**SIZES, layers=2),
    "tag": EncoderSettings(**SIZES, layers=2, task="tag"),
    "fill": EncoderSettings(**SIZES, layers=2, task="fill"),
}
PAD, START, END = 0, 2, 3
SOURCE, LENGTHS = torch.tensor([[5, 6, 7, END], [9, END, PAD, PAD]]), torch.tensor([4, 2])
TARGET = torch.tensor([[START, 4, 5], [START, 12, PAD]])


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_more_padding_changes_neither_what_is_learnt_nor_what_is_remembered(name: str) -> None:
    """Two more columns on both sides; those of the source hold tokens, which lengths alone tell from real ones."""
    found = []
    for more in (0, 2):
        torch.manual_seed(3)
        model = build_model(FAMILIES[name], 13, 13).train()
        source = torch.nn.functional.pad(SOURCE, (0, more), value=8)
        target = torch.nn.functional.pad(TARGET, (0, more), value=PAD)
        hidden = model(source, LENGTHS, target)[:, :3]
        real = hidden[TARGET != PAD]
        weights = list(model.parameters())
        gradients = torch.autograd.grad(real.square().sum() + real.sum(), weights, allow_unused=True)
        statistics = {key: value.clone() for key, value in running_statistics(model).items()}
        found.append((real, [one for one in gradients if one is not None], statistics))
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-4)
    variances = [value for key, value in found[0][2].items() if key.endswith("running_variance")]
    assert variances and all(bool((value != 1).all()) for value in variances)  # every norm has seen the batch


@pytest.mark.slow
@pytest.mark.parametrize("name", ["transformer", "decoder", "fill"])
def test_trained_ones_give_a_sentence_the_same_in_any_company(name: str) -> None:
    torch.manual_seed(3)
    model = build_model(FAMILIES[name], 13, 13).train()
    for _ in range(3):
        model(SOURCE, LENGTHS, TARGET)
    before = {key: value.clone() for key, value in running_statistics(model).items()}
    model.eval()
    together = model(SOURCE, LENGTHS, TARGET)
    alone = model(SOURCE[1:, :2], LENGTHS[1:], TARGET[1:])
    torch.testing.assert_close(alone[:, :2], together[1:, :2], rtol=1e-4, atol=1e-5)
    assert all(torch.equal(before[key], value) for key, value in running_statistics(model).items())


def test_prompt_and_target_stay_apart() -> None:
    assert "prompts and targets" in (packing_problem(build_model(FAMILIES["decoder"], 13, 13)) or "")
    transformer = FAMILIES["transformer"].model_copy(update={"width": 16})  # the kernel wants heads of 8 numbers
    assert packing_problem(build_model(transformer, 13, 13)) is None
