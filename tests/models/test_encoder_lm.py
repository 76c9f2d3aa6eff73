"""BERT's own rules: which position tells what, segments, what is kept with the weights."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from openwork.base.errors import ConfigError
from openwork.models.build import build_model
from openwork.models.encoder_lm import EncoderModel, MaskedLM, SpanExtractor, segment_numbers
from openwork.models.label_model import word_places
from openwork.models.presets import PRESETS
from openwork.models.settings import EncoderSettings
from openwork.models.weights import model_weights, read_tensors, restore_weights, tensors_to_bytes
from openwork.nn.normalisation import layer_norm
from openwork.nn.pooling import Transform
from openwork.training.averaging import MovingAverage

SMALL: dict[str, Any] = {**PRESETS["bert-small"], "width": 12, "heads": 3, "feedforward_width": 20, "layers": 2}
END, PAD = 3, 0
SOURCE, LENGTHS = torch.tensor([[5, 6, 7, 8, END], [9, 4, END, PAD, PAD]]), torch.tensor([5, 3])


def built(**changes: object) -> EncoderModel:
    torch.manual_seed(3)
    one_vocabulary = changes.get("task") in ("fill", "embed")
    model = build_model(EncoderSettings.model_validate(SMALL | changes), 11, 11 if one_vocabulary else 13)
    assert isinstance(model, EncoderModel)
    return model.eval()


def hidden(model: EncoderModel, places: int, source: Tensor = SOURCE, lengths: Tensor = LENGTHS) -> Tensor:
    with torch.no_grad():
        return model(source, lengths, torch.full((source.shape[0], places), 4))


def test_segments_are_closed_by_end_symbols() -> None:
    tokens = torch.tensor([[2, 5, 6, END, 7, END, 8, END], [2, 5, END, PAD, PAD, PAD, PAD, PAD]])
    two = [[0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1, 1, 1]]
    assert segment_numbers(tokens, 2).tolist() == two
    assert segment_numbers(tokens, 3)[0].tolist() == [0, 0, 0, 0, 1, 1, 2, 2]


def test_words_begin_where_the_vocabulary_says_so() -> None:
    begins = torch.ones(11, dtype=torch.bool)
    begins[[6, 4]] = False
    source = torch.tensor([[5, 6, 7, END, 8, END], [6, 4, END, 5, 5, 5], [5, 5, END, PAD, PAD, PAD]])
    found = word_places(source, torch.tensor([6, 3, 0]), begins)
    assert found.tolist() == [[0, 2, 4, 5, 5, 5, 5], [2] * 7, [0] * 7]


def test_a_label_is_told_from_the_start_symbol_and_the_end_from_the_end() -> None:
    model = built()
    vectors, found = model.encode(SOURCE, LENGTHS), hidden(model, 4)
    for row, length in enumerate(LENGTHS.tolist()):
        predicted_from = vectors[row, [0, length, length, length]]
        pooler = dict(model.named_parameters())
        by_hand = torch.tanh(predicted_from @ pooler["pooler.dense.weight"].T + pooler["pooler.dense.bias"])
        torch.testing.assert_close(found[row], by_hand)


def test_tags_are_told_from_the_first_pieces_of_words() -> None:
    model = built(task="tag")
    begins = torch.ones(11, dtype=torch.bool)
    begins[[6, 9]] = False
    model.set_word_starts(begins)
    vectors, found = model.encode(SOURCE, LENGTHS), hidden(model, 5)
    assert torch.equal(found[0], vectors[0, [1, 3, 4, 5, 5]])
    assert torch.equal(found[1], vectors[1, [2, 3, 3, 3, 3]])


def test_masked_pieces_are_told_where_they_stand() -> None:
    model = built(task="fill")
    vectors, found = model.encode(SOURCE, LENGTHS), hidden(model, 6)
    assert isinstance(model, MaskedLM)
    torch.testing.assert_close(found[0], model.transform(vectors[:1, [1, 2, 3, 4, 5, 5]])[0])
    torch.testing.assert_close(found[1], model.transform(vectors[1:, [1, 2, 3, 3, 3, 3]])[0])
    assert model.output_weight is model.source_embedding.table.weight


def test_the_transform_of_masked_pieces_by_hand() -> None:
    transform = Transform(2, 2, partial(layer_norm, epsilon=1e-12))
    with torch.no_grad():
        transform.dense.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, -2.0]]))
        transform.dense.bias.copy_(torch.tensor([0.0, 1.0]))
    # W h + b = (1, -3); GELU: 1 x 0.8413 = 0.8413 and -3 x 0.00135 = -0.00405; two numbers are normed to 1 and -1
    found = transform(torch.tensor([[[1.0, 2.0]]]))
    torch.testing.assert_close(found, torch.tensor([[[1.0, -1.0]]]), rtol=0, atol=1e-5)


def test_answers_are_words_of_the_source_or_none() -> None:
    model = built(task="answer")
    begins = torch.ones(11, dtype=torch.bool)
    begins[6] = False
    model.set_word_starts(begins)
    assert isinstance(model, SpanExtractor)
    with torch.no_grad():
        scores = model.spans(model.encode(SOURCE, LENGTHS))
        logits, _ = model.step(torch.full((2, 4), 4), model.start(SOURCE, LENGTHS))
    assert logits.shape == (2, 4, 13)
    for place in range(4):
        column = min(place, 2)
        # words of the first sentence begin at its pieces 0, 2 and 3, those of the second at 0 and 1
        told = [scores[0, position, column] for position in (0, 1, 3, 4)]
        torch.testing.assert_close(logits[0, place, 3:7], torch.stack(told))
        told = [scores[1, position, column] for position in (0, 1, 2)]
        torch.testing.assert_close(logits[1, place, 3:6], torch.stack(told))
    chances = logits.softmax(dim=-1)
    assert not chances[:, :, :3].any() and not chances[0, :, 7:].any() and not chances[1, :, 6:].any()


def test_more_words_than_labels_and_more_labels_than_words() -> None:
    model = build_model(EncoderSettings.model_validate({**SMALL, "task": "answer"}), 11, 6).eval()
    with torch.no_grad():
        logits, _ = model.step(torch.full((2, 2), 4), model.start(SOURCE, LENGTHS))
    assert logits.shape == (2, 2, 6) and bool((logits[:, :, 3:] > -100).all())


def test_a_text_is_the_mean_of_its_positions() -> None:
    model = built(task="embed")
    vectors, found = model.encode(SOURCE, LENGTHS), hidden(model, 3)
    for row, length in enumerate(LENGTHS.tolist()):
        torch.testing.assert_close(found[row, 0], vectors[row, : length + 1].mean(dim=0))
        torch.testing.assert_close(found[row, 1], found[row, 2])
    weights = dict(model.named_parameters())
    pooled = torch.tanh(vectors[:, 0] @ weights["pooler.dense.weight"].T + weights["pooler.dense.bias"])
    torch.testing.assert_close(found[:, 1], pooled)


def test_a_mask_that_is_no_piece_is_refused() -> None:
    with pytest.raises(ConfigError, match="mask_piece is 11") as refused:
        built(task="fill", mask_piece=11)
    assert "11 pieces" in refused.value.what and "unknown symbol" in refused.value.hint
    built(task="fill", mask_piece=10)


def test_every_position_reads_both_ways() -> None:
    model = built(task="tag")
    before = hidden(model, 5)
    for place in range(4):
        changed = SOURCE.clone()
        changed[0, place] = 10
        after = hidden(model, 5, changed)
        assert not torch.isclose(before[0], after[0], atol=1e-5).all(dim=-1).any()


def test_the_second_segment_has_vectors_of_its_own() -> None:
    model = built(task="tag")
    source = torch.tensor([[5, END, 7, END]])
    before = hidden(model, 4, source, torch.tensor([4]))
    assert model.segments is not None
    with torch.no_grad():
        model.segments.weight[1] += 1.0 + torch.arange(12)
    assert not torch.allclose(hidden(model, 4, source, torch.tensor([4])), before)
    alone = torch.tensor([[5, 7, END]])
    first = hidden(model, 4, alone, torch.tensor([3]))
    with torch.no_grad():
        model.segments.weight[1] = 0.0
    torch.testing.assert_close(hidden(model, 4, alone, torch.tensor([3])), first)


@pytest.mark.slow
def test_where_a_place_looks() -> None:
    for task in ("classify", "tag", "fill", "answer", "embed"):
        model = built(task=task)
        tokens = torch.full((2, 3), 4)
        with torch.no_grad():
            logits, state = model.step(tokens, model.start(SOURCE, LENGTHS))
            same, weights, after = model.attend(tokens, model.start(SOURCE, LENGTHS))
            later = model.attend(tokens, after)[1]
        assert torch.equal(same, logits) and after.position == state.position == 3
        assert weights.shape == later.shape == (2, 3, 5) and bool((weights >= 0).all())
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, 3))
        assert bool((weights[1, :, 3:] == 0).all())  # padding
        torch.testing.assert_close(later[1], weights[1, -1:].expand(3, -1))  # it has ended: two tokens, or a label


def test_the_start_symbol_takes_a_position() -> None:
    model = built(maximum_length=6)
    assert model.maximum_length == 5 and built(positions="none", maximum_length=None).maximum_length is None
    hidden(model, 2, torch.tensor([[5, 6, 7, 8, END]]), torch.tensor([5]))


def test_beginnings_are_kept_with_the_weights(tmp_path: Path) -> None:
    model, other = built(task="tag"), built(task="tag")
    begins = torch.arange(11) % 2 == 0
    model.set_word_starts(begins)
    (tmp_path / "weights").write_bytes(tensors_to_bytes(model_weights(model)))
    restore_weights(other, read_tensors(tmp_path / "weights"), "weights")
    assert torch.equal(other.begins, begins) and torch.equal(hidden(other, 5), hidden(model, 5))
    moving = MovingAverage(model, 0.9)
    moving.update(1)
    assert torch.equal(moving.weights["begins"], begins)
    tables = [
        name for name in model_weights(built(positions="sinusoidal", maximum_length=None)) if "positions.added" in name
    ]
    assert not tables  # what can be computed is not kept


@pytest.mark.slow
@pytest.mark.parametrize(("name", "millions"), [("bert-base", 110), ("bert-small", 11)])
def test_presets_have_the_sizes_of_their_names(name: str, millions: int) -> None:
    with torch.device("meta"):
        model = build_model(EncoderSettings.model_validate(PRESETS[name]), 30522, 8)
    assert sum(weight.numel() for weight in model.parameters()) / 1e6 == pytest.approx(millions, rel=0.03)
