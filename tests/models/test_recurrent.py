"""The recurrent model is searched and trained as any other; what all models promise stands in contract.py."""

import pytest
import torch
from torch import Tensor

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


def test_dropout_acts_in_training_only(model: RecurrentModel) -> None:
    source, lengths = sentences()
    for mode, equal in ((True, False), (False, True)):
        model.train(mode)
        first, second = (model(source, lengths, TARGET) for _ in range(2))
        assert torch.equal(first, second) is equal


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


@pytest.mark.slow
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
