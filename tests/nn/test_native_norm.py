"""The compiled norm of a sum beside the framework's in double precision, and its masks."""

import ctypes

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from nn.native import instructions  # noqa: F401
from openwork.machine.native.building import library
from openwork.nn.dropout import drawing_from
from openwork.nn.kernels import native
from openwork.nn.kernels.native import FUNCTIONS, norm
from openwork.nn.normalisation import dropped_sum, layer_norm, norm_of_sum, takes_dropped_sum, takes_sum
from openwork.nn.residual import PostNorm, PreNorm, ResidualSum

ROWS = 35
NEAR = {torch.float32: 1e-6, torch.bfloat16: 8e-3}  # of the largest number


def made(width: int, dtype: torch.dtype) -> tuple[nn.LayerNorm, list[Tensor], Tensor]:
    """A norm, two vectors for each row, and a gradient."""
    generator = torch.Generator().manual_seed(width)
    module = layer_norm(width)
    with torch.no_grad():
        for weight in module.parameters():
            weight.normal_(generator=generator)
    x, y, slope = (torch.randn(5, 7, width, generator=generator).to(dtype) for _ in range(3))
    return module, [x.requires_grad_(), y.requires_grad_()], slope


def worst(found: list[Tensor], expected: list[Tensor]) -> float:
    pairs = zip(found, expected, strict=True)
    return max(
        float((one.detach().double() - other.detach()).abs().max() / other.detach().abs().max()) for one, other in pairs
    )


@pytest.mark.parametrize("dtype", list(NEAR), ids=str)
@pytest.mark.parametrize("width", [16, 48, 256, 272])
@pytest.mark.parametrize(("count", "rate"), [(1, 0.0), (2, 0.0), (2, 0.25)])
def test_values_and_gradients_are_the_frameworks(width: int, count: int, rate: float, dtype: torch.dtype) -> None:
    module, given, slope = made(width, dtype)
    given, learnt = given[:count], [module.weight, module.bias]
    assert takes_sum(module, *given)
    found = norm_of_sum(module, given[0], *given[1:], dropout=rate)
    gradients = torch.autograd.grad(found, [*given, *learnt], slope)
    exact = [one.detach().double().requires_grad_() for one in (*given, *learnt)]
    # what was dropped has no gradient
    mask = (gradients[1] != 0).double() / (1 - rate) if rate else torch.ones(())
    total = exact[0] + mask * exact[1] if count == 2 else exact[0]
    expected = functional.layer_norm(total, (width,), *exact[-2:], module.eps)
    wanted = torch.autograd.grad(expected, exact, slope.double())
    assert worst([found, *gradients], [expected, *wanted]) < NEAR[dtype]


@pytest.mark.parametrize("dtype", list(NEAR), ids=str)
@pytest.mark.parametrize("width", [16, 272])
def test_a_sum_with_dropout_and_its_gradients(width: int, dtype: torch.dtype) -> None:
    _, (x, y), slope = made(width, dtype)
    assert takes_dropped_sum(x, y, 0.25)
    found = dropped_sum(x, y, 0.25)
    by_x, by_y = torch.autograd.grad(found, (x, y), slope)
    assert torch.equal(by_x, slope)
    mask = (by_y != 0).double() / 0.75
    assert 0.5 < mask.mean() < 1.5
    assert worst([found, by_y], [x.double() + mask * y.double(), mask * slope.double()]) < NEAR[dtype]


def test_a_residual_sum_uses_it_while_it_trains(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = ResidualSum(0.25)
    x, y = torch.randn(2, 3, 32), torch.randn(2, 3, 32)
    used = []
    monkeypatch.setattr(norm.DroppedSum, "apply", lambda *given: used.append(given) or torch.zeros(6, 32))
    connection(x, y)
    assert len(used) == 1
    assert torch.equal(connection.eval()(x, y), x + y) and len(used) == 1
    for rate in (0.0, 0.001, 1.0):
        assert not takes_dropped_sum(x, y, rate)


def philox(key: int, counter: int) -> list[int]:
    """Philox4x32 with 7 rounds (Salmon et al. 2011), word by word."""
    words, keys = [counter % 2**32, counter >> 32, 0, 0], [key % 2**32, key >> 32]
    for _ in range(7):
        first, second = 0xD2511F53 * words[0], 0xCD9E8D57 * words[2]
        words = [
            (second >> 32) ^ words[1] ^ keys[0], second % 2**32, (first >> 32) ^ words[3] ^ keys[1], first % 2**32
        ]  # fmt: skip
        keys = [(keys[0] + 0x9E3779B9) % 2**32, (keys[1] + 0xBB67AE85) % 2**32]
    return words


@pytest.mark.parametrize(("key", "first"), [(0, 0), (0x123456789ABCDEF0, 2**32 - 16), (2**64 - 1, 2**33)])
def test_random_words_are_those_of_philox(key: int, first: int) -> None:
    count = 32
    words = torch.empty(4, count, dtype=torch.int32)
    function = library(FUNCTIONS).openwork_random_words
    function.argtypes = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int64, ctypes.c_void_p]
    function(key, first, count, words.data_ptr())
    expected = torch.tensor([philox(key, first + place) for place in range(count)]).T
    assert torch.equal(words.long() % 2**32, expected)


def test_the_first_words_are_the_published_ones() -> None:
    """The known answer of the authors' library for 7 rounds, key 0 and counter 0."""
    assert [f"{word:08x}" for word in philox(0, 0)] == ["5f6fb709", "0d893f64", "4f121f81", "4f730a48"]


def masks(seed: int, rate: float, rows: int = 4000) -> Tensor:
    x, y = torch.zeros(rows, 64), torch.ones(rows, 64, requires_grad=True)
    with drawing_from(torch.Generator().manual_seed(seed)):
        found = norm_of_sum(layer_norm(64), x, y, rate)
    (gradient,) = torch.autograd.grad(found, y, torch.randn(rows, 64))
    return gradient == 0


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_numbers_are_dropped_independently_and_as_often_as_wanted(rate: float) -> None:
    found, other = masks(1, rate), masks(2, rate)
    rounded = round(rate * norm.STEPS) / norm.STEPS
    for which in (found, found[:, 0], found[:, 37], found[:2000]):
        deviation = (rounded * (1 - rounded) / which.numel()) ** 0.5
        assert abs(float(which.double().mean()) - rounded) < 5 * deviation
    for one, two in ((found, other), (found[1:], found[:-1]), (found[:, 1:], found[:, :-1])):
        both = (one & two).double().mean()
        deviation = (rounded**2 * (1 - rounded**2) / one.numel()) ** 0.5
        assert abs(float(both) - rounded**2) < 5 * deviation


def test_masks_follow_from_the_generator() -> None:
    assert torch.equal(masks(3, 0.3), masks(3, 0.3)) and not torch.equal(masks(3, 0.3), masks(4, 0.3))


def test_threads_change_no_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "FEWEST", 1)
    found = []
    for threads in (1, 3):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        found.append(masks(5, 0.3, rows=50))
    assert torch.equal(*found)


@pytest.mark.parametrize("kind", [PostNorm, PreNorm])
def test_connections_use_it_while_they_train(kind: type[PostNorm | PreNorm], monkeypatch: pytest.MonkeyPatch) -> None:
    connection = kind(32, 0.0)
    x, y = torch.randn(2, 3, 32), torch.randn(2, 3, 32)
    used = []
    monkeypatch.setattr(norm.NormOfSum, "apply", lambda *given: used.append(given) or torch.zeros(6, 32))
    connection.after(connection.before(x), y)
    assert len(used) == 1
    connection.eval()
    connection.after(connection.before(x), y)
    assert len(used) == 1


def test_what_fills_no_registers_is_left_to_the_framework() -> None:
    assert not takes_sum(layer_norm(24), torch.zeros(3, 24))
    assert not takes_sum(layer_norm(32), torch.zeros(3, 32), torch.zeros(3, 32), dropout=0.999)
    assert not takes_sum(layer_norm(32).double(), torch.zeros(3, 32, dtype=torch.float64))
    assert not takes_sum(layer_norm(32), torch.zeros(3, 32), torch.zeros(3, 32, dtype=torch.bfloat16))
