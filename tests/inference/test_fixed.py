"""A Transformer in buffers of fixed sizes: the steps of the model, and translations as without such buffers."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from openwork.base.errors import OpenworkError
from openwork.base.symbols import SYMBOL_IDS
from openwork.bundles.bundle import Bundle
from openwork.bundles.settings import BundleSettings
from openwork.decoding.beam import beam_search
from openwork.decoding.fixed.model import FixedModel
from openwork.decoding.left_to_right import greedy_search
from openwork.decoding.scoring import Hypothesis
from openwork.decoding.settings import DecodingSettings
from openwork.inference import translator as translator_module
from openwork.inference.fixed import searches as searches_module
from openwork.inference.fixed.overlapping import overlapping
from openwork.inference.fixed.searches import FixedSearches
from openwork.inference.fixed.sizes import FixedSizes, sizes_for
from openwork.inference.fixed.transformer import FixedTransformer
from openwork.inference.fixed.weights import FixedWeights, can_be_fixed
from openwork.inference.translation import Translation
from openwork.inference.translator import BatchTranslator
from openwork.models.build import build_model, build_transformer
from openwork.models.recurrent_settings import RecurrentSettings
from openwork.models.seq2seq import Transformer
from openwork.models.settings import TransformerSettings
from openwork.text.pair import TokenizerPair
from openwork.text.pieces.bytepair import BytePair

SOURCE_VOCABULARY, TARGET_VOCABULARY = 23, 29
SMALL = TransformerSettings(width=16, heads=2, feedforward_width=24, encoder_layers=2, decoder_layers=2)
CHOICES: dict[str, dict[str, Any]] = {
    "paper": {},
    "pre-norm": {"norm": "pre"},
    "rms": {"normalisation": "rms"},
    "biases": {"attention_bias": True, "output_bias": True},
    "gelu": {"feedforward": "gelu"},
    "swiglu": {"feedforward": "swiglu", "norm": "pre"},
    "learned": {"positions": "learned", "embedding_norm": True, "embedding_scale": False, "maximum_length": 40},
    "no positions": {"positions": "none"},
    "head widths": {"head_width": 4, "value_width": 6},
    "embedding width": {"embedding_width": 8, "norm": "pre"},
    "three-way tying": {"tying": "three-way"},
    "no tying": {"tying": "none"},
    "unscaled": {"attention": "unscaled"},
    "norm on the branch": {"norm": "branch", "embedding_width": 8},
    "without residuals": {"norm": "no-residual", "embedding_width": 8},
}


def made(**changes: Any) -> Transformer:
    torch.manual_seed(3)
    vocabulary = TARGET_VOCABULARY if changes.get("tying") == "three-way" else SOURCE_VOCABULARY
    model = build_model(SMALL.model_copy(update={"tying": "target", **changes}), vocabulary, TARGET_VOCABULARY).eval()
    assert isinstance(model, Transformer)
    with torch.no_grad():
        for weight in model.parameters():  # biases and gains that say something
            weight += 0.1 * torch.randn_like(weight)
    return model


def ending(seed: int = 3, strength: float = 0.35) -> Transformer:
    """A model whose targets end, some soon and some late."""
    torch.manual_seed(seed)
    model = build_model(SMALL.model_copy(update={"output_bias": True}), 29, 29).eval()
    assert isinstance(model, Transformer) and model.bias is not None
    with torch.no_grad():
        model.output_weight.mul_(2.0)
        model.bias[SYMBOL_IDS.end] = strength
    return model


def batch(sentences: int = 5, longest: int = 7) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(5)
    lengths = torch.randint(1, longest + 1, (sentences,), generator=generator)
    lengths[0] = longest
    source = torch.randint(4, SOURCE_VOCABULARY, (sentences, longest), generator=generator)
    return source.masked_fill(torch.arange(longest) >= lengths[:, None], 0), lengths


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize(
    "choice", ["paper", *(pytest.param(one, marks=pytest.mark.slow) for one in CHOICES if one != "paper")]
)
def test_a_step_is_the_models(choice: str, beam: int) -> None:
    """Rows continue others of their sentence, and places without a sentence change nothing."""
    model, generator = made(**CHOICES[choice]), torch.Generator().manual_seed(7)
    assert can_be_fixed(model)
    source, lengths = batch()
    sentences, rows = len(source), len(source) * beam
    with torch.inference_mode():
        fixed = FixedTransformer(FixedWeights(model, torch.float32), FixedSizes(8, beam, 16, 32))
        assert isinstance(fixed, FixedModel)
        for _ in range(2):  # the second time in buffers that have been used
            fixed.start(source, lengths)
            state = model.start(source, lengths).select(torch.arange(sentences).repeat_interleave(beam))
            for position in range(20):
                tokens = torch.randint(3, TARGET_VOCABULARY, (8 * beam,), generator=generator)
                places = torch.randint(beam, (8, beam), generator=generator)
                parents = (places + torch.arange(0, 8 * beam, beam)[:, None]).flatten()
                state = state if beam == 1 or position == 0 else state.select(parents[:rows])
                expected, state = model.step(tokens[:rows, None], state)
                own = torch.arange(8 * beam) if position == 0 else parents
                found = fixed.step(tokens, None if beam == 1 else own, torch.tensor(position))
                torch.testing.assert_close(found[:rows], expected[:, -1], rtol=1e-4, atol=1e-4)


def test_an_empty_source_gives_what_it_gives_the_model() -> None:
    model = made(attention_bias=True)
    source, lengths = batch(3)
    lengths[1] = 0
    with torch.inference_mode():
        fixed = FixedTransformer(FixedWeights(model, torch.float32), FixedSizes(4, 1, 16, 32))
        fixed.start(source, lengths)
        tokens = torch.full((4,), SYMBOL_IDS.start)
        expected, _ = model.step(tokens[:3, None], model.start(source, lengths))
        found = fixed.step(tokens, None, torch.tensor(0))
    torch.testing.assert_close(found[:3], expected[:, -1], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_narrow_type_rounds(dtype: torch.dtype) -> None:
    model, (source, lengths) = made(norm="pre", embedding_norm=True), batch()
    with torch.inference_mode():
        fixed = FixedTransformer(FixedWeights(model, dtype), FixedSizes(8, 1, 16, 32))
        fixed.start(source, lengths)
        tokens = torch.full((8,), SYMBOL_IDS.start)
        expected, _ = model.step(tokens[:5, None], model.start(source, lengths))
        found = fixed.step(tokens, None, torch.tensor(0))
    assert found.dtype is dtype
    torch.testing.assert_close(found[:5].float(), expected[:, -1], rtol=0.1, atol=0.1)
    assert model.output_weight.dtype is torch.float32 and model.decoder.layers[0].self_wiring.norm.weight.dtype is (
        torch.float32
    )


def test_what_cannot_be_fixed() -> None:
    others: list[dict[str, Any]] = [{"positions": "rotary"}, {"normalisation": "batch"}, {"attention": "linear"}]
    for changes in others:
        assert not can_be_fixed(build_model(SMALL.model_copy(update=changes), 20, 20))
    assert not can_be_fixed(build_model(RecurrentSettings(width=8), 20, 20))
    assert can_be_fixed(made().double())


def test_sizes_are_few_and_large_enough() -> None:
    assert sizes_for(1, 4, 3, 53) == FixedSizes(1, 4, 16, 32)
    assert sizes_for(300, 1, 17, 67) == FixedSizes(384, 1, 32, 32)
    assert sizes_for(1000, 1, 64, 114) == FixedSizes(1024, 1, 64, 128)
    assert sizes_for(2, 1, 1000, 40) == FixedSizes(2, 1, 1024, 64)
    assert sizes_for(2, 1, 1000, 40).doubled.capacity == 128


def alike(found: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    assert [[one.tokens for one in best] for best in found] == [[one.tokens for one in best] for best in expected]
    assert [[one.finished for one in best] for best in found] == [[one.finished for one in best] for best in expected]
    for best, others in zip(found, expected, strict=True):
        assert [one.score for one in best] == pytest.approx([one.score for one in others], abs=1e-4)


@pytest.mark.parametrize("beam", [1, 4])
def test_searches_find_what_others_find_and_go_on_in_larger_buffers(beam: int) -> None:
    model, settings = ending(strength=-1.0), DecodingSettings(beam=beam, best=beam, extra_length=60)
    searches, plain = FixedSearches(model, torch.float32), greedy_search if beam == 1 else beam_search
    longest = []
    for sentences, size in ((7, 9), (1, 20), (16, 3)):
        given = batch(sentences, size)
        assert searches.can_search(*given, settings)
        expected = plain(model, *given, settings)
        alike(searches.search(*given, settings), expected)
        longest.append(max(len(best[0].tokens) for best in expected))
    assert max(longest) > 40  # beyond the least capacity
    assert {replay.model.capacity for replay in searches._kept.values()} >= {32, 64}


def test_more_sentences_than_fit_are_searched_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searches_module, "SENTENCES", (1, 2, 4))
    model, settings, given = ending(), DecodingSettings(beam=2, extra_length=5), batch(9, 6)
    searches = FixedSearches(model, torch.float32)
    asked: list[int] = []
    found = searches.search(*given, settings, lambda: asked.append(1) or ())
    alike(found, beam_search(model, *given, settings))
    assert len(asked) >= 3 and len(searches._kept) == 2


def test_buffers_that_are_kept_have_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    model, settings = ending(), DecodingSettings(beam=1, extra_length=5)
    searches = FixedSearches(model, torch.float32)
    searches.search(*batch(1), settings)
    (first,) = searches._kept
    monkeypatch.setattr(searches_module, "MOST_KEPT", 2)
    for sentences in (2, 1, 4):  # the one of one sentence is used again
        searches.search(*batch(sentences), settings)
    assert first in searches._kept and len(searches._kept) == 2
    searches._most_bytes = 1
    searches.search(*batch(8), settings)
    assert len(searches._kept) == 1


def test_settings_have_graphs_of_their_own() -> None:
    model, given = ending(), batch(4)
    searches = FixedSearches(model, torch.float32)
    for best in (1, 3):
        for alpha in (0.0, 2.0):
            settings = DecodingSettings(beam=3, best=best, length_penalty=alpha, extra_length=6)
            alike(searches.search(*given, settings), beam_search(model, *given, settings))
    assert len(searches._kept) == 4


def test_learned_positions_must_reach_the_longest_target() -> None:
    searches = FixedSearches(made(**CHOICES["learned"]), torch.float32)
    source, lengths = batch()
    assert searches.can_search(source, lengths, DecodingSettings(maximum_length=40))
    assert not searches.can_search(source, lengths, DecodingSettings(maximum_length=41))
    assert not searches.can_search(source[:0], lengths[:0], DecodingSettings(maximum_length=40))


class Operations(TorchDispatchMode):
    """Lists the operations with the shapes of what they take, and refuses those for which a device must be waited."""

    refused = ("_local_scalar_dense", "nonzero", "masked_select", "unique", "lift_fresh", "index.", "index_put")

    def __init__(self) -> None:
        super().__init__()
        self.listed: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        assert not any(name in str(func) for name in self.refused), func
        shapes = [tuple(one.shape) for one in tree_leaves((args, kwargs)) if isinstance(one, Tensor)]
        self.listed.append(f"{func} {shapes}")
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    "decoding", [{"beam": 1}, {"beam": 4, "best": 2}, {"beam": 2, "stopping": "no-better", "unfinished": "ranked"}]
)
def test_a_step_waits_for_nothing_and_is_the_same_each_time(decoding: dict[str, Any]) -> None:
    """What a graph needs that is captured once: one series of operations, on memory that stays where it is."""
    settings = DecodingSettings(extra_length=4, **decoding)
    for model in (ending(), made(**CHOICES["learned"]), made(**CHOICES["swiglu"]), made(**CHOICES["rms"])):
        searches = FixedSearches(model, torch.float32)
        searches.search(*batch(), settings)
        (replay,) = searches._kept.values()
        buffers = [one for held in (replay.model, replay.search) for one in tree_leaves(list(vars(held).values()))]
        places = [one.data_ptr() for one in buffers if isinstance(one, Tensor)]
        listed = []
        with torch.inference_mode():
            replay.search.start(torch.tensor([5, 2, 3]))
            for _ in range(7):
                with Operations() as operations:
                    replay.search.advance()
                listed.append(operations.listed)
        assert all(one == listed[0] for one in listed) and len(listed[0]) > 50
        assert places == [one.data_ptr() for one in buffers if isinstance(one, Tensor)]


def test_after_an_error_nothing_is_kept() -> None:
    model, settings, given = ending(), DecodingSettings(beam=2, extra_length=5), batch()
    searches = FixedSearches(model, torch.float32)
    expected = searches.search(*given, settings)
    with torch.inference_mode():
        searches.weights.table.fill_(torch.nan)
    with pytest.raises(OpenworkError) as raised:
        searches.search(*given, settings)
    assert raised.value.code == "E011" and not searches._kept
    with torch.inference_mode():
        searches.weights = FixedWeights(model, torch.float32)
    assert searches.search(*given, settings) == expected


CORPUS = ["the cat sees the dog", "a dog sees a cat", "the dog runs", "a cat sleeps"]
TEXTS = [" ".join(CORPUS[(number + step) % 4] for step in range(1 + number % 5)) for number in range(23)]


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    torch.manual_seed(3)
    tokenizer = BytePair.learn(CORPUS * 20, 330)
    sizes = SMALL.model_copy(update={"output_bias": True, "norm": "pre"})
    model = build_transformer(sizes, tokenizer.vocabulary_size, tokenizer.vocabulary_size).eval()
    assert model.bias is not None
    with torch.no_grad():
        model.output_weight.mul_(2.0)
        model.bias[SYMBOL_IDS.end] = 3.0
    settings = BundleSettings(model=sizes, source_language="en", target_language="en")
    return Bundle(settings, TokenizerPair(tokenizer, tokenizer), model, card="")


def fixed(bundle: Bundle, decoding: DecodingSettings) -> BatchTranslator:
    translator = BatchTranslator.of(bundle, decoding)
    translator.engine.is_fixed = True
    return translator


def rounded(found: list[list[Translation]]) -> list[list[Translation]]:
    return [[replace(one, score=round(one.score, 3), log_probability=0.0) for one in best] for best in found]


@pytest.mark.parametrize("decoding", [{"beam": 1}, {"beam": 4, "best": 3}, {"beam": 3, "minimum_bayes_risk": "chrf"}])
def test_translations_are_those_without_fixed_buffers(bundle: Bundle, decoding: dict[str, Any]) -> None:
    chosen = DecodingSettings(extra_length=40, **decoding)
    translator, plain = fixed(bundle, chosen), BatchTranslator.of(bundle, chosen)
    for size in (4096, 100):
        translator.batch_tokens = size
        assert rounded(translator.translate(TEXTS)) == rounded(plain.translate(TEXTS))
    assert translator.engine._searches is not None
    assert rounded(translator.translate(TEXTS[:1])) == rounded(plain.translate(TEXTS[:1]))
    assert translator.translate([]) == [] and translator.best([" "]) == [" "]


def test_weights_that_change_are_followed(bundle: Bundle) -> None:
    translator = fixed(bundle, DecodingSettings(beam=2, extra_length=8))
    before = translator.translate(TEXTS[:3])
    weight = bundle.model.output_weight
    kept = weight.detach().clone()
    try:
        with torch.no_grad():
            weight.copy_(-kept)
        changed = translator.translate(TEXTS[:3])
        assert changed != before
        assert rounded(changed) == rounded(BatchTranslator.of(bundle, translator.decoding).translate(TEXTS[:3]))
    finally:
        with torch.no_grad():
            weight.copy_(kept)


@pytest.mark.parametrize("is_fixed", [True, False])
def test_where_memory_is_not_enough_halves_are_searched(
    bundle: Bundle, is_fixed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, translator = (fixed(bundle, DecodingSettings(beam=2)) for _ in range(2))
    plain.engine.is_fixed = translator.engine.is_fixed = is_fixed
    place, name = (FixedSearches, "found") if is_fixed else (translator_module, "decode")
    search, sizes = getattr(place, name), list[int]()

    def bounded(*given: Any, **options: Any) -> Any:
        sizes.append(len(given[1]))
        if sizes[-1] > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return search(*given, **options)

    expected = plain.translate(TEXTS)
    monkeypatch.setattr(place, name, bounded)
    assert rounded(translator.translate(TEXTS)) == rounded(expected)
    assert max(sizes) > 3 >= min(sizes)

    def fail(*given: Any, **options: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(place, name, fail)
    with pytest.raises(torch.OutOfMemoryError):
        translator.translate(TEXTS)


def test_what_fixed_buffers_cannot_is_searched_as_before(bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*given: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(FixedSearches, "search", never)
    for decoding in ({"beam": 2, "groups": 2}, {"samples": 2}, {"no_repeat": 2}, {"beam": 2, "prefix": "the"}):
        chosen = DecodingSettings(extra_length=5, **decoding)
        assert fixed(bundle, chosen).translate(TEXTS[:3]) == BatchTranslator.of(bundle, chosen).translate(TEXTS[:3])
    shown: list[str] = []
    found = fixed(bundle, DecodingSettings(extra_length=5)).stream(TEXTS[0], shown.append)
    assert "".join(shown) == found.text


def test_what_is_too_large_for_half_precision_is_searched_as_before(bundle: Bundle) -> None:
    chosen = DecodingSettings(beam=2, extra_length=5)
    translator = fixed(bundle, chosen)
    translator.engine.fixed_type = torch.float16
    expected = BatchTranslator.of(bundle, chosen).translate(TEXTS[:3])
    translator.translate(TEXTS[:3])
    assert translator.engine._searches is not None
    with torch.inference_mode():
        translator.engine._searches[1].weights.table.fill_(torch.inf)
    assert rounded(translator.translate(TEXTS[:3])) == rounded(expected)


def test_a_text_given_up_costs_the_others_nothing(bundle: Bundle) -> None:
    chosen = DecodingSettings(beam=2, extra_length=30)
    expected = fixed(bundle, chosen).translate(TEXTS[:4])
    found = fixed(bundle, chosen).translate(TEXTS[:4], given_up=lambda: {1})
    assert [found[place] for place in (0, 2, 3)] == [expected[place] for place in (0, 2, 3)]


def test_results_are_read_while_the_next_batch_is_searched() -> None:
    noted: list[str] = []

    def begin(batch: str, meanwhile: Callable[[], None]) -> Callable[[], str]:
        noted.append(f"search {batch}")
        for _ in range(0 if batch == "c" else 2):  # some searches have nothing to wait for
            meanwhile()
        noted.append(f"found {batch}")
        return lambda: noted.append(f"read {batch}") or batch.upper()

    assert list(overlapping(begin, "abc")) == ["A", "B", "C"]
    assert noted == [
        "search a", "found a", "search b", "read a", "found b", "search c", "found c", "read b", "read c"
    ]  # fmt: skip
    assert list(overlapping(begin, "")) == []


def test_a_search_is_read_after_the_next() -> None:
    """The buffers have the next batch by then."""
    model = ending()
    for beam in (1, 3):
        settings, searches = DecodingSettings(beam=beam, extra_length=6), FixedSearches(model, torch.float32)
        given = [batch(5, 7), batch(8, 4)]
        first, second = (searches.found(*one, settings) for one in given)
        assert len(searches._kept) == 1
        assert first() == searches.search(*given[0], settings) and second() == searches.search(*given[1], settings)
