"""Dropout acts on the sums of embeddings and positional encodings (section 5.4 of the paper), in every family."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from openwork.models.build import build_model
from openwork.models.convolutional_settings import ConvS2SSettings
from openwork.models.families import ModelSettings
from openwork.models.settings import DecoderSettings, EncoderSettings, TransformerSettings

SOURCE, LENGTHS, TARGET = torch.tensor([[5, 6, 3]]), torch.tensor([3]), torch.tensor([[2, 7]])
SIZES = {"width": 8, "heads": 2, "feedforward_width": 12, "dropout": 0.5}
FAMILIES: dict[str, ModelSettings] = {
    "transformer": TransformerSettings(**SIZES, encoder_layers=1, decoder_layers=1),
    "encoder": EncoderSettings(task="fill", layers=1, **SIZES),
    "decoder": DecoderSettings(layers=1, positions="sinusoidal", **SIZES),
    "convs2s": ConvS2SSettings(width=8, encoder_layers=1, decoder_layers=1, dropout=0.5),
}


def outputs_of_positions(model: nn.Module, monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """The outputs of the positional encodings from now on."""
    found: list[Tensor] = []

    def noting(sound: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def note(*arguments: object) -> Tensor:
            found.append(sound(*arguments))
            return found[-1]

        return note

    for name, module in model.named_modules():
        if name.rpartition(".")[2].endswith("positions"):
            monkeypatch.setattr(module, "at", noting(module.at))  # type: ignore[arg-type]
    return found


def inputs_of(module: nn.Module) -> list[Tensor]:
    found: list[Tensor] = []
    module.register_forward_pre_hook(lambda _, arguments: found.append(arguments[0]))
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_dropped_holds_the_positions(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    model = build_model(FAMILIES[family], 11, 11).train()
    dropped = inputs_of(model.embedding_dropout)  # type: ignore[arg-type]
    summed = outputs_of_positions(model, monkeypatch)
    model(SOURCE, LENGTHS, TARGET)
    assert dropped and len(summed) == len(dropped)
    for one, other in zip(dropped, summed, strict=True):
        assert torch.equal(one, other)


def test_the_sum_is_what_the_formula_says() -> None:
    """sqrt(d_model) times the embedding, plus the position's sinusoid, each position its own."""
    model = build_model(FAMILIES["transformer"], 11, 11).eval()
    dropped = inputs_of(model.embedding_dropout)  # type: ignore[arg-type]
    model(SOURCE, LENGTHS, TARGET)
    read: Callable[[str], Tensor] = model.get_parameter
    for given, ids, side in zip(dropped, (SOURCE, TARGET), ("source", "target"), strict=True):
        rows = read(f"{side}_embedding.table.weight")[ids[0]] * 8**0.5
        angles = torch.arange(ids.shape[1])[:, None] / 10000 ** (torch.arange(0, 8, 2) / 8)
        sinusoids = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
        torch.testing.assert_close(given[0], rows + sinusoids)
