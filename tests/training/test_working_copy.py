"""The narrow copy that computes gradients, and the model that keeps them."""

from copy import deepcopy

import torch
from torch import nn

from openwork.machine.precision import computing_in
from openwork.models.build import build_model
from openwork.models.interfaces import SequenceModel
from openwork.models.settings import TransformerSettings
from openwork.nn.embedding import TokenEmbedding
from openwork.training.computing.working_copy import WorkingCopy, compute_in_layout
from training.tiny import CPU, RECURRENT

SETTINGS = TransformerSettings(
    width=16, heads=2, encoder_layers=2, decoder_layers=1, feedforward_width=24, dropout=0.0, norm="pre"
)
SOURCE, LENGTHS, TARGET = torch.tensor([[5, 6, 3], [4, 3, 0]]), torch.tensor([3, 2]), torch.tensor([[2, 7], [2, 8]])


def make_model() -> SequenceModel:
    torch.manual_seed(1)
    return build_model(SETTINGS, 11, 11)


def test_in_float32_it_is_the_model_itself() -> None:
    model = make_model()
    copy = WorkingCopy(model, "float32")
    assert copy.model is model and all(a is b for a, b in zip(copy.own, copy.working, strict=True))


def test_matrices_are_narrow_and_all_else_is_shared() -> None:
    model = make_model()
    copy = WorkingCopy(model, "bfloat16")
    for own, working in zip(model.modules(), copy.model.modules(), strict=True):
        for name, parameter in own.named_parameters(recurse=False):
            twin = getattr(working, name)
            assert (twin is not parameter) == isinstance(own, nn.Linear), (own, name)
            assert twin.dtype is (torch.bfloat16 if isinstance(own, nn.Linear) else torch.float32)
    assert copy.model.output_weight is model.output_weight


def test_the_matrices_follow_the_models() -> None:
    model = make_model()
    copy = WorkingCopy(model, "bfloat16")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)
    stale = [not torch.equal(own.bfloat16(), working) for own, working in zip(copy.own, copy.working, strict=True)]
    copy.refresh()
    assert any(stale)
    for own, working in zip(copy.own, copy.working, strict=True):
        assert torch.equal(own.to(working.dtype), working)


def test_the_stream_is_narrow_and_close_to_the_exact_one() -> None:
    model, seen = make_model(), []
    copy = WorkingCopy(model, "bfloat16")
    for module in copy.model.modules():
        if not isinstance(module, TokenEmbedding | nn.Embedding) and not list(module.children()):
            module.register_forward_hook(lambda _module, _inputs, output: seen.append(output.dtype))
    with computing_in("bfloat16", CPU):
        found = copy.model(SOURCE, LENGTHS, TARGET)
    assert found.dtype is torch.bfloat16 and set(seen) == {torch.bfloat16}
    exact = model.double()(SOURCE, LENGTHS, TARGET)
    assert (found.double() - exact)[0].norm() < 0.03 * exact[0].norm()


def test_gradients_are_the_models_up_to_rounding_and_add_up() -> None:
    model = make_model()
    copy = WorkingCopy(model, "bfloat16")
    upstream = torch.randn(2, 2, 16, generator=torch.Generator().manual_seed(2))
    with computing_in("bfloat16", CPU):
        found = copy.model(SOURCE, LENGTHS, TARGET)
    gradients = torch.autograd.grad(found, copy.working, upstream.bfloat16(), allow_unused=True)
    copy.take([gradients, gradients])
    taken = [None if own.grad is None else own.grad.clone() for own in copy.own]
    exact = torch.autograd.grad(model(SOURCE, LENGTHS, TARGET), copy.own, 2 * upstream, allow_unused=True)
    for own, mine, right in zip(copy.own, taken, exact, strict=True):
        assert (mine is None) == (right is None)
        if mine is not None and right is not None:
            assert mine.dtype is torch.float32 and mine.stride() == own.stride()
            assert (mine - right).norm() <= 0.05 * right.norm() + 1e-3
    copy.take([gradients])  # anew, not on top
    for own, both in zip(copy.own, taken, strict=True):
        assert (own.grad is None and both is None) or torch.allclose(2 * own.grad, both)  # type: ignore[operator]


def test_frozen_weights_take_no_gradient() -> None:
    model = make_model()
    frozen = next(module for module in model.modules() if isinstance(module, nn.Linear)).weight
    frozen.requires_grad_(False)
    copy = WorkingCopy(model, "bfloat16")
    assert all(own is not frozen for own in copy.own) and all(one.requires_grad for one in copy.working)


def test_recurrent_cells_keep_their_numbers() -> None:
    model = build_model(RECURRENT, 11, 11)
    assert WorkingCopy(model, "bfloat16").model is model


def test_joined_and_rectified_products_have_the_models_gradients() -> None:
    """What a GPU's working copy computes with, here in float32."""
    model = make_model().train()
    other = deepcopy(model)
    compute_in_layout(other)
    names, weights = zip(*other.named_parameters(), strict=True)
    assert names == tuple(name for name, _ in model.named_parameters())
    found, expected = (each(SOURCE, LENGTHS, TARGET) for each in (other, model))
    torch.testing.assert_close(found, expected)
    slopes = torch.autograd.grad(found.square().sum(), weights, allow_unused=True)
    wanted = torch.autograd.grad(expected.square().sum(), list(model.parameters()), allow_unused=True)
    for name, one, right in zip(names, slopes, wanted, strict=True):
        assert (one is None) == (right is None), name
        if one is not None:
            torch.testing.assert_close(one, right, msg=lambda text, name=name: f"{name}: {text}")
    layer = other.get_submodule("encoder.layers.0")
    both = layer.self_attention.key.weight, layer.self_attention.value.weight
    assert both[0].untyped_storage().data_ptr() == both[1].untyped_storage().data_ptr()
    assert isinstance(layer.feedforward.activation, nn.Identity)
