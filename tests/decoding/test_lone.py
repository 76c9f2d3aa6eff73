"""One sentence searched by plain numbers: the same as by tensors, number for number."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings, strategies
from torch import Tensor

from decoding.tables import TableModel, random_logits, sources
from openwork.decoding.beam import beam_search
from openwork.decoding.left_to_right import greedy_search
from openwork.decoding.lone import search_one
from openwork.decoding.search import decode
from openwork.decoding.settings import DecodingSettings
from openwork.inference.prepared.transformer import PreparedTransformer
from openwork.models.build import build_model
from openwork.models.seq2seq import Transformer
from openwork.models.settings import TransformerSettings

SETTINGS: dict[str, dict[str, Any]] = {
    "as usual": {"beam": 4},
    "all of them": {"beam": 5, "best": 5},
    "no penalty": {"beam": 3, "best": 2, "length_penalty": 0.0},
    "patient": {"beam": 3, "best": 3, "patience": 2.5},
    "no better": {"beam": 4, "best": 4, "stopping": "no-better", "length_rule": "power", "length_penalty": 1.0},
    "ranked": {"beam": 4, "best": 4, "unfinished": "ranked"},
    "wide": {"beam": 20, "best": 20},
    "one": {"beam": 1},
}


def made(seed: int, sharpness: float, vocabulary: int = 19) -> Transformer:
    torch.manual_seed(seed)
    sizes = TransformerSettings(
        width=16, heads=2, feedforward_width=24, encoder_layers=1, decoder_layers=1, dropout=0.0
    )
    model = build_model(sizes, vocabulary, vocabulary).eval()
    assert isinstance(model, Transformer)
    with torch.no_grad():
        model.output_weight.mul_(sharpness)
    return model


def sentence(length: int) -> tuple[Tensor, Tensor]:
    return torch.arange(4, 4 + length)[None] % 15 + 4, torch.tensor([length])


@pytest.mark.parametrize(
    "name", [name if name == "as usual" else pytest.param(name, marks=pytest.mark.slow) for name in SETTINGS]
)
@given(
    seed=strategies.integers(0, 10**6), vocabulary=strategies.integers(5, 9), longest=strategies.integers(1, 12),
    spread=strategies.sampled_from([0.0, 0.5, 1.0, 2.0]), decimals=strategies.sampled_from([0, 6]),
)  # fmt: skip
@pytest.mark.slow
@settings(deadline=None, max_examples=150)
def test_it_finds_what_tensors_find(
    name: str, seed: int, vocabulary: int, longest: int, spread: float, decimals: int
) -> None:
    """With no spread and with no decimals many are equally probable, and the order of equals counts."""
    model = TableModel(random_logits(seed, vocabulary, spread, decimals))
    chosen = DecodingSettings(maximum_length=longest, **SETTINGS[name])
    (wanted,) = beam_search(model, *sources([seed], [3]), chosen)
    assert search_one(model, *sources([seed], [3]), chosen) == wanted
    if chosen.beam == 1:
        assert greedy_search(model, *sources([seed], [3]), chosen) == [wanted]


@pytest.mark.slow
def test_it_goes_on_from_the_states_of_a_prepared_model() -> None:
    model = made(3, 2.0)
    prepared, chosen = PreparedTransformer(model), DecodingSettings(beam=4, best=4, maximum_length=14)
    (wanted,) = beam_search(model, *sentence(7), chosen)
    (found,) = decode(prepared, *sentence(7), chosen)
    assert [one.tokens for one in found] == [one.tokens for one in wanted]
    assert [one.score for one in found] == pytest.approx([one.score for one in wanted], abs=1e-5)


@pytest.mark.slow
def test_a_search_for_one_sentence_takes_it_and_for_two_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    monkeypatch.setattr("openwork.decoding.search.search_one", lambda *given: taken.append(len(given)) or [])
    model, chosen = made(1, 1.0), DecodingSettings(beam=2, maximum_length=4)
    source, lengths = sentence(3)
    assert decode(model, source, lengths, chosen) == [[]] and len(taken) == 1
    assert len(decode(model, source.repeat(2, 1), lengths.repeat(2), chosen)[1]) == 1 and len(taken) == 1
    decode(model, source, lengths, chosen.model_copy(update={"no_repeat": 2}))
    decode(model, source, lengths, chosen.model_copy(update={"coverage_penalty": 0.2}))
    assert len(taken) == 1
