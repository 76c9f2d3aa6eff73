"""Presets: what the papers that they are named after say of their models."""

from openwork.models.families import ModelSettings, model_settings
from openwork.models.presets import PRESETS


def preset(name: str) -> ModelSettings:
    return model_settings(PRESETS[name])


def test_language_models_do_not_scale_their_embeddings_as_the_paper_does() -> None:
    """Section 3.4 multiplies embeddings by sqrt(d_model); GPT-2 does not (Radford et al. 2019)."""
    assert preset("paper-base").embedding_scale and not preset("gpt-small").embedding_scale
