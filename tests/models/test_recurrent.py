"""The recurrent model keeps the promises of the interface, and the searches work with it as with any other."""

import pytest
import torch
from torch import Tensor

from openwork.base.errors import ConfigError
from openwork.decoding.rescore import score
from openwork.decoding.search import search
from openwork.decoding.settings import DecodingSettings
from openwork.models.recurrent import RecurrentModel, build_recurrent
from openwork.models.recurrent_settings import RecurrentSettings

SOURCE_VOCABULARY, TARGET_VOCABULARY = 11, 13
SIZES = [
    RecurrentSettings(width=8),
    RecurrentSettings(width=8, encoder_layers=2, decoder_layers=3, attention_width=5, tying="none"),
]


def build(settings: RecurrentSettings) -> RecurrentModel:
    torch.manual_seed(7)
    return build_recurrent(settings, SOURCE_VOCABULARY, TARGET_VOCABULARY).eval()


def sentences() -> tuple[Tensor, Tensor]:
    source = torch.tensor([[5, 6, 7, 8, 3], [9, 3, 0, 0, 0], [4, 10, 3, 0, 0]])
    return source, torch.tensor([5, 2, 3])


TARGET = torch.tensor([[2, 4, 5, 6, 7], [2, 12, 4, 4, 9], [2, 8, 9, 10, 11]])


@pytest.fixture(params=SIZES, ids=["one layer", "several layers"])
def model(request: pytest.FixtureRequest) -> RecurrentModel:
    return build(request.param)


def test_step_by_step_is_the_whole_sequence(model: RecurrentModel) -> None:
    source, lengths = sentences()
    whole = model.project(model.advance(TARGET, model.start(source, lengths))[0])
    assert whole.shape == (3, 5, TARGET_VOCABULARY)
    state = model.start(source, lengths)
    for position in range(TARGET.shape[1]):
        logits, state = model.step(TARGET[:, position : position + 1], state)
        torch.testing.assert_close(logits[:, 0], whole[:, position])


def test_a_batch_gives_what_its_sentences_give_alone(model: RecurrentModel) -> None:
    source, lengths = sentences()
    together, _ = model.step(TARGET, model.start(source, lengths))
    for row, length in enumerate(lengths.tolist()):
        alone, _ = model.step(
            TARGET[row : row + 1], model.start(source[row : row + 1, :length], lengths[row : row + 1])
        )
        torch.testing.assert_close(together[row], alone[0])


def test_padding_is_never_read(model: RecurrentModel) -> None:
    source, lengths = sentences()
    other = source.clone()
    other[source == 0] = 10
    assert torch.equal(
        model.step(TARGET, model.start(source, lengths))[0], model.step(TARGET, model.start(other, lengths))[0]
    )


def test_no_position_sees_a_later_token(model: RecurrentModel) -> None:
    source, lengths = sentences()
    changed = TARGET.clone()
    changed[:, 3:] = 4
    before, after = (model.step(t, model.start(source, lengths))[0] for t in (TARGET, changed))
    torch.testing.assert_close(before[:, :3], after[:, :3])
    assert not torch.allclose(before[:, 3:], after[:, 3:])


def test_select_reorders_repeats_and_drops_and_leaves_the_old_state(model: RecurrentModel) -> None:
    source, lengths = sentences()
    _, state = model.step(TARGET[:, :2], model.start(source, lengths))
    rows = torch.tensor([2, 0, 0])
    chosen, _ = model.step(TARGET[rows, 2:], state.select(rows))
    everything, _ = model.step(TARGET[:, 2:], state)
    torch.testing.assert_close(chosen, everything[rows])


def test_dropout_acts_in_training_only(model: RecurrentModel) -> None:
    source, lengths = sentences()
    for mode, equal in ((True, False), (False, True)):
        model.train(mode)
        first, second = (model(source, lengths, TARGET) for _ in range(2))
        assert torch.equal(first, second) is equal


def test_every_weight_learns(model: RecurrentModel) -> None:
    source, lengths = sentences()
    logits = model.train().project(model(source, lengths, TARGET))
    torch.nn.functional.cross_entropy(logits.flatten(0, 1), TARGET.flatten()).backward()
    for name, weight in model.named_parameters():
        assert weight.grad is not None and bool(weight.grad.any()), name
        assert bool(weight.grad.isfinite().all()), name


@pytest.mark.parametrize("beam", [1, 3])
def test_the_searches_know_this_model(model: RecurrentModel, beam: int) -> None:
    source, lengths = sentences()
    settings = DecodingSettings(beam=beam, best=beam, extra_length=4)
    found = search(model, source, lengths, settings)
    for row, hypotheses in enumerate(found):
        length = lengths[row : row + 1]
        (alone,) = search(model, source[row : row + 1, : int(length)], length, settings)
        assert [h.tokens for h in alone] == [h.tokens for h in hypotheses]
        for h in hypotheses:
            again = score(model, source[row : row + 1], length, [h.tokens], ended=h.finished)
            assert again.item() == pytest.approx(h.log_probability, abs=1e-4)


def test_tying() -> None:
    tied = build_recurrent(RecurrentSettings(width=8, tying="three-way"), 12, 12)
    assert tied.output_weight is tied.target_embedding.weight is tied.source_embedding.weight
    target = build(RecurrentSettings(width=8, tying="target"))
    assert target.output_weight is target.target_embedding.weight
    assert target.source_embedding.weight.shape[0] == SOURCE_VOCABULARY
    assert build(RecurrentSettings(width=8, tying="none")).output_weight.shape == (TARGET_VOCABULARY, 8)
    with pytest.raises(ConfigError, match="one vocabulary"):
        build_recurrent(RecurrentSettings(tying="three-way"), 11, 12)


def test_it_learns_to_reverse() -> None:
    torch.manual_seed(1)
    model = build_recurrent(RecurrentSettings(width=32, dropout=0.0), 10, 10)
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
    found = search(model.eval(), torch.cat([words, ends], 1), torch.full((64,), 5), DecodingSettings(beam=2))
    right = sum(one[0].tokens == tuple(reversed(w)) for one, w in zip(found, words.tolist(), strict=True))
    assert right >= 60
