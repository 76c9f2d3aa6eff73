"""Every family and every wiring keeps the promises of the interface."""

import pytest

pytest.register_assert_rewrite("models.contract")

from models.contract import ModelContract  # noqa: E402
from openwork.models.recurrent_settings import RecurrentSettings  # noqa: E402
from openwork.models.settings import TransformerSettings  # noqa: E402

TRANSFORMER = TransformerSettings(
    width=12, heads=3, feedforward_width=20, encoder_layers=2, decoder_layers=2, tying="target"
)


class TestPostNorm(ModelContract):
    settings = TRANSFORMER


class TestPreNorm(ModelContract):
    settings = TRANSFORMER.model_copy(update={"norm": "pre"})


class TestEveryOption(ModelContract):
    """Odd width, free head widths, biases, all dropouts, nothing tied."""

    settings = TransformerSettings(
        width=13, heads=2, head_width=5, value_width=3, feedforward_width=7, encoder_layers=1, decoder_layers=3,
        norm="pre", tying="none", attention_bias=True, attention_dropout=0.1, feedforward_dropout=0.1,
    )  # fmt: skip

    flat = ("key.bias",)  # it adds the same to all scores of a query


class TestRecurrent(ModelContract):
    settings = RecurrentSettings(width=8)


class TestDeepRecurrent(ModelContract):
    settings = RecurrentSettings(width=8, encoder_layers=2, decoder_layers=3, attention_width=5, tying="none")
