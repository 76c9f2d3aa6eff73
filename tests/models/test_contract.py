"""Every family and every wiring keeps the promises of the interface."""

from typing import Any

import pytest
import torch

pytest.register_assert_rewrite("models.contract")

from models.contract import (  # noqa: E402
    LENGTHS,
    SOURCE,
    START,
    TARGET,
    TARGET_VOCABULARY,
    AttendingLanguageModelContract,
    EncoderDecoderContract,
    LanguageModelContract,
    ModelContract,
    WritingContract,
)
from openwork.base.errors import ConfigError  # noqa: E402
from openwork.models.build import build_model  # noqa: E402
from openwork.models.convolutional_settings import ByteNetSettings, CnnSettings, ConvS2SSettings, WaveNetSettings  # noqa: E402
from openwork.models.interfaces import SequenceModel, can_attend  # noqa: E402
from openwork.models.recurrent_settings import (  # noqa: E402
    RecurrentLabelsSettings,
    RecurrentLMSettings,
    RecurrentSettings,
)
from openwork.models.settings import (  # noqa: E402
    CaptionSettings,
    DecoderSettings,
    EncoderSettings,
    SpeechSettings,
    TransformerSettings,
    VisionSettings,
)

TRANSFORMER = TransformerSettings(
    width=12, heads=3, feedforward_width=20, encoder_layers=2, decoder_layers=2, tying="target"
)


class TestPostNorm(EncoderDecoderContract):
    settings = TRANSFORMER


@pytest.mark.slow
class TestPreNorm(EncoderDecoderContract):
    settings = TRANSFORMER.model_copy(update={"norm": "pre"})


@pytest.mark.slow
class TestEveryOption(EncoderDecoderContract):
    """Odd width, free head widths, biases, all dropouts, nothing tied."""

    settings = TransformerSettings(
        width=13, heads=2, head_width=5, value_width=3, feedforward_width=7, encoder_layers=1, decoder_layers=3,
        norm="pre", tying="none", attention_bias=True, attention_dropout=0.1, feedforward_dropout=0.1,
    )  # fmt: skip

    flat = ("key.bias",)  # it adds the same to all scores of a query


# Two layers that are not alike: the first residual is projected, heads share keys and values.
SHARED = {"key_value_heads": 1, "embedding_width": 7}


@pytest.mark.slow
class TestLearnedPositions(EncoderDecoderContract):
    settings = TRANSFORMER.model_copy(update={"positions": "learned", "maximum_length": 7})


@pytest.mark.slow
class TestRotaryPositions(EncoderDecoderContract):
    settings = TRANSFORMER.model_copy(update={"positions": "rotary"})


@pytest.mark.slow
class TestAlibi(EncoderDecoderContract):
    settings = TRANSFORMER.model_copy(update={"positions": "alibi"})


@pytest.mark.slow
class TestRelativePositions(EncoderDecoderContract):
    settings = TRANSFORMER.model_copy(update={"positions": "relative", "relative_distance": 2})


@pytest.mark.slow
class TestBucketedPositions(EncoderDecoderContract):
    settings = TRANSFORMER.model_copy(update={"positions": "bucketed"})


@pytest.mark.slow
class TestNoPositions(EncoderDecoderContract):
    settings = TRANSFORMER.model_copy(update={"positions": "none"})


@pytest.mark.slow
class TestRootMeanSquare(EncoderDecoderContract):
    settings = TRANSFORMER.model_copy(update={"normalisation": "rms"})


@pytest.mark.slow
class TestBatchNorm(EncoderDecoderContract):
    """With statistics of batches: without, such a norm changes nothing, and what it is given grows."""

    settings = TRANSFORMER.model_copy(update={"normalisation": "batch", "embedding_norm": True})

    @pytest.fixture
    def model(self) -> SequenceModel[Any]:
        torch.manual_seed(7)
        model = build_model(self.settings, *self.vocabularies).train()
        with torch.no_grad():
            for _ in range(30):
                model(SOURCE, LENGTHS, TARGET)
        return model.eval()


@pytest.mark.slow
class TestGroupedQueries(EncoderDecoderContract):
    settings = TRANSFORMER.model_copy(update={"heads": 4, "key_value_heads": 2})


@pytest.mark.slow
class TestProjectedResidual(EncoderDecoderContract):
    settings = TRANSFORMER.model_copy(update={"embedding_width": 7})


# So small that five tokens are computed by blocks, and steps by all pairs; two layers reach four tokens back.
BLOCKS = {
    "attention_pattern": "blocks", "attention_block": 1, "attention_window": 2, "global_tokens": 1, "random_blocks": 0,
}  # fmt: skip


@pytest.mark.slow
class TestBlocks(EncoderDecoderContract):
    settings = TRANSFORMER.model_copy(update=BLOCKS)


@pytest.mark.slow
class TestGatedRotary(EncoderDecoderContract):
    """What large models of today have, with keys and values for one head only."""

    settings = TRANSFORMER.model_copy(
        update={"norm": "pre", "normalisation": "rms", "feedforward": "swiglu", "positions": "rotary", **SHARED}
    )


@pytest.mark.slow
class TestGatedRelative(EncoderDecoderContract):
    settings = TRANSFORMER.model_copy(
        update={"feedforward": "geglu", "positions": "relative", "attention_dropout": 0.1, **SHARED}
    )


@pytest.mark.slow
class TestGatedAlibi(EncoderDecoderContract):
    settings = TRANSFORMER.model_copy(
        update={"feedforward": "reglu", "positions": "alibi", "feedforward_dropout": 0.1, **SHARED}
    )


@pytest.mark.slow
class TestGatedLearned(EncoderDecoderContract):
    settings = TRANSFORMER.model_copy(
        update={"norm": "pre", "feedforward": "glu", "positions": "learned", "tying": "none", "attention_bias": True}
        | SHARED
    )
    flat = ("key.bias",)


@pytest.mark.slow
class TestAsOthersHaveIt(EncoderDecoderContract):
    """What the models of other toolkits have and the paper's has not."""

    settings = TRANSFORMER.model_copy(
        update={
            "positions": "learned", "feedforward": "swish", "embedding_scale": False, "embedding_norm": True,
            "attention_bias": True, "output_bias": True, "norm_epsilon": 1e-5,
        }
    )  # fmt: skip
    flat = ("key.bias",)


@pytest.mark.slow
class TestBranchNormAsConvolutions(EncoderDecoderContract):
    settings = TRANSFORMER.model_copy(update={"norm": "branch", "feedforward": "convolution", "embedding_width": 7})


@pytest.mark.slow
class TestWithoutNorms(EncoderDecoderContract):
    settings = TRANSFORMER.model_copy(update={"norm": "none"})
    narrow = 0.1  # its numbers are larger


@pytest.mark.slow
class TestWithoutResiduals(EncoderDecoderContract):
    """A token reaches the output only by what it asks of the memory: in an untrained model that is next to nothing."""

    settings = TRANSFORMER.model_copy(update={"norm": "no-residual", "embedding_width": 7})
    narrow = 0.1

    @pytest.mark.parametrize("place", [1, 3])
    def test_no_position_sees_a_later_token(self, model: SequenceModel[Any], place: int) -> None:
        changed = TARGET.clone()
        changed[:, place] = torch.tensor([9, 5, 4])
        before, after = (model.step(tokens, model.start(SOURCE, LENGTHS))[0] for tokens in (TARGET, changed))
        assert torch.equal(before[:, :place], after[:, :place])


@pytest.mark.slow
class TestUnscaledAttention(EncoderDecoderContract):
    settings = TRANSFORMER.model_copy(update={"attention": "unscaled", "norm": "pre"})


@pytest.mark.slow
class TestAdditiveAttention(EncoderDecoderContract):
    settings = TRANSFORMER.model_copy(update={"attention": "additive", "heads": 4, "key_value_heads": 2})


@pytest.mark.slow
class TestRectifiedAttention(EncoderDecoderContract):
    settings = TRANSFORMER.model_copy(update={"attention": "relu", "positions": "alibi"})


class TestRecurrent(EncoderDecoderContract):
    settings = RecurrentSettings(width=8)


@pytest.mark.slow
class TestDeepRecurrent(EncoderDecoderContract):
    settings = RecurrentSettings(width=8, encoder_layers=2, decoder_layers=3, attention_width=5, tying="none")


@pytest.mark.slow
class TestOneHiddenState(EncoderDecoderContract):
    """The classic encoder-decoder without attention."""

    settings = RecurrentSettings(width=8, cell="rnn", attention="none")


@pytest.mark.slow
class TestDeepLstmsWithoutAttention(EncoderDecoderContract):
    settings = RecurrentSettings(width=8, attention="none", encoder_layers=2, decoder_layers=2, tying="none")


@pytest.mark.slow
class TestGeneralAttention(EncoderDecoderContract):
    settings = RecurrentSettings(width=8, cell="gru", attention="general", decoder_layers=2)


@pytest.mark.slow
class TestDotAttention(EncoderDecoderContract):
    settings = RecurrentSettings(width=8, attention="dot", encoder_layers=2)


@pytest.mark.slow
class TestGatedUnits(EncoderDecoderContract):
    """As Bahdanau et al. 2015 had them."""

    settings = RecurrentSettings(width=8, cell="gru", decoder_layers=2)


@pytest.mark.slow
class TestVanillaCellsWithAttention(EncoderDecoderContract):
    settings = RecurrentSettings(width=8, cell="rnn")


# BERT, as its authors have it.
ENCODER = EncoderSettings(
    width=12, heads=3, feedforward_width=20, layers=2, segments=2, positions="learned", maximum_length=8,
    feedforward="gelu", attention_bias=True, embedding_norm=True, embedding_scale=False, norm_epsilon=1e-12,
    attention_dropout=0.1,
)  # fmt: skip


@pytest.mark.slow
class TestClassifier(ModelContract):
    settings = ENCODER
    flat = ("key.bias",)


@pytest.mark.slow
class TestTagger(ModelContract):
    settings = ENCODER.model_copy(update={"task": "tag"})
    flat = ("key.bias",)


@pytest.mark.slow
class TestAnswerer(ModelContract):
    """Its vectors are the logits: there is nothing to learn in its output matrix."""

    settings = ENCODER.model_copy(update={"task": "answer"})
    flat = ("key.bias",)

    def test_names_are_unique_and_shared_weights_have_one(self, model: SequenceModel[Any]) -> None:
        assert torch.equal(model.output_weight, torch.eye(TARGET_VOCABULARY))
        assert all(weight is not model.output_weight for _, weight in model.named_parameters())


class OneVocabularyContract(ModelContract):
    """Families that tell pieces of the source itself: both vocabularies are the target's, as this contract has it."""

    vocabularies = TARGET_VOCABULARY, TARGET_VOCABULARY

    def test_two_vocabularies_cannot_be_one_matrix(self) -> None:
        with pytest.raises(ConfigError, match="one vocabulary"):
            build_model(self.settings, 11, 12)


@pytest.mark.slow
class TestFiller(OneVocabularyContract):
    settings = ENCODER.model_copy(update={"task": "fill"})
    flat = ("key.bias",)


@pytest.mark.slow
class TestNarrowFiller(OneVocabularyContract):
    settings = ENCODER.model_copy(update={"task": "fill", "embedding_width": 7})
    flat = ("key.bias",)


@pytest.mark.slow
class TestTextEncoder(OneVocabularyContract):
    settings = ENCODER.model_copy(update={"task": "embed"})
    flat = ("key.bias",)


@pytest.mark.slow
class TestPreNormTagger(ModelContract):
    """What large encoders of today have, and embeddings of a width of their own."""

    settings = EncoderSettings(
        task="tag", width=12, heads=4, feedforward_width=20, layers=2, norm="pre", normalisation="rms",
        feedforward="geglu", positions="rotary", head_width=4, value_width=4, key_value_heads=1, embedding_width=7,
    )  # fmt: skip


@pytest.mark.slow
class TestManyToMany(ModelContract):
    """The vanilla network that gives an output for each input, in one direction."""

    settings = RecurrentLabelsSettings(width=8, task="tag", cell="rnn", bidirectional=False)


@pytest.mark.slow
class TestRecurrentTagger(ModelContract):
    settings = RecurrentLabelsSettings(width=8, task="tag", layers=2)


@pytest.mark.slow
class TestRecurrentClassifier(ModelContract):
    settings = RecurrentLabelsSettings(width=8, task="classify", cell="gru")


@pytest.mark.slow
class TestClassifierInOneDirection(ModelContract):
    settings = RecurrentLabelsSettings(width=8, task="classify", layers=3, bidirectional=False)


class PoolingContract(ModelContract):
    """One label a text; that nothing follows it is told of no text."""

    places_of_source = 1


@pytest.mark.slow
class TestMixtureOfLayers(PoolingContract):
    """ELMo's way."""

    settings = RecurrentLMSettings(width=8, task="classify")


@pytest.mark.slow
class TestLastLayer(PoolingContract):
    """ULMFiT's way."""

    settings = RecurrentLMSettings(width=8, task="classify", features="last", bidirectional=False, cell="gru")


@pytest.mark.slow
class TestReaderOfFeatures(PoolingContract):
    """ELMo's way with layers of the task's own."""

    settings = RecurrentLMSettings(width=8, task="classify", task_layers=2)


@pytest.mark.slow
class TestRecurrentLM(ModelContract):
    settings = RecurrentLMSettings(width=8)
    vocabularies = TARGET_VOCABULARY, TARGET_VOCABULARY

    def test_the_source_is_read(self, model: SequenceModel[Any]) -> None:
        """No place sees the token that it tells; `test_recurrent_lm.py` has them one by one."""


@pytest.mark.slow
class TestConvS2S(EncoderDecoderContract):
    settings = ConvS2SSettings(width=12, encoder_layers=2, decoder_layers=2, maximum_length=9)


@pytest.mark.slow
class TestWideConvS2S(EncoderDecoderContract):
    """An even kernel, wider than some sentences are long, and embeddings of a width of their own."""

    settings = ConvS2SSettings(
        width=12, embedding_width=7, kernel=4, encoder_layers=1, decoder_layers=3, maximum_length=9, tying="target"
    )


@pytest.mark.slow
class TestByteNet(EncoderDecoderContract):
    """The longest targets reach beyond the columns of the shortest source."""

    settings = ByteNetSettings(width=12, encoder_layers=3, decoder_layers=3, cycle=2, length_extra=1)


@pytest.mark.slow
class TestOddByteNet(EncoderDecoderContract):
    settings = ByteNetSettings(width=15, kernel=2, encoder_layers=1, decoder_layers=4, length_ratio=3, tying="target")


GPT = DecoderSettings(
    width=12, heads=3, feedforward_width=20, layers=2, norm="pre", positions="learned", maximum_length=12,
    feedforward="gelu-tanh", attention_bias=True, embedding_scale=False, output_bias=True,
)  # fmt: skip


@pytest.mark.slow
def test_prompt_and_continuation_have_one_vocabulary() -> None:
    with pytest.raises(ConfigError, match='"embeddings" needs one vocabulary'):
        build_model(GPT.model_copy(update={"tying": "embeddings"}), 11, 12)


class TestGpt(AttendingLanguageModelContract):
    settings = GPT
    flat = ("key.bias",)


@pytest.mark.slow
class TestLlama(AttendingLanguageModelContract):
    """Keys and values for one head only, and an output matrix of its own."""

    settings = DecoderSettings(
        width=12, heads=3, key_value_heads=1, feedforward_width=20, layers=2, norm="pre", positions="rotary",
        feedforward="swiglu", normalisation="rms", tying="embeddings",
    )  # fmt: skip


@pytest.mark.slow
class TestMarkedPrompts(AttendingLanguageModelContract):
    """START stands behind prompts too, and a text without one is read as ever."""

    settings = GPT.model_copy(update={"separate_prompt": True})
    flat = ("key.bias",)
    mark = (START,)

    def test_the_mark_has_a_position(self, model: SequenceModel[Any]) -> None:
        assert model.maximum_length == (GPT.maximum_length or 0) - 1


@pytest.mark.slow
class TestGptPostNorm(AttendingLanguageModelContract):
    """The first GPT, with the paper's sinusoids and a norm after the embeddings; nothing is alike in size."""

    settings = DecoderSettings(
        width=12, heads=3, head_width=5, value_width=3, embedding_width=7, feedforward_width=20, layers=2,
        embedding_norm=True, attention_dropout=0.1, feedforward_dropout=0.1,
    )  # fmt: skip


@pytest.mark.slow
class TestLowRank(EncoderDecoderContract):
    settings = TRANSFORMER.model_copy(
        update={"attention_pattern": "low-rank", "mixtures": 3, "positions": "learned", "maximum_length": 7}
    )


@pytest.mark.slow
class TestSharedLayers(EncoderDecoderContract):
    settings = TRANSFORMER.model_copy(update={"layer_sharing": True, "feedforward_rank": 5, "embedding_width": 7})


@pytest.mark.slow
class TestGptLinear(LanguageModelContract):
    """What is kept of the past are sums; weights of single tokens are not among them."""

    settings = GPT.model_copy(update={"attention": "linear"})

    def test_weights_of_what_is_summed_cannot_be_shown(self, model: SequenceModel[Any]) -> None:
        assert not can_attend(model)

    def test_the_state_does_not_grow(self, model: SequenceModel[Any]) -> None:
        state, numbers = model.start(SOURCE, LENGTHS), []
        for tokens in TARGET.split(1, dim=1):
            state = model.advance(tokens, state)[1]
            past = state.pasts[0]
            numbers.append(past.sums.numel() + past.latest.key.numel() + past.latest.value.numel())
        assert past.size == SOURCE.shape[1] - 1 + TARGET.shape[1] and len(set(numbers[1:])) == 1


@pytest.mark.slow
class TestLinear(EncoderDecoderContract):
    settings = TRANSFORMER.model_copy(update={"attention": "linear"})


@pytest.mark.slow
class TestGptBlocks(AttendingLanguageModelContract):
    """Prompts are padded on the left, and their second token is global as it is without."""

    settings = GPT.model_copy(update=BLOCKS | {"global_tokens": 2, "random_blocks": 1})
    flat = ("key.bias",)


@pytest.mark.slow
@pytest.mark.parametrize("positions", ["alibi", "relative", "bucketed", "none"])
def test_distances_of_a_prompt_are_those_of_one_row(positions: str) -> None:
    settings = GPT.model_copy(update={"positions": positions, "maximum_length": None})
    contract = AttendingLanguageModelContract()
    torch.manual_seed(7)
    model = build_model(settings, 13, 13).eval()
    for weight in model.parameters():
        if weight.dim() == 1 or not weight.any():  # biases and tables that begin at zero
            torch.nn.init.normal_(weight)
    contract.test_a_prompt_is_the_beginning_of_the_target(model)
    contract.test_a_prompt_may_be_of_one_token_or_of_none(model)
    contract.test_steps_of_any_size_give_the_whole(model, 2)
    contract.test_where_it_looks_adds_up_to_one_and_never_at_padding(model)


@pytest.mark.slow
class TestWaveNet(LanguageModelContract):
    """Sees 10 positions: the last target token just sees the first of the longest source."""

    settings = WaveNetSettings(width=16, skip_width=12, layers=4, cycle=3, tying="three-way")


@pytest.mark.slow
class TestWideWaveNet(LanguageModelContract):
    settings = WaveNetSettings(width=15, skip_width=20, kernel=3, layers=2, cycle=2)


VIT = VisionSettings(
    width=12, heads=3, feedforward_width=20, layers=2, norm="pre", positions="learned", maximum_length=8,
    feedforward="gelu", attention_bias=True, embedding_scale=False,
)  # fmt: skip


class OfNumbers(ModelContract):
    """The sources are rows of five numbers, 5, 2 and 3 of them."""

    vocabularies = 5, TARGET_VOCABULARY
    source = torch.randn(3, 5, 5, generator=torch.Generator().manual_seed(3))
    flat = ("key.bias",)

    def with_other_padding(self) -> torch.Tensor:
        behind = torch.arange(5)[None, :, None] >= LENGTHS[:, None, None]
        return self.source.masked_fill(behind, 10.0)

    def with_other_beginning(self) -> torch.Tensor:
        other = self.source.clone()
        other[:, 0] = -other[:, 0]
        return other


class TestVisionTransformer(OfNumbers):
    settings = VIT


WHISPER = SpeechSettings(
    width=12, heads=3, feedforward_width=20, encoder_layers=2, decoder_layers=2, norm="pre", positions="learned",
    maximum_length=9, feedforward="gelu", attention_bias=True, embedding_scale=False,
)  # fmt: skip


class TestWhisper(OfNumbers, WritingContract):
    settings = WHISPER

    def test_its_attention_cannot_be_shown(self, model: SequenceModel[Any]) -> None:
        assert not can_attend(model)


class TestCaptioner(OfNumbers, WritingContract):
    settings = CaptionSettings(
        width=12, heads=3, feedforward_width=20, encoder_layers=2, decoder_layers=2, norm="pre", feedforward="gelu"
    )

    def test_its_attention_cannot_be_shown(self, model: SequenceModel[Any]) -> None:
        assert not can_attend(model)


@pytest.mark.slow
class TestWhisperOfOtherParts(OfNumbers, WritingContract):
    """Biases and a matrix of the output's own, distances in place of positions, embeddings of another width."""

    settings = WHISPER.model_copy(
        update={"tying": "none", "positions": "rotary", "maximum_length": None, "embedding_width": 7, "norm": "post"}
        | {"output_bias": True, "embedding_norm": True, "attention_bias": False}
    )


@pytest.mark.slow
class TestVisionTransformerOfMeans(OfNumbers):
    settings = VIT.model_copy(update={"pooling": "mean", "positions": "sinusoidal", "maximum_length": None})


class TestConvolutionalNetwork(OfNumbers):
    """Sources of two columns, the last row of which may be incomplete."""

    settings = CnnSettings(width=6, layers=2, columns=2)
    places_of_source = 1  # the end follows every label


@pytest.mark.slow
class TestConvolutionsOfEvenWidth(OfNumbers):
    settings = CnnSettings(width=5, layers=3, columns=4, kernel=2)
    places_of_source = 1
