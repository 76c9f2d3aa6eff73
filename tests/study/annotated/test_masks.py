"""The documents' masks: at every batch size, by both fills, and never a look into the future unless it is asked for."""

import math

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from openwork.base.errors import ConfigError
from openwork.nn.kernels import fused, reference
from openwork.nn.masks import CAUSAL, EVERYTHING, Mask, causal
from openwork.study.annotated import Attention, MultiHeadAttention, make_model
from openwork.study.annotated.attention import FILL, of_framework, of_positions, of_target
from openwork.study.annotated.model import EncoderDecoder

HEADS, CPU = 8, torch.device("cpu")


def model(fill: float = FILL) -> EncoderDecoder:
    torch.manual_seed(1)
    return make_model(9, 9, 16, n=2, h=HEADS, d_ff=12, fill=fill).eval()


def tokens(batch: int, size: int) -> Tensor:
    return torch.randint(1, 9, (batch, size), generator=torch.Generator().manual_seed(batch))


@pytest.mark.parametrize("batch", [1, 2, HEADS])
def test_a_mask_hides_from_its_own_sentence_alone(batch: int) -> None:
    """At a batch as large as the number of heads, the document's code takes the mask's sentences for heads."""
    subject, src, tgt = model(), tokens(batch, 5), tokens(batch, 4)
    open_mask = torch.ones(batch, 5)
    padded = open_mask.clone()
    padded[0, 3:] = 0
    everything, found = subject(src, tgt, open_mask, None), subject(src, tgt, padded, None)
    torch.testing.assert_close(found[1:], everything[1:])
    alone = subject(src[:1, :3], tgt[:1], torch.ones(1, 3), None)
    torch.testing.assert_close(found[:1], alone)
    assert not torch.allclose(found[0], everything[0])
    src[0, 3:] = 1 + src[0, 3:] % 8  # other tokens behind the mask
    torch.testing.assert_close(subject(src, tgt, padded, None), found)


def test_all_forms_of_a_mask_say_the_same() -> None:
    attention, x = MultiHeadAttention(4, 12, 0.0), torch.randn(3, 5, 12)
    keys = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 0, 0, 0, 0]])
    expected = attention(x, x, x, Mask(key_lengths=torch.tensor([5, 3, 1])))
    forms = (keys, keys.bool(), keys.double(), keys[:, None], keys[:, None].expand(3, 5, 5), keys[:, None, None])
    for form in forms:
        torch.testing.assert_close(attention(x, x, x, form), expected)
    torch.testing.assert_close(attention(x, x, x, None), attention(x, x, x, torch.ones(1, 5)))
    assert not torch.allclose(attention(x, x, x), expected)


def test_a_mask_of_pairs_reads_queries_then_keys() -> None:
    attention, x = MultiHeadAttention(2, 8, 0.0), torch.randn(2, 4, 8)
    order = torch.ones(4, 4).tril()
    torch.testing.assert_close(attention(x, x, x, order[None]), attention(x, x, x, CAUSAL))
    by_head = torch.stack((order, torch.ones(4, 4)))[None]  # the first head sees the past, the second everything
    found = attention(x, x, x, by_head)
    assert not torch.allclose(found, attention(x, x, x, order[None]))
    assert not torch.allclose(found, attention(x, x, x))


def test_keys_and_values_may_be_of_different_sequences() -> None:
    attention = MultiHeadAttention(2, 8, 0.0)
    query, key, value = inputs = torch.randn(1, 3, 8), torch.randn(1, 5, 8), torch.randn(1, 5, 8)
    projected = [w(x).unflatten(-1, (2, 4)).transpose(1, 2) for w, x in zip(attention.linears, inputs, strict=True)]
    heads = scaled_dot_product_attention(*projected).transpose(1, 2).flatten(-2)
    torch.testing.assert_close(attention(query, key, value), attention.final_linear(heads))
    assert not torch.allclose(attention(query, key, value), attention(query, key, key))


@pytest.mark.parametrize("batch", [(), (3,), (3, 2)])
def test_attention_has_as_many_axes_as_it_is_given(batch: tuple[int, ...]) -> None:
    query, key, value = torch.randn(*batch, 4, 5), torch.randn(*batch, 6, 5), torch.randn(*batch, 6, 7)
    allowed = torch.rand(4, 6) < 0.7
    allowed[:, 0] = True
    found = Attention()(query, key, value, allowed.long())
    torch.testing.assert_close(found, scaled_dot_product_attention(query, key, value, attn_mask=allowed))
    torch.testing.assert_close(Attention()(query, key, value), scaled_dot_product_attention(query, key, value))


@pytest.mark.parametrize("padding", [None, torch.ones(2, 5), torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]])])
def test_nothing_looks_ahead(padding: Tensor | None) -> None:
    subject, src, tgt = model(), tokens(2, 4), tokens(2, 5)
    found = subject(src, tgt, None, padding)
    for position in range(5):
        changed = tgt.clone()
        changed[:, position] = 1 + changed[:, position] % 8
        after = subject(src, changed, None, padding)
        torch.testing.assert_close(after[:, :position], found[:, :position], rtol=0, atol=1e-6)
        assert not torch.allclose(after[:, position], found[:, position])


@pytest.mark.parametrize("asked", [torch.ones(1, 5, 5), EVERYTHING], ids=["a row for each query", "a description"])
def test_who_asks_for_the_future_sees_it(asked: Tensor | Mask) -> None:
    subject, src, tgt = model(), tokens(1, 4), tokens(1, 5)
    changed = tgt.clone()
    changed[:, 4] = 1 + changed[:, 4] % 8
    assert not torch.allclose(subject(src, tgt, None, asked)[:, 0], subject(src, changed, None, asked)[:, 0])
    order = causal(5, 5)[0]
    torch.testing.assert_close(subject(src, tgt, None, order), subject(src, tgt, None, None))


def test_a_target_padded_on_the_left_is_hidden_as_well() -> None:
    subject, src, tgt = model(), tokens(1, 4), tokens(1, 5)
    mask = torch.tensor([[0, 0, 1, 1, 1]])
    changed = tgt.clone()
    changed[:, 0] = 1 + changed[:, 0] % 8
    found = subject(src, tgt, None, mask)
    torch.testing.assert_close(subject(src, changed, None, mask)[:, 2:], found[:, 2:])
    assert found.isfinite().all()  # the first position may look at nothing


def test_both_fills_give_the_same_weights_to_the_last_bit() -> None:
    src, tgt, padded = tokens(3, 6), tokens(3, 5), torch.ones(3, 6)
    padded[1, 2:] = 0
    number, infinity = model(FILL), model(-math.inf)
    assert torch.equal(number(src, tgt, padded, None), infinity(src, tgt, padded, None))
    assert (number.encoder.layers[0].self_attn.attn.fill, infinity.encoder.layers[1].self_attn.attn.fill) == (
        FILL,
        -math.inf,
    )
    query, key = torch.randn(1, 2, 3, 4), torch.randn(1, 2, 5, 4)
    some = torch.tensor([1, 0, 1, 1, 0])
    assert torch.equal(*(Attention(fill=fill)(query, key, key, some) for fill in (FILL, -math.inf)))


def test_the_fill_takes_the_place_of_the_score() -> None:
    # all scores are 0, so a fill of 0 would hide nothing, and one of log 2 make the hidden key weigh twice as much
    query, key, value = torch.zeros(1, 4), torch.randn(3, 4), torch.tensor([[1.0], [5.0], [9.0]])
    shown = torch.tensor([1, 1, 0])
    found = {fill: Attention(fill=fill)(query, key, value, shown).item() for fill in (FILL, 0.0, math.log(2))}
    assert found == {FILL: pytest.approx(3.0), 0.0: pytest.approx(5.0), math.log(2): pytest.approx(6.0)}


@pytest.mark.parametrize("fill", [FILL, -math.inf])
def test_a_query_that_may_look_at_nothing_gets_zeros_by_both_fills(fill: float) -> None:
    query, key = torch.randn(1, 1, 2, 4), torch.randn(1, 1, 5, 4)
    nothing = torch.zeros(2, 5)
    nothing[1, 3] = 1
    found = Attention(fill=fill)(query, key, key, nothing)
    assert found[0, 0, 0].tolist() == [0.0] * 4
    torch.testing.assert_close(found[0, 0, 1], key[0, 0, 3])
    # what the bare softmax makes of such a row, and the documents' code with it
    scores = reference.attention_scores(query, key, 0.5)
    bare = reference.masked_scores(scores, nothing[None, None].bool(), fill).softmax(-1)[0, 0, 0]
    assert bare.tolist() == [pytest.approx(0.2)] * 5 if fill == FILL else bare.isnan().all()


@pytest.mark.parametrize("fill", [FILL, -math.inf])
def test_half_precision_holds_both_fills(fill: float) -> None:
    query, key = torch.randn(1, 1, 2, 4).half(), torch.randn(1, 1, 5, 4).half()
    some = torch.tensor([1, 0, 0, 1, 1])
    found = Attention(fill=fill)(query, key, key, some)
    torch.testing.assert_close(
        found, Attention()(query, key[:, :, [0, 3, 4]], key[:, :, [0, 3, 4]]), rtol=0.01, atol=0.01
    )


def test_a_kernel_heeds_given_booleans_beside_the_other_conditions() -> None:
    allowed = torch.rand(2, 1, 20, 20, generator=torch.Generator().manual_seed(0)) < 0.6
    described = Mask(torch.tensor([20, 12]), True, allowed)
    together = described.boolean(20, 20, CPU)
    lengths = Mask(torch.tensor([20, 12]), True).boolean(20, 20, CPU)
    assert together is not None and lengths is not None and torch.equal(together, allowed & lengths)
    assert Mask(is_causal=True).is_only_causal and not Mask(is_causal=True, allowed=allowed).is_only_causal
    assert torch.equal(Mask(allowed=allowed).boolean(20, 20, CPU), allowed)  # type: ignore[arg-type]
    heads = torch.randn(3, 2, 2, 20, 4).unbind()
    for mask in (described, Mask(is_causal=True, allowed=allowed)):
        fast, plain = (kernel.attention(*heads, mask, 0.5) for kernel in (fused, reference))
        torch.testing.assert_close(fast, plain)


def test_descriptions() -> None:
    assert of_positions(None) == EVERYTHING and of_target(None) == CAUSAL
    assert of_target(EVERYTHING) is EVERYTHING
    assert of_target(torch.ones(2, 5)).is_causal and not of_target(torch.ones(1, 5, 5)).is_causal
    assert not of_positions(torch.ones(2, 5)).is_causal


@pytest.mark.parametrize("mask", [torch.ones(5), torch.ones(1, 1, 1, 5, 5)])
def test_a_mask_of_other_axes_is_refused(mask: Tensor) -> None:
    with pytest.raises(ConfigError, match=f"a mask of {mask.dim()} axes") as refused:
        of_positions(mask)
    assert "mask[None]" in refused.value.hint


@pytest.mark.parametrize("mask", [torch.tensor([[0.0, -3.0]]), torch.tensor([[0, 1]]), torch.tensor([[0.0, 1.0]])])
def test_a_mask_for_003_that_shifts_scores_is_refused(mask: Tensor) -> None:
    with pytest.raises(ConfigError, match="neither booleans nor numbers that hide"):
        of_framework(mask, 2)
