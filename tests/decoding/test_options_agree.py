"""Every option, with real models: step by step as at once, and alone as in company."""

from typing import Any

import pytest
import torch
from torch import Tensor

from decoding.phrases import forbidden, required
from openwork.decoding.constraints import SentenceConstraints
from openwork.decoding.search import decode
from openwork.decoding.settings import DecodingSettings
from openwork.models.build import build_model
from openwork.models.interfaces import SequenceModel
from openwork.models.recurrent_settings import RecurrentSettings
from openwork.models.settings import TransformerSettings

pytestmark = pytest.mark.slow

VOCABULARY = 17
KINDS = {
    "transformer": TransformerSettings(
        width=8, heads=2, feedforward_width=8, encoder_layers=1, decoder_layers=2, norm="pre"
    ),
    "recurrent": RecurrentSettings(kind="recurrent", width=8, encoder_layers=1, decoder_layers=2),
}
SOURCE = torch.tensor([[5, 6, 7, 8, 3], [9, 3, 0, 0, 0], [4, 4, 3, 0, 0], [16, 12, 11, 3, 0]])
LENGTHS = torch.tensor([5, 2, 3, 4])
CONSTRAINTS = [
    SentenceConstraints(prefix=(7, 7)),
    SentenceConstraints(required=(((9, 10),), ((2, 11), (11, 12)))),
    SentenceConstraints(forbidden=forbidden(VOCABULARY, (4,), (5, 6))),
    SentenceConstraints(prefix=(8,), required=required((14,)), forbidden=forbidden(VOCABULARY, (15,))),
]
OPTIONS = [
    {"beam": 1}, {"beam": 4, "best": 4}, {"beam": 4, "no_repeat": 2}, {"beam": 4, "repetition_penalty": 1.3},
    {"beam": 2, "minimum_length": 4},
    {"beam": 4, "best": 2, "coverage_penalty": 0.3},
    {"beam": 4, "groups": 2, "best": 3}, {"samples": 3, "best": 3, "seed": 5}, {"samples": 2, "top_k": 5, "top_p": 0.9},
]  # fmt: skip


class WithoutCache:
    """The same model, which reads the source and all tokens so far at every step."""

    def __init__(self, model: SequenceModel[Any]) -> None:
        self.model = model

    def start(self, source: Tensor, source_lengths: Tensor) -> "History":
        return History(source, source_lengths, source[:, :0])

    def step(self, tokens: Tensor, state: "History") -> tuple[Tensor, "History"]:
        after = History(state.source, state.lengths, torch.cat([state.tokens, tokens], 1))
        logits, _ = self.model.step(after.tokens, self.model.start(state.source, state.lengths))
        return logits[:, -1:], after

    def attend(self, tokens: Tensor, state: "History") -> tuple[Tensor, Tensor, "History"]:
        after = History(state.source, state.lengths, torch.cat([state.tokens, tokens], 1))
        logits, weights, _ = self.model.attend(after.tokens, self.model.start(state.source, state.lengths))
        return logits[:, -1:], weights[:, -1:], after


class History:
    def __init__(self, source: Tensor, lengths: Tensor, tokens: Tensor) -> None:
        self.source, self.lengths, self.tokens = source, lengths, tokens

    def select(self, rows: Tensor) -> "History":
        return History(self.source[rows], self.lengths[rows], self.tokens[rows])


@pytest.mark.parametrize("with_constraints", [False, True], ids=["free", "constrained"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_cached_uncached_together_and_alone(kind: str, options: dict[str, Any], with_constraints: bool) -> None:
    torch.manual_seed(2)
    model = build_model(KINDS[kind], VOCABULARY, VOCABULARY).eval()
    for parameter in model.parameters():
        parameter.data.mul_(2.5)
    chosen = DecodingSettings.model_validate({"extra_length": 6, **options})
    constraints = CONSTRAINTS if with_constraints else None
    found = decode(model, SOURCE, LENGTHS, chosen, constraints=constraints)
    again = decode(WithoutCache(model), SOURCE, LENGTHS, chosen, constraints=constraints)
    for row, length in enumerate(LENGTHS.tolist()):
        one = slice(row, row + 1)
        own = None if constraints is None else constraints[one]
        (alone,) = decode(model, SOURCE[one, :length], LENGTHS[one], chosen, constraints=own)
        assert found[row]
        for others in (again[row], alone):
            assert [h.tokens for h in others] == [h.tokens for h in found[row]]
            assert [h.score for h in others] == pytest.approx([h.score for h in found[row]], abs=1e-4)
