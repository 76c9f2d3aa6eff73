"""The recurrent model is searched and trained as any other; what all models promise stands in contract.py."""

import math
from typing import Literal

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

from decoding.rescoring import score
from openwork.decoding.ensemble import CoverageModel
from openwork.decoding.search import decode
from openwork.decoding.settings import DecodingSettings
from openwork.models.recurrent import RecurrentModel, build_recurrent
from openwork.models.recurrent_settings import RecurrentSettings
from openwork.nn.recurrent import cell_layers, run_cells

SOURCE_VOCABULARY, TARGET_VOCABULARY = 11, 13
SIZES = [
    RecurrentSettings(width=8),
    RecurrentSettings(width=8, encoder_layers=2, decoder_layers=3, attention_width=5, tying="none"),
    RecurrentSettings(width=8, cell="gru", attention="dot"),
    RecurrentSettings(width=8, cell="rnn", attention="none"),
]


def build(settings: RecurrentSettings) -> RecurrentModel:
    torch.manual_seed(7)
    return build_recurrent(settings, SOURCE_VOCABULARY, TARGET_VOCABULARY).eval()


def sentences() -> tuple[Tensor, Tensor]:
    source = torch.tensor([[5, 6, 7, 8, 3], [9, 3, 0, 0, 0], [4, 10, 3, 0, 0]])
    return source, torch.tensor([5, 2, 3])


TARGET = torch.tensor([[2, 4, 5, 6, 7], [2, 12, 4, 4, 9], [2, 8, 9, 10, 11]])


@pytest.fixture(params=SIZES, ids=["one layer", "several layers", "dot", "none"])
def model(request: pytest.FixtureRequest) -> RecurrentModel:
    return build(request.param)


def test_dropout_acts_in_training_only(model: RecurrentModel) -> None:
    source, lengths = sentences()
    for mode, equal in ((True, False), (False, True)):
        model.train(mode)
        first, second = (model(source, lengths, TARGET) for _ in range(2))
        assert torch.equal(first, second) is equal


@pytest.mark.slow
@pytest.mark.parametrize("beam", [1, 3])
def test_the_searches_know_this_model(model: RecurrentModel, beam: int) -> None:
    source, lengths = sentences()
    settings = DecodingSettings(beam=beam, best=beam, extra_length=4)
    found = decode(model, source, lengths, settings)
    for row, hypotheses in enumerate(found):
        length = lengths[row : row + 1]
        (alone,) = decode(model, source[row : row + 1, : int(length)], length, settings)
        assert [h.tokens for h in alone] == [h.tokens for h in hypotheses]
        for h in hypotheses:
            again = score(model, source[row : row + 1], length, [h.tokens], ended=h.finished)
            assert again.item() == pytest.approx(h.log_probability, abs=1e-4)


# Logits from before there were other cells; weights are sin(n), sin(n + 1), ... with the n letters of their name.
EARLIER = {
    0: [
        [0.52469, -0.37621, 0.22019, -0.05977, -0.10185, 0.26143],
        [0.50523, -0.35785, 0.20332, -0.04471, -0.11479, 0.27199],
    ],
    1: [
        [0.19018, -1.58738, 1.88498, -0.87683, -0.73871, 1.84254],
        [-0.18031, -1.44205, 2.06548, -1.25813, -0.42074, 1.80816],
    ],
}


@pytest.mark.parametrize("number", EARLIER)
def test_the_weights_of_earlier_bundles_still_mean_the_same(number: int) -> None:
    settings = (RecurrentSettings(width=3), SIZES[1].model_copy(update={"width": 4}))[number]
    model = build_recurrent(settings, 7, 6).eval()
    for name, weight in model.named_parameters():
        weight.detach().copy_(torch.sin(torch.arange(weight.numel()) + len(name)).view(weight.shape))
    target = torch.tensor([[2, 4, 5], [2, 5, 5]])
    logits, _ = model.step(target, model.start(torch.tensor([[4, 5, 6, 3], [6, 3, 0, 0]]), torch.tensor([4, 2])))
    torch.testing.assert_close(logits[:, -1], torch.tensor(EARLIER[number]), rtol=0, atol=2e-5)


def test_without_attention_every_real_source_token_has_the_same_weight() -> None:
    model = build(SIZES[3])
    source, lengths = sentences()
    with torch.no_grad():
        logits, weights, state = model.attend(TARGET, model.start(source, lengths))
        expected, other = model.step(TARGET, model.start(source, lengths))
    for row, length in enumerate(lengths.tolist()):
        assert weights[row, :, :length].unique().tolist() == pytest.approx([1 / length])
        assert not weights[row, :, length:].any()
    assert torch.equal(logits, expected) and torch.equal(state.cells.hidden, other.cells.hidden)
    assert state.memory.values.shape[-1] == 0  # what is handed over is one vector


@pytest.mark.parametrize("attention", ["dot", "general"])
def test_the_source_token_of_one_row_is_looked_at_in_its_real_part(attention: Literal["dot", "general"]) -> None:
    model = build(RecurrentSettings(width=8, attention=attention))
    source, lengths = sentences()
    weights = model.attend(TARGET, model.start(source, lengths))[1]
    torch.testing.assert_close(weights.sum(-1), torch.ones(3, 5))
    assert weights.shape == (3, 5, 5) and not weights[1, :, 2:].any()


def test_the_coverage_penalty_without_attention_is_against_short_targets_alone() -> None:
    source, lengths = sentences()
    covered = CoverageModel(build(SIZES[3]), 0.5)
    state, credits = covered.start(source, lengths), []
    with torch.no_grad():
        for tokens in TARGET.split(1, dim=1):
            _, state = covered.step(tokens, state)
            credits.append(covered.credit(state).tolist())
    for row, length in enumerate(lengths.tolist()):
        expected = [0.5 * length * math.log(min((read + 1) / length, 1)) for read in range(5)]
        assert [credit[row] for credit in credits] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attention": "dot", "width": 7}, "even width"),
        ({"attention": "none", "attention_width": 7}, "attention_width is set"),
    ],
)
def test_options_that_contradict_each_other(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        RecurrentSettings.model_validate(options)


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, marks=pytest.mark.long),
        {"cell": "gru", "attention": "general"},
        pytest.param({"attention": "none"}, marks=pytest.mark.long),
    ],
)
def test_it_learns_to_reverse(changes: dict[str, object]) -> None:
    torch.manual_seed(1)
    settings = RecurrentSettings.model_validate({"width": 32, "dropout": 0.0, **changes})
    model = build_recurrent(settings, 10, 10)
    optimiser = torch.optim.Adam(model.parameters(), 0.01)
    ends = torch.full((64, 1), 3)
    for _ in range(250):
        words = torch.randint(4, 10, (64, 4))
        output = torch.cat([words.flip(1), ends], dim=1)
        hidden = model(torch.cat([words, ends], dim=1), torch.full((64,), 5), torch.cat([ends - 1, output[:, :-1]], 1))
        loss = torch.nn.functional.cross_entropy(model.project(hidden).flatten(0, 1), output.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    words = torch.randint(4, 10, (64, 4))
    found = decode(model.eval(), torch.cat([words, ends], 1), torch.full((64,), 5), DecodingSettings(beam=2))
    right = sum(one[0].tokens == tuple(reversed(w)) for one, w in zip(found, words.tolist(), strict=True))
    assert right >= 60


@pytest.mark.parametrize("packed", [False, True])
def test_a_processor_without_narrow_cells_computes_them_in_float32(
    monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    """There the framework's LSTM breaks off under autocast; narrow inputs are taken, too."""
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    torch.manual_seed(1)
    stack, narrow = cell_layers("lstm", 4, 4, 2, 0.0), torch.randn(2, 3, 4).bfloat16()

    def packing(x: Tensor) -> Tensor | PackedSequence:
        return pack_padded_sequence(x, torch.tensor([3, 2]), batch_first=True) if packed else x

    wanted, after = stack(packing(narrow.float()))
    with torch.autocast("cpu", torch.bfloat16):
        found, state = run_cells(stack, packing(narrow))
        further, _ = run_cells(stack, packing(narrow), state)
    assert all(torch.equal(one, other) for one, other in zip(found, wanted, strict=True) if one is not None)
    assert all(torch.equal(one, other) for one, other in zip(state, after, strict=True))
    assert not torch.equal(further[0], found[0])
