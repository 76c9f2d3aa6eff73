"""The compiled step is the model's: the same states and choices, and logits as near as float32 or eight bits allow.

It is compiled for this processor, and once more for one with AVX2 alone.
"""

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from openwork.base.errors import ConfigError
from openwork.decoding.beam import beam_search
from openwork.decoding.lone import search_one
from openwork.decoding.search import decode
from openwork.decoding.settings import DecodingSettings
from openwork.inference.prepared import prepare
from openwork.inference.prepared.native import NativeTransformer, can_be_native, problem
from openwork.inference.prepared.native.sources import FUNCTIONS
from openwork.inference.prepared.native.structures import IntegerLayout, integer_panels
from openwork.inference.prepared.products import ProductType, quantised
from openwork.machine.native import building
from openwork.models.build import build_model
from openwork.models.seq2seq import Transformer
from openwork.models.settings import TransformerSettings
from openwork.nn.normalisation import BatchNorm

needs_compiler = pytest.mark.skipif(bool(problem()), reason=f"no compiled step: {problem()}")
AVX2_ALONE = ("-march=haswell",)
AVX_VNNI = ("-march=haswell", "-mavxvnni")
NO_TILES = (building.OWN, "-mno-amx-int8")
SPARING = ("-march=haswell", "-mtune=znver3")
"""For these processors GCC takes two instructions for a fused one in some loops, unless the code names it."""
KINDS = (
    pytest.param(("float32", (building.OWN,)), id="float32"),
    pytest.param(("float32", AVX2_ALONE), id="float32 with AVX2 alone"),
    pytest.param(("int8", (building.OWN,)), id="int8"),
    pytest.param(("int8", AVX2_ALONE), id="int8 with AVX2 alone"),
)
NEAR: dict[ProductType, float] = {"float32": 1e-4, "int8": 0.25}  # standard deviations; eight bits, through some layers


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProductType]:
    """The type of products; the functions are compiled for certain instructions."""
    products, instructions = request.param
    if instructions == (building.OWN,):
        if problem():
            pytest.skip(f"no compiled step: {problem()}")
        yield products
        return
    if problem() or platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("needs a compiler and a processor with AVX2")
    with compiled_for(instructions, monkeypatch):
        yield products


@contextmanager
def compiled_for(instructions: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    at = building.FLAGS.index(building.OWN)
    monkeypatch.setattr(building, "FLAGS", (*building.FLAGS[:at], *instructions, *building.FLAGS[at + 1 :]))
    building.library.cache_clear()
    yield
    building.library.cache_clear()


START, END = 2, 3
READ_TOGETHER = 432  # as in encoder.cpp
SIZES = TransformerSettings(
    width=64, heads=2, feedforward_width=96, encoder_layers=2, decoder_layers=2, dropout=0.0, tying="target"
)
CHOICES: dict[str, dict[str, Any]] = {
    "paper": {},
    "pre-norm": {"norm": "pre"},
    "biases": {"attention_bias": True, "output_bias": True},
    "head widths": {"head_width": 16, "value_width": 48},
    "no positions": {"positions": "none"},
    "widths that fill no registers": {
        "width": 44,
        "heads": 4,
        "feedforward_width": 72,
        "norm": "pre",
        "value_width": 9,
    },
    "odd widths": {"width": 42, "heads": 3, "feedforward_width": 70, "norm": "pre", "value_width": 9},
}


def made(vocabulary: int = 83, **changes: Any) -> Transformer:
    """A model whose output matrix does not fill its last panel, and whose gains and biases say something."""
    torch.manual_seed(3)
    model = build_model(SIZES.model_copy(update=changes), 41, vocabulary).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.1 * torch.randn_like(weight)
    assert isinstance(model, Transformer)
    return model


def batch(sentences: int = 9, longest: int = 21) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(5)
    lengths = torch.randint(2, longest + 1, (sentences,), generator=generator)
    lengths[0] = longest
    source = torch.randint(4, 41, (sentences, longest), generator=generator)
    return source.masked_fill(torch.arange(longest) >= lengths[:, None], 0), lengths


def near(found: Tensor, wanted: Tensor, kind: ProductType) -> bool:
    return bool((found - wanted).abs().max() < NEAR[kind] * wanted.std())


@pytest.mark.slow
@needs_compiler
@torch.no_grad()
@pytest.mark.parametrize("name", CHOICES)
def test_each_step_gives_the_models_logits(kind: ProductType, name: str) -> None:
    model = made(**CHOICES[name])
    if kind == "int8" and name == "odd widths":
        assert not can_be_native(model, kind)
        return
    assert can_be_native(model, kind)
    native, (source, lengths) = NativeTransformer(model, kind), batch()
    own, theirs = native.start(source, lengths), model.start(source, lengths)
    tokens = torch.full((9, 1), START)
    with torch.no_grad():
        for _ in range(40):  # beyond the room that a past has at first
            logits, own = native.step(tokens, own)
            wanted, theirs = model.step(tokens, theirs)
            assert near(logits, wanted, kind)
            tokens = wanted[:, 0].argmax(-1, keepdim=True)


@needs_compiler
@torch.no_grad()
def test_it_is_nearer_than_another_model_would_be(kind: ProductType) -> None:
    """The comparison above can fail: it does for a model with a slightly different layer."""
    model, (source, lengths) = made(), batch()
    native = NativeTransformer(model, kind)
    model.decoder.layers[1].feedforward.contract.weight *= 1.5  # type: ignore[union-attr]
    logits, _ = native.step(torch.full((9, 1), START), native.start(source, lengths))
    wanted, _ = model.step(torch.full((9, 1), START), model.start(source, lengths))
    assert not near(logits, wanted, kind)


@needs_compiler
@torch.no_grad()
def test_what_is_said_of_a_sentence_does_not_depend_on_its_company(kind: ProductType) -> None:
    """Bit for bit, from the source on: a row has a scale of its own, and padding is not read."""
    native = NativeTransformer(made(), kind)
    source, lengths = batch(40)
    assert lengths.sum() > READ_TOGETHER
    state = native.start(source, lengths)
    tokens = torch.arange(40)[:, None] % 80
    together, _ = native.step(tokens, state)
    for row in range(0, 40, 3):
        own = native.start(source[row : row + 1, : lengths[row]], lengths[row : row + 1])
        for state_alone in (state.select(torch.tensor([row])), own):
            alone, _ = native.step(tokens[row : row + 1], state_alone)
            assert torch.equal(alone[0], together[row])


@needs_compiler
@torch.no_grad()
def test_rows_may_be_dropped_doubled_and_reordered(kind: ProductType) -> None:
    model, (source, lengths) = made(norm="pre"), batch(6)
    native = NativeTransformer(model, kind)
    own, theirs = native.start(source, lengths), model.start(source, lengths)
    tokens = torch.full((6, 1), START)
    for rows in ([0, 1, 2, 3, 4], [1, 1, 3, 3, 4, 4], [5, 4, 3, 2, 1, 0], [0, 0, 1, 2], [3]):
        logits, own = native.step(tokens, own)
        wanted, theirs = model.step(tokens, theirs)
        assert near(logits, wanted, kind)
        kept = torch.tensor(rows)
        own, theirs, tokens = own.select(kept), theirs.select(kept), wanted[kept, 0].argmax(-1, keepdim=True)


@needs_compiler
@torch.no_grad()
def test_where_it_looks_is_where_the_model_looks(kind: ProductType) -> None:
    model, (source, lengths) = made(norm="pre"), batch(5)
    native, rows = NativeTransformer(model, kind), torch.tensor([0, 0, 2, 2, 4, 4])
    own, theirs = native.start(source, lengths).select(rows), model.start(source, lengths).select(rows)
    _, looked, _ = native.attend(torch.full((6, 1), START), own)
    _, wanted, _ = model.attend(torch.full((6, 1), START), theirs)
    assert looked.shape == wanted.shape
    assert torch.allclose(looked, wanted, atol=0.02)
    assert torch.equal(looked.sum(-1).round(decimals=4), torch.ones(6, 1))


@pytest.mark.slow
@needs_compiler
@torch.no_grad()
@pytest.mark.parametrize("beam", [1, 4])
def test_a_search_finds_what_it_finds_with_the_model(kind: ProductType, beam: int) -> None:
    """Of a model that is sure of itself: its output matrix is long."""
    model, (source, lengths) = made(norm="pre"), batch(8)
    model.output_weight.mul_(4.0)
    settings = DecodingSettings(beam=beam, maximum_length=12)
    found = decode(NativeTransformer(model, kind), source, lengths, settings)
    wanted = decode(model, source, lengths, settings)
    alike = sum(a[0].tokens == b[0].tokens for a, b in zip(found, wanted, strict=True))
    assert alike >= 6  # eight bits may tip a choice between equals


LONE: dict[str, dict[str, Any]] = {
    "greedy": {"beam": 1},
    "beam": {"beam": 5, "best": 5, "length_penalty": 0.0},
    "long": {
        "beam": 3,
        "best": 3,
        "maximum_length": 70,
        "extra_length": 60,
    },  # beyond the room that a past has at first
}


@pytest.mark.slow
@needs_compiler
@torch.no_grad()
@pytest.mark.parametrize("settings", LONE.values(), ids=list(LONE))
@pytest.mark.parametrize("name", ["paper", "no positions", "learned"])
def test_one_sentence_is_searched_as_step_by_step(kind: ProductType, settings: dict[str, Any], name: str) -> None:
    choices = {"positions": "learned", "maximum_length": 80} if name == "learned" else CHOICES[name]
    native = NativeTransformer(made(norm="pre", **choices), kind)
    source, lengths = batch(1)
    for model in (native, native.among(torch.arange(60))):
        assert model.continuations(source, lengths, 5, 10) is not None
        chosen = DecodingSettings(maximum_length=12).model_copy(update=settings)
        (wanted,) = beam_search(model, source, lengths, chosen)
        found = search_one(model, source, lengths, chosen)
        assert [one.tokens for one in found] == [one.tokens for one in wanted]
        assert [one.score for one in found] == pytest.approx([one.score for one in wanted], abs=1e-4)
    assert len(found[0].tokens) > 32 or chosen.maximum_length < 70


@needs_compiler
@torch.no_grad()
def test_a_search_ends_where_learned_positions_end(kind: ProductType) -> None:
    """A short one is not refused for what it might become."""
    model, (source, lengths) = made(positions="learned", maximum_length=40, output_bias=True), batch(1)
    settings = DecodingSettings(beam=2)
    assert model.bias is not None
    model.bias[END] = -100.0
    with pytest.raises(ConfigError, match="does not fit into 40 learned positions"):
        search_one(NativeTransformer(model, kind), source, lengths, settings)
    model.bias[END] = 100.0
    (found,) = search_one(NativeTransformer(model, kind), source, lengths, settings)
    assert found.finished and found.tokens == ()


@needs_compiler
@torch.no_grad()
def test_positions_with_a_norm_are_searched_step_by_step(kind: ProductType) -> None:
    native = NativeTransformer(made(embedding_norm=True), kind)
    source, lengths = batch(1)
    assert native.continuations(source, lengths, 1, 2) is None
    found = search_one(native, source, lengths, DecodingSettings(beam=2, maximum_length=9))
    (wanted,) = beam_search(native, source, lengths, DecodingSettings(beam=2, maximum_length=9))
    assert found == wanted


@needs_compiler
@pytest.mark.parametrize("kind", [*KINDS, pytest.param(("float32", SPARING), id="float32 for Zen")], indirect=True)
@torch.no_grad()
def test_a_shortlist_takes_its_rows_of_the_matrix(kind: ProductType) -> None:
    model, (source, lengths) = made(output_bias=True), batch()
    native, pieces = NativeTransformer(model, kind), torch.tensor([2, 3, 5, 30, 64, 82])
    fewer = native.among(pieces)
    places = torch.tensor([0, 3, 5, 1, 0, 2, 4, 4, 1])[:, None]
    some, _ = fewer.step(places, fewer.start(source, lengths))
    whole, _ = native.step(pieces[places], native.start(source, lengths))
    assert torch.equal(some, whole[..., pieces])


@needs_compiler
@torch.no_grad()
def test_what_is_no_number_stays_none(kind: ProductType) -> None:
    model, (source, lengths) = made(), batch(2)
    native = NativeTransformer(model, kind)
    native.table = native.table.clone()
    native.table[7] = torch.nan
    logits, _ = native.step(torch.tensor([[7], [8]]), native.start(source, lengths))
    assert bool(logits[0].isnan().all()) and bool(logits[1].isfinite().all())


@needs_compiler
@torch.no_grad()
def test_a_source_of_nothing_is_no_trouble(kind: ProductType) -> None:
    native = NativeTransformer(made(), kind)
    logits, _ = native.step(
        torch.tensor([[START], [START]]), native.start(torch.zeros(2, 3, dtype=torch.int64), torch.tensor([0, 2]))
    )
    assert bool(logits.isfinite().all())


@pytest.mark.parametrize(
    "changes",
    [
        {"feedforward": "gelu"},
        {"normalisation": "rms"},
        {"normalisation": "batch"},
        {"norm": "branch"},
        {"norm": "none"},
        {"norm": "no-residual"},
        {"embedding_width": 32},
    ],
    ids=str,
)
def test_other_models_are_prepared_without_it(changes: dict[str, Any]) -> None:
    model = made(**changes)
    assert not can_be_native(model)
    assert not isinstance(prepare(model, "int8"), NativeTransformer)


def test_the_last_norm_counts_too() -> None:
    model = made(norm="pre")
    model.decoder.final_norm = BatchNorm(64)
    assert not can_be_native(model)


@needs_compiler
def test_what_is_compiled() -> None:
    model = made()
    assert isinstance(prepare(model), NativeTransformer)
    assert not can_be_native(model, "bfloat16")
    assert isinstance(prepare(model, "int8"), NativeTransformer) is not bool(problem())


@torch.no_grad()
def test_positions_of_one_row_at_once_are_steps_one_by_one(kind: ProductType) -> None:
    """Bit for bit; from the start, and after rows were doubled, reordered and dropped."""
    native, (source, lengths) = NativeTransformer(made(norm="pre"), kind), batch(3)
    state = native.start(source, lengths)
    _, state = native.step(torch.tensor([[4], [5], [6]]), state)
    state = state.select(torch.tensor([2, 2, 0, 1]))
    _, state = native.step(torch.tensor([[7], [8], [9], [10]]), state)
    fresh = native.start(source[:1, : int(lengths[0])], lengths[:1])
    for one in (fresh, state.select(torch.tensor([1]))):
        tokens = torch.arange(11, 11 + 40)[None]  # beyond the room that a past has at first
        together, after = native.step(tokens, one)
        single, each = [], one
        for token in tokens[0]:
            logits, each = native.step(token[None, None], each)
            single.append(logits)
        assert torch.equal(together, torch.cat(single, 1))
        assert torch.equal(native.step(tokens[:, :1], after)[0], native.step(tokens[:, :1], each)[0])


@pytest.mark.parametrize(
    "layout", [IntegerLayout(64, 128, 0, 0), IntegerLayout(16, 0, 128, 128), IntegerLayout(8, 0, 0, 0)], ids=str
)
def test_weights_lie_in_panels(layout: IntegerLayout) -> None:
    integers = torch.arange(70 * 8).remainder(200).sub(100).to(torch.int8).view(70, 8)
    panel, head = layout.panel, 4 * layout.panel if layout.added_to_rows else 0
    count, size = -(-70 // panel), head + panel * 8
    made = integer_panels(integers, layout)
    panels = made[: count * size].view(count, size)
    weights = panels[:, head:].reshape(count, 2, panel, 4)
    signed = (weights.to(torch.int32) - layout.added_to_weights + 128) % 256 - 128
    for output, column in ((0, 0), (63, 7), (64, 3), (69, 5)):
        assert signed[output // panel, column // 4, output % panel, column % 4] == integers[output, column]
    assert not signed[-1, :, 70 % panel :].any() and not made[panels.numel() :].any()
    if head:
        sums = panels[:, :head].clone().view(torch.int32).flatten()
        assert sums[:70].tolist() == (-128 * integers.sum(1)).tolist() and not sums[70:].any()


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), size=st.sampled_from([1e-6, 1.0, 1e4]))
def test_no_two_weights_overflow_sixteen_bits(seed: int, size: float) -> None:
    weight = size * torch.randn(5, 12, generator=torch.Generator().manual_seed(seed))
    weight[0] = weight[0].abs()
    weight[1] = 0
    integers, scales = quantised(weight, most_of_two=128)
    pairs = integers.int().unflatten(1, (-1, 2))
    assert int(pairs.clamp(min=0).sum(2).max()) <= 128 and int(pairs.clamp(max=0).sum(2).min()) >= -128
    assert int(integers.abs().max()) > 60
    assert bool(((integers * scales[:, None] - weight).abs() <= scales[:, None] * 0.501).all())


@needs_compiler
@torch.no_grad()
@pytest.mark.parametrize("rows", [1, 3, 16, 37])
@pytest.mark.parametrize(("instructions", "exact"), [(NO_TILES, True), (AVX_VNNI, False)], ids=["vectors", "AVX-VNNI"])
def test_other_instructions_give_the_same(
    rows: int, instructions: tuple[str, ...], exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tiles and vectors bit for bit, with inputs that fill no tile; in narrower registers other sums are in another
    order."""
    if not torch.cpu._is_vnni_supported():
        pytest.skip("the processor has neither tiles nor VNNI")
    if instructions == AVX_VNNI and "avx_vnni" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("the processor has no AVX-VNNI")
    model, (source, lengths) = made(width=44, heads=4, feedforward_width=72), batch(rows)

    def logits() -> Tensor:
        native = NativeTransformer(model, "int8")
        return native.step(torch.full((rows, 1), START), native.start(source, lengths))[0]

    usual = logits()
    with compiled_for(instructions, monkeypatch):
        found = logits()
    # one more step of an integer here and there, where two float32 sums differ
    assert torch.equal(found, usual) if exact else float((found - usual).square().mean().sqrt()) < 0.02


@needs_compiler
@torch.no_grad()
def test_its_product_is_that_of_the_rounded_numbers() -> None:
    """One product, the output matrix, worked another way: whole numbers, multiplied exactly."""
    model = made(norm="post", decoder_layers=1)
    native = NativeTransformer(model, "int8")
    state = native.start(*batch(3))
    logits, _ = native.step(torch.full((3, 1), START), state)
    most_of_two = building.library(FUNCTIONS).openwork_integer_most_of_two()
    integers, scales = quantised(model.output_weight.detach(), most_of_two)
    # the vector before the matrix, found by solving for it: 64 unknowns, 83 equations
    matrix = integers.double() * scales.double()[:, None]
    hidden = torch.linalg.lstsq(matrix, logits[:, 0].double().T).solution.T
    step = hidden.abs().amax(1, keepdim=True) / 127
    whole = hidden / step
    assert torch.allclose(whole, whole.round(), atol=1e-2)


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Any:
    """Nothing compiled yet, and a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    building.library.cache_clear()
    yield monkeypatch
    building.library.cache_clear()


@pytest.fixture
def able(fresh: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The same, as if the processor had the instructions: nothing is compiled or run with them."""
    fresh.setattr("openwork.machine.native.building.has_avx512", lambda: True)
    fresh.setattr(torch.cpu, "_is_vnni_supported", lambda: True)
    return fresh


def test_it_can_be_switched_off(able: pytest.MonkeyPatch) -> None:
    able.setenv(building.SWITCH, "off")
    assert building.SWITCH in problem()
    assert not can_be_native(made())


def test_without_a_compiler_all_works_as_before(able: pytest.MonkeyPatch) -> None:
    able.setenv("CXX", "no-such-compiler")
    assert "no-such-compiler" in problem()
    assert not can_be_native(made())


@needs_compiler
def test_a_compiler_that_fails_is_told(fresh: pytest.MonkeyPatch, tmp_path: Any) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\necho 'step.cpp:1: error: all is lost' >&2\nexit 1\n")
    compiler.chmod(0o755)
    fresh.setenv("CXX", str(compiler))
    assert "all is lost" in problem()
    assert list((tmp_path / "openwork" / "native").iterdir()) == []


@pytest.mark.slow
@needs_compiler
def test_code_that_others_could_have_written_is_not_loaded(fresh: pytest.MonkeyPatch, tmp_path: Any) -> None:
    assert problem() == ""
    (made_file,) = (tmp_path / "openwork" / building.CACHE).iterdir()
    made_file.chmod(0o777)
    building.library.cache_clear()
    assert "written by others" in problem()
