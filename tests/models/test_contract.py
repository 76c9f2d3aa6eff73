"""Every family and every wiring keeps the promises of the interface."""

import pytest

pytest.register_assert_rewrite("models.contract")

from models.contract import EncoderDecoderContract  # noqa: E402
from openwork.models.recurrent_settings import RecurrentSettings  # noqa: E402
from openwork.models.settings import TransformerSettings  # noqa: E402

TRANSFORMER = TransformerSettings(
    width=12, heads=3, feedforward_width=20, encoder_layers=2, decoder_layers=2, tying="target"
)


class TestPostNorm(EncoderDecoderContract):
    settings = TRANSFORMER


class TestPreNorm(EncoderDecoderContract):
    settings = TRANSFORMER.model_copy(update={"norm": "pre"})


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
    settings = TRANSFORMER.model_copy(update={"positions": "learned", "longest": 7})


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
class TestGroupedQueries(EncoderDecoderContract):
    settings = TRANSFORMER.model_copy(update={"heads": 4, "key_value_heads": 2})


@pytest.mark.slow
class TestProjectedResidual(EncoderDecoderContract):
    settings = TRANSFORMER.model_copy(update={"embedding_width": 7})


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
class TestUnscaledAttention(EncoderDecoderContract):
    settings = TRANSFORMER.model_copy(update={"attention": "unscaled", "norm": "pre"})


class TestAdditiveAttention(EncoderDecoderContract):
    settings = TRANSFORMER.model_copy(update={"attention": "additive", "heads": 4, "key_value_heads": 2})


class TestRectifiedAttention(EncoderDecoderContract):
    settings = TRANSFORMER.model_copy(update={"attention": "relu", "positions": "alibi"})


class TestRecurrent(EncoderDecoderContract):
    settings = RecurrentSettings(width=8)


@pytest.mark.slow
class TestDeepRecurrent(EncoderDecoderContract):
    settings = RecurrentSettings(width=8, encoder_layers=2, decoder_layers=3, attention_width=5, tying="none")
