"""Which models and texts can be explained; the others are refused with the reason."""

from openwork.base.errors import UsageError
from openwork.bundles.bundle import Bundle
from openwork.inference.translation import Translation
from openwork.inference.translator import BatchTranslator
from openwork.models.encoder_lm import SequenceClassifier
from openwork.models.layer_settings import LayerSettings
from openwork.models.seq2seq import Transformer


def check_transformer(bundle: Bundle) -> Transformer:
    """The bundle's model; UsageError for another kind of model, and for layers without such steps."""
    if not isinstance(bundle.model, Transformer):
        raise _other_kind(bundle)
    _check_layers(bundle.settings.model)
    return bundle.model


def check_reader_of_pictures(bundle: Bundle) -> SequenceClassifier:
    """The bundle's Vision Transformer; UsageError for another kind of model, and for layers without such steps."""
    if not isinstance(bundle.model, SequenceClassifier):
        raise _other_kind(bundle)
    _check_layers(bundle.settings.model)
    return bundle.model


def check_text(text: str) -> None:
    """UsageError for a text without a visible character."""
    if not text.strip():
        raise UsageError("there is no sentence to explain", hint='give a sentence, such as "Ein Hund."', code="U050")


def translation_to_explain(bundle: Bundle, text: str) -> Translation:
    """The bundle's own translation by its own search; UsageError where there is none of the whole text."""
    check_text(text)
    translation = BatchTranslator.of(bundle).translate([text])[0][0]
    check_translation(translation)
    return translation


def check_translation(translation: Translation) -> None:
    """UsageError unless it is one of the whole text."""
    if translation.problem:
        raise UsageError(
            "there is no translation to explain",
            why=translation.problem,
            hint="mend the sentence, or explain another one",
            code="U051",
        )
    if translation.cut:
        raise UsageError("the sentence is too long for the model", hint="explain a shorter one", code="U052")


def _other_kind(bundle: Bundle) -> UsageError:
    return UsageError(
        "only a Transformer can be explained step by step",
        why=f"the model of this bundle is of the kind {bundle.settings.model.kind}",
        hint='give a bundle that was trained with model.kind = "transformer", or "vit" for pictures',
        code="U053",
    )


def _check_layers(settings: object) -> None:
    """UsageError for options and layers whose values have no place of their own among the steps."""
    if not isinstance(settings, LayerSettings):
        return
    if settings.attention != "scaled" or settings.feedforward == "convolution":
        raise UsageError(
            "a Transformer of these options cannot be explained step by step",
            why=f"attention {settings.attention}, feed-forward network {settings.feedforward}; the steps shown are "
            "those of equation 1 and of networks without convolutions",
            hint='give a bundle that was trained with model.attention = "scaled"',
            code="U079",
        )
    others = {
        "attention_pattern": settings.attention_pattern == "low-rank",
        "feedforward_rank": settings.feedforward_rank is not None,
        "layer_sharing": settings.layer_sharing,
    }
    key = next((key for key, chosen in others.items() if chosen), None)
    if key is not None:
        raise UsageError(
            "a Transformer of these layers cannot be explained step by step",
            why=f"the steps shown are those of the paper's layers, and model.{key} makes others",
            hint=f"give a bundle that was trained without model.{key}",
            code="U115",
        )
