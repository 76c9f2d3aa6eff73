"""`openwork verify` finds faults in what makes translating fast: searches, caches, eight bits, shortlists."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from bundles.kept import NEWEST
from openwork.bundles import bundle as reading
from openwork.bundles.bundle import Bundle, load_bundle
from openwork.bundles.settings import BundleSettings
from openwork.checks.check import CheckResult, Status
from openwork.checks.verify import CHECKS, verify_bundle
from openwork.decoding import speculative
from openwork.decoding.beam import Finished, Live
from openwork.decoding.lone import Results
from openwork.inference.prepared import products
from openwork.inference.prepared.caches import Past
from openwork.inference.prepared.native import decoder, problem
from openwork.inference.prepared.native import transformer as native
from openwork.inference.prepared.native.sentence import NativeContinuations
from openwork.inference.shortlists import Shortlist
from openwork.models.build import build_model
from openwork.models.settings import TransformerSettings
from openwork.nn.kernels import fused
from openwork.nn.masks import Mask

pytestmark = pytest.mark.slow

Patch = pytest.MonkeyPatch
needs_eight_bits = pytest.mark.skipif("int8" not in products.available(), reason="no products of eight bits here")
needs_compiler = pytest.mark.skipif(bool(problem()), reason=f"no compiled step: {problem()}")


@pytest.fixture
def bundle() -> Bundle:
    return load_bundle(NEWEST)


@pytest.fixture
def compilable(bundle: Bundle) -> Bundle:
    """A random model with sizes that the compiled step knows, and biases that say something."""
    settings = TransformerSettings(
        width=64, heads=2, feedforward_width=96, encoder_layers=2, decoder_layers=2, dropout=0.0, output_bias=True
    )
    with torch.random.fork_rng():
        torch.manual_seed(3)
        pair = bundle.tokenizers
        model = build_model(settings, pair.source.vocabulary_size, pair.target.vocabulary_size).eval()
        with torch.no_grad():
            for weight in model.parameters():
                weight += 0.1 * torch.randn_like(weight)
    return Bundle(BundleSettings(model=settings, decoding=bundle.settings.decoding), pair, model)


def failed(outcomes: list[CheckResult]) -> set[str]:
    return {outcome.name for outcome in outcomes if outcome.status is Status.FAILED} - {"golden"}


def status(outcomes: list[CheckResult], name: str) -> Status:
    return next(outcome.status for outcome in outcomes if outcome.name == name)


@needs_compiler
@needs_eight_bits
def test_each_line_looks_at_a_sound_model(compilable: Bundle):
    outcomes = verify_bundle(compilable)
    others = {outcome.name for outcome in outcomes if outcome.status is not Status.PASSED}
    assert others == {"compiled", "golden"}  # not asked for; and it has no golden examples
    assert [outcome.name for outcome in outcomes] == [check.name for check in CHECKS]


def test_a_beam_that_ends_with_its_first_hypothesis(bundle: Bundle, monkeypatch: Patch):
    sound = Finished.done
    monkeypatch.setattr(Finished, "done", lambda self, live: sound(self, live) | (self.counts[live.sentences] > 0))
    assert failed(verify_bundle(bundle)) == {"beam"}


def test_a_beam_that_hopes_for_no_longer_targets(bundle: Bundle, monkeypatch: Patch):
    """Whether a live hypothesis may still win is asked at its present length, not at the longest."""
    sound = Finished.done

    def hasty(self: Finished, live: Live) -> Tensor:
        hope = live.log_probabilities.max(-1).values / self.penalties[live.tokens.shape[2] - 1]
        return sound(self, live) | (self.best[live.sentences, self.settings.best - 1] > hope)

    monkeypatch.setattr(Finished, "done", hasty)
    assert failed(verify_bundle(bundle)) == {"beam"}


def test_a_lone_search_that_ends_with_its_first_hypothesis(bundle: Bundle, monkeypatch: Patch):
    sound = Results.are_settled
    monkeypatch.setattr(Results, "are_settled", lambda self, own, length: sound(self, own, length) or bool(self.scores))
    assert failed(verify_bundle(bundle)) == {"beam"}


def test_a_lone_search_that_hopes_for_no_longer_targets(bundle: Bundle, monkeypatch: Patch):
    sound = Results.are_settled

    def hasty(self: Results, values: list[float], length: int) -> bool:
        hope = max(values, default=-math.inf) / float(self._penalty(length))
        return sound(self, values, length) or bool(self._score(self.settings.best - 1) > hope)

    monkeypatch.setattr(Results, "are_settled", hasty)
    assert failed(verify_bundle(bundle)) == {"beam"}


def test_a_length_penalty_with_the_other_sign(bundle: Bundle, monkeypatch: Patch):
    other = lambda length, alpha, rule="paper": ((5 + length) / 6) ** -alpha  # noqa: E731
    monkeypatch.setattr("openwork.decoding.scoring.length_penalty", other)
    assert failed(verify_bundle(bundle)) == {"scores"}


def test_causal_attention_that_counts_from_the_first_key(bundle: Bundle):
    """The framework's causal flag lets query i see keys 0 to i, also where the queries are the last of more keys."""

    def from_the_first(
        query: Tensor, key: Tensor, value: Tensor, mask: Mask, scale: float, dropout: float = 0.0,
        bias: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        if mask.is_only_causal and query.shape[-2] * key.shape[-2] > fused.PLAIN_ATTENTION:
            return scaled_dot_product_attention(query, key, value, is_causal=True, scale=scale)
        return fused.attention(query, key, value, mask, scale, dropout, bias)

    bundle.model.get_submodule("decoder.layers.0.self_attention").kernel = from_the_first  # type: ignore[assignment]
    assert failed(verify_bundle(bundle)) == {"cached"}


def test_a_buffer_that_two_states_share(bundle: Bundle, monkeypatch: Patch):
    """A prepared state writes where another has gone on already."""
    sound = Past.with_room

    def careless(self: Past, position: int) -> Past:
        return self if position < self.buffers[0][0].shape[0] else sound(self, position)

    monkeypatch.setattr(Past, "with_room", careless)
    assert failed(verify_bundle(bundle)) == {"branches"}


@needs_eight_bits
def test_products_of_eight_bits_without_a_bias(compilable: Bundle, monkeypatch: Patch):
    whole = products.PRODUCTS["int8"]
    without = products.PRODUCTS | {"int8": lambda weight, bias, *others: whole(weight, None, *others)}
    monkeypatch.setattr("openwork.inference.prepared.transformer.PRODUCTS", without)
    assert "eight-bits" in failed(verify_bundle(compilable))


@needs_compiler
@needs_eight_bits
def test_a_compiled_step_with_another_scale(compilable: Bundle, monkeypatch: Patch):
    """The scores of one attention are a fifth too large: less than eight bits' own error would hide in the logits."""
    sound = decoder.side_by_side

    def larger(layers: Any, make: Any, scales: Any = (1.0,)) -> Any:
        return sound(layers, make, tuple(1.2 * scale if scale != 1.0 else scale for scale in scales))

    monkeypatch.setattr(decoder, "side_by_side", larger)
    outcomes = verify_bundle(compilable)
    assert "compiled-step" in failed(outcomes)
    assert status(outcomes, "prepared") is Status.PASSED


@needs_compiler
@needs_eight_bits
def test_a_compiled_choice_that_forgets_the_normaliser(compilable: Bundle, monkeypatch: Patch):
    sound = native.NativeTransformer.best

    def best(self: Any, logits: Tensor, added: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
        scores, ids, normaliser = sound(self, logits, added, count)
        return scores, ids, torch.zeros_like(normaliser)

    monkeypatch.setattr(native.NativeTransformer, "best", best)
    assert {"compiled-step"} <= failed(verify_bundle(compilable))


@needs_compiler
def test_a_compiled_search_that_forgets_whom_it_continues(compilable: Bundle, monkeypatch: Patch):
    sound = NativeContinuations.extend

    def extend(self: Any, tokens: Any, parents: Any, values: Any) -> Any:
        return sound(self, tokens, [0] * len(parents), values)

    monkeypatch.setattr(NativeContinuations, "extend", extend)
    assert {"compiled-step"} <= failed(verify_bundle(compilable))


def test_a_shortlist_that_takes_other_rows(compilable: Bundle, monkeypatch: Patch):
    """The bias of the first pieces for those of the shortlist."""
    path = "openwork.inference.prepared.transformer._some_outputs"

    def first_biases(make: Any, weight: Tensor, bias: Tensor, which: Tensor | slice) -> Any:
        chosen = weight[which]
        return make(chosen, bias[: chosen.shape[0]])

    monkeypatch.setattr(path, first_biases)
    assert failed(verify_bundle(compilable)) == {"shortlist"}


def test_a_shortlist_that_forgets_what_may_be_copied(bundle: Bundle, monkeypatch: Patch):
    sound = Shortlist.pieces
    monkeypatch.setattr(Shortlist, "pieces", lambda self, source: sound(replace(self, shared=False), source))
    shared = bundle.tokenizers.shared
    assert failed(verify_bundle(bundle)) == ({"shortlist"} if shared else set())
    assert shared, "the kept bundle has one vocabulary for both sides"


def test_a_draft_that_is_believed(compilable: Bundle, monkeypatch: Patch):
    """What it proposes is kept whatever the model says; it is another model, so that it is often wrong."""
    proposals = speculative._proposals

    def read(self: Any, tokens: list[int]) -> tuple[Tensor, Tensor]:
        values, best = sound(self, tokens)
        return values, torch.tensor([*tokens[1:], int(best[-1])])

    sound = speculative._Side.read
    monkeypatch.setattr(speculative._Side, "read", read)
    monkeypatch.setattr(speculative, "_proposals", lambda *given: [5 for _ in proposals(*given)] or [5])
    assert failed(verify_bundle(compilable)) == {"draft"}


def test_positions_that_see_later_ones(compilable: Bundle, monkeypatch: Patch):
    """Of several that are computed at once."""

    def all_see_all(query: Tensor, key: Tensor, value: Tensor, heads: int) -> Tensor:
        parts = [part.unflatten(-1, (heads, -1)).transpose(0, 1) for part in (query, key, value)]
        return scaled_dot_product_attention(*parts, scale=1.0).transpose(0, 1).flatten(1)

    monkeypatch.setattr("openwork.inference.prepared.layers.attend_in_order", all_see_all)
    assert failed(verify_bundle(compilable)) & {"draft", "prepared"}


def test_a_file_of_eight_bits_that_is_read_without_its_scales(bundle: Bundle, monkeypatch: Patch):
    sound = reading.restored

    def unscaled(tensors: Any, origin: str) -> Any:
        return sound(
            {name: torch.ones_like(t) if name.endswith(".scale") else t for name, t in tensors.items()}, origin
        )

    monkeypatch.setattr(reading, "restored", unscaled)
    assert failed(verify_bundle(bundle)) == {"fewer-bits"}
