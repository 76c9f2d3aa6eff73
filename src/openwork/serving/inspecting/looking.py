"""What a worker answers to a request for attention."""

from collections.abc import Mapping
from typing import Any

from openwork.base.errors import OpenworkError
from openwork.bundles.bundle import Bundle
from openwork.inference.attention_maps.look import Question, look
from openwork.inference.attention_maps.removal import HeadName
from openwork.inference.translation import Translation


def looked(bundle: Bundle, text: str, own: Translation, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The answer for `AttentionOptions` and the bundle's own translation; {"failed": a sentence} where there is none."""
    head = None if asked["without"] is None else HeadName(*asked["without"])
    question = Question(text, asked["translation"], head, asked["why"], asked["position"])
    try:
        return look(bundle, question, own).to_json()
    except OpenworkError as error:
        return {"failed": "; ".join(filter(None, (error.what, error.why or error.hint)))}
