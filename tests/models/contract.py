"""What every model behind start, step and select must do. A family's test names its settings and inherits the checks:

class TestMine(EncoderDecoderContract):
    settings = MySettings(width=8)

`ModelContract` holds for all of them, `WritingContract` for those that write one token after the other,
`EncoderDecoderContract` for those of them with embeddings of a source and of a target, `LanguageModelContract` for
those that continue their source, `AttendingLanguageModelContract` for those of them with attention.
"""

from typing import Any

import pytest
import torch
from safetensors.torch import load
from torch import Tensor

from openwork.base.errors import ConfigError
from openwork.models.build import build_model
from openwork.models.families import ModelSettings
from openwork.models.interfaces import SequenceModel
from openwork.models.weights import model_weights, restore_weights, tensors_to_bytes

SOURCE_VOCABULARY, TARGET_VOCABULARY = 11, 13
PAD, START, END = 0, 2, 3
# Three sentences of 5, 2 and 3 tokens, the end symbol included.
SOURCE = torch.tensor([[5, 6, 7, 8, END], [9, END, PAD, PAD, PAD], [4, 10, END, PAD, PAD]])
LENGTHS = torch.tensor([5, 2, 3])
TARGET = torch.tensor([[START, 4, 5, 6, 7], [START, 12, 4, 4, 9], [START, 8, 9, 10, 11]])


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=2e-5)


class ModelContract:
    settings: ModelSettings
    source = SOURCE
    vocabularies = SOURCE_VOCABULARY, TARGET_VOCABULARY
    # ends of the names of weights whose gradient is zero by nature
    flat: tuple[str, ...] = ()
    # how many places of the target, from the first, depend on the source; None: all
    places_of_source: int | None = None
    # how far logits in bfloat16 may be from those in float32
    narrow = 0.05

    @pytest.fixture
    def model(self) -> SequenceModel[Any]:
        torch.manual_seed(7)
        return build_model(self.settings, *self.vocabularies).eval()

    def with_other_padding(self) -> Tensor:
        """The sources with something else where nothing is read."""
        return self.source.masked_fill(self.source == PAD, 10)

    def with_other_beginning(self) -> Tensor:
        """The sources, each with another first position."""
        other = self.source.clone()
        other[:, 0] = 4 + (other[:, 0] + 1) % 6
        return other

    def test_the_shapes(self, model: SequenceModel[Any]) -> None:
        hidden, state = model.advance(TARGET, model.start(self.source, LENGTHS))
        logits, _ = model.step(TARGET[:, :2], state)
        assert hidden.shape[:2] == (3, 5) and logits.shape == (3, 2, TARGET_VOCABULARY)
        assert model.output_weight.shape == (TARGET_VOCABULARY, hidden.shape[2])
        assert torch.equal(model(self.source, LENGTHS, TARGET), hidden)

    @pytest.mark.parametrize("size", [1, 2, 3])
    def test_steps_of_any_size_give_the_whole(self, model: SequenceModel[Any], size: int) -> None:
        whole, _ = model.step(TARGET, model.start(self.source, LENGTHS))
        state, parts = model.start(self.source, LENGTHS), []
        for tokens in TARGET.split(size, dim=1):
            logits, state = model.step(tokens, state)
            parts.append(logits)
        close(torch.cat(parts, dim=1), whole)

    def test_a_batch_gives_what_its_sentences_give_alone(self, model: SequenceModel[Any]) -> None:
        together, _ = model.step(TARGET, model.start(self.source, LENGTHS))
        for row, length in enumerate(LENGTHS.tolist()):
            one = slice(row, row + 1)
            alone, _ = model.step(TARGET[one], model.start(self.source[one, :length], LENGTHS[one]))
            close(alone, together[one])

    def test_padding_is_never_read(self, model: SequenceModel[Any]) -> None:
        other = self.with_other_padding()
        first, second = (model.step(TARGET, model.start(source, LENGTHS))[0] for source in (self.source, other))
        assert torch.equal(first, second)

    def test_the_source_is_read(self, model: SequenceModel[Any]) -> None:
        other = self.with_other_beginning()
        first, second = (model.step(TARGET, model.start(source, LENGTHS))[0] for source in (self.source, other))
        told = slice(self.places_of_source)
        assert not torch.isclose(first, second, atol=1e-4)[:, told].all(dim=-1).any()

    @pytest.mark.parametrize("read", [0, 2])
    @pytest.mark.parametrize("rows", [[2, 0, 0, 1], [1], [0, 1, 2]])
    def test_rows_are_reordered_repeated_and_dropped(
        self, model: SequenceModel[Any], read: int, rows: list[int]
    ) -> None:
        state = model.start(self.source, LENGTHS)
        if read:
            _, state = model.step(TARGET[:, :read], state)
        expected, _ = model.step(TARGET[:, read:], state)
        chosen, _ = model.step(TARGET[rows, read:], state.select(torch.tensor(rows)))
        close(chosen, expected[rows])

    def test_an_old_state_stays_valid(self, model: SequenceModel[Any]) -> None:
        with torch.no_grad():
            _, state = model.step(TARGET[:, :2], model.start(self.source, LENGTHS))
            before, later = model.step(TARGET[:, 2:3], state)
            model.step(TARGET[[1, 1], 3:], later.select(torch.tensor([1, 1])))
            again, _ = model.step(TARGET[:, 2:3], state)
        assert torch.equal(before, again)

    def test_every_weight_gets_a_gradient(self, model: SequenceModel[Any]) -> None:
        logits = model.train().project(model(self.source, LENGTHS, TARGET))
        torch.nn.functional.cross_entropy(logits.flatten(0, 1), TARGET.flatten()).backward()
        for name, weight in model.named_parameters():
            assert weight.grad is not None and bool(weight.grad.isfinite().all()), name
            assert bool(weight.grad.any()) or name.endswith(self.flat), name

    def test_a_sentence_of_nothing_breaks_no_other(self, model: SequenceModel[Any]) -> None:
        lengths = torch.tensor([5, 0, 3])
        hidden = model.train()(self.source, lengths, TARGET)
        hidden.sum().backward()
        assert bool(hidden.isfinite().all())
        assert all(bool(weight.grad.isfinite().all()) for weight in model.parameters() if weight.grad is not None)
        model.eval()
        close(model(self.source, lengths, TARGET)[[0, 2]], model(self.source, LENGTHS, TARGET)[[0, 2]])

    def test_names_are_unique_and_shared_weights_have_one(self, model: SequenceModel[Any]) -> None:
        named = list(model.named_parameters())
        assert len({name for name, _ in named}) == len(named)
        assert len({weight.data_ptr() for _, weight in named}) == len(named)
        assert any(weight is model.output_weight for _, weight in named)

    def test_bfloat16_is_close(self, model: SequenceModel[Any]) -> None:
        exact, _ = model.step(TARGET, model.start(self.source, LENGTHS))
        with torch.autocast("cpu", torch.bfloat16):
            state, parts = model.start(self.source, LENGTHS), []
            for tokens in TARGET.split(2, dim=1):
                logits, state = model.step(tokens, state)
                parts.append(logits)
        torch.testing.assert_close(torch.cat(parts, 1).float(), exact, rtol=self.narrow, atol=self.narrow)

    def test_dropout_acts_in_training_only_and_follows_the_seed(self, model: SequenceModel[Any]) -> None:
        def once(seed: int) -> Tensor:
            torch.manual_seed(seed)
            return model(self.source, LENGTHS, TARGET)

        assert torch.equal(once(1), once(2))
        model.train()
        assert torch.equal(once(1), once(1)) and not torch.equal(once(1), once(2))

    def test_saved_weights_make_the_same_model(self, model: SequenceModel[Any]) -> None:
        """Put into one that was built anew, so that nothing else can have been carried over."""
        with torch.no_grad():
            model.train()(self.source, LENGTHS, TARGET)  # what moves while training, moves
            for weight in model.parameters():
                weight.add_(0.1)
        expected = model.eval()(self.source, LENGTHS, TARGET)
        saved = load(tensors_to_bytes(model_weights(model)))
        other = build_model(self.settings, *self.vocabularies)
        assert not torch.equal(other.eval()(self.source, LENGTHS, TARGET), expected)
        restore_weights(other, saved, "saved")
        assert torch.equal(other(self.source, LENGTHS, TARGET), expected)

    def test_the_first_weights_follow_the_seed(self) -> None:
        def first() -> list[Tensor]:
            torch.manual_seed(5)
            return list(build_model(self.settings, 5, 5).parameters())

        assert all(torch.equal(a, b) for a, b in zip(first(), first(), strict=True))


class WritingContract(ModelContract):
    """Each token is read before the next one is told."""

    @pytest.mark.parametrize("place", [1, 3])
    def test_no_position_sees_a_later_token(self, model: SequenceModel[Any], place: int) -> None:
        changed = TARGET.clone()
        changed[:, place] = torch.tensor([9, 5, 4])
        before, after = (model.step(tokens, model.start(self.source, LENGTHS))[0] for tokens in (TARGET, changed))
        assert torch.equal(before[:, :place], after[:, :place])
        assert not torch.isclose(before[:, place:], after[:, place:], atol=1e-4).all(dim=-1).any()


class LanguageModelContract(WritingContract):
    """START, source and target are one row: what a target is given its source is what it is behind it.

    `mark`: what stands between the two.
    """

    vocabularies = TARGET_VOCABULARY, TARGET_VOCABULARY
    mark: tuple[int, ...] = ()

    def test_a_prompt_is_the_beginning_of_the_target(self, model: SequenceModel[Any]) -> None:
        """Row by row: the prompt read by `start` gives what it gives as part of a target with an empty source."""
        hidden = model(SOURCE, LENGTHS, TARGET)
        for row, length in enumerate((LENGTHS - 1).tolist()):
            mark = torch.tensor(self.mark, dtype=torch.long)
            whole = torch.cat((TARGET[row, :1], SOURCE[row, :length], mark, TARGET[row, 1:]))[None]
            close(hidden[row], model(torch.tensor([[END]]), torch.tensor([1]), whole)[0, length + len(mark) :])

    def test_the_first_token_is_a_bookmark(self, model: SequenceModel[Any]) -> None:
        other = TARGET.clone()
        other[:, 0] = 9
        assert torch.equal(model(SOURCE, LENGTHS, TARGET), model(SOURCE, LENGTHS, other))

    def test_a_prompt_may_be_of_one_token_or_of_none(self, model: SequenceModel[Any]) -> None:
        sources = torch.tensor([[END, PAD, PAD], [7, END, PAD], [7, 8, END]])
        together = model(sources, torch.tensor([1, 2, 3]), TARGET)
        for row in range(3):
            alone = model(sources[row : row + 1, : row + 1], torch.tensor([row + 1]), TARGET[row : row + 1])
            close(together[row], alone[0])

    def test_two_vocabularies_are_refused(self) -> None:
        with pytest.raises(ConfigError, match="one vocabulary") as refused:
            build_model(self.settings, 11, 12)
        assert "11" in refused.value.why and "12" in refused.value.why


class AttendingLanguageModelContract(LanguageModelContract):
    """It also says where it looks."""

    def test_where_it_looks_adds_up_to_one_and_never_at_padding(self, model: SequenceModel[Any]) -> None:
        logits, weights, state = model.attend(TARGET[:, :2], model.start(SOURCE, LENGTHS))
        close(logits, model.step(TARGET[:, :2], model.start(SOURCE, LENGTHS))[0])
        later = model.attend(TARGET[:, 2:], state)[1]
        for found in (weights, later):
            assert found.shape == (3, found.shape[1], SOURCE.shape[1])
            close(found.sum(-1), torch.ones(found.shape[:2]))
            behind = torch.arange(SOURCE.shape[1]) >= LENGTHS[:, None]
            assert bool((found >= 0).all()) and not found.masked_select(behind[:, None]).any()


class EncoderDecoderContract(WritingContract):
    """Source embedding, target embedding and output matrix, which may be one."""

    def test_tying(self) -> None:
        size = TARGET_VOCABULARY
        for tying, matrices in (("three-way", 1), ("target", 2), ("none", 3)):
            settings = self.settings.model_copy(update={"tying": tying})
            model = build_model(settings, size, size)
            width = model.output_weight.shape[1]
            found = [weight for weight in model.parameters() if weight.shape == (size, width)]
            assert len(found) == matrices, tying
            if matrices == 1:  # all three parts move when the one matrix moves
                model.eval()
                read, written = model.start(SOURCE, LENGTHS), model(SOURCE, LENGTHS, TARGET)
                found[0].detach().mul_(-1.5)
                assert not torch.allclose(model.advance(TARGET, read)[0], written)  # the target embedding
                again = model(SOURCE, LENGTHS, TARGET)
                assert not torch.allclose(again, model.advance(TARGET, read)[0])  # the source embedding

    def test_two_vocabularies_cannot_be_one_matrix(self) -> None:
        settings = self.settings.model_copy(update={"tying": "three-way"})
        with pytest.raises(ConfigError, match="one vocabulary") as refused:
            build_model(settings, 11, 12)
        assert "11" in refused.value.why and "12" in refused.value.why
