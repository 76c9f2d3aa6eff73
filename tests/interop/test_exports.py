"""What closes another toolkit's form is known before a training, and is what its writer refuses."""

from pathlib import Path
from typing import Any

import pytest

from openwork.interop.exports import unsupported_exports
from openwork.models.recurrent_settings import RecurrentSettings
from openwork.models.settings import TransformerSettings
from openwork.text.pair import train_pair
from openwork.text.settings import TextSettings

SMALL: dict[str, Any] = {
    "width": 8, "heads": 2, "feedforward_width": 12, "encoder_layers": 1, "decoder_layers": 1, "norm_epsilon": 1e-5,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "closed"),
    [
        ({}, []),
        ({"norm": "pre"}, []),
        ({"positions": "learned", "embedding_norm": True}, []),
        ({"positions": "rotary"}, ["Hugging Face"]),
        ({"feedforward": "swiglu"}, ["Hugging Face"]),
        ({"norm_epsilon": 1e-3}, ["Hugging Face"]),
        ({"norm": "pre", "tying": "target"}, ["Hugging Face"]),
        ({"positions": "alibi"}, ["CTranslate2", "Hugging Face"]),
        ({"normalisation": "batch"}, ["CTranslate2", "Hugging Face"]),
        ({"attention_chunk": 64}, []),
        ({"layer_sharing": True}, ["CTranslate2", "Hugging Face"]),
        ({"attention": "linear"}, ["CTranslate2", "Hugging Face", "ONNX"]),
        ({"feedforward_rank": 4}, ["CTranslate2", "Hugging Face"]),
        ({"attention_pattern": "window"}, ["CTranslate2", "Hugging Face"]),
        ({"embedding_width": 6}, ["CTranslate2", "Hugging Face"]),
    ],
    ids=str,
)
def test_settings_and_the_forms_that_they_close(changes: dict[str, Any], closed: list[str]):
    assert sorted(unsupported_exports(TransformerSettings.model_validate(SMALL | changes), ())) == closed


def test_a_recurrent_model_has_no_form_at_all():
    assert unsupported_exports(RecurrentSettings(), ()).keys() == {"Hugging Face", "CTranslate2", "ONNX"}


def test_a_tokenizer_of_others_stays_behind(tmp_path: Path):
    """One that we have learnt is written; one that was read from a file of others is not."""
    (tmp_path / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abc"]) + "\n")
    external = train_pair((), (), TextSettings(source_file=str(tmp_path / "vocab.txt"))).source
    own = train_pair(["a b"] * 9, ["b a"] * 9, TextSettings(vocabulary_size=300)).source
    settings = TransformerSettings.model_validate(SMALL)
    assert unsupported_exports(settings, (own, own)) == {}
    assert "ids of its own" in unsupported_exports(settings, (own, external))["Hugging Face"]


def test_the_forms_of_the_command_line_are_those_that_can_be_read_and_written():
    """cli/options.py names them again, because importing interop takes seconds."""
    from openwork.cli import options
    from openwork.interop.exports import REASONS
    from openwork.interop.forms import EXPORTS, IMPORTS

    assert set(options.IMPORTS) == IMPORTS.keys()
    assert set(options.EXPORTS) == EXPORTS.keys() == REASONS.keys() | {"marian"}  # see REASONS
