"""Recurrent models of labels: which state each label is told from, what it has read, and that they learn."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from nn.cells import CELLS, GateWeights, unroll
from openwork.models.build import build_model
from openwork.models.recurrent import RecurrentLabels
from openwork.models.recurrent_settings import RecurrentLabelsSettings

pytestmark = pytest.mark.slow

START, END, PAD = 2, 3, 0
SOURCE, LENGTHS = torch.tensor([[5, 6, 7, 8, END], [9, 4, END, PAD, PAD]]), torch.tensor([5, 3])
BEGINS = torch.tensor([token not in (6, 9) for token in range(11)])  # 6 and 9 continue a word


def built(**options: Any) -> RecurrentLabels:
    torch.manual_seed(3)
    model = build_model(RecurrentLabelsSettings.model_validate({"width": 4, **options}), 11, 13)
    assert isinstance(model, RecurrentLabels)
    return model.eval()


def told(model: RecurrentLabels, places: int, source: Tensor = SOURCE, lengths: Tensor = LENGTHS) -> Tensor:
    with torch.no_grad():
        return model(source, lengths, torch.full((source.shape[0], places), 4))


def states(model: RecurrentLabels, cell: str, row: int) -> tuple[Tensor, Tensor]:
    """What each direction knows at each token of a row (position, width), step by step by the formula."""
    kind, stack = CELLS[cell], model.encoder.layers
    x = model.source_embedding(SOURCE[row : row + 1, : int(LENGTHS[row])])
    there, _ = unroll(kind, x.unbind(1), kind.beginning(x, 4), GateWeights.of(stack, "_l0"))
    back, _ = unroll(kind, x.flip(1).unbind(1), kind.beginning(x, 4), GateWeights.of(stack, "_l0_reverse"))
    return there[0].detach(), back.flip(1)[0].detach()


@pytest.mark.parametrize("cell", CELLS)
def test_a_word_is_told_from_the_states_at_its_first_piece(cell: str) -> None:
    model = built(task="tag", cell=cell)
    model.set_word_starts(BEGINS)
    found = told(model, 5)
    for row, positions in enumerate([[0, 2, 3, 4, 4], [1, 2, 2, 2, 2]]):
        torch.testing.assert_close(found[row], torch.cat(states(model, cell, row), dim=-1)[positions])


@pytest.mark.parametrize("cell", CELLS)
def test_a_text_is_told_from_the_last_state_of_each_direction(cell: str) -> None:
    model = built(task="classify", cell=cell)
    found, weights = told(model, 3), dict(model.named_parameters())
    for row in range(2):
        there, back = states(model, cell, row)
        whole = weights["summary.weight"] @ torch.cat([there[-1], back[0]]) + weights["summary.bias"]
        torch.testing.assert_close(found[row, 0], whole.tanh())
        for place in (1, 2):
            torch.testing.assert_close(found[row, place], torch.cat([there[-1], back[-1]]))


@pytest.mark.parametrize("task", ["tag", "classify"])
def test_it_reads_no_token_of_the_target(task: str) -> None:
    model = built(task=task)
    first, second = (model(SOURCE, LENGTHS, tokens) for tokens in (torch.full((2, 4), 4), torch.full((2, 4), 12)))
    assert torch.equal(first, second)


@pytest.mark.parametrize("bidirectional", [True, False])
def test_one_direction_sees_no_later_token(bidirectional: bool) -> None:
    model = built(task="tag", bidirectional=bidirectional, layers=2)
    changed = SOURCE.clone()
    changed[0, 2] = 10
    same = (told(model, 5)[0] == told(model, 5, changed)[0]).all(dim=-1)
    assert same.tolist() == ([False] * 5 if bidirectional else [True, True, False, False, False])
    assert model.output.shape == (13, 8 if bidirectional else 4)


def trained(settings: RecurrentLabelsSettings, sources: Tensor, targets: Tensor) -> float:
    """The share of places that are told right of other sources than those of the training: the last 64."""
    torch.manual_seed(1)
    model = build_model(settings, 10, 10)
    optimiser = torch.optim.Adam(model.parameters(), 0.02)
    lengths = torch.full((len(sources),), sources.shape[1])
    for first in range(0, len(sources) - 64, 64):
        part = slice(first, first + 64)
        loss = cross_entropy(
            model.project(model(sources[part], lengths[part], targets[part])).flatten(0, 1), targets[part].flatten()
        )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    with torch.no_grad():
        logits, _ = model.eval().step(targets[-64:], model.start(sources[-64:], lengths[-64:]))
    return float((logits.argmax(-1) == targets[-64:]).float().mean())


def numbers() -> tuple[Tensor, Tensor]:
    """Sources of five tokens and the end symbol."""
    torch.manual_seed(2)
    words = torch.randint(4, 10, (64 * 100, 5))
    return words, torch.cat([words, torch.full((len(words), 1), END)], dim=1)


@pytest.mark.parametrize("cell", CELLS)
def test_a_tagger_learns_whether_a_token_is_more_than_the_one_before(cell: Any) -> None:
    words, sources = numbers()
    before = torch.nn.functional.pad(words[:, :-1], (1, 0), value=4)
    targets = torch.cat([4 + (words > before).long(), sources[:, -1:]], dim=1)
    settings = RecurrentLabelsSettings(task="tag", width=16, cell=cell, bidirectional=False, dropout=0.0)
    assert trained(settings, sources, targets) > 0.98


def test_both_directions_learn_whether_a_token_is_more_than_the_one_behind_it_and_one_cannot() -> None:
    words, sources = numbers()
    behind = torch.nn.functional.pad(words[:, 1:], (0, 1), value=4)
    targets = torch.cat([4 + (words > behind).long(), sources[:, -1:]], dim=1)
    both, one = (
        trained(RecurrentLabelsSettings(task="tag", width=16, bidirectional=way, dropout=0.0), sources, targets)
        for way in (True, False)
    )
    assert both > 0.98 > 0.9 > one


@pytest.mark.parametrize("bidirectional", [True, False])
def test_a_classifier_learns(bidirectional: bool) -> None:
    """Whether the first token is more than the last; in one direction, which is harder, whether the last is above 6."""
    words, sources = numbers()
    is_more = words[:, 0] > words[:, -1] if bidirectional else words[:, -1] > 6
    targets = torch.stack([4 + is_more.long(), sources[:, -1]], dim=1)
    settings = RecurrentLabelsSettings(task="classify", width=16, bidirectional=bidirectional, dropout=0.0)
    assert trained(settings, sources, targets) > 0.95
