"""What a worker answers to /v1/beam. No HTTP here."""

from collections.abc import Callable
from typing import Any

from openwork.base.errors import OpenworkError
from openwork.bundles.bundle import Bundle
from openwork.inference.engine import Engine
from openwork.inference.searches.recorded import recorded
from openwork.inference.settings import settings_over
from openwork.inference.translator import BatchTranslator


def beam_answer(
    bundle: Bundle, engine: Engine, text: str, beam: int, is_given_up: Callable[[], bool]
) -> dict[str, Any]:
    """The tree of the search of one line, by the weights that the engine has prepared; or `failed`, and why.

    `beam`: hypotheses kept, 0 for as many as the bundle says.
    """
    try:
        settings = settings_over(bundle.settings.decoding, {"beam": beam} if beam else {})
        translator = BatchTranslator(bundle.model, bundle.tokenizers, settings)
        translator.engine = engine
        found = recorded(translator, text, given_up=lambda: (0,) if is_given_up() else ())
    except OpenworkError as error:
        return {"failed": error.sentence}
    return {"tree": found.tree.to_json(), "source_tokens": found.translations[0].source_pieces}
