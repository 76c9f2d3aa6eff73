"""What a worker answers to /v1/explain. No HTTP here."""

from typing import Any

from openwork.base.errors import OpenworkError
from openwork.bundles.bundle import Bundle
from openwork.inference.explain import explain
from openwork.inspection.trace import Selection
from openwork.inspection.trace_page import trace_content

MOST_PIECES = 64  # of a source: the steps of six layers of width 512 are then some 10 MB


def trace_answer(bundle: Bundle, text: str, layer: int | None) -> dict[str, Any]:
    """The steps of a translation with their numbers; {"failed": a sentence} where they cannot be shown.

    `layer`: all steps of this layer, counted from 0; None: what each part of a layer gives, of all layers.
    """
    try:
        ((source, _),) = bundle.tokenizers.encode_sources([text])
        if len(source) > MOST_PIECES:
            return {"failed": f"the text has {len(source):,} pieces; {MOST_PIECES} is the most whose steps are shown"}
        return trace_content(explain(bundle, text, Selection(layer)))
    except OpenworkError as error:
        return {"failed": error.sentence}
