"""What the settings say of language models, without torch, is what the models say."""

import pytest
import torch

from openwork.models.build import build_model
from openwork.models.families import FAMILIES, ModelSettings, context, continues, model_settings

SMALL = {"width": 8, "heads": 2, "feedforward_width": 8, "layers": 1}
DECODERS = [
    {},
    {"positions": "rotary"},
    {"positions": "learned"},
    {"positions": "learned", "maximum_length": 30},
    {"positions": "learned", "maximum_length": 30, "separate_prompt": True},
]


@pytest.mark.parametrize("given", DECODERS)
def test_the_context_of_a_decoder(given: dict[str, object]) -> None:
    settings = model_settings({"kind": "decoder", **SMALL, **given})
    model = build_model(settings, 300, 300)
    assert (continues(settings), context(settings)) == (model.continues, model.maximum_length)


@pytest.mark.parametrize("family", FAMILIES)
def test_which_families_continue_texts(family: type[ModelSettings]) -> None:
    settings = family()
    with torch.device("meta"):
        model = build_model(settings, 300, 300)
    assert continues(settings) == getattr(model, "continues", False)
    if continues(settings):
        assert context(settings) == model.maximum_length
