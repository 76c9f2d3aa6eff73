"""The attention heads of a model that can be removed from it. No torch here."""

from openwork.base.errors import ConfigError
from openwork.models.families import ModelSettings
from openwork.models.settings import DecoderSettings, EncoderSettings, TransformerSettings

HEAD = "heads.without"  # key of a trial's settings, such as "encoder.layers.0.self_attention.2": head 2, from 1


def heads_of(model: ModelSettings) -> list[tuple[str, int]]:
    """Each attention of a Transformer by its name in the model, and its number of heads.

    ConfigError for a model without attention heads.
    """
    match model:
        case TransformerSettings():
            names = [f"encoder.layers.{layer}.self_attention" for layer in range(model.encoder_layers)]
            for kind in ("self", "cross"):
                names += [f"decoder.layers.{layer}.{kind}_attention" for layer in range(model.decoder_layers)]
        case DecoderSettings():
            names = [f"stack.layers.{layer}.self_attention" for layer in range(model.layers)]
        case EncoderSettings():
            names = [f"encoder.layers.{layer}.self_attention" for layer in range(model.layers)]
        case _:
            raise ConfigError(
                f"a model of the kind {model.kind} has no attention heads to remove",
                hint="name a Transformer, a decoder or an encoder as base",
                code="C138",
            )
    return [(name, model.heads) for name in names]
