"""The greedy search of many sentences in one compiled call is the one that goes step by step."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from giving_up import after
from openwork.base.errors import ConfigError, OpenworkError
from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.left_to_right import OnToken, greedy_search
from openwork.decoding.scoring import GivenUp, Hypothesis, nothing_given_up
from openwork.decoding.settings import DecodingSettings
from openwork.inference.prepared.native import NativeTransformer, problem
from openwork.inference.prepared.native import transformer as native_transformer
from openwork.inference.prepared.products import ProductType
from openwork.models.build import build_model
from openwork.models.interfaces import can_be_greedy
from openwork.models.seq2seq import Transformer
from openwork.models.settings import TransformerSettings

pytestmark = pytest.mark.skipif(bool(problem()), reason=f"no compiled step: {problem()}")
SIZES = TransformerSettings(
    width=32, heads=2, feedforward_width=48, encoder_layers=1, decoder_layers=2, dropout=0.0, tying="target",
    output_bias=True,
)  # fmt: skip
PRODUCTS: tuple[ProductType, ...] = ("float32", "int8")


def native(products: ProductType = "float32", **changes: Any) -> NativeTransformer:
    """Its sentences end after some tokens, at places of their own."""
    return NativeTransformer(made(**changes), products)


def made(**changes: Any) -> Transformer:
    torch.manual_seed(2)
    model = build_model(SIZES.model_copy(update=changes), 31, 37).eval()
    assert isinstance(model, Transformer) and model.output_bias is not None
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.2 * torch.randn_like(weight)
        model.output_bias[SYMBOL_IDS.end] += 4
    return model


def batch(sentences: int, longest: int = 9, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, longest + 1, (sentences,), generator=generator)
    lengths[0] = longest
    source = torch.randint(4, 31, (sentences, longest), generator=generator)
    return source.masked_fill(torch.arange(longest) >= lengths[:, None], 0), lengths


def nobody_listens(sentence: int, token: int) -> None:
    """As `on_token` it keeps the search from being compiled."""


def search(
    model: NativeTransformer,
    source: Tensor,
    lengths: Tensor,
    limits: dict[str, int],
    on_token: OnToken | None = None,
    given_up: GivenUp = nothing_given_up,
) -> list[list[Hypothesis]]:
    with torch.inference_mode():
        return greedy_search(model, source, lengths, DecodingSettings(beam=1, **limits), (), on_token, given_up)


@pytest.mark.parametrize("products", PRODUCTS)
@given(
    sentences=st.integers(1, 17), longest=st.integers(1, 20), seed=st.integers(0, 10**6), extra=st.integers(0, 70),
    most=st.integers(1, 90), room=st.sampled_from([1, 3, 64]),
)  # fmt: skip
@settings(deadline=None, max_examples=40)
def test_it_finds_what_the_search_step_by_step_finds(
    products: ProductType, sentences: int, longest: int, seed: int, extra: int, most: int, room: int
) -> None:
    """To the last bit; with little room the buffers of keys and values grow on the way."""
    model, limits = native(products), {"extra_length": extra, "maximum_length": most}
    source, lengths = batch(sentences, longest, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native_transformer, "MOST_ROOM", room)
        found = search(model, source, lengths, limits)
    assert found == search(model, source, lengths, limits, nobody_listens)


def test_some_of_these_targets_end_and_some_reach_their_limit() -> None:
    found = [one for (one,) in search(native(), *batch(17), {"extra_length": 60, "maximum_length": 60})]
    assert 0 < sum(one.finished for one in found) < 17
    assert len({len(one.tokens) for one in found if one.finished}) > 2


@pytest.mark.parametrize("positions", ["none", "learned"])
def test_other_positions(positions: str) -> None:
    model, limits = native(positions=positions, maximum_length=64), {"extra_length": 20, "maximum_length": 40}
    assert search(model, *batch(7), limits) == search(model, *batch(7), limits, nobody_listens)


def test_learned_positions_end() -> None:
    whole = made(positions="learned", maximum_length=24)
    assert whole.output_bias is not None
    with torch.no_grad():
        whole.output_bias[SYMBOL_IDS.end] = -100
    model = NativeTransformer(whole)
    with pytest.raises(ConfigError, match="does not fit into 24 learned positions"):
        search(model, *batch(5), {"extra_length": 40, "maximum_length": 60})


@pytest.mark.parametrize("steps", [1, 3])
def test_sentences_given_up_have_nothing_and_the_others_what_they_have_without(steps: int) -> None:
    model, limits = native(), {"extra_length": 60, "maximum_length": 60}
    whole = search(model, *batch(17), limits)
    first, *others = [place for place, (one,) in enumerate(whole) if len(one.tokens) > steps]
    assert others
    found = search(model, *batch(17), limits, given_up=after(steps, {first}))
    assert found == [[] if place == first else one for place, one in enumerate(whole)]


def test_all_given_up_end_the_search() -> None:
    model, limits = native(), {"extra_length": 60, "maximum_length": 60}
    assert any(len(one.tokens) > 2 for (one,) in search(model, *batch(17), limits))
    found = search(model, *batch(17), limits, given_up=after(2, set(range(17))))
    assert all(not one or len(one[0].tokens) <= 2 for one in found)


def test_among_some_pieces() -> None:
    """Tokens are places among the pieces, as in the search step by step."""
    pieces = torch.tensor([0, 1, 2, 3, 5, 9, 17, 30, 36])
    model, limits = native().among(pieces), {"extra_length": 10, "maximum_length": 40}
    assert search(model, *batch(7), limits) == search(model, *batch(7), limits, nobody_listens)


def test_logits_that_are_no_numbers_are_reported() -> None:
    broken = made()
    with torch.no_grad():
        broken.output_weight[7] = torch.nan
    with pytest.raises(OpenworkError, match="gave no probabilities") as error:
        search(NativeTransformer(broken), *batch(3), {})
    assert error.value.code == "E011"


def test_positions_with_a_norm_are_searched_step_by_step() -> None:
    model, limits = native(embedding_norm=True), {"extra_length": 9, "maximum_length": 20}
    assert model.greedy_targets(*batch(5), torch.full((5,), 9), nothing_given_up) is None
    assert search(model, *batch(5), limits) == search(model, *batch(5), limits, nobody_listens)


def test_no_sentences() -> None:
    assert search(native(), torch.zeros(0, 3, dtype=torch.int64), torch.zeros(0, dtype=torch.int64), {}) == []


def test_the_model_says_that_it_can() -> None:
    model = native()
    assert can_be_greedy(model)
    assert model.greedy_targets(*batch(2), torch.tensor([3, 4]), nothing_given_up) is not None
