"""The recurrent language model: no reader sees what it predicts; its loss by hand; what the classifier sees."""

from typing import Any

import pytest
import torch
from torch import Tensor

from openwork.data.batching import Batch
from openwork.models.build import build_model
from openwork.models.interfaces import NextTokenModel
from openwork.models.recurrent_lm import PoolingClassifier, RecurrentLM, reversed_rows
from openwork.models.recurrent_settings import RecurrentLMSettings
from openwork.training.batches.language_modelling import next_token_batch
from openwork.training.loss import batch_loss

START, END, PAD = 2, 3, 0
SOURCE, LENGTHS = torch.tensor([[5, 6, 7, 8, END], [9, 4, END, PAD, PAD]]), torch.tensor([5, 3])


def built(**options: Any) -> Any:
    torch.manual_seed(3)
    settings = RecurrentLMSettings.model_validate({"width": 4, **options})
    return build_model(settings, 11, 11 if settings.task == "language-model" else 7).eval()


def told(model: RecurrentLM, source: Tensor) -> Tensor:
    with torch.no_grad():
        return model.read(source, LENGTHS)


@pytest.mark.parametrize("place", range(4))
def test_what_is_predicted_was_not_read(place: int) -> None:
    """Token i, from 1, is told forwards at place 2 (i - 1) by what is before it, and backwards at 2 i + 1."""
    model, changed = built(layers=3), SOURCE.clone()
    changed[0, place] = 10
    same = (told(model, SOURCE)[0] == told(model, changed)[0]).all(dim=-1).tolist()
    forwards, backwards = same[0::2], same[1::2]
    assert forwards == [True] * (place + 1) + [False] * (4 - place)
    assert backwards == [False] * (place + 1) + [True] * (4 - place)
    assert torch.equal(told(model, SOURCE)[1], told(model, changed)[1])


def test_one_direction_is_the_forward_half() -> None:
    both, one = built(), built(bidirectional=False)
    one.load_state_dict({name: tensor for name, tensor in both.state_dict().items() if "backwards" not in name})
    for row, count in enumerate(LENGTHS.tolist()):
        torch.testing.assert_close(told(one, SOURCE)[row, :count], told(both, SOURCE)[row, 0 : 2 * count : 2])
    assert isinstance(one, NextTokenModel) and both.is_bidirectional and not one.is_bidirectional
    assert not isinstance(built(task="classify"), NextTokenModel)


def batch() -> Batch:
    """Texts "5 6" and "7" as targets; the sources are empty, as those of texts are."""
    ends, one = torch.full((2, 1), END).numpy(), torch.ones(2, dtype=torch.long).numpy()
    texts = torch.tensor([[5, 6, END], [7, END, PAD]]).numpy()
    begun = torch.tensor([[START, 5, 6], [START, 7, PAD]]).numpy()
    return Batch(torch.arange(2).numpy(), ends, one, begun, texts, torch.tensor([3, 2]).numpy())


def test_the_loss_is_that_of_both_directions_by_hand() -> None:
    model = built()
    laid = next_token_batch(batch(), torch.device("cpu"), backwards=True)
    assert laid.real_targets.tolist() == [5, START, 6, 5, END, 6, 7, START, END, 7]
    expected = 0.0
    for text in ([5, 6, END], [7, END]):
        row = torch.tensor([START, *text])
        x, whole = model.source_embedding(row)[None], torch.tensor([len(row)])
        there, back = model.forwards(x)[-1][0], reversed_rows(model.backwards(reversed_rows(x, whole))[-1], whole)[0]
        for place in range(len(row) - 1):
            for known, right in ((there[place], row[place + 1]), (back[place + 1], row[place])):
                expected -= (model.source_embedding.weight @ known + model.bias).log_softmax(0)[right].item()
    sums = batch_loss(model, laid, 0.0, "float32")
    assert sums.tokens == 10 and sums.likelihood.item() == pytest.approx(expected, rel=1e-5)


def test_one_direction_is_asked_for_each_token_once() -> None:
    laid = next_token_batch(batch(), torch.device("cpu"), backwards=False)
    assert laid.real_targets.tolist() == [5, 6, END, 7, END] and laid.real.tolist() == [0, 1, 2, 3, 4]
    assert laid.source.tolist() == [[5, 6, END], [7, END, PAD]] and laid.source_lengths.tolist() == [3, 2]


def test_the_classifier_sees_the_last_the_greatest_and_the_mean() -> None:
    model = built(task="classify", features="last", layers=1)
    assert isinstance(model, PoolingClassifier)
    with torch.no_grad():
        found = model.read(SOURCE, LENGTHS)
        for row, count in enumerate((LENGTHS + 1).tolist()):
            known = model.encode(SOURCE, LENGTHS)[row, :count]
            last = torch.cat([known[-1, :4], known[0, 4:]])
            pooled = torch.cat([last, known.amax(0), known.mean(0)])
            torch.testing.assert_close(found[row, 0], model.head(pooled[None, None])[0, 0])
            assert torch.equal(found[row, 1], model.ending)


def test_the_tasks_own_layers_read_their_embedding_beside_the_features() -> None:
    for bidirectional in (True, False):
        model = built(task="classify", bidirectional=bidirectional, layers=1, task_layers=1)
        with torch.no_grad():
            for row, count in enumerate((LENGTHS + 1).tolist()):
                tokens = torch.tensor([START, *SOURCE[row, : count - 1]])
                features = model.features(model.layers_of(SOURCE, LENGTHS))[row, :count]
                read = torch.cat([model.reader.source_embedding(tokens), features], dim=-1)
                known = model.reader.encoder.layers(read[None])[0][0]
                torch.testing.assert_close(model.known(SOURCE, LENGTHS)[row, :count], known)
                pooled = torch.cat([known[-1, :4], known[0, 4:], known.amax(0), known.mean(0)])
                torch.testing.assert_close(model.read(SOURCE, LENGTHS)[row, 0], model.head(pooled[None, None])[0, 0])


def test_the_heads_norms_count_one_vector_a_text() -> None:
    """Statistics over two texts by hand."""
    model = built(task="classify", features="last", layers=1, dropout=0.0)
    before = model.head.known_norm.running_mean.clone()
    known, count = model.known(SOURCE, LENGTHS).detach(), (LENGTHS + 1).tolist()
    rows = [
        torch.cat([k[c - 1, :4], k[0, 4:], k[:c].amax(0), k[:c].mean(0)]) for k, c in zip(known, count, strict=True)
    ]
    model.train().read(SOURCE, LENGTHS)
    expected = before + 0.1 * (torch.stack(rows).mean(0) - before)
    torch.testing.assert_close(model.head.known_norm.running_mean, expected)


def test_the_old_spelling_of_the_task_is_read(caplog: pytest.LogCaptureFixture) -> None:
    """Run files and bundles of version 0.1.0 say "foretell"."""
    assert RecurrentLMSettings.model_validate({"task": "foretell"}) == RecurrentLMSettings(task="language-model")
    assert "language-model" in caplog.text
