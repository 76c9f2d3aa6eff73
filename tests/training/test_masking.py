"""Masked pieces: which are chosen, what stands in their place, and a training on them that goes on undisturbed."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from openwork.data.batching import Batch, assemble
from openwork.data.store import TokenStore, write_store
from openwork.models.interfaces import MaskedModel
from openwork.models.weights import model_weights
from openwork.training.batches.batch import TensorBatch
from openwork.training.batches.language_modelling import Masking
from openwork.training.checkpoint import resume_latest
from openwork.training.computing.choice import arrangement, validation_arrangement
from openwork.training.loss import batch_loss
from openwork.training.progress import Progress
from training.tiny import CPU, FILLER, MODEL, SETTINGS, VOCABULARY, Training, make_training, save_checkpoint

PIECES = 1000
END, UNKNOWN, MASK = 3, 1, 4
BEGINS = np.arange(PIECES) % 3 != 0  # every third piece continues a word


def masking(**changes: object) -> Masking:
    values: dict[str, object] = {"share": 0.15, "whole_words": False, "seed": 1, **changes}
    return Masking(MASK, BEGINS, **values)  # type: ignore[arg-type]


def stored(folder: Path, sentences: Sequence[Sequence[int]]) -> TokenStore:
    rows = ((list(one), list(one)) for one in sentences)
    return write_store(folder / "store", rows, vocabulary_size=PIECES)


@pytest.fixture
def store(tmp_path: Path) -> TokenStore:
    generator = np.random.default_rng(2)
    return stored(tmp_path, [generator.integers(5, PIECES, size).tolist() for size in (1, 7, 20, 40, 40, 3)])


def restored(batch: TensorBatch) -> torch.Tensor:
    """The source with what is to be told put back."""
    source = batch.source.clone().flatten()
    source[batch.real] = batch.real_targets
    return source.view(batch.source.shape)


def test_what_is_told_is_what_stood_there(store: TokenStore) -> None:
    plain = assemble(store, np.arange(6))
    batch = masking()(plain, CPU)
    assert torch.equal(restored(batch), torch.from_numpy(plain.source))
    assert torch.equal(batch.source_lengths, torch.from_numpy(plain.source_lengths))
    assert (batch.sentences, batch.source_tokens) == (6, sum((1, 7, 20, 40, 40, 3)) + 6)
    told = torch.bincount(batch.real // batch.source.shape[1])
    assert told.tolist() == [1, 1, 3, 6, 6, 1]  # 15 %, at least one
    assert batch.target_input.shape == batch.source.shape and bool((batch.target_input[:, 0] == 2).all())


def test_a_choice_follows_from_seed_epoch_and_row_alone(store: TokenStore) -> None:
    def masked(rows: Sequence[int], epoch: int = 0, seed: int = 1) -> torch.Tensor:
        return masking(seed=seed)(assemble(store, np.array(rows), epoch), CPU).source[-1, :41]

    first = masked([4])
    assert torch.equal(masked([3, 0, 4]), first) and torch.equal(masked([4]), first)
    assert not torch.equal(masked([4], epoch=1), first) and not torch.equal(masked([4], seed=2), first)
    assert not torch.equal(masked([4]) == MASK, masked([3]) == MASK)


def test_eight_of_ten_are_masked_one_is_another_and_one_stays() -> None:
    ids = np.full(20_000, 7)
    found = masking().replace(ids, np.random.default_rng(0))
    assert (found == MASK).mean() == pytest.approx(0.8, abs=0.01)
    assert (found == 7).mean() == pytest.approx(0.1, abs=0.01)
    others = found[(found != MASK) & (found != 7)]
    assert others.min() > END and others.max() > 0.99 * PIECES and len(set(others.tolist())) > 500


def test_symbols_are_never_chosen(tmp_path: Path) -> None:
    sentence = [8, UNKNOWN, END, 9]
    store = stored(tmp_path, [sentence, [END, UNKNOWN], []])
    for epoch in range(20):
        plain = assemble(store, np.arange(3), epoch)
        batch = masking(share=0.9)(plain, CPU)
        assert batch.source[0, [1, 2, 4]].tolist() == [UNKNOWN, END, END]
        assert torch.equal(batch.source[1:], torch.from_numpy(plain.source[1:]))
        # a sentence with nothing to mask has its end told, so that no sentence is without a loss
        assert batch.real_targets.tolist() == [8, 9, END, END]


def test_whole_words_are_masked_whole(store: TokenStore) -> None:
    whole, counts = masking(whole_words=True), []
    ids = assemble(store, np.array([3])).source[0, :-1]
    word = np.cumsum(BEGINS[ids])
    for epoch in range(30):
        places = whole.choose(ids, np.random.default_rng(epoch))
        chosen = set(word[places].tolist())
        assert sorted(places.tolist()) == [place for place in range(40) if word[place] in chosen]
        assert len(set(places.tolist())) == len(places)
        counts.append(len(places))
    assert max(counts) == 6 and min(counts) >= 4  # 15 % of 40 pieces are 6; a word that does not fit is left out
    single = [masking().choose(ids, np.random.default_rng(epoch)) for epoch in range(5)]
    assert any(word[places[0]] in np.delete(word, places) for places in single)


def test_parts_of_a_batch_have_its_loss(store: TokenStore) -> None:
    torch.manual_seed(0)
    few = few_pieces(store)
    training = filling(few)
    model = training.model.eval()
    batch = training.stream.arrange(assemble(few, np.arange(6)), CPU)
    whole = batch_loss(model, batch, 0.0, "float32")
    parts = [batch_loss(model, part, 0.0, "float32") for part in batch.parts(3)]
    assert sum(part.tokens for part in parts) == whole.tokens < batch.source_tokens
    torch.testing.assert_close(sum(part.likelihood for part in parts), whole.likelihood)


def few_pieces(store: TokenStore) -> TokenStore:
    """The same sentences with the few pieces that the tiny model knows."""
    folder = store.folder.parent / "few"
    rows = [[4 + number % (VOCABULARY - 4) for number in store.pair(row)[0].tolist()] for row in range(len(store))]
    return write_store(folder, ((row, row) for row in rows), vocabulary_size=VOCABULARY)


def filling(store: TokenStore) -> Training:
    return make_training(store, SETTINGS, FILLER)


def test_the_arrangement_is_the_models_wish(store: TokenStore) -> None:
    few = few_pieces(store)
    model = filling(few).model
    assert isinstance(model, MaskedModel) and not isinstance(make_training(few, SETTINGS, MODEL).model, MaskedModel)
    settings = SETTINGS.model_copy(update={"mask_share": 0.5, "mask_whole_words": True, "seed": 9})
    made = arrangement(settings, 4096, model, "float32", CPU)
    assert isinstance(made, Masking) and (made.share, made.whole_words, made.seed) == (0.5, True, 9)
    assert made.mask_piece == FILLER.mask_piece == UNKNOWN and made.begins.shape == (VOCABULARY,)
    ids, length = np.array([[4, 5, 6, END]]), np.array([4])
    batch = Batch(np.array([0]), ids, length, ids, ids, length)
    fixed = [validation_arrangement(settings.model_copy(update={"seed": seed}), model)(batch, CPU) for seed in (1, 2)]
    assert torch.equal(fixed[0].source, fixed[1].source) and torch.equal(fixed[0].real, fixed[1].real)


def test_each_epoch_masks_anew_and_its_last_batch_is_its_own(store: TokenStore) -> None:
    stream = filling(few_pieces(store)).stream
    progress, seen = Progress(), []
    arrange, stream.arrange = stream.arrange, lambda batch, device: seen.append(batch.epoch) or arrange(batch, device)
    count = len(stream.epoch(0))
    for _ in range(count + 1):
        stream.next(progress)
    assert seen == [0] * count + [1] and count > 1


@pytest.mark.slow
def test_a_training_that_goes_on_masks_as_one_left_alone(store: TokenStore, tmp_path: Path) -> None:
    few = few_pieces(store)
    alone, cut, later = filling(few), filling(few), filling(few)
    run = alone.go(SETTINGS, Progress())
    half = cut.go(SETTINGS.model_copy(update={"steps": 6}), Progress())
    save_checkpoint(tmp_path / "checkpoints", cut.model, cut.optimiser, half.progress)
    resumed = resume_latest(tmp_path / "checkpoints", later.model, later.optimiser)
    assert resumed is not None
    later.go(SETTINGS, resumed.progress)
    assert run.progress.epoch >= 1
    before, after = model_weights(alone.model), model_weights(later.model)
    assert all(torch.equal(before[name], after[name]) for name in before)
