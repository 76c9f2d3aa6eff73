"""The compiled products of linear layers beside exact ones, and where the framework computes them instead."""

from collections.abc import Iterator

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from openwork.machine.native import building
from openwork.nn.kernels import native
from openwork.nn.kernels import products as chosen
from openwork.nn.kernels.in_layout import linear_in_layout, rectified_in_layout
from openwork.nn.kernels.native import products

BF16 = torch.bfloat16


@pytest.fixture
def pairs() -> None:
    if not products.has_pairs():
        pytest.skip("needs a compiler, and a processor with AVX-512's products of bfloat16")


def whole(*shape: int) -> Tensor:
    """Small whole numbers, of which sums in float32 are exact."""
    return torch.randint(-4, 5, shape).to(BF16)


def exactly(expected: Tensor) -> Tensor:
    """What bfloat16 makes of a sum in double precision."""
    return expected.to(BF16).double()


def check_all(rows: int, width: int, after: int) -> None:
    x, weight, bias, gradient = whole(rows, width), whole(after, width), whole(after), whole(rows, after)
    product = x.double() @ weight.double().T
    assert torch.equal(products.linear(x, weight).double(), exactly(product))
    assert torch.equal(
        products.linear(x, weight, bias, is_rectified=True).double(), exactly((product + bias.double()).relu())
    )
    assert torch.equal(products.logits(x, weight).double(), exactly(product))
    assert torch.equal(products.by_input(gradient, weight).double(), exactly(gradient.double() @ weight.double()))
    by_weight = gradient.double().T @ x.double()
    assert torch.equal(products.by_weight(gradient, x).double(), exactly(by_weight))
    sums = torch.randint(-9, 10, (after, width)).float()
    before = sums.double()
    products.add_by_weight(gradient, x, sums)
    assert torch.equal(sums.double(), before + by_weight)


@pytest.mark.parametrize(
    ("rows", "width", "after"),
    [
        (1, 2, 2),
        (12, 32, 32),
        (13, 6, 34),
        (25, 256, 300),
        (300, 136, 272),
        (100, 18, 2000),
        (7, 5000, 66),
        (3000, 8, 40),
    ],
)
def test_products_of_whole_numbers_are_exact(rows: int, width: int, after: int, pairs: None) -> None:
    check_all(rows, width, after)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.integers(1, 80), half_width=st.integers(1, 60), half_after=st.integers(1, 60))
def test_any_sizes(rows: int, half_width: int, half_after: int, pairs: None) -> None:
    check_all(rows, 2 * half_width, 2 * half_after)


def test_parts_of_larger_matrices(pairs: None) -> None:
    """Rows that do not follow each other at once, and such as have numbers apart from each other."""
    x, weight, gradient = whole(40, 96)[:, 10:74], whole(64, 50).T, whole(40, 51)[:, 1:]
    assert torch.equal(products.linear(x, weight).double(), exactly(x.double() @ weight.double().T))
    assert torch.equal(products.by_input(gradient, weight).double(), exactly(gradient.double() @ weight.double()))
    assert torch.equal(products.by_weight(gradient, x).double(), exactly(gradient.double().T @ x.double()))


def test_rows_are_computed_alike_alone_and_together(pairs: None) -> None:
    x, weight, bias = torch.randn(50, 64).to(BF16), torch.randn(96, 64).to(BF16), torch.randn(96).to(BF16)
    together = products.linear(x, weight, bias)
    assert torch.equal(together, torch.cat([products.linear(row[None], weight, bias) for row in x]))
    assert torch.equal(together, products.linear(x.flip(0), weight, bias).flip(0))


def test_threads_change_no_bit(pairs: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "FEWEST", 1)
    x, weight, gradient = torch.randn(90, 64).to(BF16), torch.randn(70, 64).to(BF16), torch.randn(90, 70).to(BF16)
    made = []
    for threads in (1, 3):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        made.append(
            [
                products.linear(x, weight),
                products.by_input(gradient, weight),
                products.by_weight(gradient, x),
            ]
        )
    assert all(torch.equal(one, other) for one, other in zip(*made, strict=True))


def test_what_is_no_number_stays_none(pairs: None) -> None:
    x, weight = torch.ones(5, 8, dtype=BF16), torch.ones(4, 8, dtype=BF16)
    x[2, 3] = torch.nan
    found = products.linear(x, weight, torch.zeros(4, dtype=BF16), is_rectified=True)
    assert found[2].isnan().all() and torch.equal(found[[0, 1, 3, 4]], torch.full((4, 4), 8, dtype=BF16))


def test_rows_of_logits_begin_with_a_cache_line(pairs: None) -> None:
    found = products.logits(whole(5, 8), whole(37 * 2, 8))
    assert found.shape == (5, 74) and found.stride() == (96, 1)


# ------------------------------------------------------------------------------------------- instead of the framework


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the compiled functions that are called."""
    names: list[str] = []
    call = products._call

    def noted(name: str, *arguments: object, **options: object) -> None:
        names.append(name)
        call(name, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(products, "_call", noted)
    yield names


@pytest.fixture
def used(pairs: None) -> None:
    if not products.is_available():
        pytest.skip("the framework's products are by AMX here")


def test_layers_ask_for_them(used: None, asked: list[str]) -> None:
    layer, x = nn.Linear(6, 10).to(BF16), torch.randn(3, 4, 6).to(BF16).requires_grad_()
    expected = layer(x.double().to(BF16)).relu()
    upstream = torch.randn(3, 4, 10).to(BF16)
    found = rectified_in_layout(layer, x)
    torch.testing.assert_close(found, expected, rtol=1.6e-2, atol=1e-2)
    gradients = torch.autograd.grad(found, [x, *layer.parameters()], upstream)
    wanted = torch.autograd.grad(layer(x).relu(), [x, *layer.parameters()], upstream)
    for one, other in zip(gradients, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1.6e-2, atol=3e-2)
    assert asked == ["product_turned", "product", "product_of_columns"]


def test_what_does_not_learn_has_no_product(used: None, asked: list[str]) -> None:
    layer, x = nn.Linear(6, 10).to(BF16).requires_grad_(False), torch.randn(4, 6).to(BF16).requires_grad_()
    linear_in_layout(layer, x).sum().backward()
    layer.requires_grad_(True)
    linear_in_layout(layer, x.detach()).sum().backward()
    assert asked == ["product_turned", "product", "product_turned", "product_of_columns"]
    assert x.grad is not None and layer.weight.grad is not None and layer.bias.grad is not None


def test_second_derivatives_are_the_frameworks(used: None) -> None:
    """Of sum(y^3) by x and W; whole numbers, so that both are exact."""
    layer = nn.Linear(4, 6, bias=False).to(BF16)
    layer.weight.data = torch.randint(-1, 2, (6, 4)).to(BF16)
    x = torch.randint(-1, 2, (3, 4)).to(BF16).requires_grad_()

    def second(y: Tensor) -> tuple[Tensor, ...]:
        (first,) = torch.autograd.grad((y**3).sum(), x, create_graph=True)
        return torch.autograd.grad(first.sum(), [x, layer.weight])

    for one, other in zip(second(linear_in_layout(layer, x)), second(layer(x)), strict=True):
        assert one.any() and torch.equal(one, other)


@pytest.mark.parametrize("reason", ["tiles", "switched off", "float32", "odd", "no rows"])
def test_the_framework_computes_the_rest(reason: str, asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    caches = native.is_available, products.has_pairs, products.is_available, building.library
    width, after, rows, dtype = 6, 10, 4, BF16
    if reason == "tiles":
        monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: True)
    elif reason == "switched off":
        monkeypatch.setenv(building.SWITCH, "off")
    elif reason == "float32":
        dtype = torch.float32
    elif reason == "odd":
        width, after = 5, 9
    else:
        rows = 0
    for each in caches:
        each.cache_clear()
    try:
        x, weight, gradient = (
            torch.randn(*shape).to(dtype) for shape in ((rows, width), (after, width), (rows, after))
        )
        sums = chosen.add_by_weight(gradient, x, None)
        assert sums.dtype is torch.float32
        near = {"rtol": 1.6e-2, "atol": 1e-2}
        torch.testing.assert_close(chosen.linear(x, weight), x @ weight.T, **near)
        torch.testing.assert_close(
            chosen.linear(x, weight, weight[:, 0], is_rectified=True),
            (x @ weight.T + weight[:, 0]).relu(),
            rtol=0.02,
            atol=0.05,
        )
        torch.testing.assert_close(chosen.logits(x, weight), x @ weight.T, **near)
        torch.testing.assert_close(chosen.by_input(gradient, weight), gradient @ weight, **near)
        torch.testing.assert_close(chosen.by_weight(gradient, x), gradient.T @ x, **near)
        torch.testing.assert_close(sums, (gradient.T @ x).float(), **near)
        assert chosen.add_by_weight(gradient, x, sums) is sums
        torch.testing.assert_close(sums, 2 * (gradient.T @ x).float(), **near)
        assert asked == []
    finally:
        for each in caches:
            each.cache_clear()
