"""Models without numbers: the names and shapes of the others, and nothing slow to make them."""

import subprocess
import sys

import torch

from openwork.models.build import build_model
from openwork.models.settings import TransformerSettings
from openwork.models.unfilled import unfilled

SIZES = TransformerSettings(width=16, heads=2, feedforward_width=24, encoder_layers=1, decoder_layers=1)


def test_names_and_shapes_are_those_of_a_model() -> None:
    with unfilled():
        empty = build_model(SIZES, 30, 30)
    assert all(weight.is_meta for weight in empty.parameters())
    shapes = {name: weight.shape for name, weight in empty.named_parameters()}
    assert shapes == {name: weight.shape for name, weight in build_model(SIZES, 30, 30).named_parameters()}


def test_what_has_numbers_draws_them_as_ever() -> None:
    wanted = torch.nn.init.normal_(torch.empty(5), generator=torch.Generator().manual_seed(1))
    with unfilled():
        found = torch.nn.init.normal_(torch.empty(5, device="cpu"), generator=torch.Generator().manual_seed(1))
    assert torch.equal(found, wanted)


def test_the_compiler_is_not_imported_for_them() -> None:
    """It takes almost two seconds, which every command that reads a bundle would wait."""
    code = (
        "import sys; from openwork.models.build import build_model; from openwork.models.unfilled import unfilled\n"
        "from openwork.models.settings import TransformerSettings\n"
        "with unfilled(): build_model(TransformerSettings(), 30, 30)\n"
        "print('torch._dynamo' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "False"
