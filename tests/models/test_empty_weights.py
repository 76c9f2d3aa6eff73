"""Models without numbers: the names and shapes of the others, and nothing slow to make them."""

import pytest
import torch

from calling import imports_compiler
from openwork.models.build import build_model
from openwork.models.settings import TransformerSettings
from openwork.models.weights import empty_weights, model_weights, restore_weights, uninitialised

SIZES = TransformerSettings(width=16, heads=2, feedforward_width=24, encoder_layers=1, decoder_layers=1)


def test_names_and_shapes_are_those_of_a_model() -> None:
    with empty_weights():
        empty = build_model(SIZES, 30, 30)
    assert all(weight.is_meta for weight in empty.parameters())
    shapes = {name: weight.shape for name, weight in empty.named_parameters()}
    assert shapes == {name: weight.shape for name, weight in build_model(SIZES, 30, 30).named_parameters()}


def test_what_has_numbers_draws_them_as_ever() -> None:
    wanted = torch.nn.init.normal_(torch.empty(5), generator=torch.Generator().manual_seed(1))
    with empty_weights():
        found = torch.nn.init.normal_(torch.empty(5, device="cpu"), generator=torch.Generator().manual_seed(1))
    assert torch.equal(found, wanted)


@pytest.mark.slow
def test_weights_that_are_put_into_an_undrawn_model_make_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever stood in its memory."""
    empty = torch.empty
    monkeypatch.setattr(torch, "empty", lambda *sizes, **kinds: empty(*sizes, **kinds).fill_(float("nan")))
    learnt = build_model(SIZES, 30, 30)
    before = torch.random.get_rng_state()
    with uninitialised():
        model = build_model(SIZES, 30, 30)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(bool(weight.isnan().all()) for weight in model.parameters() if weight.dim() == 2)
    restore_weights(model, model_weights(learnt), "here")
    source, lengths, target = torch.tensor([[4, 5, 3]]), torch.tensor([3]), torch.tensor([[2, 6]])
    assert torch.equal(model.eval()(source, lengths, target), learnt.eval()(source, lengths, target))


@pytest.mark.slow
def test_the_compiler_is_not_imported_for_them() -> None:
    """It takes almost two seconds, which every command that reads a bundle would wait."""
    assert not imports_compiler(
        "from openwork.models.build import build_model\n"
        "from openwork.models.weights import empty_weights\n"
        "from openwork.models.settings import TransformerSettings\n"
        "with empty_weights(): build_model(TransformerSettings(), 30, 30)"
    )
